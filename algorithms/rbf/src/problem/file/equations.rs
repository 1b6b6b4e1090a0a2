//! Equations and regions in problem files.

use std::{collections::BTreeMap, fmt};

use firebox_core::{Error, Result, error::Place};
use serde::{Deserialize, Deserializer, de};
use toml::Spanned;

use super::{
    domains::DomainFile,
    source::{Source, Written},
};
use crate::problem::{
    equation::{Derivative, Equation},
    function::Function,
    region::Region,
    residual_text::ResidualText,
};

/// One table, or an array of tables.
pub(super) struct EquationsFile(Vec<EquationFile>);

impl<'de> Deserialize<'de> for EquationsFile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = EquationsFile;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table [equation] or [[equation]]")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> std::result::Result<EquationsFile, A::Error> {
                EquationFile::deserialize(de::value::MapAccessDeserializer::new(map))
                    .map(|one| EquationsFile(vec![one]))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut all: A) -> std::result::Result<EquationsFile, A::Error> {
                let mut found = Vec::new();
                while let Some(next) = all.next_element()? {
                    found.push(next);
                }
                Ok(EquationsFile(found))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EquationFile {
    /// A formula that is 0, instead of all other keys.
    residual: Option<Written>,
    laplacian: Option<Written>,
    gradient: Option<Spanned<Vec<Written>>>,
    value: Option<Written>,
    #[serde(default)]
    terms: BTreeMap<Spanned<String>, Written>,
    rhs: Option<Written>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RegionFile {
    name: Option<String>,
    shape: Spanned<DomainFile>,
    equation: Spanned<EquationsFile>,
    jump: Option<Written>,
    flux_jump: Option<Written>,
}

impl Source<'_> {
    pub(super) fn region(&self, file: &RegionFile, number: usize) -> Result<Region> {
        let mut equations = self.equations(&file.equation)?;
        let Some(equation) = equations.pop().filter(|_| equations.is_empty()) else {
            let what = format!("a region has {} equations", equations.len() + 1);
            return Err(self.error(&file.equation, what, "give one; regions have one unknown"));
        };
        Ok(Region {
            name: file.name.clone().unwrap_or_else(|| number.to_string()),
            shape: self.domain(&file.shape)?,
            equation,
            jump: self.function_or(&file.jump, 0.0)?,
            flux_jump: self.function_or(&file.flux_jump, 0.0)?,
        })
    }

    /// The equations of the domain or a region; at least one.
    pub(super) fn equations(&self, at: &Spanned<EquationsFile>) -> Result<Vec<Equation>> {
        if at.get_ref().0.is_empty() {
            return Err(self.error(at, "there is no equation", "give a table [equation]"));
        }
        let equation = |file: &EquationFile| match &file.residual {
            Some(text) => self.residual(file, text),
            None => self.equation_of_terms(file),
        };
        at.get_ref().0.iter().map(equation).collect()
    }

    /// The equation of a table that has `residual`.
    fn residual(&self, file: &EquationFile, text: &Written) -> Result<Equation> {
        let start = |text: &Option<Written>| text.as_ref().map(|text| text.span().start);
        let others = [
            ("laplacian", start(&file.laplacian)),
            ("gradient", file.gradient.as_ref().map(|all| all.span().start)),
            ("value", start(&file.value)),
            ("terms", file.terms.keys().next().map(|key| key.span().start)),
            ("rhs", start(&file.rhs)),
        ];
        if let Some((key, start)) = others.into_iter().find_map(|(key, start)| Some((key, start?))) {
            let what = format!("an equation with a residual has no key '{key}'");
            let help = match key {
                "rhs" => "subtract the right-hand side in the residual, as residual = \"u_xx + u_yy - sin(x)\"",
                _ => "write this term in the residual, or leave residual out",
            };
            return Err(Error::input_at(self.place(start), what, help));
        }
        let residual = ResidualText::parse(self.written(text)?, &self.variables);
        let residual = residual.map_err(|error| self.in_expression(text, error))?;
        let residual = residual.at_place(Place { file: self.file.clone(), ..self.place(text.span().start) });
        Ok(residual.linear().unwrap_or_else(|| Equation::new(Function::Constant(0.0)).with_non_linear(residual.into())))
    }

    fn equation_of_terms(&self, file: &EquationFile) -> Result<Equation> {
        let start = |text: &Option<Written>| text.as_ref().map(|text| text.span().start);
        let of_one = [
            ("laplacian", start(&file.laplacian)),
            ("gradient", file.gradient.as_ref().map(|all| all.span().start)),
            ("value", start(&file.value)),
        ];
        if let Some((key, start)) = of_one.into_iter().find_map(|(key, start)| Some((key, start?)))
            && self.variables.unknowns.len() > 1
        {
            let what = format!("'{key}' is that of one unknown, and there are {}", self.variables.unknown_names());
            return Err(Error::input_at(self.place(start), what, "write terms = { u_xx = … }, or a residual"));
        }
        let mut equation = Equation::new(self.function_or(&file.rhs, 0.0)?);
        if let Some(text) = &file.laplacian {
            equation = equation.with(Derivative::Laplacian, self.function(text)?);
        }
        if let Some(all) = &file.gradient {
            for (axis, factor) in self.each_dimension(all, "the gradient")?.into_iter().enumerate() {
                equation = equation.with(Derivative::First(axis), factor);
            }
        }
        if let Some(text) = &file.value {
            equation = equation.with(Derivative::Value, self.function(text)?);
        }
        for (key, text) in &file.terms {
            let argument = self.derivative(key)?;
            if equation.terms.iter().any(|(other, _)| other.is(argument)) {
                let what = format!("the term '{}' is there already", key.get_ref());
                return Err(self.error(key, what, "add the coefficients of both"));
            }
            equation = equation.with(argument, self.function(text)?);
        }
        Ok(equation)
    }

    /// Functions, one per dimension.
    pub(super) fn each_dimension(&self, all: &Spanned<Vec<Written>>, what: &str) -> Result<Vec<Function>> {
        let (count, dims) = (all.get_ref().len(), self.dims());
        if count != dims {
            let what = format!("{what} has {count} coefficients");
            return Err(self.error(all, what, &format!("give {dims}, one a dimension")));
        }
        all.get_ref().iter().map(|text| self.function(text)).collect()
    }
}
