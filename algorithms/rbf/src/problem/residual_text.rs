//! Equations as text: residuals, which are formulas of the coordinates, the unknowns and their derivatives.

use std::{fmt, sync::Arc};

use exmex::{Express, FlatEx};
use firebox_core::{Result, error::Place};

use super::{
    affine::{Affine, MAX_ARGUMENTS, Part},
    dual::Dual,
    equation::{Argument, Derivative, Equation},
    expression::{Expression, compile, plain, unreadable},
    function::Function,
    non_linear::NonLinear,
    operators::Operators,
    token::{Variables, syntax_error},
};
use crate::types::MAX_DIMS;

/// Arguments by which one evaluation differentiates. More make every operation cost more, fewer repeat it more often.
const SLOPES: usize = 4;

/// The solution 0.
const ORIGIN: [f64; MAX_ARGUMENTS] = [0.0; MAX_ARGUMENTS];

/// Meaning of a formula's variable: a coordinate or an argument, by its index.
#[derive(Debug, Clone, Copy)]
enum Variable {
    Coordinate(usize),
    Argument(usize),
}

/// The left-hand side F(x, u, ∂u) of an equation F = 0, parsed from text.
#[derive(Clone)]
pub(crate) struct ResidualText {
    text: String,
    place: Arc<Place>,
    parsed: Arc<Parsed>,
}

struct Parsed {
    dims: usize,
    formula: FlatEx<Dual<SLOPES>, Operators>,
    /// The variables of `formula`.
    variables: Vec<Variable>,
    arguments: Vec<Argument>,
    /// The residual as a function of the arguments.
    affine: Affine,
}

impl From<ResidualText> for NonLinear {
    fn from(residual: ResidualText) -> Self {
        let (text, place) = (residual.text().to_owned(), residual.place().clone());
        let arguments = residual.arguments().to_vec();
        let code = move |point: &[f64], values: &[f64], partials: &mut [f64]| residual.at(point, values, partials);
        Self::given(text, arguments, code).at_place(place)
    }
}

impl fmt::Debug for ResidualText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ResidualText").field(&self.text()).finish()
    }
}

impl ResidualText {
    /// Parses a formula of coordinates, constants, and derivatives named u, u_x, u_xx, u_xy or u_x_y by the coordinates.
    ///
    /// # Errors
    ///
    /// [`Error::Input`](firebox_core::Error::Input) that shows the text with a mark under the error, also if the formula
    /// contains neither the unknown nor a derivative.
    pub(super) fn parse(text: &str, variables: &Variables) -> Result<Self> {
        let variables = Variables { in_residual: true, ..variables.clone() };
        let plain = plain(text, &variables, false)?;
        let formula = compile::<Dual<SLOPES>>(&plain, text)?;
        let number = |name: &str, prefix: char| name.strip_prefix(prefix).and_then(|rest| rest.parse::<usize>().ok());
        let mut slots: Vec<usize> = formula.var_names().iter().filter_map(|name| number(name, 'w')).collect();
        slots.sort_unstable();
        if slots.is_empty() {
            let help = format!("use {} in the formula that is 0", variables.derivative_names());
            let names = match variables.unknowns.as_slice() {
                [name] => format!("no {name}"),
                names => format!("none of {}", names.join(", ")),
            };
            let error = syntax_error(0, format!("the equation contains {names}"), help);
            return error.map_err(|error| error.error(text));
        }
        if slots.len() > MAX_ARGUMENTS {
            let what = format!("the equation contains {} different derivatives", slots.len());
            let error = syntax_error(0, what, format!("give at most {MAX_ARGUMENTS} in one equation"));
            return error.map_err(|error| error.error(text));
        }
        let variable = |name: &String| match (number(name, 'v'), number(name, 'w')) {
            (Some(axis), _) => Some(Variable::Coordinate(axis)),
            (_, Some(slot)) => slots.binary_search(&slot).ok().map(Variable::Argument),
            _ => None,
        };
        let found = formula.var_names().iter().map(variable).collect::<Option<Vec<_>>>();
        let found = found.ok_or_else(|| unreadable(text, "it has an unknown variable"))?;
        let all = variables.arguments();
        let arguments = slots.iter().map(|&slot| all[slot]).collect();
        let symbol = |variable: &Variable| match *variable {
            Variable::Coordinate(_) => Affine::VARIABLE,
            Variable::Argument(k) => Affine::argument(k),
        };
        let affine = compile::<Affine>(&plain, text)?.eval(&found.iter().map(symbol).collect::<Vec<_>>());
        let affine = affine.map_err(|error| unreadable(text, &error.to_string()))?;
        let dims = variables.coordinates.len();
        let parsed = Arc::new(Parsed { dims, formula, variables: found, arguments, affine });
        Ok(Self { text: text.trim().into(), place: Arc::default(), parsed })
    }

    /// Sets the position that errors name.
    pub(super) fn at_place(mut self, place: Place) -> Self {
        self.place = Arc::new(place);
        self
    }

    /// The text, trimmed.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The position of the text; empty if unknown.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// The derivatives that occur, each once; mixed ones by the earlier coordinate first.
    pub(super) fn arguments(&self) -> &[Argument] {
        &self.parsed.arguments
    }

    /// F at a point with the values of the arguments; its partial derivatives by each argument are written to `partials`.
    /// All are NaN where they are undefined.
    pub(super) fn at(&self, point: &[f64], values: &[f64], partials: &mut [f64]) -> f64 {
        let mut value = f64::NAN;
        for (group, partials) in partials[..self.arguments().len()].chunks_mut(SLOPES).enumerate() {
            let result = self.parsed.differentiate(point, values, group * SLOPES);
            value = result.value;
            partials.copy_from_slice(&result.slopes[..partials.len()]);
        }
        value
    }

    /// The equation as a linear one, so that the sum of coefficients times derivatives is the right-hand side, if F is
    /// affine in its arguments, as far as its form shows.
    pub(super) fn linear(&self) -> Option<Equation> {
        let Parsed { affine, arguments, .. } = self.parsed.as_ref();
        if !affine.is_affine {
            return None;
        }
        let rhs = match affine.offset {
            Part::Constant(value) => Part::Constant(0.0 - value),
            Part::Varying => Part::Varying,
        };
        let rhs = self.function(rhs, |parsed, point| 0.0 - parsed.differentiate(point, &ORIGIN, 0).value);
        let mut equation = Equation::new(rhs);
        for ((k, argument), part) in arguments.iter().enumerate().zip(affine.coefficients) {
            if part != Part::Constant(0.0) {
                let coefficient =
                    move |parsed: &Parsed, point: &[f64]| parsed.differentiate(point, &ORIGIN, k).slopes[0];
                equation = equation.with(*argument, self.function(part, coefficient));
            }
        }
        Some(with_laplacian(equation, self.parsed.dims))
    }

    fn function(&self, part: Part, code: impl Fn(&Parsed, &[f64]) -> f64 + Send + Sync + 'static) -> Function {
        match part {
            Part::Constant(value) if value.is_finite() => Function::Constant(value),
            _ => {
                let parsed = self.parsed.clone();
                let place = self.place.as_ref().clone();
                Function::Written(Expression::derived(&self.text, place, move |point| code(&parsed, point)))
            }
        }
    }
}

impl Parsed {
    /// F and its derivatives by the arguments from number `first` on.
    fn differentiate(&self, point: &[f64], values: &[f64], first: usize) -> Dual<SLOPES> {
        let mut numbers = [Dual::default(); MAX_DIMS + MAX_ARGUMENTS];
        for (number, variable) in numbers.iter_mut().zip(&self.variables) {
            match *variable {
                Variable::Coordinate(axis) => number.value = point[axis],
                Variable::Argument(k) => {
                    number.value = values[k];
                    if let Some(slope) = k.checked_sub(first).and_then(|slope| number.slopes.get_mut(slope)) {
                        *slope = 1.0;
                    }
                }
            }
        }
        let undefined = Dual { value: f64::NAN, slopes: [f64::NAN; SLOPES] };
        self.formula.eval(&numbers[..self.variables.len()]).unwrap_or(undefined)
    }
}

/// The equation of one unknown with one term for all u_xx, u_yy, … if their coefficients are the same constant.
fn with_laplacian(mut equation: Equation, dims: usize) -> Equation {
    let is_pure = |of: &Argument| matches!(of.derivative, Derivative::Second(i, j) if i == j);
    if equation.terms.iter().any(|(of, _)| of.unknown != 0) {
        return equation;
    }
    let pure: Vec<_> = equation.terms.iter().filter(|(of, _)| is_pure(of)).collect();
    let same = pure.first().and_then(|(_, first)| first.constant());
    let Some(factor) = same.filter(|_| pure.len() == dims && pure.iter().all(|(_, it)| it.constant() == same)) else {
        return equation;
    };
    equation.terms.retain(|(of, _)| !is_pure(of));
    equation.with(Derivative::Laplacian, Function::Constant(factor))
}

#[cfg(test)]
#[path = "residual_text_tests.rs"]
mod tests;
