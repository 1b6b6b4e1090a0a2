//! Equations: derivatives with their coefficients, and a nonlinear part.

use firebox_core::{Error, Result};

pub(crate) use super::derivative::Terms;
pub use super::derivative::{Argument, Derivative};
use super::{function::Function, non_linear::NonLinear};

/// An equation of second order: the sum of its terms, each a coefficient times a derivative, and of a nonlinear part, if it
/// has one, is `rhs`.
#[derive(Debug, Clone)]
pub struct Equation {
    /// Derivatives of the unknowns, each at most once, and their coefficients.
    pub terms: Vec<(Argument, Function)>,
    /// Nonlinear part.
    pub non_linear: Option<NonLinear>,
    /// Right-hand side.
    pub rhs: Function,
}

impl Equation {
    /// An equation without terms yet.
    pub fn new(rhs: Function) -> Self {
        Self { terms: Vec::new(), non_linear: None, rhs }
    }

    /// Poisson's equation Δu = rhs.
    pub fn poisson(rhs: Function) -> Self {
        Self::new(rhs).with(Derivative::Laplacian, Function::Constant(1.0))
    }

    /// The equation with a further term: a coefficient times a derivative, of the first unknown if no other is given.
    pub fn with(mut self, of: impl Into<Argument>, coefficient: Function) -> Self {
        self.terms.push((of.into(), coefficient));
        self
    }

    /// The equation with a nonlinear part instead of its present one.
    pub fn with_non_linear(self, part: NonLinear) -> Self {
        Self { non_linear: Some(part), ..self }
    }

    /// The derivatives that occur, without those of coefficient 0; some may be there twice.
    pub(super) fn arguments(&self) -> impl Iterator<Item = Argument> {
        let terms = self.terms.iter().filter(|(_, coefficient)| coefficient.constant() != Some(0.0));
        let arguments = self.non_linear.iter().flat_map(|part| part.arguments().iter().copied());
        terms.map(|(of, _)| *of).chain(arguments)
    }

    /// Fails for an equation that is not one of `unknowns` in `dims` dimensions.
    pub(super) fn check(&self, dims: usize, unknowns: usize) -> Result<()> {
        let all = self.terms.iter().map(|(of, _)| *of).chain(self.arguments());
        if let Some(argument) = all.into_iter().find(|it| it.unknown >= unknowns) {
            let what = format!("the equation contains unknown {}, and the problem has {unknowns}", argument.unknown);
            return Err(Error::input(what, "unknowns are counted from 0"));
        }
        for (k, (Argument { derivative, .. }, _)) in self.terms.iter().enumerate() {
            if derivative.axes().iter().any(|&axis| axis >= dims) {
                let what = format!("the equation has the term {derivative:?} in {dims} dimensions");
                return Err(Error::input(what, "coordinates are counted from 0"));
            }
            if self.terms[..k].iter().any(|(other, _)| other.is(self.terms[k].0)) {
                let what = format!("the equation has the term {derivative:?} twice");
                return Err(Error::input(what, "add their coefficients"));
            }
        }
        let mut arguments = self.non_linear.iter().flat_map(NonLinear::arguments);
        if let Some(argument) = arguments.find(|it| it.derivative.axes().iter().any(|&axis| axis >= dims)) {
            let what = format!("the equation depends on {:?} in {dims} dimensions", argument.derivative);
            return Err(Error::input(what, "coordinates are counted from 0"));
        }
        if let Some(part) = &self.non_linear {
            let all = part.arguments();
            if all.iter().enumerate().any(|(k, one)| all[..k].iter().any(|other| other.is(*one))) {
                let what = format!("the nonlinear part '{}' has an argument twice", part.text());
                return Err(Error::input(what, "give each derivative once"));
            }
            if all.is_empty() {
                let what = format!("the nonlinear part '{}' has no arguments", part.text());
                return Err(Error::input(what, "give the derivatives of u that it depends on"));
            }
        }
        if self.arguments().next().is_none() {
            let what = "the equation asks nothing of u: all its coefficients are 0";
            return Err(Error::input(
                what,
                "give laplacian, gradient, value or terms a coefficient, or write the equation as residual",
            ));
        }
        Ok(())
    }
}
