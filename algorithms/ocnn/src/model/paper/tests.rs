//! Whole runs on the CPU, on data that once failed.

use std::sync::{Arc, Mutex};

use burn_ndarray::NdArray;
use firebox_core::{
    Error, Observer,
    data::{Shape, generate},
    metrics::adjusted_rand_index,
    random::Random,
};

use super::*;
use crate::config::{Linking, Scale};

type B = NdArray<f32>;

/// Records progress and notices, and cancels in a phase.
#[derive(Default)]
struct Witness {
    progress: Mutex<Vec<(String, u64, u64)>>,
    notices: Mutex<Vec<String>>,
    stop_in: Option<&'static str>,
}

impl Observer for Witness {
    fn progress(&self, phase: &str, done: u64, total: u64) {
        self.progress.lock().unwrap().push((phase.into(), done, total));
    }

    fn notice(&self, text: &str) {
        self.notices.lock().unwrap().push(text.into());
    }

    fn cancelled(&self) -> bool {
        let progress = self.progress.lock().unwrap();
        progress.last().is_some_and(|(phase, done, _)| Some(phase.as_str()) == self.stop_in && *done > 0)
    }
}

fn run(config: &PaperConfig, values: Vec<f64>, d: usize, seed: u64) -> Result<PaperClusters<B>> {
    config.init()?.fit_with(Points::new(values, d)?, &Context::new(Default::default()).seed(seed))
}

fn observed(
    config: &PaperConfig,
    points: &Points,
    seed: u64,
    witness: Witness,
) -> (Result<PaperClusters<B>>, Arc<Witness>) {
    let witness = Arc::new(witness);
    let context = Context::new(Default::default()).seed(seed).observer(witness.clone());
    (config.init().and_then(|ocnn| ocnn.fit_with(points.clone(), &context)), witness)
}

/// Points 1000 apart on a line.
fn far_apart(n: usize) -> Vec<f64> {
    (0..n).map(|i| 1000.0 * i as f64).collect()
}

#[test]
fn isolated_neurons_are_noise_at_any_threshold() {
    for threshold in [0.3, 0.5, 0.55] {
        for self_coupling in [false, true] {
            for keep_sync in [false, true] {
                let config = PaperConfig::new(threshold)
                    .with_scale(Scale::Fixed(1.0))
                    .with_self_coupling(self_coupling)
                    .with_keep_sync(keep_sync);
                let found = run(&config, far_apart(40), 1, 0).unwrap();
                assert_eq!((found.isolated, found.count(), found.noise()), (40, 0, 40), "{config}");
                let identity = |k: usize| if k.is_multiple_of(41) { 1000 } else { 0 };
                if let Some(sync) = found.sync {
                    assert!(sync.neurons().is_none());
                    assert_eq!(sync.into_values().unwrap(), (0..1600).map(identity).collect::<Vec<_>>());
                }

                // With six neurons within reach of each other, and two equal points.
                let values = [far_apart(10), vec![2000.5, 5000.0, 2000.1, 2000.2, 2000.3, 2000.4]].concat();
                let found = run(&config, values, 1, 3).unwrap();
                assert_eq!(found.isolated, 8, "{config}");
                let noise: Vec<bool> = found.host_labels.iter().map(|&label| label < 0).collect();
                let wanted: Vec<bool> = (0..16).map(|i| ![2, 5].contains(&i) && i < 10).collect();
                assert_eq!(noise, wanted, "{config}: {:?}", found.host_labels);
                assert!([10, 12, 13, 14, 15].iter().all(|&i| found.host_labels[i] == found.host_labels[2]));
                assert_eq!(found.host_labels[5], found.host_labels[11]);
                if let Some(sync) = found.sync {
                    // Seven neurons are active, in order along the line; the last is that of both points at 5000.
                    assert_eq!((sync.points(), sync.neuron_of(0), sync.neuron_of(11)), (16, None, Some(6)));
                    let s = sync.into_values().unwrap();
                    assert_eq!((s[0], s[1], s[16], s[17]), (1000, 0, 0, 1000));
                    assert_eq!((s[5 * 16 + 11], s[11 * 16 + 5], s[5 * 16 + 5]), (1000, 1000, 1000));
                }
            }
        }
    }
}

#[test]
fn distances_are_refused() {
    let distances = firebox_core::data::Distances::new(vec![0.0, 1.0, 1.0, 0.0], 2, 2).unwrap();
    let found = PaperConfig::new(0.8).init().unwrap().fit_with::<B>(distances, &Context::new(Default::default()));
    assert!(matches!(found, Err(Error::Input { .. })));
}

#[test]
fn an_isolated_neuron_does_not_affect_others() {
    let config = PaperConfig::new(0.7).with_scale(Scale::Fixed(0.5)).with_keep_sync(true);
    let hepta = generate(Shape::Hepta, None, None, 1).unwrap();
    let alone = run(&config, hepta.values.clone(), 3, 0).unwrap();
    let more = run(&config, [hepta.values, vec![300.0; 3]].concat(), 3, 0).unwrap();
    assert_eq!((alone.isolated + 1, more.host_labels.last()), (more.isolated, Some(&-1)));
}

#[test]
fn a_distant_origin_costs_no_digits() {
    let config = PaperConfig::new(0.85);
    let hepta = generate(Shape::Hepta, None, None, 1).unwrap();
    let truth = hepta.labels.unwrap();
    for offset in [3e7, 1e8, 1e9] {
        let values = hepta.values.iter().map(|x| x + offset).collect();
        let found = run(&config, values, 3, 0).unwrap();
        assert_eq!(found.scale_method, ScaleMethod::Delaunay);
        let ari = adjusted_rand_index(&truth, &found.host_labels).unwrap();
        assert!(ari > 0.99, "{offset:e}: ARI {ari}");
    }
    for factor in [1e-50, 1e39] {
        let values = hepta.values.iter().map(|x| x * factor).collect();
        let ari = adjusted_rand_index(&truth, &run(&config, values, 3, 0).unwrap().host_labels).unwrap();
        assert!(ari > 0.99, "{factor:e}: ARI {ari}");
    }
}

#[test]
fn a_scale_that_overflows_is_refused() {
    let config = |a| PaperConfig::new(0.8).with_scale(Scale::Fixed(a));
    for a in [1e-40, 1e-300] {
        let error = run(&config(a), vec![0.0, 1.0, 2.0, 9.0], 1, 0).unwrap_err();
        assert!(matches!(error, Error::Config { field: "scale", .. }), "{error}");
    }
    let found = run(&config(1e-15), vec![0.0, 1.0, 2.0, 9.0], 1, 0).unwrap();
    assert_eq!(found.isolated, 4);
    // Coordinates near the largest f64.
    let values = vec![1.7e308, 1.69e308, 1.695e308, -1.7e308, -1.69e308, -1.695e308];
    let found = run(&config(1e307).with_self_coupling(true), values, 1, 0).unwrap();
    assert_eq!(found.host_labels, [0, 0, 0, 1, 1, 1]);
}

#[test]
fn many_equal_points_keep_a_small_s() {
    let values: Vec<f64> = (0..600).map(|i| f64::from(i % 6) + if i % 6 > 2 { 50.0 } else { 0.0 }).collect();
    let found = run(&PaperConfig::new(0.8).with_keep_sync(true), values, 1, 0).unwrap();
    let sync = found.sync.unwrap();
    assert_eq!(sync.neurons().unwrap().dims(), [6, 6]);
    let s = sync.into_values().unwrap();
    assert_eq!(s.len(), 360_000);
    assert!((0..600).all(|i| (0..600).all(|j| s[i * 600 + j] == s[(i % 6) * 600 + j % 6] && s[i * 601] == 1000)));
}

#[test]
fn a_run_can_be_cancelled_in_every_long_phase() {
    let config = PaperConfig::new(0.8).with_linking(Linking::BreadthFirst).with_steps(50);
    for d in [2, 3] {
        let mut random = Random::new(1, 0);
        let points = Points::new((0..3000 * d).map(|_| random.unit()).collect(), d).unwrap();
        for phase in ["scale", "simulating", "linking"] {
            let (found, witness) =
                observed(&config, &points, 0, Witness { stop_in: Some(phase), ..Default::default() });
            assert!(matches!(found, Err(Error::Cancelled)), "{phase}");
            let progress = witness.progress.lock().unwrap();
            let (last, done, total) = progress.last().unwrap();
            assert!(last == phase && done < total, "{last} {done} of {total}");
        }
    }
}

#[test]
fn a_notice_reports_neurons_at_rest() {
    // Two tight clusters; in f32 each soon follows one trajectory, which rounding can put on the fixed point −1.
    let mut random = Random::new(5, 0);
    let values = (0..1200).map(|k| 1e-4 * random.normal() + if k >= 600 { 1000.0 } else { 0.0 }).collect();
    let points = Points::new(values, 2).unwrap();
    let config = PaperConfig::new(0.7).with_scale(Scale::Fixed(1.0)).with_steps(20_000);
    let mut notified = 0;
    for seed in 0..6 {
        let (found, witness) = observed(&config, &points, seed, Witness::default());
        let notices = witness.notices.lock().unwrap().join(" ");
        let resting = notices.contains("came to rest") && notices.contains("`precision = f64`");
        println!("seed {seed}: {} clusters, {notices:?}", found.as_ref().unwrap().count());
        assert!(resting || found.unwrap().count() == 2, "{seed}: {notices:?}");
        notified += usize::from(resting);
    }
    assert!(notified > 0, "of 20 000 steps one in some thousands leads to the fixed point");
    let (found, witness) = observed(&config.with_steps(100), &points, 0, Witness::default());
    assert_eq!((found.unwrap().count(), witness.notices.lock().unwrap().len()), (2, 0));
}
