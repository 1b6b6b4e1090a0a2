//! Built-in problems in the language of problem files, with references as exact solutions and random coefficients as functions.

use std::f64::consts::PI;

use firebox_core::{Error, Result, random::Random};

use super::{
    random_fields::{conductivity, slowness, squares, velocities},
    references::{allen_cahn, bratu, burgers, cavity, holes, kuramoto_sivashinsky, screened},
};
use crate::problem::{definition::Problem, function::Function, unknown::Measurements};

/// Values per axis of the grid of measured values of poisson-inverse, and the noise of both inverse problems.
const SENSORS: usize = 50;
const NOISE: f64 = 0.1;

/// Names of the problems, with their texts.
pub(super) const TEXTS: [(&str, &str); 25] = [
    ("bratu", include_str!("bratu.toml")),
    ("burgers1d", include_str!("burgers1d.toml")),
    ("allen-cahn", include_str!("allen-cahn.toml")),
    ("schrodinger", include_str!("schrodinger.toml")),
    ("kovasznay", include_str!("kovasznay.toml")),
    ("plate", include_str!("plate.toml")),
    ("poisson2d-c", include_str!("poisson2d-c.toml")),
    ("poisson2d-cg", include_str!("poisson2d-cg.toml")),
    ("poisson3d-cg", include_str!("poisson3d-cg.toml")),
    ("poisson2d-ms", include_str!("poisson2d-ms.toml")),
    ("poisson-nd", include_str!("poisson-nd.toml")),
    ("heat2d-vc", include_str!("heat2d-vc.toml")),
    ("heat2d-ms", include_str!("heat2d-ms.toml")),
    ("heat2d-cg", include_str!("heat2d-cg.toml")),
    ("heat-nd", include_str!("heat-nd.toml")),
    ("burgers2d", include_str!("burgers2d.toml")),
    ("ns2d-c", include_str!("ns2d-c.toml")),
    ("ns2d-cg", include_str!("ns2d-cg.toml")),
    ("ns2d-lt", include_str!("ns2d-lt.toml")),
    ("wave1d", include_str!("wave1d.toml")),
    ("wave2d-cg", include_str!("wave2d-cg.toml")),
    ("ks", include_str!("ks.toml")),
    ("gs", include_str!("gs.toml")),
    ("poisson-inverse", include_str!("poisson-inverse.toml")),
    ("heat-inverse", include_str!("heat-inverse.toml")),
];

/// The functions to which the text of `name` refers: of exact solutions by another method, or of coefficients; absent if a method
/// fails.
fn functions_of(name: &str) -> Option<Vec<Function>> {
    Some(match name {
        "allen-cahn" => vec![Function::given(allen_cahn())],
        "bratu" => vec![Function::given(bratu(1.0)?)],
        "burgers1d" => vec![Function::given(burgers(0.01 / PI))],
        "burgers2d" => velocities(),
        "heat2d-vc" => vec![conductivity()],
        "ks" => kuramoto_sivashinsky().into(),
        "ns2d-c" => cavity()?,
        "poisson2d-ms" => vec![squares()],
        "wave2d-cg" => vec![slowness()],
        "poisson2d-c" => vec![Function::given(holes()?)],
        "poisson2d-cg" => vec![Function::given(screened()?)],
        _ => Vec::new(),
    })
}

/// Points at which u of an inverse problem is measured.
fn sensors(name: &str, random: &mut Random) -> Option<Vec<f64>> {
    match name {
        "poisson-inverse" => {
            let at = |k: usize| k as f64 / (SENSORS - 1) as f64;
            Some((0..SENSORS * SENSORS).flat_map(|k| [at(k % SENSORS), at(k / SENSORS)]).collect())
        }
        "heat-inverse" => {
            let mut point = |_| [(-1.0, 1.0), (-1.0, 1.0), (0.0, 1.0)].map(|(low, high)| random.uniform(low, high));
            Some((0..SENSORS * SENSORS).flat_map(&mut point).collect())
        }
        _ => None,
    }
}

/// The built-in problem `name`, if it is one of these.
///
/// # Errors
///
/// [`Error::Input`] if the reference solution was not found.
pub(super) fn named(name: &str) -> Result<Option<Problem>> {
    let Some((_, text)) = TEXTS.iter().find(|(other, _)| *other == name) else { return Ok(None) };
    let functions = functions_of(name).ok_or_else(|| {
        Error::input(format!("the reference solution of '{name}' was not found"), "choose another problem")
    })?;
    let problem = Problem::parse_with(text, &functions)?;
    let mut random = Random::new(0, u64::from_be_bytes(*b"rbf-data"));
    let Some(points) = sensors(name, &mut random) else { return Ok(Some(problem)) };
    let count = points.len() / problem.dims();
    let mut values = problem.exact(&points)?.unwrap_or_default();
    values.iter_mut().for_each(|value| *value += NOISE * random.normal());
    let (name, points, values) = (format!("{count} sensors"), points.into(), values.into());
    problem.with_measurements(Measurements { name, unknown: 0, points, values, noise: Some(NOISE) }).map(Some)
}
