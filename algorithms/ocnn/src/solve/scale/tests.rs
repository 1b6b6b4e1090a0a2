//! The scale by every method.

use super::*;

/// SplitMix64, so that the reference values can be reproduced in any language.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Uniform in [0, 1).
    pub(super) fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(super) fn points(seed: u64, n: usize, d: usize) -> Vec<f64> {
        let mut random = Self::new(seed);
        (0..n * d).map(|_| random.unit()).collect()
    }
}

fn try_find(points: &[f64], d: usize, scale: &Scale) -> Result<ScaleFound> {
    find(points, d, scale, f64::EPSILON, &Session::default())
}

fn delaunay(points: &[f64], d: usize) -> f64 {
    let found = try_find(points, d, &Scale::Delaunay).unwrap_or_else(|error| panic!("{d}-D: {error}"));
    assert_eq!((found.method, found.notice.as_deref()), (ScaleMethod::Delaunay, None), "{d}-D");
    found.a
}

fn nearest(points: &[f64], d: usize, k: usize) -> f64 {
    try_find(points, d, &Scale::Nearest { k }).unwrap_or_else(|error| panic!("{d}-D: {error}")).a
}

/// The scale where the nearest neighbours replaced the triangulation, and the notice.
fn fallback(points: &[f64], d: usize) -> (f64, String) {
    let found = try_find(points, d, &Scale::Delaunay).unwrap_or_else(|error| panic!("{d}-D: {error}"));
    assert_eq!(found.method, ScaleMethod::Nearest, "{d}-D");
    (found.a, found.notice.expect("a fallback has a notice"))
}

#[track_caller]
fn assert_close(a: f64, b: f64, relative: f64) {
    assert!((a - b).abs() <= relative * b.abs(), "{a} is not {b} within {relative}");
}

/// scipy 1.x: `Delaunay(P).vertex_neighbor_vertices` and `cKDTree(P).query(P, k=21)` on the same points (seed d).
#[test]
fn agrees_with_scipy() {
    for (d, n, by_delaunay, by_nearest) in [
        (2, 300, 0.06734787857695425, 0.10513214278966632),
        (3, 300, 0.2102770287535681, 0.21318605042936026),
        (4, 150, 0.4668904476155917, 0.396562961097683),
        (5, 80, 0.689858042949152, 0.5724167562102965),
    ] {
        let points = Random::points(d as u64, n, d);
        assert_close(delaunay(&points, d), by_delaunay, 1e-13);
        assert_close(nearest(&points, d, NEAREST), by_nearest, 1e-13);
    }
    let points = Random::points(9, 400, 12);
    assert_close(nearest(&points, 12, NEAREST), 0.9103476055310762, 1e-13);
}

#[test]
fn agrees_with_hand_computed_values() {
    // On a line: the ends have one neighbour each. (1 + (1 + 2)/2 + (2 + 4)/2 + 4) / 4.
    assert_close(delaunay(&[3.0, 0.0, 7.0, 1.0], 1), 9.5 / 4.0, 1e-15);
    // A triangle of sides 3, 4, 5: each side twice, over 3 points with 2 neighbours.
    assert_close(delaunay(&[0.0, 0.0, 3.0, 0.0, 0.0, 4.0], 2), 4.0, 1e-15);
    // A unit square: four sides and one of two diagonals.
    let (two, three) = (2.0, 2.0_f64.sqrt() + 2.0);
    assert_close(delaunay(&[0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0], 2), (two / 2.0 + three / 3.0) / 2.0, 1e-15);
    // A corner of a cube: three points with edges 1, √2, √2 and the corner with 1, 1, 1.
    let corner = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    assert_close(delaunay(&corner, 3), (1.0 + (1.0 + 2.0 * 2.0_f64.sqrt())) / 4.0, 1e-15);
    assert_close(nearest(&[0.0, 1.0, 3.0, 7.0], 1, 1), (1.0 + 1.0 + 2.0 + 4.0) / 4.0, 1e-15);
}

#[test]
fn is_equivariant_under_scaling_and_invariant_under_motions_and_permutation() {
    for d in 1..=5 {
        let n = 90;
        let points = Random::points(50 + d as u64, n, d);
        let a = delaunay(&points, d);
        let b = nearest(&points, d, NEAREST);
        let check = |moved: &[f64], factor: f64, relative: f64| {
            assert_close(delaunay(moved, d), a * factor, relative);
            assert_close(nearest(moved, d, NEAREST), b * factor, relative);
        };
        for factor in [3.0, 1e-12, 1e12, 1e-300, 1e300] {
            check(&points.iter().map(|x| x * factor).collect::<Vec<_>>(), factor, 1e-12);
        }
        // At an offset of 10⁶ the input has ten digits.
        for (offset, relative) in [(-0.5, 1e-12), (1e6, 1e-8)] {
            check(&points.iter().map(|x| x + offset).collect::<Vec<_>>(), 1.0, relative);
        }
        let turned: Vec<f64> = points
            .chunks_exact(d)
            .flat_map(|row| row.iter().rev().enumerate().map(|(i, x)| if i == 0 { -x } else { *x }))
            .collect();
        check(&turned, 1.0, 1e-12);
        let backwards: Vec<f64> = points.chunks_exact(d).rev().flatten().copied().collect();
        assert_eq!(delaunay(&backwards, d), a, "the triangulation does not depend on the order");
        check(&backwards, 1.0, 1e-14);
    }
}

/// The triangulation of a lattice does not depend on the order of its points, and contains the edges of the lattice.
#[test]
fn lattices() {
    for (d, side) in [(2, 30), (3, 9), (4, 5), (5, 3_usize)] {
        for step in [1.0, 0.1] {
            let n = side.pow(d as u32);
            let row = |index: usize| (0..d).map(move |axis| step * (index / side.pow(axis as u32) % side) as f64);
            let points: Vec<f64> = (0..n).flat_map(row).collect();
            let a = delaunay(&points, d);
            assert!(a >= step && a < step * (d as f64).sqrt(), "{d}-D, step {step}: {a}");
            let backwards: Vec<f64> = (0..n).rev().flat_map(row).collect();
            assert_eq!(delaunay(&backwards, d), a, "{d}-D, step {step}");
        }
    }
}

#[test]
fn flat_points_fall_back() {
    let line: Vec<f64> = (0..100).flat_map(|i| [f64::from(i), 0.3 + 2.0 * f64::from(i)]).collect();
    let (a, notice) = fallback(&line, 2);
    assert_eq!(
        notice,
        "points lie on a line, or too near one to tell: mean distance to the 20 nearest neighbours instead of the Delaunay triangulation"
    );
    assert_eq!(a, nearest(&line, 2, 20));

    let flat = Random::points(60, 200, 2);
    let plane: Vec<f64> = flat.chunks_exact(2).flat_map(|p| [p[0], p[1], 0.3 * p[0] - 0.7 * p[1] + 1e3]).collect();
    assert!(fallback(&plane, 3).1.starts_with("points lie on a plane"), "up to its rounding");
    let in_five: Vec<f64> = flat.chunks_exact(2).flat_map(|p| [p[0], p[1], p[0] * p[1], 7.0, p[0] - p[1]]).collect();
    assert!(fallback(&in_five, 5).1.starts_with("points lie on a flat of 3 dimensions"));
    let three = [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    let (a, notice) = fallback(&three, 3);
    assert!(notice.contains("the 2 nearest"), "{notice}");
    assert_close(a, (1.0 + 1.0 + 2.0_f64.sqrt()) * 2.0 / 6.0, 1e-15);

    // A thickness of 10⁻⁹ is no plane yet.
    let mut random = Random::new(61);
    let thick: Vec<f64> = plane.chunks_exact(3).flat_map(|p| [p[0], p[1], 1e-9 * random.unit()]).collect();
    assert!(delaunay(&thick, 3) > 0.0);
}

#[test]
fn many_columns_fall_back() {
    let points = Random::points(62, 50, 6);
    let (a, notice) = fallback(&points, 6);
    assert!(notice.starts_with("points have more than 5 columns: mean distance to the 20 nearest"), "{notice}");
    assert_eq!(a, nearest(&points, 6, 20));
}

#[test]
fn nearly_equal_points() {
    for d in 1..=5 {
        let mut random = Random::new(70 + d as u64);
        let base = Random::points(80 + d as u64, 60, d);
        // Each point has a twin at a distance of 10⁻¹³, which the grid still resolves.
        let twins: Vec<f64> =
            base.iter().copied().chain(base.iter().map(|x| x + 1e-13 * (1.0 + random.unit()))).collect();
        assert!(delaunay(&twins, d) < delaunay(&base, d), "{d}-D: twins bring neighbours nearer");
        if d > 1 {
            // A twin of the origin at a distance of 10⁻²⁰ is merged with it, and does not change the scale.
            let mut near = base.clone();
            near.extend(std::iter::repeat_n(0.0, d).chain(std::iter::repeat_n(1e-20, d)));
            let found = try_find(&near, d, &Scale::Delaunay).unwrap();
            assert!(
                found.notice.as_deref().is_some_and(|notice| notice.starts_with("1 points are too close")),
                "{found:?}"
            );
            assert_eq!(found.a, delaunay(&near[..near.len() - d], d));
        }
        // The extent 2·MAX overflows an f64; the mean distance does not in up to 3 dimensions.
        let huge: Vec<f64> = base.iter().map(|x| (x - 0.5) * f64::MAX * 2.0).collect();
        match try_find(&huge, d, &Scale::Delaunay) {
            Ok(found) => assert_close(found.a / f64::MAX, 2.0 * delaunay(&base, d), 1e-12),
            Err(error) => assert!(error.to_string().contains("a scale of inf") && d > 3, "{d}-D: {error}"),
        }
    }
}

#[test]
fn too_few_points() {
    let (by_delaunay, three) = (Scale::Delaunay, Scale::Nearest { k: 3 });
    for (points, d, scale, what) in [
        (&[][..], 2, &by_delaunay, "there is no second one (0 in all)"),
        (&[1.0, 2.0], 2, &by_delaunay, "there is no second one (1 in all)"),
        (&[1.0, 2.0, 3.0, 4.0], 2, &by_delaunay, "at least 3 different points, here are 2"),
        (&[1.0, 2.0], 1, &by_delaunay, "at least 3 different points, here are 2"),
        (&[1.0, 2.0, 1.0, 2.0, 1.0, 2.0], 2, &by_delaunay, "all 3 points are equal"),
        (&[1.0, 2.0, 3.0], 2, &by_delaunay, "3 values are not a whole number of rows of 2 columns"),
        (&[1.0, 2.0, 3.0], 0, &by_delaunay, "3 values are not a whole number of rows of 0 columns"),
        (&[1.0, 2.0, 3.0, f64::INFINITY, 1.0, 1.0], 2, &by_delaunay, "point 1, column 1 (from 0) is inf"),
        (&[], 2, &three, "there is no second one (0 in all)"),
        (&[1.0, 2.0], 1, &Scale::Nearest { k: 0 }, "at least 1 nearest neighbour, not 0"),
    ] {
        let error = try_find(points, d, scale).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
    let few = try_find(&[1.0, 3.0, 4.0], 1, &Scale::Nearest { k: 20 }).unwrap();
    assert_close(few.a, (2.5 + 1.5 + 2.0) / 3.0, 1e-15);
    assert_eq!(few.notice.as_deref(), Some("only 3 points: mean distance to the 2 nearest neighbours"));
}

#[test]
fn fixed() {
    let found = try_find(&[], 0, &Scale::Fixed(0.25)).unwrap();
    assert_eq!(found, ScaleFound { a: 0.25, method: ScaleMethod::Fixed, notice: None });
    for a in [0.0, -1.0, f64::INFINITY, f64::NAN] {
        let error = try_find(&[], 0, &Scale::Fixed(a)).unwrap_err().to_string();
        assert!(error.contains("must be finite and above 0"), "{a}: {error}");
    }
}

#[test]
fn a_line_rounded_to_f32_is_a_line() {
    let points: Vec<f64> = (0..40)
        .map(|i| f64::from(i) * 0.1 + if i < 20 { 0.0 } else { 50.0 })
        .flat_map(|x| [x as f32, (2.0 * x + 1.0) as f32])
        .map(f64::from)
        .collect();
    let found = find(&points, 2, &Scale::Delaunay, f64::from(f32::EPSILON), &Session::default()).unwrap();
    assert_eq!(found.method, ScaleMethod::Nearest);
    assert!(found.notice.unwrap().contains("line"));
}
