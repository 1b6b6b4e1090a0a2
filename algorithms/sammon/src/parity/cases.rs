//! List of all checks.

use firebox_backends::parity::{Case, Check};

use super::{
    problem::Problem,
    shapes::{METRICS, Origin, origins},
};
use crate::{ops::SammonOps, types::Variant};

/// All checks of the operations that the device supports.
pub fn cases<B: SammonOps>(device: &B::Device) -> Vec<Case<Problem<B>>> {
    let mut cases = Vec::new();
    let mut add = |name: String, check: Check<Problem<B>>| {
        cases.push(Case { name, check });
    };
    let variants = Variant::ALL.into_iter().filter(|&variant| B::sammon_strategy(device, variant).is_ok());
    for metric in METRICS {
        add(format!("inverse, {metric}"), Box::new(move |p| p.check_inverse(metric)));
        add(format!("sampled, {metric}"), Box::new(move |p| p.check_sampled(metric)));
    }
    for origin in origins::<B>(device) {
        for variant in variants.clone() {
            add(format!("forces, {variant}, {origin}"), Box::new(move |p| p.check_forces(variant, origin)));
            // A variant's steps apply its forces, so that the source of distances need not be varied again.
            let plain = matches!(origin, Origin::Stored { blocks: false, half: false });
            if variant == Variant::Auto || plain {
                add(format!("steps, {variant}, {origin}"), Box::new(move |p| p.check_steps(variant, origin)));
            }
        }
        add(format!("measure, {origin}"), Box::new(move |p| p.check_measure(origin)));
        add(format!("parts, {origin}"), Box::new(move |p| p.check_parts(origin)));
    }
    add("forces, many points".into(), Box::new(Problem::check_many));
    add("place".into(), Box::new(Problem::check_place));
    cases
}
