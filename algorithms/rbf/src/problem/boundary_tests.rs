use std::f64::consts::PI;

use super::*;
use crate::problem::domain::tests::catalogue;

#[test]
fn points_are_on_the_boundary_with_normals_that_point_out() {
    for (name, domain, _) in catalogue() {
        let boundary = Boundary::of(&domain).unwrap();
        let d = domain.dims();
        for sampling in [Sampling::Uniform, Sampling::Sobol] {
            let found = boundary.points(2000, sampling, &mut Random::new(5, 0)).unwrap();
            assert_eq!((found.points.len(), found.piece.len()), (2000 * d, 2000));
            assert!(found.piece.iter().all(|&piece| piece < boundary.pieces.len()));
            for (p, normal) in found.points.chunks(d).zip(found.normals.chunks(d)) {
                let along = |step: f64| -> f64 {
                    let q: Vec<f64> = p.iter().zip(normal).map(|(x, n)| x + step * n).collect();
                    domain.signed_distance(&q)
                };
                assert!(along(0.0).abs() < 1e-12, "{name}: {p:?} is {} off", along(0.0));
                let length = normal.iter().map(|x| x * x).sum::<f64>().sqrt();
                let slope = (along(1e-5) - along(-1e-5)) / 2e-5;
                assert!((length - 1.0).abs() < 1e-12 && (slope - 1.0).abs() < 1e-3, "{name}: {p:?} {normal:?} {slope}");
            }
        }
    }
}

#[test]
fn lengths_are_those_of_geometry() {
    let lengths = [
        ("box", 8.0),
        ("disc", 3.0 * PI),
        ("polygon", 8.0),
        ("l by difference", 8.0),
        ("plate with a hole", 8.0 + 0.8 * PI),
        ("two boxes side by side", 10.0),
        ("two boxes over each other", 10.0),
        ("half disc", PI + 2.0),
        ("lens and slot", 2.0 + PI / 2.0 + 2.18 / 1.2 * 4.0 * 0.3f64.atan() + 0.625 * 4.0 * 2f64.atan()),
        ("rounded L", 8.0 - 6.0 * 0.6 + 6.0 * 0.15 * PI),
        ("circle of two arcs", 2.0 * PI),
    ];
    for (name, domain, _) in catalogue() {
        let length = Boundary::of(&domain).unwrap().length();
        match lengths.iter().find(|known| known.0 == name) {
            Some(&(_, known)) => assert!((length.unwrap() - known).abs() < 1e-5, "{name}: {length:?} not {known}"),
            None => assert_eq!(length, None, "{name}"),
        }
    }
}

#[test]
fn points_are_uniform_by_length_and_by_area() {
    for (name, domain, _) in catalogue() {
        let boundary = Boundary::of(&domain).unwrap();
        let n = 40_000;
        let found = boundary.points(n, Sampling::Uniform, &mut Random::new(6, 0)).unwrap();
        let share = |test: &dyn Fn(&[f64], usize) -> bool| {
            let points = found.points.chunks(domain.dims()).zip(&found.piece);
            points.filter(|(p, piece)| test(p, **piece)).count() as f64 / n as f64
        };
        let piece = |name: &'static str| {
            let boundary = &boundary;
            move |_: &[f64], piece: usize| boundary.pieces[piece].is(name)
        };
        let (found, expected) = match name {
            "box" => (share(&piece("left")), 1.0 / 8.0),
            "box 3-D" => (share(&piece("top")), 2.0 / 22.0),
            "plate with a hole" => (share(&piece("hole")), 0.8 * PI / (8.0 + 0.8 * PI)),
            "polygon" => (share(&piece("edge-1")), 2.0 / 8.0),
            "two boxes side by side" => (share(&|p, _| p[0] == 2.0), 0.2),
            "two boxes over each other" => (share(&|p, _| p[1] == 1.0 && p[0] > 0.0 && p[0] < 1.0), 0.1),
            "circle of two arcs" => (share(&|p, _| p[1] > 0.5), 0.5),
            "cylinder" => (share(&|p, _| p[2] > 1.0 && p[2] < 2.5), 1.5 / 2.0),
            "tube" => (share(&piece("hole")), 1.6 * PI / (1.6 * PI + 16.0 + 8.0 - 0.32 * PI)),
            "half disc" => (share(&piece("bottom")), 2.0 / (2.0 + PI)),
            "ball" => (share(&|p, _| p[2] > 0.25), 0.25),
            "hollow ball" => (share(&|p, _| p.iter().map(|x| x * x).sum::<f64>() < 0.5), 0.2),
            _ => continue,
        };
        let error = 5.0 * (expected * (1.0 - expected) / n as f64).sqrt();
        assert!((found - expected).abs() < error, "{name}: {found} instead of {expected}");
    }
}

#[test]
fn sobol_has_one_point_in_each_stretch() {
    let boundary = Boundary::of(&Domain::ball(vec![0.0, 0.0], 1.0).unwrap()).unwrap();
    let found = boundary.points(360, Sampling::Sobol, &mut Random::new(1, 0)).unwrap();
    for (i, p) in found.points.chunks(2).enumerate() {
        let degrees = p[1].atan2(p[0]).to_degrees().rem_euclid(360.0);
        assert!((degrees - i as f64 - 0.5).abs() <= 0.5 + 1e-9, "{i}: {degrees}");
    }
}

#[test]
fn pieces_have_names() {
    let piece = Piece { shape: Some("plate".into()), faces: vec!["left".into(), "x=low".into()] };
    assert!(piece.is("plate") && piece.is("left") && piece.is("plate.left"));
    assert!(piece.is("x=low") && piece.is("plate.x=low"));
    assert!(!piece.is("plate.right") && !piece.is("plateleft") && !piece.is(""));
}
