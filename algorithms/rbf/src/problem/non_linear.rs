//! Nonlinear parts of equations, and their linearisation about a given u.

use std::{fmt, sync::Arc};

use firebox_core::{Error, Result, error::Place, random::Random, watch::Watch};
use rayon::prelude::*;

use super::{
    derivative::{Argument, Derivative, Terms},
    function::{Function, format_point},
};
use crate::types::Coefficient;

/// Points per task.
const BLOCK: usize = 256;
/// Step of the finite differences of a function, in sides of the domain's box.
const STEP: f64 = 1e-4;

/// Code that takes a point and the values of the arguments there, writes the partial derivatives by each argument, and
/// returns F.
type Code = dyn Fn(&[f64], &[f64], &mut [f64]) -> f64 + Send + Sync;
/// Code that takes a region, points, row-major, and derivatives, and returns the values of each derivative.
type StateCode = dyn Fn(usize, &[f64], &[Argument]) -> Result<Vec<Vec<f64>>> + Send + Sync;

/// A function F(x, u, ∂u) of the coordinates and of derivatives of the unknowns, its arguments, with its partial derivatives.
#[derive(Clone)]
pub struct NonLinear {
    text: String,
    arguments: Vec<Argument>,
    code: Arc<Code>,
    place: Arc<Place>,
}

impl fmt::Debug for NonLinear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NonLinear").field(&self.text).finish()
    }
}

/// The unknowns about which equations are linearised.
#[derive(Clone)]
pub(crate) struct State(Arc<StateCode>);

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("State")
    }
}

impl NonLinear {
    /// F in code, with `text` for messages. The code takes a point and the values of the `arguments` there, writes ∂F by each
    /// argument into its third parameter, and returns F.
    ///
    /// ```
    /// use firebox_rbf::{Derivative, NonLinear};
    ///
    /// // u·∂u/∂x
    /// let arguments = vec![Derivative::Value, Derivative::First(0)];
    /// let advection = NonLinear::given("u*u_x", arguments, |_, u, partials| {
    ///     partials.copy_from_slice(&[u[1], u[0]]);
    ///     u[0] * u[1]
    /// });
    /// ```
    pub fn given(
        text: impl Into<String>,
        arguments: Vec<impl Into<Argument>>,
        code: impl Fn(&[f64], &[f64], &mut [f64]) -> f64 + Send + Sync + 'static,
    ) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        Self { text: text.into(), arguments, code: Arc::new(code), place: Arc::default() }
    }

    /// Sets the position of the text, for messages.
    pub(super) fn at_place(self, place: Place) -> Self {
        Self { place: Arc::new(place), ..self }
    }

    /// The text, for messages.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The derivatives that F depends on.
    pub fn arguments(&self) -> &[Argument] {
        &self.arguments
    }

    /// Returns `true` if the linearisation's coefficients of second derivatives depend on derivatives of u, tested at random
    /// values, so that they define no flux A∇u.
    pub(super) fn has_no_flux(&self, point: &[f64]) -> bool {
        const TRIALS: usize = 16;
        let mut random = Random::new(0, 0);
        (0..TRIALS).any(|_| {
            let mut values: Vec<f64> = self.arguments.iter().map(|_| random.unit()).collect();
            let [mut first, mut second] = [vec![0.0; values.len()], vec![0.0; values.len()]];
            (self.code)(point, &values, &mut first);
            let derivatives =
                values.iter_mut().zip(&self.arguments).filter(|(_, of)| of.derivative != Derivative::Value);
            derivatives.for_each(|(value, _)| *value = random.unit());
            (self.code)(point, &values, &mut second);
            let pairs = self.arguments.iter().zip(first.iter().zip(&second));
            let mut seconds =
                pairs.filter(|(of, _)| matches!(of.derivative, Derivative::Second(..) | Derivative::Laplacian));
            seconds.any(|(_, (one, other))| (one - other).abs() > 1e-9 * (one.abs() + other.abs()))
        })
    }

    /// The terms of F's linearisation about u, ∂F/∂q·q for each argument q, and Σ ∂F/∂q·q − F of u: the right-hand side
    /// that linearised terms equal where F is 0. `points` are row-major, n × dims.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] where F or its derivatives are not finite, and those of `state`.
    pub(super) fn linearised(
        &self,
        points: &[f64],
        dims: usize,
        state: impl FnOnce(&[Argument]) -> Result<Vec<Vec<f64>>>,
    ) -> Result<(Terms, Vec<f64>)> {
        let (n, count) = (points.len() / dims, self.arguments.len());
        let values = state(&self.arguments)?;
        let (mut partials, mut rhs) = (vec![0.0; n * count], vec![0.0; n]);
        let watch = Watch::current();
        let blocks = partials.par_chunks_mut(BLOCK * count).zip(rhs.par_chunks_mut(BLOCK)).enumerate();
        blocks.filter(|_| !watch.stopped()).for_each(|(block, (partials, rhs))| {
            let mut own = vec![0.0; count];
            for (i, (partials, rhs)) in partials.chunks_mut(count).zip(rhs).enumerate() {
                let row = block * BLOCK + i;
                own.iter_mut().zip(&values).for_each(|(own, all)| *own = all[row]);
                let f = (self.code)(&points[row * dims..(row + 1) * dims], &own, partials);
                *rhs = partials.iter().zip(&own).map(|(partial, q)| partial * q).sum::<f64>() - f;
            }
        });
        watch.go_on()?;
        let finite =
            |row: &usize| rhs[*row].is_finite() && partials[row * count..][..count].iter().all(|p| p.is_finite());
        if let Some(row) = (0..n).find(|row| !finite(row)) {
            let u: Vec<String> = values.iter().map(|all| format!("{:.3e}", all[row])).collect();
            let what = format!(
                "'{}' or its derivative is not finite at {}, where its arguments are {}",
                self.text,
                format_point(&points[row * dims..(row + 1) * dims]),
                u.join(", ")
            );
            return Err(Error::input_at(
                (*self.place).clone(),
                what,
                "give initial = \"…\", a first u where it is finite, or write it to be finite for any u, as with max(u, 0)",
            ));
        }
        let column = |k: usize| Coefficient::Each(partials.iter().skip(k).step_by(count).copied().collect());
        Ok((self.arguments.iter().enumerate().map(|(k, argument)| (*argument, column(k))).collect(), rhs))
    }
}

impl State {
    /// Code that takes a region, points, row-major, and derivatives, and returns the values of each derivative.
    pub(crate) fn new(
        code: impl Fn(usize, &[f64], &[Argument]) -> Result<Vec<Vec<f64>>> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(code))
    }

    /// A function for each unknown, with central differences of second order as derivatives: within `low` and `high`, the
    /// corners of the domain's box. Unknowns without a function are 0.
    pub(super) fn of_functions(functions: Vec<Function>, low: &[f64], high: &[f64]) -> Self {
        let (low, high) = (low.to_vec(), high.to_vec());
        Self::new(move |_, points, arguments| {
            let of = |&Argument { unknown, derivative }: &Argument| match functions.get(unknown) {
                Some(function) => differences(function, points, [&low, &high], derivative),
                None => Ok(vec![0.0; points.len() / low.len()]),
            };
            arguments.iter().map(of).collect()
        })
    }

    /// The values of derivatives at points of a region.
    pub(super) fn values(&self, region: usize, points: &[f64], arguments: &[Argument]) -> Result<Vec<Vec<f64>>> {
        (self.0)(region, points, arguments)
    }
}

/// A derivative of `function` at points by central differences, whose centre is moved into the box where they would leave it.
fn differences(
    function: &Function,
    points: &[f64],
    [low, high]: [&[f64]; 2],
    derivative: Derivative,
) -> Result<Vec<f64>> {
    let dims = low.len();
    let steps: Vec<f64> = low.iter().zip(high).map(|(low, high)| STEP * (high - low)).collect();
    // Points moved by some steps along some axes, with the centre moved inwards along these.
    let moved = |by: &[(usize, f64)]| -> Result<Vec<f64>> {
        let mut all = points.to_vec();
        for point in all.chunks_exact_mut(dims) {
            for &(axis, count) in by {
                let step = steps[axis];
                point[axis] = point[axis].clamp(low[axis] + step, high[axis] - step) + count * step;
            }
        }
        function.finite_values(&all, dims, "the first u of the iteration")
    };
    let sum = |parts: &[(&[(usize, f64)], f64)], over: f64| -> Result<Vec<f64>> {
        let mut sum = vec![0.0; points.len() / dims];
        for (by, factor) in parts {
            sum.iter_mut().zip(moved(by)?).for_each(|(sum, value)| *sum += factor * value / over);
        }
        Ok(sum)
    };
    let second = |i: usize| sum(&[(&[(i, 1.0)], 1.0), (&[(i, 0.0)], -2.0), (&[(i, -1.0)], 1.0)], steps[i] * steps[i]);
    match derivative {
        Derivative::Value => moved(&[]),
        Derivative::First(i) => sum(&[(&[(i, 1.0)], 0.5), (&[(i, -1.0)], -0.5)], steps[i]),
        Derivative::Second(i, j) if i == j => second(i),
        Derivative::Second(i, j) => {
            let corner = |a: f64, b: f64| [(i, a), (j, b)];
            let corners = [
                (corner(1.0, 1.0), 0.25),
                (corner(-1.0, -1.0), 0.25),
                (corner(1.0, -1.0), -0.25),
                (corner(-1.0, 1.0), -0.25),
            ];
            sum(&corners.each_ref().map(|(by, factor)| (&by[..], *factor)), steps[i] * steps[j])
        }
        Derivative::Laplacian => {
            let mut all = vec![0.0; points.len() / dims];
            for axis in 0..dims {
                all.iter_mut().zip(second(axis)?).for_each(|(sum, value)| *sum += value);
            }
            Ok(all)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_those_of_the_function_up_to_the_edge_of_the_box() {
        let function = Function::written("x^2*y + 3*x*y^2 - x", 2).unwrap();
        let state = State::of_functions(vec![function], &[0.0, 0.0], &[1.0, 2.0]);
        let points = [0.3, 0.4, 0.0, 2.0, 1.0, 0.0];
        let all = [
            Derivative::Value,
            Derivative::First(0),
            Derivative::First(1),
            Derivative::Second(0, 0),
            Derivative::Second(1, 0),
            Derivative::Laplacian,
        ];
        let found = state.values(0, &points, &all.map(Argument::from)).unwrap();
        for (i, p) in points.chunks(2).enumerate() {
            let (x, y) = (p[0], p[1]);
            let expected = [
                x * x * y + 3.0 * x * y * y - x,
                2.0 * x * y + 3.0 * y * y - 1.0,
                x * x + 6.0 * x * y,
                2.0 * y,
                2.0 * x + 6.0 * y,
                2.0 * y + 6.0 * x,
            ];
            for (found, expected) in found.iter().zip(expected) {
                assert!((found[i] - expected).abs() < 5e-3, "{} for {expected} at {p:?}", found[i]);
            }
        }
    }
}
