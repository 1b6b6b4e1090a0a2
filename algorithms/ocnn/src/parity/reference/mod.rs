//! Reference implementation in plain loops over f64, for parity tests.
//!
//! Equations of Benderskaya and Tolstov, after Angelini et al., PRL 85 (2000) 554:
//! (1) J_ij = exp(−|r_i − r_j|² / 2a²), (2) x_i(t+1) = (1/C_i) Σ_j J_ij f(x_j(t)), (3) f(x) = 1 − 2x²,
//! (4) C_i = Σ_j J_ij. Equal points are one neuron of multiplicity m ≥ 1.
//!
//! Matrices are row-major. Points are d × n, a row per dimension; trajectories have a row of n per step.

mod graph;
mod network;

pub use graph::{common_ones, distance, graph_step, nearest};
pub use network::{components, couplings, fragmentary_counts, increase_bits, map, phase_counts, step, strengths};
