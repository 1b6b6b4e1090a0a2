//! The whole of it on sets with known classes, drawn anew, and on points without structure.

use burn_ndarray::NdArray;
use firebox_core::{
    Context,
    data::{Points, Shape, generate},
    metrics::adjusted_rand_index,
    random::Random,
};

use super::*;

fn context(seed: u64) -> Context<NdArray> {
    Context::new(Default::default()).seed(seed)
}

fn found(config: &AutoConfig, points: &Points, seed: u64) -> Clustering {
    config.init().unwrap().cluster(&AutoInput::Points(points.clone()), &context(seed)).unwrap()
}

fn ari(points: &Points, found: &Clustering) -> f64 {
    adjusted_rand_index(points.labels.as_ref().unwrap(), &found.labels).unwrap()
}

/// `n` points in `d` dimensions, spread evenly or normally.
fn structureless(n: usize, d: usize, normal: bool, seed: u64) -> Points {
    let mut random = Random::new(seed, 5);
    let values = (0..n * d).map(|_| if normal { random.normal() } else { random.unit() }).collect();
    Points::new(values, d).unwrap()
}

#[test]
fn shapes_are_found_without_a_knob() {
    for (shape, least) in [
        (Shape::Hepta, 0.99),
        (Shape::Lsun, 0.99),
        (Shape::Target, 0.99),
        (Shape::TwoDiamonds, 0.98),
        (Shape::Chainlink, 0.99),
        (Shape::Atom, 0.99),
        (Shape::Wingnut, 0.99),
        (Shape::Tetra, 0.97),
    ] {
        let mut all = Vec::new();
        for seed in 0..3 {
            let points = generate(shape, None, None, 40 + seed).unwrap();
            all.push(ari(&points, &found(&AutoConfig::new(), &points, seed)));
        }
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        assert!(mean >= least, "{shape:?}: {all:?}");
    }
}

#[test]
fn without_structure_there_is_one_cluster() {
    let mut wrong = Vec::new();
    for (n, d, normal) in [(100, 2, true), (300, 2, false), (600, 3, true), (600, 2, false), (300, 8, false)] {
        let more = (0..4).filter(|&seed| {
            let points = structureless(n, d, normal, 700 + seed);
            found(&AutoConfig::new(), &points, seed).count() > 1
        });
        wrong.push(more.count());
    }
    // One in ten is allowed: of 20, more than 5 would happen by chance in one of a hundred runs.
    assert!(wrong.iter().sum::<usize>() <= 5, "{wrong:?}");
}

#[test]
fn tmp_null() {
    let get = |name: &str| std::env::var(name).unwrap();
    let (n, d, seeds): (usize, usize, u64) =
        (get("N").parse().unwrap(), get("D").parse().unwrap(), get("S").parse().unwrap());
    for normal in [false, true] {
        let all: Vec<String> = (0..seeds)
            .map(|seed| {
                let f = found(&AutoConfig::new(), &structureless(n, d, normal, 9000 + seed), seed);
                format!("{:.2}/{}", f.steps.first().map_or(0.0, |s| s.contrast), f.count())
            })
            .collect();
        println!("N={n} D={d} normal={normal}: {}", all.join(" "));
    }
}
