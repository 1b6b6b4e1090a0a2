//! A solution with a network in each region of a domain.

use firebox_core::{Error, Result};

use super::network::RbfNetwork;
use crate::problem::{definition::Problem, domain::Domain, function::Function, region::nearest};

/// A network in each region of a domain; a single one where a problem has no regions.
///
/// Values at points are incomplete if the thread's [`Watch`](firebox_core::watch::Watch) stops the evaluation.
#[derive(Debug, Clone, PartialEq)]
pub struct PiecewiseNetwork {
    networks: Vec<RbfNetwork>,
    /// As many, or none for a single network.
    regions: Vec<Domain>,
}

impl From<RbfNetwork> for PiecewiseNetwork {
    fn from(network: RbfNetwork) -> Self {
        Self { networks: vec![network], regions: Vec::new() }
    }
}

impl FromIterator<Self> for PiecewiseNetwork {
    /// The networks of several parts of a domain; at their interfaces that of the first counts.
    fn from_iter<T: IntoIterator<Item = Self>>(parts: T) -> Self {
        let mut all = Self { networks: Vec::new(), regions: Vec::new() };
        for part in parts {
            all.networks.extend(part.networks);
            all.regions.extend(part.regions);
        }
        all
    }
}

impl PiecewiseNetwork {
    /// Divides neurons, row-major, into those of each region; those of region r start at `starts[r]`.
    #[cfg(test)]
    pub(crate) fn new(regions: Vec<Domain>, starts: &[usize], neurons: [Vec<f64>; 3]) -> Result<Self> {
        Ok(Self::of_unknowns(&regions, 1, starts, neurons)?.swap_remove(0))
    }

    /// Divides neurons, row-major, into those of each block, that of an unknown in a region: those of unknown k of r start at
    /// `starts[r · unknowns + k]`. Returns the solution of each unknown.
    pub(crate) fn of_unknowns(
        regions: &[Domain],
        unknowns: usize,
        starts: &[usize],
        [centres, widths, weights]: [Vec<f64>; 3],
    ) -> Result<Vec<Self>> {
        let dims = centres.len() / weights.len().max(1);
        let network = |ends: &[usize]| {
            let [own, all] = [ends[0]..ends[1], ends[0] * dims..ends[1] * dims];
            RbfNetwork::new(dims, centres[all.clone()].to_vec(), widths[all].to_vec(), weights[own].to_vec())
        };
        let blocks: Vec<RbfNetwork> = starts.windows(2).map(network).collect::<Result<_>>()?;
        let of = |unknown: usize| {
            let networks = blocks.iter().skip(unknown).step_by(unknowns).cloned().collect();
            Self { networks, regions: regions.to_vec() }
        };
        Ok((0..unknowns).map(of).collect())
    }

    /// The solution of a problem from its [`networks`](Self::networks), as they were saved.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] if the number of networks or of their dimensions is not that of a solution of the problem.
    pub fn of_problem(problem: &Problem, networks: Vec<RbfNetwork>) -> Result<Self> {
        let each = problem.regions().count();
        let slabs = networks.len() / each;
        let expected = match problem.time_slabs().map(|time| time.count) {
            Some(Some(count)) => slabs == count,
            Some(None) => slabs > 0,
            None => slabs == 1,
        };
        if !expected || slabs * each != networks.len() {
            let what =
                format!("a solution of this problem of {each} regions does not have {} networks", networks.len());
            return Err(Error::input(what, "give all networks of a solution, and the problem that they solve"));
        }
        if let Some(network) = networks.iter().find(|network| network.dims() != problem.dims()) {
            let what = format!("a network has {} dimensions, and the problem {}", network.dims(), problem.dims());
            return Err(Error::input(what, "give the problem that the networks solve"));
        }
        let domains = |problem: &Problem| problem.regions().cloned().collect::<Vec<_>>();
        let regions = match problem.time_slabs() {
            Some(time) if slabs > 1 => {
                let start =
                    |k: usize| (k > 0).then(|| vec![[0.0, 0.0].map(Function::Constant); problem.unknowns().len()]);
                let slab = |k: usize| problem.slab(time.axis, problem.slab_ends(time.axis, (k, slabs)), start(k));
                (0..slabs).map(|k| Ok(domains(&slab(k)?))).collect::<Result<Vec<_>>>()?.concat()
            }
            _ => domains(problem),
        };
        Ok(Self { networks, regions })
    }

    /// The networks, one per region in order, of which the last is the rest of the domain; with slabs of time, those of each
    /// slab in turn.
    pub fn networks(&self) -> &[RbfNetwork] {
        &self.networks
    }

    /// The network of a problem without regions and slabs of time.
    pub fn single(&self) -> Option<&RbfNetwork> {
        self.networks.first().filter(|_| self.networks.len() == 1)
    }

    /// Dimensions of space, n.
    pub fn dims(&self) -> usize {
        self.networks.first().map_or(0, RbfNetwork::dims)
    }

    /// Neurons of all regions.
    pub fn len(&self) -> usize {
        self.networks.iter().map(RbfNetwork::len).sum()
    }

    /// Returns `false`: there are no networks without neurons.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// u at `points`, row-major; an incomplete last point is ignored. On an interface it is that of the region that takes
    /// precedence, and outside the domain that of the nearest.
    pub fn evaluate(&self, points: &[f64]) -> Vec<f64> {
        self.by_region(points, 1, RbfNetwork::evaluate)
    }

    /// ∇u at `points`, row-major like `points`, as [`evaluate`](Self::evaluate).
    pub fn gradient(&self, points: &[f64]) -> Vec<f64> {
        self.by_region(points, self.dims(), RbfNetwork::gradient)
    }

    /// Δu at `points`, row-major, as [`evaluate`](Self::evaluate).
    pub fn laplacian(&self, points: &[f64]) -> Vec<f64> {
        self.by_region(points, 1, RbfNetwork::laplacian)
    }

    /// The rows of `points`, row-major, that each of the [`networks`](Self::networks) evaluates.
    pub(crate) fn rows(&self, points: &[f64]) -> Vec<Vec<usize>> {
        if self.single().is_some() {
            return vec![(0..points.len() / self.dims()).collect()];
        }
        let mut own = vec![Vec::new(); self.networks.len()];
        for (row, point) in points.chunks_exact(self.dims()).enumerate() {
            own[nearest(self.regions.iter(), point)].push(row);
        }
        own
    }

    /// `each` values per point.
    fn by_region(&self, points: &[f64], each: usize, of: fn(&RbfNetwork, &[f64]) -> Vec<f64>) -> Vec<f64> {
        if let Some(network) = self.single() {
            return of(network, points);
        }
        let dims = self.dims();
        let mut values = vec![0.0; points.len() / dims * each];
        for (network, rows) in self.networks.iter().zip(self.rows(points)) {
            let coordinates: Vec<f64> = rows.iter().flat_map(|row| &points[row * dims..][..dims]).copied().collect();
            let found = of(network, &coordinates);
            for (row, value) in rows.into_iter().zip(found.chunks_exact(each)) {
                values[row * each..(row + 1) * each].copy_from_slice(value);
            }
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_evaluated_by_the_network_of_their_region() {
        let cuboid = |low: f64, high: f64| Domain::cuboid(vec![low, 0.0], vec![high, 1.0]).unwrap();
        let numbers = |count: usize| (0..count).map(|k| 0.3 + 0.1 * k as f64).collect::<Vec<_>>();
        let (centres, widths, weights) = (numbers(6), numbers(6), numbers(3));
        let network = |rows: [usize; 2]| {
            let all = 2 * rows[0]..2 * rows[1];
            let (centres, widths) = (centres[all.clone()].to_vec(), widths[all].to_vec());
            RbfNetwork::new(2, centres, widths, weights[rows[0]..rows[1]].to_vec()).unwrap()
        };
        let (left, right) = (network([0, 1]), network([1, 3]));
        let regions = vec![cuboid(0.0, 1.0), cuboid(1.0, 2.0)];
        let both = [centres.clone(), widths.clone(), weights.clone()];
        let both = PiecewiseNetwork::new(regions, &[0, 1, 3], both).unwrap();
        assert_eq!((both.networks(), both.len(), both.dims()), (&[left.clone(), right.clone()][..], 3, 2));
        let points = [1.5, 0.2, 0.5, 0.5, 1.0, 0.5, 1.9, 0.9];
        for (all, of) in [
            (both.evaluate(&points), RbfNetwork::evaluate as fn(&RbfNetwork, &[f64]) -> Vec<f64>),
            (both.gradient(&points), RbfNetwork::gradient),
            (both.laplacian(&points), RbfNetwork::laplacian),
        ] {
            let parts = [(&right, &points[..2]), (&left, &points[2..6]), (&right, &points[6..])];
            assert_eq!(all, parts.into_iter().flat_map(|(network, points)| of(network, points)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_networks_of_a_problem_belong_to_its_regions_in_each_slab_of_time() {
        let text = "coordinates = ['x', 't']\ndomain = { type = 'box', low = [0, 0], high = [2, 3] }\n\
            equation = { terms = { u_t = 1, u_xx = -1 } }\n\
            boundary = [{ on = 't=high', condition = 'none' }, { condition = 'dirichlet', value = 0 }]\n";
        let region = "[[region]]\nshape = { type = 'box', low = [0, 0], high = [1, 3] }\n\
            equation = { terms = { u_t = 1, u_xx = -2 } }\n";
        let problem = Problem::parse(&format!("{text}time = {{ slabs = 3 }}\n{region}")).unwrap();
        // Constant where they count, so that the value names the network.
        let network = |k: usize| RbfNetwork::new(2, vec![1.0; 2], vec![1e9; 2], vec![k as f64]).unwrap();
        let networks = |count: usize| (0..count).map(network).collect::<Vec<_>>();
        let all = PiecewiseNetwork::of_problem(&problem, networks(6)).unwrap();
        let points = [0.5, 0.5, 1.5, 0.5, 0.5, 1.5, 1.5, 1.5, 0.5, 2.5, 1.5, 2.5];
        let values: Vec<usize> = all.evaluate(&points).iter().map(|value| value.round() as usize).collect();
        assert_eq!((values, all.networks()), (vec![0, 1, 2, 3, 4, 5], &networks(6)[..]));
        let without = Problem::parse(&format!("{text}{region}")).unwrap();
        assert!(PiecewiseNetwork::of_problem(&without, networks(2)).is_ok());
        for (problem, networks) in
            [(&problem, networks(5)), (&problem, networks(2)), (&problem, vec![]), (&without, networks(4))]
        {
            assert!(PiecewiseNetwork::of_problem(problem, networks).is_err());
        }
    }
}
