//! Domains in problem files.

use firebox_core::Result;
use serde::Deserialize;
use toml::Spanned;

use super::source::{Source, Written};
use crate::problem::domain::Domain;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DomainFile {
    r#type: Spanned<String>,
    name: Option<String>,
    low: Option<Vec<Written>>,
    high: Option<Vec<Written>>,
    centre: Option<Vec<Written>>,
    radius: Option<Written>,
    corners: Option<Vec<Vec<Written>>>,
    parts: Option<Vec<Spanned<DomainFile>>>,
}

impl Source<'_> {
    pub(super) fn domain(&self, at: &Spanned<DomainFile>) -> Result<Domain> {
        let file = at.get_ref();
        let given = [
            ("low", file.low.is_some()),
            ("high", file.high.is_some()),
            ("centre", file.centre.is_some()),
            ("radius", file.radius.is_some()),
            ("corners", file.corners.is_some()),
            ("parts", file.parts.is_some()),
        ];
        let kind = file.r#type.get_ref().as_str();
        let required: &[&str] = match kind {
            "box" => &["low", "high"],
            "disc" | "ball" => &["centre", "radius"],
            "polygon" => &["corners"],
            "union" | "intersection" | "difference" => &["parts"],
            _ => {
                let help = "choose box, disc, ball, polygon, union, intersection or difference";
                return Err(self.error(&file.r#type, format!("there is no domain of type '{kind}'"), help));
            }
        };
        if let Some((key, present)) = given.iter().find(|(key, present)| *present != required.contains(key)) {
            let what =
                format!("a domain of type '{kind}' {} '{key}'", if *present { "has no key" } else { "needs the key" });
            return Err(self.error(at, what, &format!("give it {}", required.join(" and "))));
        }
        let list = |list: &Option<Vec<Written>>| self.numbers(list.as_deref().unwrap_or_default());
        let domain = match kind {
            "box" => Domain::cuboid(list(&file.low)?, list(&file.high)?),
            "polygon" => self.corners(at).and_then(Domain::polygon),
            "disc" | "ball" => {
                let radius = file.radius.as_ref().map_or(Ok(f64::NAN), |radius| self.number(radius))?;
                Domain::ball(list(&file.centre)?, radius)
            }
            _ => {
                let parts = file.parts.iter().flatten().map(|part| self.domain(part)).collect::<Result<Vec<_>>>()?;
                match kind {
                    "union" => Domain::union(parts),
                    "intersection" => Domain::intersection(parts),
                    _ => Domain::difference(parts),
                }
            }
        };
        let domain = domain.map_err(|error| self.locate(error, at.span().start))?;
        Ok(match &file.name {
            Some(name) => domain.named(name),
            None => domain,
        })
    }

    fn corners(&self, at: &Spanned<DomainFile>) -> Result<Vec<[f64; 2]>> {
        let corner = |corner: &Vec<Written>| {
            <[f64; 2]>::try_from(self.numbers(corner)?).map_err(|numbers| {
                let what = format!("a polygon's corner has {} coordinates", numbers.len());
                self.error(at, what, "give 2, as [0.5, 1]")
            })
        };
        at.get_ref().corners.iter().flatten().map(corner).collect()
    }
}
