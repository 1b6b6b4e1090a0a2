use burn_ndarray::NdArray;
use firebox_core::Context;

use super::*;
use crate::tests::{ranks::ranks, samples};

/// Results of a cycle's operations on each of `size` ranks: c, a, w, I before and after, both root mean squares.
fn results<B: RbfOps>(system: &System, (d, m): (usize, usize), size: usize) -> Vec<Vec<f64>> {
    let (_, network) = samples::mixed(d, m, 1);
    ranks(size, |communicator| {
        let context = Context::<B>::new(Default::default()).communicator(communicator);
        let objective = Objective::new(system, None, &context).unwrap();
        assert_eq!(matches!(objective, Objective::Whole(_)), size == 1);
        let mut network = DeviceNetwork {
            shape: transfer::shape(network.centres(), network.widths(), d, &context.device),
            weights: transfer::vector::<B>(network.weights(), &context.device),
        };
        let (shape, sizes) = objective.descend(&network, [1e-3, 1e-4], 3, &context).unwrap();
        network.shape = shape;
        let limit = (&TimeLimit::new(None), true);
        network.weights = objective.conjugate(&network, 2, limit, &context).unwrap().0;
        let means = objective.root_means(&network, &context).unwrap();
        let DeviceNetwork { shape, weights } = network;
        let read = transfer::fetch([shape.widths, weights, shape.centres], &context).unwrap();
        [read.concat(), sizes.to_vec(), means.to_vec()].concat()
    })
}

/// Sums of n terms in another order differ by n·ε at most; three steps and two iterations amplify that at most a
/// hundredfold.
fn shared_as_alone<B: RbfOps>(d: usize, m: usize, n: usize) {
    let (system, _) = samples::mixed(d, m, n);
    let alone = results::<B>(&system, (d, m), 1).remove(0);
    let epsilon = if size_of::<B::FloatElem>() == 4 { f32::EPSILON.into() } else { f64::EPSILON };
    let tolerance = 100.0 * epsilon * (n + 4) as f64;
    // With four boundary and few interior conditions, some ranks have none of a kind.
    for size in [2, 3, 5] {
        let all = results::<B>(&system, (d, m), size);
        assert!(all.iter().all(|it| *it == all[0]), "the same bits on all ranks");
        for (shared, alone) in all[0].iter().zip(&alone) {
            let off = (shared - alone).abs() / (1.0 + alone.abs());
            assert!(off <= tolerance, "{size} ranks, {n} × {m}: {shared}, not {alone}");
        }
    }
}

#[test]
fn distributed_results_match_a_single_rank() {
    for (d, m, n) in [(2, 7, 1), (2, 9, 3), (3, 20, 100), (2, 70, 500)] {
        shared_as_alone::<NdArray<f64>>(d, m, n);
        shared_as_alone::<NdArray<f32>>(d, m, n);
    }
}

/// A is too large to store, and squares are summed in runs on the device: 36 000 conditions are not a multiple of the
/// run on two ranks, 32 768 are.
#[test]
fn ranks_share_a_matrix_that_is_computed_in_every_pass() {
    shared_as_alone::<NdArray<f64>>(2, 700, 36_000);
    shared_as_alone::<NdArray<f64>>(2, 12, 32_768);
}
