//! Domains against their contents and geometry.

use firebox_core::random::Random;

use super::*;

/// One of each kind, with its area or volume.
pub(crate) fn catalogue() -> Vec<(&'static str, Domain, f64)> {
    let cuboid = |low: &[f64], high: &[f64]| Domain::cuboid(low.to_vec(), high.to_vec()).unwrap();
    let ball = |centre: &[f64], r| Domain::ball(centre.to_vec(), r).unwrap();
    let l = [[-1.0, -1.0], [0.0, -1.0], [0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [-1.0, 1.0]];
    // Half a circle outwards, less than a quarter inwards, three quarters outwards.
    let arcs = [([2.0, 0.0], 1.0), ([2.0, 1.0], -0.3), ([0.0, 1.0], 2.0), ([0.0, 0.0], 0.0)];
    let simple = [
        ("box", cuboid(&[-1.0, 2.0], &[2.0, 3.0])),
        ("disc", ball(&[0.3, -0.2], 1.5)),
        ("polygon", Domain::polygon(l.iter().rev().copied().collect()).unwrap()),
        ("box 3-D", cuboid(&[0.0, 0.0, 0.0], &[1.0, 2.0, 3.0])),
        ("ball", ball(&[1.0, 0.0, 0.0], 0.5)),
        ("lens and slot", Domain::arcs(arcs.to_vec()).unwrap()),
        ("rounded L", Domain::rounded_polygon(&l, 0.3).unwrap()),
        ("circle of two arcs", Domain::arcs(vec![([-1.0, 0.5], 1.0), ([1.0, 0.5], 1.0)]).unwrap()),
        ("cylinder", Domain::extrusion(ball(&[0.3, -0.2], 0.5), vec![1.0], vec![2.5]).unwrap()),
        ("ball at all times", Domain::extrusion(ball(&[0.3, -0.2, 0.0], 0.5), vec![0.0], vec![1.0]).unwrap()),
        (
            "polygon in 4-D",
            Domain::extrusion(Domain::polygon(l.to_vec()).unwrap(), vec![0.0; 2], vec![1.0, 2.0]).unwrap(),
        ),
    ];
    let content = |domain: &Domain| domain.shapes()[0].shape.volume();
    let mut all: Vec<_> = simple.into_iter().map(|(name, domain)| (name, domain.clone(), content(&domain))).collect();
    let square = cuboid(&[-1.0, -1.0], &[1.0, 1.0]);
    let pi = std::f64::consts::PI;
    let corner = Domain::difference(vec![square.clone(), cuboid(&[0.0, -1.0], &[1.0, 0.0])]).unwrap();
    let plate = Domain::difference(vec![square.clone(), ball(&[0.1, 0.0], 0.4).named("hole")]).unwrap();
    let side = Domain::union(vec![square.clone(), cuboid(&[1.0, -1.0], &[2.0, 1.0])]).unwrap();
    let overlap = Domain::union(vec![square.clone(), cuboid(&[0.0, -1.0], &[2.0, 1.0])]).unwrap();
    let half = Domain::intersection(vec![ball(&[0.0, 0.0], 1.0), cuboid(&[-2.0, 0.0], &[2.0, 2.0])]).unwrap();
    let hollow = Domain::difference(vec![ball(&[0.0; 3], 1.0), ball(&[0.0; 3], 0.5)]).unwrap();
    let tube = Domain::extrusion(plate.clone(), vec![-1.0], vec![1.0]).unwrap();
    all.extend([
        ("tube", tube, 2.0 * (4.0 - pi * 0.16)),
        ("l by difference", corner, 3.0),
        ("plate with a hole", plate, 4.0 - pi * 0.16),
        ("two boxes side by side", side, 6.0),
        ("two boxes over each other", overlap, 6.0),
        ("half disc", half, pi / 2.0),
        ("hollow ball", hollow, 4.0 / 3.0 * pi * 0.875),
    ]);
    all
}

#[test]
fn signed_distances_are_lipschitz_with_correct_sign() {
    let mut random = Random::new(1, 0);
    for (name, domain, content) in catalogue() {
        let (low, high) = domain.bounds();
        let around: f64 = low.iter().zip(high).map(|(a, b)| b - a).product();
        let (mut inside, n) = (0usize, 100_000);
        for _ in 0..n {
            let p = domain.point_at(Point::default().map(|_| random.unit()));
            inside += usize::from(domain.contains(&p[..domain.dims()]));
        }
        let share = content / around;
        let error = (inside as f64 / f64::from(n) - share).abs();
        assert!(error <= 5.0 * (share * (1.0 - share) / f64::from(n)).sqrt() + 1e-12, "{name}: {error}");
        // Signed distances are 1-Lipschitz.
        for _ in 0..1000 {
            let mut draw = || domain.point_at(Point::default().map(|_| random.uniform(-0.5, 1.5)));
            let (p, q) = (draw(), draw());
            let walk = p.iter().zip(&q).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
            let d = domain.dims();
            let change = domain.signed_distance(&p[..d]) - domain.signed_distance(&q[..d]);
            assert!(change.abs() <= walk * (1.0 + 1e-12) + 1e-12, "{name}");
        }
    }
    for (name, domain, _) in catalogue() {
        for _ in 0..1000 {
            let p = domain.point_at(Point::default().map(|_| (random.uniform(-0.5, 1.5) * 8.0).round() / 8.0));
            let p = &p[..domain.dims()];
            assert_eq!(domain.contains(p), domain.signed_distance(p) < 0.0, "{name}: {p:?}");
        }
    }
    let cuboid = Domain::cuboid(vec![0.0, 0.0], vec![2.0, 1.0]).unwrap();
    assert_eq!(cuboid.signed_distance(&[5.0, 5.0]), 5.0);
    assert_eq!(cuboid.signed_distance(&[0.9, 0.3]), -0.3);
}

#[test]
fn invalid_domains_are_refused() {
    let refused = |domain: Result<Domain>, part: &str| {
        let error = domain.unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    let square = || Domain::cuboid(vec![0.0, 0.0], vec![1.0, 1.0]).unwrap();
    refused(Domain::cuboid(vec![0.0, 1.0], vec![1.0, 0.5]), "from 1 to 0.5 in y");
    refused(Domain::cuboid(vec![0.0; 6], vec![1.0; 6]), "6 coordinates");
    refused(Domain::cuboid(vec![0.0, 0.0], vec![1.0; 3]), "corners");
    refused(Domain::cuboid(vec![0.0, f64::NAN], vec![1.0, 0.5]), "NaN");
    refused(Domain::ball(vec![0.0, 0.0], -1.0), "radius -1");
    refused(Domain::polygon(vec![[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]), "edge 1 from (0, 0) to (1, 1)");
    refused(Domain::polygon(vec![[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]), "edge 3 from (1, 0) to (0, 1)");
    refused(Domain::polygon(vec![[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [1.0, 0.0]]), "touches itself");
    refused(Domain::polygon(vec![[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [2.0, 0.0]]), "itself");
    refused(Domain::polygon(vec![[0.0, 0.0], [1.0, 1.0], [3.0, 3.0]]), "no area");
    refused(Domain::polygon(vec![[0.0, 0.0], [2.0, 0.0], [1.0, 0.0], [1.0, 1.0]]), "run over again");
    refused(Domain::polygon(vec![[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]), "no length");
    refused(Domain::polygon(vec![[0.0, 0.0], [0.0, 1.0]]), "2 corners");
    refused(Domain::arcs(vec![([0.0, 0.0], 1.0), ([1.0, 0.0], 0.0)]), "2 corners");
    refused(Domain::arcs(vec![([0.0, 0.0], f64::INFINITY), ([1.0, 0.0], 0.0), ([1.0, 1.0], 0.0)]), "arc");
    let deep = vec![([0.0, 0.0], -1.0), ([2.0, 0.0], 0.0), ([2.0, 0.5], 0.0), ([0.0, 0.5], 0.0)];
    refused(Domain::arcs(deep), "crosses or touches itself: edge 1 from (0, 0) to (2, 0) and edge 3");
    refused(
        Domain::rounded_polygon(&[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 0.5),
        "is too short for corners of the radius",
    );
    refused(Domain::rounded_polygon(&[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], -0.5), "the radius -0.5");
    refused(Domain::difference(vec![square(), Domain::ball(vec![0.5, 0.5], 2.0).unwrap()]), "is empty");
    refused(Domain::intersection(vec![square(), Domain::ball(vec![5.0, 0.5], 2.0).unwrap()]), "is empty");
    refused(Domain::union(vec![]), "no parts");
    refused(Domain::extrusion(square(), vec![0.0], vec![0.0]), "an extrusion reaches from 0 to 0");
    refused(Domain::extrusion(square(), vec![0.0], vec![1.0; 2]), "an extrusion has");
    refused(Domain::extrusion(square(), vec![], vec![]), "an extrusion has");
    refused(Domain::extrusion(square(), vec![0.0; 4], vec![1.0; 4]), "6 coordinates");
    refused(Domain::union(vec![square(), Domain::ball(vec![0.0; 3], 1.0).unwrap()]), "2 and of 3 dimensions");
}

#[test]
fn arcs_and_rounded_corners_have_the_area_and_length_of_geometry() {
    let pi = std::f64::consts::PI;
    let l = [[-1.0, -1.0], [0.0, -1.0], [0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [-1.0, 1.0]];
    let area = |domain: Domain| domain.shapes()[0].shape.volume();
    // Each of five convex corners loses what the concave one gains.
    let rounded = area(Domain::rounded_polygon(&l, 0.3).unwrap());
    assert!((rounded - (3.0 - 4.0 * 0.09 * (1.0 - pi / 4.0))).abs() < 1e-14, "{rounded}");
    let stadium = vec![([0.0, 0.0], 0.0), ([2.0, 0.0], 1.0), ([2.0, 1.0], 0.0), ([0.0, 1.0], 1.0)];
    let domain = Domain::arcs(stadium).unwrap();
    assert!((area(domain.clone()) - (2.0 + pi / 4.0)).abs() < 1e-14);
    assert!((domain.bounds().0[0] + 0.5).abs() < 1e-15 && (domain.bounds().1[0] - 2.5).abs() < 1e-15);
    // Points on the chords of the arcs are inside.
    for y in [0.25, 0.5, 0.75] {
        assert!(domain.contains(&[0.0, y]) && domain.contains(&[2.0, y]) && !domain.contains(&[2.6, y]), "{y}");
    }
}
