//! Boundary conditions in problem files.

use firebox_core::{Error, Result};
use serde::Deserialize;
use toml::Spanned;

use super::source::{Source, Written};
use crate::problem::{
    condition::{BoundaryRule, Condition},
    function::Function,
    predicate::Predicate,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BoundaryFile {
    condition: Spanned<String>,
    /// The unknowns: a name, or an array of names.
    of: Option<Spanned<toml::Value>>,
    on: Option<Spanned<String>>,
    r#where: Option<Written>,
    value: Option<Written>,
    normal: Option<Written>,
    coefficient: Option<Written>,
    direction: Option<Spanned<Vec<Written>>>,
    rate: Option<Written>,
}

/// Boundary conditions and their keys.
const CONDITIONS: [(&str, &[&str]); 7] = [
    ("dirichlet", &["value"]),
    ("neumann", &["value"]),
    ("robin", &["normal", "coefficient", "value"]),
    ("oblique", &["direction", "coefficient", "value"]),
    ("initial", &["value", "rate"]),
    ("periodic", &[]),
    ("none", &[]),
];

impl Source<'_> {
    /// The rules of a condition, one for each of its unknowns.
    pub(super) fn rules(&self, at: &Spanned<BoundaryFile>, exact: &[Function]) -> Result<Vec<BoundaryRule>> {
        let rule = |&unknown: &usize| Ok(BoundaryRule { unknown, ..self.rule(at, exact.get(unknown))? });
        self.unknowns_of(at)?.iter().map(rule).collect()
    }

    /// The unknowns that a condition is that of: all solutions, for conditions without values and in problems of one solution.
    fn unknowns_of(&self, at: &Spanned<BoundaryFile>) -> Result<Vec<usize>> {
        let (file, names, solutions) = (at.get_ref(), self.variables.functions(), self.variables.solutions);
        let Some(of) = &file.of else {
            if solutions == 1 || matches!(file.condition.get_ref().as_str(), "periodic" | "none") {
                return Ok((0..solutions).collect());
            }
            let what = format!("the condition '{}' has no key 'of'", file.condition.get_ref());
            let help = format!("name the unknown, one of {}, as in of = \"{}\"", names.join(", "), names[0]);
            return Err(self.error(at, what, &help));
        };
        let given = match of.get_ref() {
            toml::Value::Array(all) => all.clone(),
            one => vec![one.clone()],
        };
        let unknown = |value: &toml::Value| {
            let found = value.as_str().and_then(|text| names.iter().position(|name| name == text));
            found.ok_or_else(|| {
                let help = format!("give one of {}, or an array of some", names.join(", "));
                self.error(of, format!("of = {value} is not an unknown"), &help)
            })
        };
        if given.is_empty() {
            return Err(self.error(of, "of names no unknown", &format!("give one of {}", names.join(", "))));
        }
        given.iter().map(unknown).collect()
    }

    fn rule(&self, at: &Spanned<BoundaryFile>, exact: Option<&Function>) -> Result<BoundaryRule> {
        let file = at.get_ref();
        let kind = file.condition.get_ref().as_str();
        let span = |text: &Option<Written>| text.as_ref().map(|text| text.span().start);
        let given = [
            ("value", span(&file.value)),
            ("normal", span(&file.normal)),
            ("coefficient", span(&file.coefficient)),
            ("direction", file.direction.as_ref().map(|all| all.span().start)),
            ("rate", span(&file.rate)),
        ];
        let Some((_, keys)) = CONDITIONS.iter().find(|(name, _)| *name == kind) else {
            let names: Vec<&str> = CONDITIONS.iter().map(|(name, _)| *name).collect();
            let what = format!("there is no boundary condition '{kind}'");
            return Err(self.error(&file.condition, what, &format!("choose one of {}", names.join(", "))));
        };
        let foreign = given.iter().find_map(|(key, start)| start.filter(|_| !keys.contains(key)).map(|at| (key, at)));
        if let Some((key, start)) = foreign {
            let what = format!("a condition '{kind}' has no key '{key}'");
            let help = match keys.len() {
                0 => "remove it".into(),
                _ => format!("remove it; a condition '{kind}' has {}", keys.join(", ")),
            };
            return Err(Error::input_at(self.place(start), what, help));
        }
        let missing = |key: &str| {
            let what = format!("the condition '{kind}' has no {key}");
            self.error(at, what, &format!("give it the key {key}"))
        };
        let required = |text: &Option<Written>, key: &str| match text {
            Some(text) => self.function(text),
            None => Err(missing(key)),
        };
        let exact_or_value = || match (&file.value, exact) {
            (None, Some(exact)) => Ok(exact.clone()),
            _ => required(&file.value, "value"),
        };
        let condition = match kind {
            "dirichlet" => Condition::Dirichlet { value: exact_or_value()? },
            "neumann" => Condition::Neumann { value: required(&file.value, "value")? },
            "robin" => Condition::Robin {
                normal: self.function_or(&file.normal, 1.0)?,
                coefficient: required(&file.coefficient, "coefficient")?,
                value: required(&file.value, "value")?,
            },
            "oblique" => Condition::Oblique {
                direction: match &file.direction {
                    Some(all) => self.each_dimension(all, "the direction")?,
                    None => return Err(missing("direction")),
                },
                coefficient: self.function_or(&file.coefficient, 0.0)?,
                value: required(&file.value, "value")?,
            },
            "initial" => Condition::Initial { value: exact_or_value()?, rate: required(&file.rate, "rate")? },
            "periodic" => return self.periodic(at),
            _ => Condition::Free,
        };
        let when = file.r#where.as_ref().map(|text| {
            Predicate::with(self.written(text)?, &self.variables).map_err(|error| self.in_expression(text, error))
        });
        let on = file.on.as_ref().map(|on| self.face(on.get_ref()));
        Ok(BoundaryRule { on, when: when.transpose()?, ..BoundaryRule::everywhere(condition) })
    }

    /// A periodic condition, which is on both faces across a coordinate.
    fn periodic(&self, at: &Spanned<BoundaryFile>) -> Result<BoundaryRule> {
        let BoundaryFile { on, r#where: when, .. } = at.get_ref();
        if let Some(when) = when {
            let what = "a condition 'periodic' has no key 'where'";
            return Err(self.error(when, what, "remove it; a periodic boundary is all of both faces"));
        }
        let names = self.variables.coordinates.join(", ");
        let help = format!(
            "name the coordinate between both faces, one of {names}, as in on = \"{}\"",
            self.variables.coordinates[0]
        );
        let Some(on) = on else { return Err(self.error(at, "the condition 'periodic' has no key 'on'", &help)) };
        let axis = self.variables.coordinates.iter().position(|name| name == on.get_ref());
        let axis = axis.ok_or_else(|| {
            self.error(on, format!("'{}' is not a coordinate, between whose faces u is periodic", on.get_ref()), &help)
        })?;
        Ok(BoundaryRule::everywhere(Condition::Periodic { axis }))
    }
}
