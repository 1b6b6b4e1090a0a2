//! The triangulations against brute force, against each other, and on degenerate points.

use super::super::tests::Random;
use super::*;
use firebox_core::Session;
use std::collections::BTreeSet;

type Edges = BTreeSet<(u32, u32)>;

fn frame_of(points: &[f64], d: usize) -> Frame {
    Frame::around(points, d, f64::EPSILON).expect("points that differ")
}

/// The mean distance to Delaunay neighbours.
fn mean_distance(points: &[f64], d: usize, what: &str) -> f64 {
    mean(points, d, &frame_of(points, d), &Session::default())
        .unwrap_or_else(|failure| panic!("{what}: {failure}"))
        .mean
}

/// Solves an (N − 1) × (N − 1) system by elimination with pivoting; `None` if singular.
fn solve<const N: usize>(mut rows: Vec<[f64; N]>) -> Option<Vec<f64>> {
    let m = N - 1;
    for column in 0..m {
        let pivot = (column..m).max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))?;
        rows.swap(column, pivot);
        if rows[column][column].abs() < 1e-9 {
            return None;
        }
        for row in (0..m).filter(|&row| row != column) {
            let factor = rows[row][column] / rows[column][column];
            let pivot = rows[column];
            for (entry, above) in rows[row].iter_mut().zip(pivot) {
                *entry -= factor * above;
            }
        }
    }
    Some((0..m).map(|row| rows[row][m] / rows[row][row]).collect())
}

/// Edges of all simplices with an empty circumsphere, among all subsets of N points.
fn brute_force<const N: usize>(points: &[[f64; N]]) -> Edges {
    let mut edges = Edges::new();
    for set in (0..1_u32 << points.len()).filter(|set| set.count_ones() as usize == N) {
        let chosen: Vec<u32> = (0..points.len() as u32).filter(|i| set & (1 << i) != 0).collect();
        let base = points[chosen[0] as usize];
        let rows = chosen[1..].iter().map(|&i| {
            let mut row = [0.0; N];
            for axis in 0..N - 1 {
                row[axis] = points[i as usize][axis] - base[axis];
            }
            row[N - 1] = row[..N - 1].iter().map(|x| x * x).sum::<f64>() / 2.0;
            row
        });
        let Some(centre) = solve::<N>(rows.collect()) else {
            continue;
        };
        let radius: f64 = centre.iter().map(|x| x * x).sum();
        let empty = points.iter().enumerate().filter(|(i, _)| set & (1 << i) == 0).all(|(_, point)| {
            (0..N - 1).map(|axis| (point[axis] - base[axis] - centre[axis]).powi(2)).sum::<f64>() > radius
        });
        if empty {
            edges.extend(pairs(&chosen));
        }
    }
    edges
}

fn pairs(vertices: &[u32]) -> impl Iterator<Item = (u32, u32)> {
    vertices.iter().flat_map(move |&a| vertices.iter().filter(move |&&b| a < b).map(move |&b| (a, b)))
}

/// Mean of means over edges, in units of `points`.
fn mean_over<const N: usize>(points: &[[f64; N]], edges: &Edges) -> f64 {
    let mut of = vec![(0.0, 0); points.len()];
    for &(a, b) in edges {
        let length =
            points[a as usize].iter().zip(&points[b as usize]).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt();
        for v in [a, b] {
            of[v as usize].0 += length;
            of[v as usize].1 += 1;
        }
    }
    of.iter().map(|(sum, count)| sum / f64::from(*count)).sum::<f64>() / points.len() as f64
}

/// Triangulates with all checks; returns the edges by grid index, and the grid.
fn triangulate<const N: usize>(points: &[f64], what: &str) -> (Edges, Grid<N>) {
    let frame = frame_of(points, N - 1);
    let grid = Grid::<N>::new(points, &frame);
    let corners = grid.corners().unwrap_or_else(|rank| panic!("{what}: flat of {rank} dimensions"));
    let count = grid.points.len() as u32;
    let triangulation = Triangulation::build(&grid.points, corners, 0..count, usize::MAX, |_| Ok(()))
        .unwrap_or_else(|stopped| panic!("{what}: {stopped:?}"));
    assert!(triangulation.is_delaunay(), "{what}");
    let mut edges = Edges::new();
    let mut visited = vec![false; grid.points.len()];
    for simplex in triangulation.finite() {
        let mut sorted = *simplex;
        sorted.sort_unstable();
        edges.extend(pairs(&sorted));
        for &vertex in simplex {
            visited[vertex as usize] = true;
        }
    }
    assert!(visited.iter().all(|visited| *visited), "{what}: a point without neighbours");
    (edges, grid)
}

#[test]
fn triangulations_agree_with_brute_force() {
    fn check<const N: usize>() {
        for seed in 0..25 {
            for n in N..=12 {
                let points = Random::points(1000 * N as u64 + 100 * n as u64 + seed, n, N - 1);
                let what = format!("seed {seed}, {n} points in {}-D", N - 1);
                let (edges, grid) = triangulate::<N>(&points, &what);
                let scaled: Vec<[f64; N]> = grid.points.iter().map(|p| p.map(|x| x / (1_u64 << 51) as f64)).collect();
                let expected = brute_force(&scaled);
                assert_eq!(edges, expected, "{what}");
                let found = mean_distance(&points, N - 1, &what);
                let by_hand = frame_of(&points, N - 1).length(mean_over(&scaled, &expected));
                assert!((found - by_hand).abs() < 1e-13, "{what}: {found}, by hand {by_hand}");
            }
        }
    }
    check::<3>();
    check::<4>();
    check::<5>();
    check::<6>();
}

/// The two implementations share only the grid.
#[test]
fn plane_agrees_with_spade() {
    for seed in 0..20 {
        let points = Random::points(seed, 700, 2);
        let (edges, grid) = triangulate::<3>(&points, "plane");
        let ours = frame_of(&points, 2).length(Grid::<3>::units(mean_over(&grid.points, &edges)));
        let spade = mean_distance(&points, 2, "spade");
        assert!((ours - spade).abs() < 1e-13 * spade, "seed {seed}: {ours}, spade {spade}");
    }
}

const KINDS: [&str; 13] = [
    "uniform",
    "lattice",
    "decimal lattice",
    "coarse",
    "clusters",
    "nested clusters",
    "thin",
    "needle",
    "twins",
    "heap",
    "circle",
    "cross",
    "moment curve",
];

/// A degenerate set of n points in d dimensions, one of [`KINDS`].
fn degenerate(kind: &str, n: usize, d: usize, seed: u64) -> Vec<f64> {
    let mut random = Random::new(seed);
    let mut points = Vec::with_capacity(n * d);
    for i in 0..n {
        let side = (n as f64).powf(1.0 / d as f64).ceil() as usize;
        let angle = i as f64 * 2.4;
        for axis in 0..d {
            let unit = random.unit();
            let centre = [0.1, 5.0, 7.5][(3.0 * random.unit()) as usize];
            points.push(match kind {
                "lattice" => (i / side.pow(axis as u32) % side) as f64,
                "decimal lattice" => (i / side.pow(axis as u32) % side) as f64 * 0.1 - 0.7,
                "coarse" => (unit * 6.0).floor(),
                "clusters" => centre + 1e-3 * unit,
                "nested clusters" => centre * [1.0, 1e-4, 1e-8][i % 3] + 1e-10 * unit,
                "thin" if axis + 1 == d => 1e-8 * unit,
                "needle" if axis > 0 => 1e-8 * unit,
                "twins" if i % 2 == 1 => points[(i - 1) * d + axis] + 1e-14 * unit,
                "heap" if i % 2 == 1 => 0.5 + 1e-14 * unit,
                "circle" if axis < 2 => [angle.cos(), angle.sin()][axis],
                "cross" if axis != i % d => 0.0,
                "moment curve" => (i as f64 / n as f64).powi(axis as i32 + 1),
                _ => unit,
            });
        }
    }
    points
}

#[test]
fn degenerate_points() {
    fn check<const N: usize>(n: usize) {
        for kind in KINDS {
            for seed in 0..3 {
                let what = format!("{kind}, {n} points in {}-D, seed {seed}", N - 1);
                let points = degenerate(kind, n, N - 1, seed);
                let found = mean_distance(&points, N - 1, &what);
                let (edges, grid) = triangulate::<N>(&points, &what);
                let ours = frame_of(&points, N - 1).length(Grid::<N>::units(mean_over(&grid.points, &edges)));
                // `spade` may triangulate cocircular points differently.
                let tolerance = if N == 3 { 0.2 } else { 1e-12 };
                assert!((found - ours).abs() <= tolerance * ours, "{what}: {found}, {ours}");
            }
        }
    }
    check::<3>(600);
    check::<4>(400);
    check::<5>(120);
    check::<6>(100);
}

/// On a convex curve spade's bulk load takes time n² (51 s for these points), incremental insertion 0.03 s.
#[test]
fn a_parabola_takes_linear_time() {
    let points = degenerate("moment curve", 100_000, 2, 0);
    let start = std::time::Instant::now();
    assert!(mean_distance(&points, 2, "parabola") > 0.0 && start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

#[test]
fn the_limit_of_simplices_is_respected() {
    let points = degenerate("moment curve", 400, 3, 0);
    let grid = Grid::<4>::new(&points, &frame_of(&points, 3));
    let corners = grid.corners().expect("a volume");
    let stopped = Triangulation::build(&grid.points, corners, 0..400, 10_000, |_| Ok(())).err();
    assert_eq!(stopped, Some(Failure::TooMany));
}
