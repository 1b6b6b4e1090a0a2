//! Elementwise forward error bounds of a correct implementation.
//!
//! u is the unit roundoff. First-order terms in u are summed; [`SECOND_ORDER`] adds a tenth for the rest.
//!
//! - Sums and products: k roundings are k·u of the absolute values. k terms in any order add k·u of their absolute sum.
//! - Functions: division within 5 ulp of 2u each ([`APPROXIMATE`]): Vulkan allows 2.5, and division by a power of a may
//!   take two. e^x within 3 + 2|x| ulp (Vulkan), also as 2^y with y = 1.45·x.
//! - s: d differences, squares and sums, (d + 4)u; a² and a division; a product with log₂ e.
//! - φ = e⁻ˢ: the error of s and that of the function; 0 below the smallest normal number.
//! - α(4s − 2d)/a², β·(x − c)/a², γ and their counterparts in the derivatives: each term with the error of its factors.
//!   Terms may cancel, so errors are relative to their absolute sum, the `size` of an element.

use std::ops::Range;

use super::reference::Functional;
use crate::types::Conditions;

/// Allowance for second-order terms: all relative errors are below 0.05.
const SECOND_ORDER: f64 = 1.1;
/// Error of a division in u.
const APPROXIMATE: f64 = 10.0;

/// Exact values with error bounds.
#[derive(Debug, Clone, Default)]
pub(super) struct Expected {
    pub values: Vec<f64>,
    pub errors: Vec<f64>,
}

impl Expected {
    pub fn exact(values: &[f64]) -> Self {
        Self { values: values.to_vec(), errors: vec![0.0; values.len()] }
    }

    pub fn zeros(count: usize) -> Self {
        Self::exact(&vec![0.0; count])
    }

    /// A range of the values.
    pub fn of(&self, which: Range<usize>) -> Self {
        Self { values: self.values[which.clone()].to_vec(), errors: self.errors[which].to_vec() }
    }

    pub fn push(&mut self, (value, error): (f64, f64)) {
        self.values.push(value);
        self.errors.push(error);
    }

    /// The allowed error of element `k`, second-order terms included.
    pub fn allowed(&self, k: usize) -> f64 {
        SECOND_ORDER * self.errors[k]
    }

    /// Adds `factor` times `others` with the relative error `within`.
    pub fn add(&mut self, factor: f64, within: f64, others: &Self) {
        let mine = self.values.iter_mut().zip(&mut self.errors);
        for ((value, error), (other, off)) in mine.zip(others.values.iter().zip(&others.errors)) {
            *value += factor * other;
            *error += factor.abs() * (off + within * other.abs());
        }
    }
}

/// A sum with its error bound.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Element {
    pub value: f64,
    pub error: f64,
    /// The absolute sum of its terms.
    pub size: f64,
}

/// Rounding of the float under test.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rounding {
    /// u.
    pub u: f64,
    /// The smallest normal number.
    pub tiny: f64,
}

/// A neuron whose width has the relative error `width_error`.
#[derive(Debug, Clone, Copy)]
struct Neuron<'a> {
    centre: &'a [f64],
    width: f64,
    width_error: f64,
}

impl Rounding {
    /// Relative error of e^±x beyond that caused by the error of x.
    pub fn of_exp(self, x: f64) -> f64 {
        (6.0 + 6.0 * x.abs()) * self.u
    }

    /// s, φ, and the relative errors of φ and of a term of its factor.
    fn factors(self, x: &[f64], neuron: Neuron<'_>) -> (f64, f64, f64, f64) {
        let (u, d) = (self.u, x.len() as f64);
        let r2: f64 = x.iter().zip(neuron.centre).map(|(x, c)| (x - c) * (x - c)).sum();
        let s = r2 / (neuron.width * neuron.width);
        let in_s = (d + 8.0 + APPROXIMATE) * u;
        (s, (-s).exp(), s * in_s + self.of_exp(s), in_s + (APPROXIMATE + d + 8.0) * u)
    }

    /// Lφ at `x`.
    fn element(self, functional: &Functional<'_>, x: &[f64], neuron: Neuron<'_>) -> Element {
        let (s, phi, in_phi, in_term) = self.factors(x, neuron);
        let (a2, sizes) = (neuron.width * neuron.width, Sizes::of(functional, x, neuron.centre));
        let inner = sizes.alpha * (4.0 * s + 2.0 * x.len() as f64) / a2 + 2.0 * sizes.along / a2 + sizes.gamma;
        let moved = match neuron.width_error {
            0.0 => 0.0,
            e => (functional.by_width(x, neuron.centre, neuron.width) * neuron.width * e).abs(),
        };
        Element {
            value: functional.of(x, neuron.centre, neuron.width),
            error: phi * inner * (in_phi + in_term) + self.tiny * (1.0 + inner) + moved,
            size: phi * inner,
        }
    }

    /// Derivatives of Lφ by c and a.
    fn slopes(self, functional: &Functional<'_>, x: &[f64], neuron: Neuron<'_>) -> Vec<Element> {
        let (s, phi, in_phi, in_term) = self.factors(x, neuron);
        let (d, a) = (x.len() as f64, neuron.width);
        let (a2, sizes) = (a * a, Sizes::of(functional, x, neuron.centre));
        let values = |width: f64| {
            let mut values = functional.by_centre(x, neuron.centre, width);
            values.push(functional.by_width(x, neuron.centre, width));
            values
        };
        let inner = sizes.alpha * (4.0 * s + 2.0 * d + 4.0) / a2 + 2.0 * sizes.along / a2 + sizes.gamma;
        let beta = functional.beta.iter().copied().chain(std::iter::repeat(0.0));
        let by_centre = x.iter().zip(neuron.centre).zip(beta);
        let mut inners: Vec<f64> = by_centre.map(|((x, c), b)| 2.0 / a2 * ((x - c).abs() * inner + b.abs())).collect();
        let curvature = sizes.alpha * (8.0 * s * s + (4.0 * d + 16.0) * s + 4.0 * d) / a2;
        inners.push((curvature + 4.0 * (1.0 + s) * sizes.along / a2 + 2.0 * sizes.gamma * s) / a);
        let error = in_phi + 2.0 * in_term + (APPROXIMATE + 6.0) * self.u;
        // Derivatives by a of these by central differences, within 1e-7.
        let h = 1e-4 * a;
        let moved: Vec<f64> = match neuron.width_error {
            0.0 => vec![0.0; inners.len()],
            e => {
                let sides = values(a + h).into_iter().zip(values(a - h));
                sides.map(|(more, less)| ((more - less) / (2.0 * h) * a * e).abs()).collect()
            }
        };
        let all = values(a).into_iter().zip(inners).zip(moved);
        all.map(|((value, inner), moved)| Element {
            value,
            error: phi * inner * error + self.tiny * (1.0 + inner) + moved,
            size: phi * inner,
        })
        .collect()
    }
}

/// Absolute values of the terms of a functional.
struct Sizes {
    alpha: f64,
    /// Σ|β_k·(x − c)_k|.
    along: f64,
    gamma: f64,
}

impl Sizes {
    fn of(functional: &Functional<'_>, x: &[f64], centre: &[f64]) -> Self {
        let across = x.iter().zip(centre).map(|(x, c)| x - c);
        Self {
            alpha: functional.alpha.abs(),
            along: functional.beta.iter().zip(across).map(|(b, x)| (b * x).abs()).sum(),
            gamma: functional.gamma.abs(),
        }
    }
}

/// A `[n, m]` with error bounds of its elements.
#[derive(Debug, Clone)]
pub(super) struct BoundedMatrix {
    pub elements: Vec<Element>,
    /// Derivatives by c and a, d + 1 per element.
    slopes: Vec<Element>,
    n: usize,
    m: usize,
    u: f64,
}

impl BoundedMatrix {
    /// A of conditions; widths have the relative errors `width_errors`, or 0 if that is empty.
    pub fn new(
        rounding: Rounding,
        conditions: &Conditions,
        centres: &[f64],
        widths: &[f64],
        width_errors: &[f64],
        slopes: bool,
    ) -> Self {
        let (n, m, d) = (conditions.len(), widths.len(), conditions.dims);
        let mut bounded = Self { elements: Vec::with_capacity(n * m), slopes: Vec::new(), n, m, u: rounding.u };
        for i in 0..n {
            let (functional, x) = (Functional::at(conditions, i), conditions.point(i));
            for (k, (centre, &width)) in centres.chunks(d).zip(widths).enumerate() {
                let neuron = Neuron { centre, width, width_error: width_errors.get(k).copied().unwrap_or(0.0) };
                bounded.elements.push(rounding.element(&functional, x, neuron));
                if slopes {
                    bounded.slopes.extend(rounding.slopes(&functional, x, neuron));
                }
            }
        }
        bounded
    }

    /// An exact matrix, row-major.
    pub fn stored(rounding: Rounding, matrix: &[f64], m: usize) -> Self {
        let elements = matrix.iter().map(|&value| Element { value, error: 0.0, size: value.abs() }).collect();
        Self { elements, slopes: Vec::new(), n: matrix.len() / m, m, u: rounding.u }
    }

    pub fn matrix(&self) -> Expected {
        let mut expected = Expected::default();
        self.elements.iter().for_each(|element| expected.push((element.value, element.error)));
        expected
    }

    /// A·p.
    pub fn times(&self, p: &Expected) -> Expected {
        let mut products = Expected::default();
        for row in self.elements.chunks(self.m) {
            let terms = row.iter().zip(p.values.iter().zip(&p.errors));
            products.push(total(terms, self.m, self.u));
        }
        products
    }

    /// A·w − t.
    pub fn residual(&self, w: &Expected, target: &[f64]) -> Expected {
        let mut residual = self.times(w);
        for ((value, error), t) in residual.values.iter_mut().zip(&mut residual.errors).zip(target) {
            *error += 2.0 * self.u * (value.abs() + t.abs());
            *value -= t;
        }
        residual
    }

    /// Aᵀ·v.
    pub fn transposed_times(&self, v: &Expected) -> Expected {
        let mut sums = Expected::default();
        for k in 0..self.m {
            let column = self.elements.iter().skip(k).step_by(self.m);
            sums.push(total(column.zip(v.values.iter().zip(&v.errors)), self.n, self.u));
        }
        sums
    }

    /// Σ|A_ik|·v_i, sizes for |A|.
    pub fn sizes(&self, v: &[f64]) -> Vec<f64> {
        let column = |k: usize| self.elements.iter().skip(k).step_by(self.m);
        (0..self.m).map(|k| column(k).zip(v).map(|(element, v)| element.size * v.abs()).sum()).collect()
    }

    /// Σ_k |A_ik·p_k|, sizes for |A|.
    pub fn row_sizes(&self, p: &[f64]) -> Vec<f64> {
        let row = |row: &[Element]| row.iter().zip(p).map(|(element, p)| element.size * p.abs()).sum();
        self.elements.chunks(self.m).map(row).collect()
    }

    /// Σ_i v_i·w_k·∂(Lφ_k)/∂(c_k, a_k) `[d + 1, m]`.
    pub fn gradient(&self, weights: &[f64], v: &Expected) -> Expected {
        let d1 = self.slopes.len().checked_div(self.elements.len()).unwrap_or(0);
        let mut gradient = Expected::default();
        for row in 0..d1 {
            for (k, w) in weights.iter().enumerate() {
                let column = self.slopes.iter().skip(k * d1 + row).step_by(self.m * d1);
                let (value, error) = total(column.zip(v.values.iter().zip(&v.errors)), self.n, self.u);
                gradient.push((w * value, w.abs() * (error + 2.0 * self.u * value.abs())));
            }
        }
        gradient
    }

    /// Σ_k w_k·∂(Lφ_k)/∂x `[d, n]`.
    pub fn slopes(&self, weights: &[f64]) -> Expected {
        let d1 = self.slopes.len().checked_div(self.elements.len()).unwrap_or(0);
        let (w, mut slopes) = (Expected::exact(weights), Expected::default());
        for axis in 0..d1.saturating_sub(1) {
            for row in self.slopes.chunks(self.m * d1) {
                let terms = row.iter().skip(axis).step_by(d1).zip(w.values.iter().zip(&w.errors));
                let (value, error) = total(terms, self.m, self.u);
                slopes.push((-value, error + 2.0 * self.u * value.abs()));
            }
        }
        slopes
    }
}

/// Σ element·factor of `count` terms in any order.
pub(super) fn total<'a>(
    terms: impl Iterator<Item = (&'a Element, (&'a f64, &'a f64))>,
    count: usize,
    u: f64,
) -> (f64, f64) {
    let (mut value, mut error) = (0.0, 0.0);
    for (element, (factor, off)) in terms {
        value += element.value * factor;
        error += element.error * factor.abs() + element.value.abs() * off;
        error += (count + 2) as f64 * u * element.size * factor.abs();
    }
    (value, error)
}
