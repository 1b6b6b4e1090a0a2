//! The list of checks.

use firebox_backends::parity::{Case, Check};

use super::{graph, problem::Problem};
use crate::{ops::OcnnOps, types::Matvec};

/// All checks, an entry per operation.
pub fn cases<B: OcnnOps>(device: &B::Device) -> Vec<Case<Problem<B>>> {
    let mut cases = Vec::new();
    let mut add = |name: String, check: Check<Problem<B>>| {
        cases.push(Case { name, check });
    };
    add("strengths".into(), Box::new(Problem::check_strengths));
    add("weights".into(), Box::new(Problem::check_weights));
    let variants = [Matvec::Auto, Matvec::ThreadPerNeuron, Matvec::YThreads, Matvec::XThreads];
    for matvec in variants.into_iter().filter(|&matvec| B::ocnn_strategy(device, matvec, 0, 2).is_ok()) {
        for stored in [true, false] {
            let weights = if stored { "stored" } else { "on the fly" };
            add(format!("steps, {matvec}, {weights}"), Box::new(move |p| p.check_steps(matvec, stored)));
            // The default chooses several neurons per row only for sizes that are too large for the reference.
            for rows in [1, 2, 4].into_iter().filter(|_| matvec == Matvec::XThreads) {
                let name = format!("steps, {matvec}, {weights}, {rows} neurons a row");
                add(name, Box::new(move |p| p.check_shared(rows, stored)));
            }
        }
    }
    for (rows, span) in [(1, 32), (4, 64)] {
        // Only CubeCL backends have such tiles; elsewhere this repeats the check of steps.
        let name = format!("steps, tiles of {span} within reach, {rows} neurons a row");
        add(name, Box::new(move |p| p.check_reach(rows, span)));
    }
    add("increase bits".into(), Box::new(Problem::check_bits));
    add("phase sync".into(), Box::new(Problem::check_phase_sync));
    add("fragmentary sync".into(), Box::new(Problem::check_fragmentary_sync));
    add("phase components".into(), Box::new(Problem::check_phase_components));
    add("fragmentary components".into(), Box::new(Problem::check_fragmentary_components));
    add("phase links".into(), Box::new(Problem::check_phase_links));
    add("fragmentary links".into(), Box::new(Problem::check_fragmentary_links));
    cases.extend(graph::cases());
    cases
}
