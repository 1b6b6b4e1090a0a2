//! The data of interactive reports.

use base64::{Engine, engine::general_purpose::STANDARD};
use burn_ndarray::NdArray;
use firebox_core::{Context, html::Page};
use serde_json::Value;

use crate::{config::AdaptiveConfig, problem::definition::Problem};

const SQUARE: &str = "domain = { type = 'box', low = [0, 0], high = [1, 1] }\n";

fn solution(text: &str) -> Value {
    let problem = Problem::parse(text).unwrap();
    let config = AdaptiveConfig::new().with_target_error(1e-2).with_max_neurons(300);
    let solver = config.init(problem.clone()).unwrap();
    let solution = solver.fit_with(&Context::<NdArray>::new(Default::default())).unwrap();
    let Page { mut content, .. } = solution.page(&problem, &config).unwrap();
    content.remove("solution").unwrap()
}

fn poisson(regions: &str) -> Value {
    solution(&format!(
        "{SQUARE}equation = {{ laplacian = 1, rhs = 1 }}\nboundary = [{{ condition = 'dirichlet', value = 0 }}]\n{regions}"
    ))
}

#[test]
fn regions_are_those_of_the_grid_points_with_their_depths() {
    let band = |low: f64, high: f64, factor: u32| {
        format!(
            "[[region]]\nshape = {{ type = 'box', low = [{low}, 0], high = [{high}, 1] }}\n\
             equation = {{ laplacian = {factor}, rhs = 1 }}\n"
        )
    };
    assert!(poisson("")["regions"].is_null());
    let found = poisson(&[band(0.0, 0.25, 3), band(0.0, 0.6, 2)].concat());
    let side = found["side"].as_u64().unwrap() as usize;
    let of = |name: &str| STANDARD.decode(found["regions"][name].as_str().unwrap()).unwrap();
    let (regions, depths) = (of("of"), of("depth"));
    assert_eq!((regions.len(), depths.len()), (side * side, side * side));
    // Depths are in 2 diagonals of a cell, and the distances of both regions differ by twice that from their interface.
    let step = 1.0 / (side - 1) as f64;
    for (node, (region, depth)) in regions.into_iter().zip(depths).enumerate() {
        let (x, y) = ((node % side) as f64 * step, (node / side) as f64 * step);
        let expected = if x < 0.25 + 1e-9 {
            0
        } else if x < 0.6 + 1e-9 {
            1
        } else {
            2
        };
        assert_eq!(region, expected, "{x}");
        // Both boxes end at the left and at the top and bottom.
        if x > 0.1 && (0.1..0.9).contains(&y) {
            let away = (x - 0.25).abs().min((x - 0.6).abs()) / (2f64.sqrt() * step);
            assert!((f64::from(depth) / 255.0 - away.min(1.0)).abs() < 0.003, "{x}: {depth}, not {away}");
        }
    }
}

#[test]
fn each_slab_of_time_has_its_convergence_and_its_share_of_the_target() {
    let text = format!(
        "coordinates = ['x', 't']\n{SQUARE}time = {{ slabs = 2 }}\nequation = {{ terms = {{ u_t = 1, u_xx = -1 }} }}\n\
         exact = 'exp(-pi^2*t)*sin(pi*x)'\nboundary = [{{ condition = 'none', on = 't=high' }}, {{ condition = 'dirichlet' }}]"
    );
    let found = solution(&text);
    assert!(poisson("")["slabs"].is_null());
    let slabs = &found["slabs"];
    assert_eq!((slabs["axis"].as_u64(), slabs["count"].as_u64()), (Some(1), Some(2)));
    let shown = slabs["shown"].as_array().unwrap();
    let ends: Vec<_> =
        shown.iter().map(|slab| (slab["from"].as_f64().unwrap(), slab["to"].as_f64().unwrap())).collect();
    assert_eq!(ends, [(0.0, 0.5), (0.5, 1.0)]);
    for slab in shown {
        assert_eq!(slab["estimate"][1], 5e-3);
        let estimate = slab["convergence"]["series"][0]["points"].as_array().unwrap().last().unwrap();
        assert_eq!(estimate[1], slab["estimate"][0]);
        assert_eq!(slab["chosen"][0], serde_json::json!(["neurons", format!("{}", estimate[0].as_f64().unwrap())]));
    }
    let chosen = found["chosen"].as_array().unwrap();
    assert!(chosen.iter().all(|fact| fact[0] != "condition number"), "{chosen:?}");
}
