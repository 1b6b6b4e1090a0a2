//! Equations and regions in problem files.

use std::collections::BTreeMap;

use firebox_core::Result;
use serde::Deserialize;
use toml::Spanned;

use super::{
    domains::DomainFile,
    source::{Source, Written},
};
use crate::problem::{
    equation::{Derivative, Equation},
    function::Function,
    region::Region,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EquationFile {
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
    equation: EquationFile,
    jump: Option<Written>,
    flux_jump: Option<Written>,
}

impl Source<'_> {
    pub(super) fn region(&self, file: &RegionFile, number: usize) -> Result<Region> {
        Ok(Region {
            name: file.name.clone().unwrap_or_else(|| number.to_string()),
            shape: self.domain(&file.shape)?,
            equation: self.equation(&file.equation)?,
            jump: self.function_or(&file.jump, 0.0)?,
            flux_jump: self.function_or(&file.flux_jump, 0.0)?,
        })
    }

    pub(super) fn equation(&self, file: &EquationFile) -> Result<Equation> {
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
            let derivative = self.derivative(key)?;
            if equation.terms.iter().any(|(other, _)| other.is(derivative)) {
                let what = format!("the term '{}' is there already", key.get_ref());
                return Err(self.error(key, what, "add the coefficients of both"));
            }
            equation = equation.with(derivative, self.function(text)?);
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
