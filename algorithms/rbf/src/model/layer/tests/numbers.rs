//! Random layers, points and losses; gradients by finite differences of the reference, and by Burn's differentiation.

use burn::{
    module::Param,
    tensor::{
        Tensor,
        backend::{AutodiffBackend, Backend},
    },
};
use firebox_core::{
    random::Random,
    tensor::{floats, read_floats},
};

use crate::{
    model::layer::RbfLayer,
    ops::RbfOps,
    parity::reference::Functional,
    tests::reference::slope,
    types::{Form, Term},
};

/// α·Δu + β·∇u + γ·u.
pub(super) const ALL: Form = Form { laplacian: Term::Each, gradient: true, value: Term::Each };

/// Output of a layer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum OutputKind {
    Value,
    Gradient,
    Laplacian,
    All,
}

pub(super) const OUTPUT_KINDS: [OutputKind; 4] =
    [OutputKind::Value, OutputKind::Gradient, OutputKind::Laplacian, OutputKind::All];

/// A layer of 6 neurons and 2 outputs, 5 points, and a loss Σ v·output.
#[derive(Clone)]
pub(super) struct Numbers {
    pub d: usize,
    /// c, d × m.
    pub centres: Vec<f64>,
    pub log_widths: Vec<f64>,
    /// Outputs × m.
    pub weights: Vec<f64>,
    /// n × d.
    pub points: Vec<f64>,
    /// α, β, γ, n × (d + 2).
    pub coefficients: Vec<f64>,
    /// v, n × outputs × d for gradients, else × 1.
    pub values: Vec<f64>,
}

pub(super) const M: usize = 6;
pub(super) const N: usize = 5;
pub(super) const OUTPUTS: usize = 2;

impl Numbers {
    pub fn new(d: usize, seed: u64) -> Self {
        let mut random = Random::new(seed, d as u64);
        let mut draw = |count: usize| -> Vec<f64> { (0..count).map(|_| random.uniform(-1.0, 1.0)).collect() };
        Self {
            d,
            centres: draw(d * M),
            log_widths: draw(M).into_iter().map(|q| 0.3 * q).collect(),
            weights: draw(OUTPUTS * M),
            points: draw(N * d),
            coefficients: draw(N * (d + 2)),
            values: draw(N * OUTPUTS * d),
        }
    }

    pub fn layer<B: Backend>(&self, device: &B::Device) -> RbfLayer<B> {
        RbfLayer {
            centres: Param::from_tensor(floats(self.centres.clone(), [self.d, M], device)),
            log_widths: Param::from_tensor(floats(self.log_widths.clone(), [M], device)),
            weights: Param::from_tensor(floats(self.weights.clone(), [OUTPUTS, M], device)),
        }
    }

    pub fn points<B: Backend>(&self, device: &B::Device) -> Tensor<B, 2> {
        floats(self.points.clone(), [N, self.d], device)
    }

    /// The loss of `found` `[n, outputs · each]`.
    pub fn weighed<B: Backend>(&self, found: Tensor<B, 2>) -> Tensor<B, 1> {
        let count = found.dims()[1];
        (found.clone() * floats(self.values[..N * count].to_vec(), [N, count], &found.device())).sum()
    }

    /// The loss by the reference.
    pub fn loss(&self, kind: OutputKind) -> f64 {
        let units: Vec<Vec<f64>> =
            (0..self.d).map(|k| (0..self.d).map(|l| f64::from(u8::from(k == l))).collect()).collect();
        let mut terms = Vec::new();
        for (x, own) in self.points.chunks(self.d).zip(self.coefficients.chunks(self.d + 2)) {
            let functionals: Vec<Functional> = match kind {
                OutputKind::Value => vec![Functional { alpha: 0.0, beta: &[], gamma: 1.0 }],
                OutputKind::Laplacian => vec![Functional { alpha: 1.0, beta: &[], gamma: 0.0 }],
                OutputKind::Gradient => units.iter().map(|beta| Functional { alpha: 0.0, beta, gamma: 0.0 }).collect(),
                OutputKind::All => {
                    vec![Functional { alpha: own[0], beta: &own[1..=self.d], gamma: own[self.d + 1] }]
                }
            };
            for weights in self.weights.chunks(M) {
                for functional in &functionals {
                    let neuron = |k: usize| {
                        let centre: Vec<f64> = (0..self.d).map(|axis| self.centres[axis * M + k]).collect();
                        weights[k] * functional.of(x, &centre, self.log_widths[k].exp())
                    };
                    terms.push((0..M).map(neuron).sum::<f64>());
                }
            }
        }
        terms.iter().zip(&self.values).map(|(term, v)| term * v).sum()
    }

    /// The gradient of the loss by c, q, w and x, by central differences of 6th order.
    pub fn differences(&self, kind: OutputKind) -> [Vec<f64>; 4] {
        const H: f64 = 2e-3;
        let parts: [fn(&mut Self) -> &mut Vec<f64>; 4] =
            [|it| &mut it.centres, |it| &mut it.log_widths, |it| &mut it.weights, |it| &mut it.points];
        parts.map(|part| {
            let one = |(k, &at): (usize, &f64)| {
                let moved = |to: f64| {
                    let mut moved = self.clone();
                    part(&mut moved)[k] = to;
                    moved.loss(kind)
                };
                slope(moved, at, H)
            };
            part(&mut self.clone()).iter().enumerate().map(one).collect()
        })
    }

    /// The loss of the output `found`, and its gradient by c, q, w and x.
    pub fn gradients<B: AutodiffBackend>(
        &self,
        found: impl Fn(&RbfLayer<B>, Tensor<B, 2>) -> Tensor<B, 2>,
    ) -> (f64, [Vec<f64>; 4]) {
        let device = Default::default();
        let (layer, points) = (self.layer::<B>(&device), self.points::<B>(&device).require_grad());
        let loss = self.weighed(found(&layer, points.clone()));
        let gradients = loss.backward();
        let of = |gradient: Option<Vec<f64>>| gradient.unwrap();
        let all = [
            of(layer.centres.val().grad(&gradients).map(host)),
            of(layer.log_widths.val().grad(&gradients).map(host)),
            of(layer.weights.val().grad(&gradients).map(host)),
            of(points.grad(&gradients).map(host)),
        ];
        (host(loss)[0], all)
    }

    /// The output of the layer `[n, outputs · each]`.
    pub fn evaluate<B: RbfOps>(&self, kind: OutputKind, layer: &RbfLayer<B>, points: Tensor<B, 2>) -> Tensor<B, 2> {
        match kind {
            OutputKind::Value => layer.forward(points),
            OutputKind::Laplacian => layer.laplacian(points),
            OutputKind::Gradient => layer.gradient(points).flatten(1, 2),
            OutputKind::All => {
                let own = floats(self.coefficients.clone(), [N, self.d + 2], &points.device());
                layer.functional(points, ALL, Some(own))
            }
        }
    }

    /// [`evaluate`](Self::evaluate) in tensor operations on arrays of n × m × d, which Burn differentiates.
    pub fn formula<B: Backend>(&self, kind: OutputKind, layer: &RbfLayer<B>, points: Tensor<B, 2>) -> Tensor<B, 2> {
        let (d, device) = (self.d, points.device());
        let delta = points.unsqueeze_dim::<3>(1) - layer.centres.val().transpose().unsqueeze::<3>();
        let square = layer.log_widths.val().mul_scalar(2.0).exp().unsqueeze::<2>();
        let s = delta.clone().square().sum_dim(2).squeeze_dim::<2>(2) / square.clone();
        let phi = s.clone().neg().exp();
        let weights = || layer.weights.val().transpose();
        let value = || phi.clone().matmul(weights());
        let laplacian = || {
            let curvature = s.clone().mul_scalar(4.0).sub_scalar(2.0 * d as f64) / square.clone();
            (phi.clone() * curvature).matmul(weights())
        };
        let slope = |axis: usize| {
            let across = delta.clone().slice([0..N, 0..M, axis..axis + 1]).squeeze_dim::<2>(2);
            (phi.clone() * across / square.clone()).mul_scalar(-2.0).matmul(weights())
        };
        match kind {
            OutputKind::Value => value(),
            OutputKind::Laplacian => laplacian(),
            OutputKind::Gradient => Tensor::stack::<3>((0..d).map(slope).collect(), 2).flatten(1, 2),
            OutputKind::All => {
                let own = floats::<B, 2>(self.coefficients.clone(), [N, d + 2], &device);
                let own = |k: usize| own.clone().slice([0..N, k..k + 1]);
                let drift = (0..d).map(|axis| slope(axis) * own(axis + 1));
                drift.fold(laplacian() * own(0) + value() * own(d + 1), |sum, term| sum + term)
            }
        }
    }
}

pub(super) fn host<B: Backend, const D: usize>(tensor: Tensor<B, D>) -> Vec<f64> {
    read_floats(tensor, "a test").unwrap()
}

/// The largest difference relative to the largest expected value.
pub(super) fn apart(found: &[f64], wanted: &[f64]) -> f64 {
    assert_eq!(found.len(), wanted.len());
    let largest = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
    let off = largest(&mut found.iter().zip(wanted).map(|(a, b)| if a == b { 0.0 } else { (a - b).abs() }));
    assert!(found.iter().all(|x| x.is_finite()));
    off / largest(&mut wanted.iter().map(|x| x.abs()))
}
