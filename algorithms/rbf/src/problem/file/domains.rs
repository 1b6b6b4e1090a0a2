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
    round: Option<Written>,
    parts: Option<Vec<Spanned<DomainFile>>>,
    base: Option<Box<Spanned<DomainFile>>>,
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
            ("base", file.base.is_some()),
        ];
        let kind = file.r#type.get_ref().as_str();
        let required: &[&str] = match kind {
            "box" => &["low", "high"],
            "disc" | "ball" => &["centre", "radius"],
            "polygon" => &["corners"],
            "extrusion" => &["base", "low", "high"],
            "union" | "intersection" | "difference" => &["parts"],
            _ => {
                let help = "choose box, disc, ball, polygon, extrusion, union, intersection or difference";
                return Err(self.error(&file.r#type, format!("there is no domain of type '{kind}'"), help));
            }
        };
        if let Some((key, present)) = given.iter().find(|(key, present)| *present != required.contains(key)) {
            let what =
                format!("a domain of type '{kind}' {} '{key}'", if *present { "has no key" } else { "needs the key" });
            return Err(self.error(at, what, &format!("give it {}", required.join(" and "))));
        }
        if let Some(round) = file.round.as_ref().filter(|_| kind != "polygon") {
            return Err(self.error(round, format!("a domain of type '{kind}' has no key 'round'"), "polygons have it"));
        }
        let list = |list: &Option<Vec<Written>>| self.numbers(list.as_deref().unwrap_or_default());
        let domain = match kind {
            "box" => Domain::cuboid(list(&file.low)?, list(&file.high)?),
            "polygon" => self.polygon(at),
            "disc" | "ball" => {
                let radius = file.radius.as_ref().map_or(Ok(f64::NAN), |radius| self.number(radius))?;
                Domain::ball(list(&file.centre)?, radius)
            }
            "extrusion" => match file.base.as_deref() {
                Some(base) => Domain::extrusion(self.domain(base)?, list(&file.low)?, list(&file.high)?),
                None => Domain::union(Vec::new()),
            },
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

    /// A polygon of corners with two coordinates, and perhaps the bulge of the next edge, or with rounded corners.
    fn polygon(&self, at: &Spanned<DomainFile>) -> Result<Domain> {
        let DomainFile { corners, round, .. } = at.get_ref();
        let corner = |corner: &Vec<Written>| match self.numbers(corner)?[..] {
            [x, y] => Ok(([x, y], 0.0)),
            [x, y, bulge] => Ok(([x, y], bulge)),
            ref numbers => {
                let what = format!("a polygon's corner has {} coordinates", numbers.len());
                Err(self.error(at, what, "give 2, as [0.5, 1], and perhaps the bulge of the edge to the next corner"))
            }
        };
        let corners = corners.iter().flatten().map(corner).collect::<Result<Vec<_>>>()?;
        let Some(round) = round else { return Domain::arcs(corners) };
        if corners.iter().any(|(_, bulge)| *bulge != 0.0) {
            return Err(self.error(round, "a polygon with arcs has rounded corners", "leave out round, or the bulges"));
        }
        Domain::rounded_polygon(&corners.into_iter().map(|(corner, _)| corner).collect::<Vec<_>>(), self.number(round)?)
    }
}
