//! Initial centres on a grid over the domain.

use firebox_core::{Result, watch::Watch};

use super::domain::Domain;

/// Distance up to which centres outside a domain other than a box are kept, in spacings.
const MARGIN: f64 = 0.5;
/// Maximum number of grid positions tested against the domain.
const MAX_POSITIONS: f64 = 1e8;

/// Centres on a grid.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Grid {
    dims: usize,
    /// Row-major m × dims, x running fastest.
    pub(crate) centres: Vec<f64>,
    /// h: the distance between neighbours, the geometric mean over axes.
    pub(crate) spacing: f64,
}

impl Grid {
    /// About `neurons` ≥ 1 centres on a grid over `domain`. Fails only if the thread's [`Watch`] stops it.
    ///
    /// On a box the counts per axis whose product is nearest to `neurons` with the most even spacings, exactly gᵈ on a
    /// cube if `neurons` is such a power: spacing h₀ with the outer centres on the boundary, then stretched to extend
    /// `reach`·h₀ outside. On other domains the centres of a square grid that are inside or up to max(`reach`, ½)
    /// spacings outside, with the spacing whose number of centres is nearest to `neurons`.
    pub(crate) fn new(domain: &Domain, neurons: usize, reach: f64) -> Result<Self> {
        let watch = Watch::current();
        let grid = if domain.is_cuboid() {
            Self::on_box(domain, neurons, reach)
        } else {
            Self::inside(domain, neurons, reach, &watch)
        };
        watch.go_on()?;
        Ok(grid)
    }

    /// m.
    pub(crate) fn len(&self) -> usize {
        self.centres.len() / self.dims
    }

    fn on_box(domain: &Domain, neurons: usize, reach: f64) -> Self {
        let (low, high) = domain.bounds();
        let sides: Vec<f64> = low.iter().zip(high).map(|(a, b)| b - a).collect();
        let longest = sides.iter().copied().fold(0.0, f64::max);
        let counts = counts(&sides, neurons);
        let mut axes = Vec::new();
        let mut spacings = Vec::new();
        for (i, &g) in counts.iter().enumerate() {
            if g == 1 {
                axes.push(vec![0.5 * (low[i] + high[i])]);
                continue;
            }
            let out = reach * sides[i] / (g - 1) as f64;
            let step = (sides[i] + 2.0 * out) / (g - 1) as f64;
            axes.push((0..g).map(|k| low[i] - out + k as f64 * step).collect());
            spacings.push(step);
        }
        let mut centres = Vec::new();
        product(&axes, |x| {
            centres.extend_from_slice(x);
            true
        });
        let spacing = match spacings.len() {
            0 => longest,
            n => spacings.iter().product::<f64>().powf(1.0 / n as f64),
        };
        Self { dims: sides.len(), centres, spacing }
    }

    fn inside(domain: &Domain, neurons: usize, reach: f64, watch: &Watch) -> Self {
        let (low, high) = domain.bounds();
        let d = low.len();
        let margin = reach.max(MARGIN);
        // Positions on either side of the middle.
        let reach = |h: f64, i: usize| (0.5 * (high[i] - low[i]) / h + margin).floor();
        let positions = |h: f64| (0..d).map(|i| 2.0 * reach(h, i) + 1.0).product::<f64>();
        let centres_with = |h: f64| {
            let axis = |i: usize| {
                let (middle, n) = (0.5 * low[i] + 0.5 * high[i], reach(h, i) as i64);
                (-n..=n).map(|k| middle + k as f64 * h).collect()
            };
            let axes: Vec<Vec<f64>> = (0..d).map(axis).collect();
            let (mut centres, mut visited) = (Vec::new(), 0usize);
            product(&axes, |x| {
                visited = visited.wrapping_add(1);
                if watch.stopped_at(visited) {
                    return false;
                }
                if domain.signed_distance(x) <= margin * h {
                    centres.extend_from_slice(x);
                }
                true
            });
            centres
        };
        let off = |centres: &[f64]| (centres.len() / d).abs_diff(neurons);
        let volume: f64 = low.iter().zip(high).map(|(a, b)| b - a).product();
        let mut best = (0.0, Vec::new());
        // Number of centres; a grid with too many positions to test has too many centres.
        let mut try_spacing = |h: f64| {
            if positions(h) > MAX_POSITIONS {
                return usize::MAX;
            }
            let centres = centres_with(h);
            let count = centres.len() / d;
            if best.1.is_empty() || (off(&centres) < off(&best.1) && count > 0) {
                best = (h, centres);
            }
            count
        };
        // Not all positions are inside, so the spacing for the whole box is too wide, unless the margin dominates as
        // around thin domains. Bisection of the logarithm finds the spacing.
        let mut wide = 2.0 * (volume / neurons as f64).powf(1.0 / d as f64);
        let longest = low.iter().zip(high).map(|(a, b)| b - a).fold(0.0, f64::max);
        while wide < 2.0 * longest && !watch.stopped() && try_spacing(wide) > neurons {
            wide *= 2.0;
        }
        let mut narrow = wide;
        while positions(narrow) < MAX_POSITIONS && !watch.stopped() && try_spacing(narrow) < neurons {
            narrow *= 0.7;
        }
        for _ in 0..40 {
            if watch.stopped() {
                break;
            }
            let h = (wide * narrow).sqrt();
            if try_spacing(h) >= neurons {
                narrow = h
            } else {
                wide = h
            }
            if wide / narrow < 1.0 + 1e-6 {
                break;
            }
        }
        let (spacing, centres) = best;
        Self { dims: d, centres, spacing }
    }
}

/// Counts per side with a product near `neurons` and spacings as even as possible.
fn counts(sides: &[f64], neurons: usize) -> Vec<usize> {
    let longest = sides.iter().copied().fold(0.0, f64::max);
    let candidate = |g: usize| -> Vec<usize> {
        if g == 1 {
            return vec![1; sides.len()];
        }
        let h = longest / (g - 1) as f64;
        sides.iter().map(|side| (side / h).round() as usize + 1).collect()
    };
    let mut best = candidate(1);
    let total = |counts: &[usize]| counts.iter().fold(1usize, |a, &g| a.saturating_mul(g));
    for g in 2..=neurons {
        let next = candidate(g);
        if total(&next).abs_diff(neurons) < total(&best).abs_diff(neurons) {
            best = next;
        } else if total(&next) > neurons {
            break;
        }
    }
    best
}

/// Visits every point of a product of axes, the first running fastest, until `visit` returns `false`.
fn product(axes: &[Vec<f64>], mut visit: impl FnMut(&[f64]) -> bool) {
    let total: usize = axes.iter().map(Vec::len).product();
    let mut x = vec![0.0; axes.len()];
    for index in 0..total {
        let mut rest = index;
        for (x, axis) in x.iter_mut().zip(axes) {
            *x = axis[rest % axis.len()];
            rest /= axis.len();
        }
        if !visit(&x) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::domain::tests::catalogue;

    #[test]
    fn a_square_has_a_square_grid() {
        let square = Domain::cuboid(vec![0.0, 0.0], vec![7.0, 7.0]).unwrap();
        let grid = Grid::new(&square, 64, 0.0).unwrap();
        assert_eq!((counts(&[7.0, 7.0], 64), grid.spacing, grid.len()), (vec![8, 8], 1.0, 64));
        assert_eq!(&grid.centres[..4], &[0.0, 0.0, 1.0, 0.0]);
        let grid = Grid::new(&square, 64, 0.35).unwrap();
        assert!((grid.spacing - 1.1).abs() < 1e-12 && grid.centres[0] == -0.35);
        assert!((grid.centres[126] - 7.35).abs() < 1e-12);
        assert_eq!(Grid::new(&square, 60, 0.0).unwrap().len(), 64);
        assert_eq!(Grid::new(&square, 1, 0.35).unwrap().centres, [3.5, 3.5]);
    }

    #[test]
    fn a_long_box_has_even_spacings() {
        let long = Domain::cuboid(vec![0.0, 0.0], vec![4.0, 1.0]).unwrap();
        let grid = Grid::new(&long, 100, 0.0).unwrap();
        let counts = counts(&[4.0, 1.0], 100);
        let steps = [4.0 / (counts[0] - 1) as f64, 1.0 / (counts[1] - 1) as f64];
        assert!((0.85..1.18).contains(&(steps[0] / steps[1])), "{counts:?}");
        assert!((90..=110).contains(&grid.len()));
        let needle = Domain::cuboid(vec![0.0, 0.0], vec![1e9, 1.0]).unwrap();
        assert!(Grid::new(&needle, 50, 0.35).unwrap().len() <= 51);
    }

    #[test]
    fn other_domains_are_covered_by_about_as_many() {
        // The paper's mode has two or three dimensions; symmetric grids in a cube, as around the tube, have 3³, 5³, … positions.
        let has_grid = |name: &str, domain: &Domain| !domain.is_cuboid() && domain.dims() <= 3 && name != "tube";
        for (name, domain, _) in catalogue().into_iter().filter(|(name, domain, _)| has_grid(name, domain)) {
            for (neurons, reach) in [(50, 0.0), (400, 0.35), (1000, 1.0)] {
                let grid = Grid::new(&domain, neurons, reach).unwrap();
                let found = grid.len();
                assert!(found.abs_diff(neurons) as f64 <= 0.2 * neurons as f64, "{name}: {found} of {neurons}");
                let most = reach.max(MARGIN) * grid.spacing;
                assert!(grid.centres.chunks(domain.dims()).all(|c| domain.signed_distance(c) <= most), "{name}");
            }
        }
    }

    #[test]
    fn thin_domains_have_no_more_than_they_should() {
        for (length, width) in [(1000.0, 0.001), (100.0, 0.1), (1e6, 1e-2)] {
            let corners = vec![[0.0, 0.0], [length, 0.0], [length, width], [0.0, width]];
            let strip = Domain::polygon(corners).unwrap();
            for neurons in [1, 64, 400] {
                let grid = Grid::new(&strip, neurons, 0.35).unwrap();
                let found = grid.len();
                assert!(found.abs_diff(neurons) as f64 <= 0.2 * neurons as f64 + 1.0, "{length}: {found} of {neurons}");
            }
        }
    }
}
