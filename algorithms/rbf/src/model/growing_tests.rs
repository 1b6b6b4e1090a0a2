//! Slabs of time, and continuation.

use burn_ndarray::NdArray;

use super::*;
use crate::{AdaptiveConfig, AdaptiveSolution};

/// The string of the examples over four times as long.
fn string(slabs: &str) -> AdaptiveSolution {
    let text = std::fs::read_to_string("../../examples/problems/vibrating-string.toml").unwrap();
    let text = text.replace("high = [1, 1]", "high = [1, 4]");
    let problem = Problem::parse(&format!("{text}\n[time]\nslabs = {slabs}")).unwrap();
    let config = AdaptiveConfig::new().with_target_error(1e-3);
    config.init(problem).unwrap().fit_with(&Context::<NdArray>::new(Default::default())).unwrap()
}

/// Of many solutions, the iteration from 0 ends at another one.
#[test]
fn a_continuation_leads_to_its_solution() {
    let error = |k: &str| {
        let text = format!(
            "dims = 1\nexact = '10*sin(pi*x)'\ndomain = {{ type = 'box', low = [0], high = [1] }}\n{k}\n\
             boundary = [{{ condition = 'dirichlet' }}]\n\
             equation = {{ residual = 'u_xx + k^2*sin(u) + 10*pi^2*sin(pi*x) - k^2*sin(10*sin(pi*x))' }}",
        );
        let solver = AdaptiveConfig::new().init(Problem::parse(&text).unwrap()).unwrap();
        let found = solver.fit_with(&Context::<NdArray>::new(Default::default())).unwrap();
        let error = found.accuracy().unwrap().relative_l2;
        println!("{k}: error {error:.1e}, estimate {:.1e}, {:?}", found.estimate(), found.end);
        error
    };
    assert!(error("constants = { k = 10 }") > 0.1);
    assert!(error("continuation = { k = [0, 10] }") < 1e-6);
}

/// Each slab starts its iterations from the end of the one before.
#[test]
fn slabs_of_an_equation_that_is_not_linear_are_resolved() {
    let config = AdaptiveConfig::new().with_target_error(1e-2);
    let solver = config.init(Problem::named("burgers1d").unwrap()).unwrap();
    let found = solver.fit_with(&Context::<NdArray>::new(Default::default())).unwrap();
    let error = found.accuracy().unwrap().relative_l2;
    println!("error {error:.1e}, estimate {:.1e}, {:?}", found.estimate(), found.slabs);
    assert!(found.is_resolved() && error <= 1e-2 && error <= 2.0 * found.estimate());
    assert!(found.levels.iter().any(|level| level.steps > 1) && found.levels.iter().all(|level| level.settled));
}

/// Two waves that pass through each other, with a third unknown that has no derivative by time.
#[test]
fn slabs_of_a_system_are_resolved() {
    let problem = Problem::parse(
        "coordinates = ['x', 't']\nunknowns = ['u', 'v', 'w']\ntime = { slabs = 3 }\n\
         exact = ['sin(2*pi*x)*cos(2*pi*t)', 'cos(2*pi*x)*sin(2*pi*t)', 'sin(2*pi*x)^2*cos(2*pi*t)^2']\n\
         domain = { type = 'box', low = [0, 0], high = [1, 1.5] }\n\
         boundary = [{ on = 't=high', condition = 'none' }, { of = 'w', on = 't=low', condition = 'none' }, \
         { on = 'x', condition = 'periodic' }, { of = ['u', 'v'], condition = 'dirichlet' }]\n\
         [[equation]]\nresidual = 'u_t - v_x'\n[[equation]]\nresidual = 'v_t - u_x'\n\
         [[equation]]\nresidual = 'w - u^2'\n",
    );
    let config = AdaptiveConfig::new().with_target_error(1e-3);
    let solver = config.init(problem.unwrap()).unwrap();
    let found = solver.fit_with(&Context::<NdArray>::new(Default::default())).unwrap();
    let error = found.accuracy().unwrap().relative_l2;
    println!("error {error:.1e}, estimate {:.1e}, {:?}", found.estimate(), found.slabs);
    assert!(found.is_resolved() && error <= 1e-3 && error <= 2.0 * found.estimate());
    assert!(found.slabs.len() == 3 && found.networks().len() == 3);
}

#[test]
fn what_has_decayed_is_measured_by_what_was_before() {
    let problem = Problem::parse(
        "coordinates = ['x', 't']\nexact = 'exp(-pi^2*t)*sin(pi*x)'\ntime = { slabs = 4 }\n\
         domain = { type = 'box', low = [0, 0], high = [1, 4] }\nequation = { terms = { u_t = 1, u_xx = -1 } }\n\
         boundary = [{ condition = 'none', on = 't=high' }, { condition = 'dirichlet' }]",
    );
    let config = AdaptiveConfig::new().with_target_error(1e-4);
    let solver = config.init(problem.unwrap()).unwrap();
    let found = solver.fit_with(&Context::<NdArray>::new(Default::default())).unwrap();
    let error = found.accuracy().unwrap().relative_l2;
    println!("error {error:.1e}, estimate {:.1e}, {:?}", found.estimate(), found.slabs);
    assert!(found.is_resolved() && error <= 2.0 * found.estimate());
    // Noise is not resolved.
    assert!(found.slabs[3].neurons <= found.slabs[0].neurons);
}

#[test]
fn slabs_follow_each_other_and_their_errors_add_up() {
    for slabs in ["4", "'auto'"] {
        let found = string(slabs);
        let error = found.accuracy().unwrap().relative_l2;
        println!("{slabs}: {} slabs, error {error:.1e}, estimate {:.1e}", found.slabs.len(), found.estimate());
        assert!(found.is_resolved() && error <= 1e-3 && error <= 2.0 * found.estimate(), "{:?}", found.slabs);
        assert!(found.slabs.len() > 1 && found.slabs[0].from == 0.0 && found.slabs.last().unwrap().to == 4.0);
        assert!(found.slabs.windows(2).all(|pair| pair[0].to == pair[1].from));
        assert_eq!(found.network().len(), found.slabs.iter().map(|slab| slab.neurons).sum::<usize>());
        let worst = found.slabs.iter().fold(0.0f64, |most, slab| most.max(slab.estimate));
        assert!(found.estimate() >= worst / 2.0 && found.level().unwrap().estimate == worst);
    }
}
