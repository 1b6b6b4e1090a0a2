//! Equations: derivatives with their coefficients, and a nonlinear part.

use firebox_core::{Error, Result};

pub use super::derivative::Derivative;
pub(crate) use super::derivative::Terms;
use super::{function::Function, non_linear::NonLinear};

/// An equation of second order: the sum of its terms, each a coefficient times a derivative, and of a nonlinear part, if it
/// has one, is `rhs`.
#[derive(Debug, Clone)]
pub struct Equation {
    /// Derivatives, each at most once, and their coefficients.
    pub terms: Vec<(Derivative, Function)>,
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

    /// The equation with a further term.
    pub fn with(mut self, derivative: Derivative, coefficient: Function) -> Self {
        self.terms.push((derivative, coefficient));
        self
    }

    /// The equation with a nonlinear part instead of its present one.
    pub fn with_non_linear(self, part: NonLinear) -> Self {
        Self { non_linear: Some(part), ..self }
    }

    /// The derivatives that occur, without those of coefficient 0; some may be there twice.
    pub(super) fn derivatives(&self) -> impl Iterator<Item = Derivative> {
        let terms = self.terms.iter().filter(|(_, coefficient)| coefficient.constant() != Some(0.0));
        let arguments = self.non_linear.iter().flat_map(|part| part.arguments().iter().copied());
        terms.map(|(derivative, _)| *derivative).chain(arguments)
    }

    pub(super) fn check(&self, dims: usize) -> Result<()> {
        for (k, (derivative, _)) in self.terms.iter().enumerate() {
            if derivative.axes().iter().any(|&axis| axis >= dims) {
                let what = format!("the equation has the term {derivative:?} in {dims} dimensions");
                return Err(Error::input(what, "coordinates are counted from 0"));
            }
            if self.terms[..k].iter().any(|(other, _)| other.is(*derivative)) {
                let what = format!("the equation has the term {derivative:?} twice");
                return Err(Error::input(what, "add their coefficients"));
            }
        }
        let mut arguments = self.non_linear.iter().flat_map(NonLinear::arguments);
        if let Some(argument) = arguments.find(|it| it.axes().iter().any(|&axis| axis >= dims)) {
            let what = format!("the equation depends on {argument:?} in {dims} dimensions");
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
        if self.derivatives().next().is_none() {
            let what = "the equation asks nothing of u: all its coefficients are 0";
            return Err(Error::input(
                what,
                "give laplacian, gradient, value or terms a coefficient, or write the equation as residual",
            ));
        }
        Ok(())
    }
}
