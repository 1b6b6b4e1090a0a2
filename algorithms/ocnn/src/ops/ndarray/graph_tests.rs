//! Steps on a graph at every SIMD level of this machine against the plain loops of [`crate::parity::reference`].

use firebox_backends::cpu::{Real, SimdLevel};
use firebox_core::random::Random;

use super::graph::{Graph, steps};
use crate::{parity::reference, types::REPLICAS};

/// One step of a random graph whose row i has `count(i)` neighbours.
fn check<E: Real>(n: usize, count: impl Fn(usize) -> usize) {
    let mut random = Random::new(n as u64, 0);
    let (mut starts, mut neighbours, mut weights) = (vec![0], Vec::new(), Vec::new());
    for i in 0..n {
        let first = random.below(n);
        neighbours.extend((0..count(i)).map(|k| ((first + k) % n) as u32));
        weights.extend((0..count(i)).map(|_| E::from_f64(random.uniform(0.0, 2.0) / count(i) as f64)));
        starts.push(neighbours.len() as u32);
    }
    let state: Vec<E> = (0..n * REPLICAS).map(|_| E::from_f64(random.uniform(-1.0, 1.0))).collect();
    let wide = |values: &[E]| values.iter().map(|&value| value.into()).collect::<Vec<f64>>();
    let wanted = reference::graph_step(&starts, &neighbours, &wide(&weights), &wide(&state));
    // As in the parity suite, with weights of a row that sum to at most 2.
    let allowed = |at: usize| 2.0 * (count(at / REPLICAS) as f64 + 5.0) * E::EPSILON.into();
    let graph = Graph::new(starts, &neighbours);
    for level in SimdLevel::all() {
        let (mut x, mut words) = (state.clone(), vec![0; n]);
        steps(level, &graph, &weights, &mut x, 1, &mut words);
        for (at, (&found, &wanted)) in x.iter().zip(&wanted).enumerate() {
            let error = (found.into() - wanted).abs();
            assert!(error <= allowed(at), "{level:?}, n = {n}: [{at}] is {found:?}, not {wanted:e}");
            assert_eq!(words[at / REPLICAS] >> (at % REPLICAS) & 1 == 1, found > E::ZERO, "{level:?}, n = {n}: [{at}]");
        }
        assert!(words.iter().all(|word| word >> REPLICAS == 0), "bits of a step that was not made");
    }
}

#[test]
fn rows_of_all_lengths_are_summed() {
    for n in [1, 2, 255, 256, 257, 700] {
        check::<f32>(n, |i| i % 11);
        check::<f64>(n, |i| i % 11);
    }
}

#[test]
fn parts_of_more_columns_than_16_bits_address_are_summed() {
    let n = (1 << 16) + 700;
    for columns in [1 << 16, n] {
        check::<f64>(n, |i| if i == 300 { columns } else { usize::from(!(256..512).contains(&i)) });
    }
}
