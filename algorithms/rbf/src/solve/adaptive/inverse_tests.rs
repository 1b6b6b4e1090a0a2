//! Coefficients that measured values determine.

use burn_ndarray::NdArray;
use firebox_core::{Context, random::Random};

use super::End;
use crate::{AdaptiveConfig, AdaptiveSolution, Measurements, Problem};

/// Heat in a rod, whose diffusivity is 0.3.
const ROD: &str = "
coordinates = ['x', 't']
parameters = { D = 1 }
exact = ['exp(-0.3*pi^2*t)*sin(pi*x)', '0.3']
equation = { residual = 'u_t - D*u_xx' }
domain = { type = 'box', low = [0, 0], high = [1, 1] }
boundary = [{ on = 't=high', condition = 'none' }, { condition = 'dirichlet' }]";

/// A rod at rest with a source, u = sin(πx)/2.
const REST: &str = "
coordinates = ['x']
parameters = { D = 1 }
equation = { residual = 'D*u_xx + pi^2*sin(pi*x)' }
domain = { type = 'box', low = [0], high = [1] }
boundary = [{ condition = 'dirichlet', value = 0 }]";

/// Exact values of the first unknown at random points, with noise.
fn measured(problem: Problem, n: usize, sigma: f64, noise: Option<f64>, random: &mut Random) -> Problem {
    let (low, high) = problem.domain().bounds();
    let at = |_| low.iter().zip(high).map(|(low, high)| random.uniform(*low, *high)).collect::<Vec<_>>();
    let points = (0..n).flat_map(at).collect::<Vec<f64>>();
    let mut values = problem.exact(&points).unwrap().unwrap();
    values.iter_mut().for_each(|value| *value += sigma * random.normal());
    let measurements =
        Measurements { name: "sensors".into(), unknown: 0, points: points.into(), values: values.into(), noise };
    problem.with_measurements(measurements).unwrap()
}

fn fit(problem: Problem, target_error: f64) -> AdaptiveSolution {
    fit_with(AdaptiveConfig::new().with_target_error(target_error), problem)
}

fn fit_with(config: AdaptiveConfig, problem: Problem) -> AdaptiveSolution {
    let found = config.init(problem).unwrap().fit_with(&Context::<NdArray>::new(Default::default())).unwrap();
    let error = found.accuracy().map_or(f64::NAN, |it| it.relative_l2);
    let (estimate, fits) = (found.estimate(), &found.found);
    println!("error {error:.1e}, estimate {estimate:.1e}, {} neurons, {fits:?}, {:?}", found.neurons(), found.end);
    found
}

#[test]
fn a_number_is_found_from_exact_values() {
    for noise in [None, Some(0.0)] {
        let problem = Problem::parse(ROD).unwrap();
        let found = fit(measured(problem, 60, 0.0, noise, &mut Random::new(1, 0)), 1e-6);
        let error = found.accuracy().unwrap().relative_l2;
        assert!(found.end == End::Resolved && error <= 2.0 * found.estimate());
        assert!((found.found.parameters[0].value - 0.3).abs() < 1e-6);
    }
}

/// Errors of a number over many draws of the noise are as large as their standard errors say; the noise is found too.
#[test]
fn standard_errors_are_those_of_the_noise() {
    let (runs, sigma) = (30, 0.02);
    let (mut scores, mut noises) = (0.0, 0.0);
    for run in 0..runs {
        let text = format!("exact = ['sin(pi*x)/2', '2']\n{REST}");
        let given = Some(sigma).filter(|_| run % 2 == 0);
        let found = fit(measured(Problem::parse(&text).unwrap(), 40, sigma, given, &mut Random::new(run, 1)), 1e-3);
        assert_eq!(found.end, End::Noise);
        let number = found.found.parameters[0];
        scores += ((number.value - 2.0) / number.standard_error).powi(2) / runs as f64;
        noises += if given.is_none() { found.found.fits[0].noise / (runs / 2) as f64 } else { 0.0 };
    }
    // χ² of 30 degrees of freedom is within 13.8 and 53.7 with a probability of 0.99; the noise
    // by 40 values has a standard deviation of 1/√78 of itself, its mean over 15 runs a third of a tenth.
    println!("mean squared score {scores:.2}, mean noise {noises:.4}");
    assert!((13.8 / 30.0..53.7 / 30.0).contains(&scores), "{scores}");
    assert!((noises - sigma).abs() < 0.1 * sigma, "{noises}");
}

#[test]
fn a_source_is_found_from_exact_values() {
    let text = "
        fields = { f = 0 }
        exact = ['sin(2*x)*exp(y)', '3*sin(2*x)*exp(y)']
        equation = { residual = 'u_xx + u_yy + f' }
        domain = { type = 'box', low = [0, 0], high = [1, 1] }
        boundary = [{ of = ['u', 'f'], condition = 'dirichlet' }]";
    let problem = Problem::parse(text).unwrap();
    let found = fit(measured(problem, 400, 0.0, Some(0.0), &mut Random::new(2, 0)), 1e-3);
    let error = found.accuracy().unwrap().relative_l2;
    assert!(found.is_resolved() && error <= 1e-3 && error <= 2.0 * found.estimate());
}

/// A diffusivity that does not depend on time has neurons along x only.
#[test]
fn a_function_of_one_of_two_coordinates_is_found() {
    let text = "
        coordinates = ['x', 't']
        fields = { 'a(x)' = 1 }
        exact = ['exp(-t)*sin(pi*x)', '2 + sin(3*x)']
        domain = { type = 'box', low = [0, 0], high = [1, 1] }
        boundary = [{ on = 't=high', condition = 'none' }, { of = 'a', condition = 'dirichlet' }, { condition = 'dirichlet' }]
        [equation]
        residual = '''u_t - a*u_xx - a_x*u_x
            + exp(-t)*((1 - pi^2*(2 + sin(3*x)))*sin(pi*x) + 3*pi*cos(3*x)*cos(pi*x))'''";
    let problem = Problem::parse(text).unwrap();
    let found = fit(measured(problem, 300, 0.0, Some(0.0), &mut Random::new(7, 0)), 1e-4);
    let error = found.accuracy().unwrap().relative_l2;
    assert!(found.is_resolved() && error <= 1e-4 && error <= 2.0 * found.estimate());
    let [u, a] = [&found.networks()[0], &found.networks()[1]];
    assert!(a.len() * a.len() < 4 * u.len(), "{} of {}", a.len(), u.len());
    let values = |t: f64| a.evaluate(&[0.3, t, 0.9, t]);
    assert_eq!(values(0.0), values(1.0));
}

#[test]
fn a_coefficient_is_found_from_noisy_values() {
    let found = fit(Problem::named("poisson-inverse").unwrap(), 1e-6);
    let error = found.accuracy().unwrap().relative_l2;
    assert_eq!(found.end, End::Noise);
    assert!(error <= 2e-2 && error <= 2.0 * found.estimate(), "{error}");
}

/// A field and a solution without boundary conditions, of which curvatures are chosen by the noisy values.
#[test]
fn a_source_is_found_from_noisy_values() {
    let text = "
        fields = { f = 0 }
        exact = ['sin(2*x)*exp(y)', '3*sin(2*x)*exp(y)']
        equation = { residual = 'u_xx + u_yy + f' }
        domain = { type = 'box', low = [0, 0], high = [1, 1] }
        boundary = [{ of = 'f', condition = 'dirichlet' }]";
    for seed in [0, 1] {
        let problem = measured(Problem::parse(text).unwrap(), 400, 0.02, None, &mut Random::new(seed, 0));
        let found = fit(problem, 1e-3);
        let error = found.accuracy().unwrap().relative_l2;
        assert!(found.is_resolved() && error <= 0.1 && error <= 2.0 * found.estimate(), "{error}");
        assert!((found.found.fits[0].noise - 0.02).abs() < 0.002);
    }
}

#[test]
fn numbers_that_the_values_do_not_determine_have_large_standard_errors() {
    let text = REST.replace("D = 1", "D = 1, E = 1").replace("D*u_xx", "D*E*u_xx");
    let text = format!("exact = ['sin(pi*x)/2', '2', '1']\n{text}");
    let found = fit(measured(Problem::parse(&text).unwrap(), 40, 0.01, Some(0.01), &mut Random::new(3, 0)), 1e-3);
    let [d, e] = [found.found.parameters[0], found.found.parameters[1]];
    assert!(d.standard_error > d.value.abs() && e.standard_error > e.value.abs());
}

/// A term that is absent, and values of which some are exact and some are noisy.
#[test]
fn a_number_that_is_0_is_found_from_two_sets() {
    let text = ROD.replace("D = 1", "D = 1, c = 1").replace("- D*u_xx", "- D*u_xx + c*u");
    let text = text.replace("sin(pi*x)', '0.3'", "sin(pi*x) + exp(-1.2*pi^2*t)*sin(2*pi*x)', '0.3', '0'");
    let random = &mut Random::new(4, 0);
    let problem = measured(Problem::parse(&text).unwrap(), 200, 1e-3, Some(1e-3), random);
    let problem = measured(problem, 3, 0.0, Some(0.0), random);
    let found = fit_with(AdaptiveConfig::new().with_target_error(1e-3).with_max_neurons(500), problem);
    let c = found.found.parameters[1];
    assert!(c.value.abs() <= 4.0 * c.standard_error && c.standard_error < 0.05, "{c:?}");
}

#[test]
fn one_value_does_not_give_its_noise() {
    let text = format!("exact = ['sin(pi*x)/2', '2']\n{REST}");
    let found = fit(measured(Problem::parse(&text).unwrap(), 1, 0.0, None, &mut Random::new(5, 0)), 1e-3);
    let number = found.found.parameters[0];
    assert!(number.standard_error > 5e-3 && (number.value - 2.0).abs() < 1e-2, "{number:?}");
}

#[test]
fn numbers_in_other_units_are_found() {
    let text = ROD.replace("D = 1", "D = 1e-6").replace("D*u_xx", "1e6*D*u_xx").replace("'0.3'", "'3e-7'");
    let found = fit(measured(Problem::parse(&text).unwrap(), 60, 0.0, Some(0.0), &mut Random::new(6, 0)), 1e-6);
    assert!(found.is_resolved() && (found.found.parameters[0].value / 3e-7 - 1.0).abs() < 1e-5);
}
