//! Regions of a domain with equations of their own, and the conditions at the interfaces between them.

use std::collections::BTreeSet;

use firebox_core::{Error, Result, random::Random};

use super::{
    boundary::{Boundary, BoundaryPoints},
    domain::Domain,
    equation::{Argument, Derivative, Equation, Terms},
    function::{Function, format_point},
};
use crate::types::Coefficient;

/// Offset from an interface for tests of its sides, in diameters of the domain.
const OFFSET: f64 = 1e-6;

/// A part of a domain with an equation of its own, and the conditions where it meets the rest.
///
/// With the second-order coefficients of each region's equation as a symmetric matrix A, for Laplacians a·I, the flux is
/// A∇u. It is that of the physics if all equations have the form ∇·(A∇u) + … = f with A of the same sign.
#[derive(Debug, Clone)]
pub struct Region {
    /// Name, for messages.
    pub name: String,
    /// Shape, of which the part within the domain counts, and of that the part outside earlier regions.
    pub shape: Domain,
    /// Equation.
    pub equation: Equation,
    /// u in this region minus u beyond its boundary.
    pub jump: Function,
    /// n·A∇u in this region minus that beyond its boundary, with the unit normal n that points out of the region.
    pub flux_jump: Function,
}

impl Region {
    /// A region across whose boundary u and the flux are continuous.
    pub fn new(name: &str, shape: Domain, equation: Equation) -> Self {
        let zero = || Function::Constant(0.0);
        Self { name: name.into(), shape, equation, jump: zero(), flux_jump: zero() }
    }
}

/// value·u + gradient·∇u of an unknown in a region, at a point.
pub(crate) struct Side {
    /// The block of the unknown in the region.
    pub(crate) block: usize,
    pub(crate) point: Vec<f64>,
    pub(crate) value: f64,
    pub(crate) gradient: Vec<f64>,
}

/// A condition at an interface or between opposite points of a periodic boundary: the sum of both sides is `target`.
pub(crate) struct InterfaceRow {
    /// Index of the point.
    pub(crate) at: usize,
    pub(crate) sides: [Side; 2],
    pub(crate) target: f64,
}

/// A region without the earlier ones.
#[derive(Debug, Clone)]
struct Part {
    domain: Domain,
    /// As many as unknowns.
    equations: Vec<Equation>,
    /// The boundary, and the jumps of u and of the flux; `None` for the rest of the domain.
    interface: Option<(Boundary, [Function; 2])>,
}

/// The regions of a problem; the last is the rest of the domain.
#[derive(Debug, Clone)]
pub(super) struct Regions {
    parts: Vec<Part>,
    offset: f64,
}

impl Regions {
    /// A domain with the same equations everywhere.
    pub(super) fn single(domain: &Domain, equations: Vec<Equation>) -> Self {
        let offset = OFFSET * domain.diameter();
        Self { parts: vec![Part { domain: domain.clone(), equations, interface: None }], offset }
    }

    /// Regions in order of precedence, and the present equation in the rest of `domain`.
    pub(super) fn with(self, domain: &Domain, regions: Vec<Region>) -> Result<Self> {
        let Some(rest) = self.parts.into_iter().next_back() else { return Err(nothing_left()) };
        let (mut parts, mut shapes) = (Vec::new(), vec![domain.clone()]);
        for Region { name, shape, equation, jump, flux_jump } in regions {
            equation.check(domain.dims(), 1)?;
            let own = Domain::intersection(vec![domain.clone(), shape.clone()]).and_then(|own| {
                let earlier = shapes[1..].iter().cloned();
                if shapes.len() == 1 {
                    Ok(own)
                } else {
                    Domain::difference(std::iter::once(own).chain(earlier).collect())
                }
            });
            let own = own.map_err(|error| match error {
                Error::Input { what, place, help } => {
                    Error::Input { what: format!("the region '{name}' within the domain: {what}"), place, help }
                }
                other => other,
            })?;
            let boundary = Boundary::of(&own)?;
            parts.push(Part { domain: own, equations: vec![equation], interface: Some((boundary, [jump, flux_jump])) });
            shapes.push(shape);
        }
        let outside =
            if shapes.len() == 1 { rest.domain } else { Domain::difference(shapes).map_err(|_| nothing_left())? };
        parts.push(Part { domain: outside, equations: rest.equations, interface: None });
        Ok(Self { parts, offset: self.offset })
    }

    pub(super) fn domains(&self) -> impl Iterator<Item = &Domain> {
        self.parts.iter().map(|part| &part.domain)
    }

    /// The equations of a region, as many as unknowns.
    pub(super) fn equations(&self, region: usize) -> &[Equation] {
        &self.parts[region].equations
    }

    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }

    /// The region of a point of the domain or its boundary; of an interface, that which takes precedence.
    pub(super) fn of(&self, point: &[f64]) -> usize {
        if self.parts.len() == 1 { 0 } else { nearest(self.domains(), point) }
    }

    /// Returns `true` at an interface at which u jumps.
    pub(super) fn is_double(&self, domain: &Domain, point: &[f64]) -> bool {
        let jumps = |part: &Part| part.interface.as_ref().is_some_and(|(_, [jump, _])| jump.constant() != Some(0.0));
        if !self.parts.iter().any(jumps) {
            return false;
        }
        // The corners of a cube around the point.
        let corner = |bits: usize| -> Vec<f64> {
            let by = |i: usize| if bits >> i & 1 == 0 { -self.offset } else { self.offset };
            point.iter().enumerate().map(|(i, x)| x + by(i)).collect()
        };
        let corners = (0..1usize << point.len()).map(corner).filter(|corner| domain.contains(corner));
        let regions: BTreeSet<usize> = corners.map(|corner| self.of(&corner)).collect();
        regions.len() > 1 && regions.iter().any(|&region| jumps(&self.parts[region]))
    }

    /// The region beyond a point on the boundary of another one, where its interface is: `None` outside `domain`, and in
    /// regions that take precedence.
    pub(super) fn neighbour(&self, domain: &Domain, region: usize, at: &[f64], normal: &[f64]) -> Option<usize> {
        let beyond: Vec<f64> = at.iter().zip(normal).map(|(x, n)| x + self.offset * n).collect();
        Some(self.of(&beyond)).filter(|&other| other > region && domain.contains(&beyond))
    }

    /// Points on the boundary of a region, with a density ([`Boundary::points_by_density`]).
    pub(super) fn by_density(
        &self,
        region: usize,
        count: f64,
        section: impl Fn(&[f64], &[f64]) -> f64 + Sync,
        random: &mut Random,
    ) -> Result<BoundaryPoints> {
        match &self.parts[region].interface {
            Some((boundary, _)) => boundary.points_by_density(count, section, random),
            None => Ok(BoundaryPoints::default()),
        }
    }

    /// The conditions of a region's interfaces at those of the points that are on one. `terms` are those of a region's
    /// equation at points.
    pub(super) fn rows(
        &self,
        domain: &Domain,
        region: usize,
        at: &BoundaryPoints,
        terms: impl Fn(usize, &[f64]) -> Result<Terms>,
    ) -> Result<Vec<InterfaceRow>> {
        let Some((_, [jump, flux_jump])) = &self.parts[region].interface else { return Ok(Vec::new()) };
        let dims = domain.dims();
        let mut rows = Vec::new();
        for (at, (point, normal)) in at.points.chunks(dims).zip(at.normals.chunks(dims)).enumerate() {
            let Some(other) = self.neighbour(domain, region, point, normal) else { continue };
            // Regions have one unknown: their blocks are the regions.
            let side = |block, value, gradient| Side { block, point: point.to_vec(), value, gradient };
            let sides = [side(region, 1.0, Vec::new()), side(other, -1.0, Vec::new())];
            let target = jump.finite_at(point, "the jump of u at an interface")?;
            rows.push(InterfaceRow { at, sides, target });
            let own = flux(&terms(region, point)?, normal);
            let beyond = flux(&terms(other, point)?, normal);
            let along = |flux: &[f64]| flux.iter().zip(normal).map(|(factor, n)| factor * n).sum::<f64>();
            if along(&own) * along(&beyond) < 0.0 {
                let what = format!(
                    "second derivatives have coefficients of opposite sign on both sides of an interface, at {}",
                    format_point(point)
                );
                return Err(Error::input(
                    what,
                    "multiply one of the equations by -1: fluxes follow from the coefficients as they are written",
                ));
            }
            let beyond: Vec<f64> = beyond.into_iter().map(|factor| -factor).collect();
            // In time a diffusion has no flux.
            if own.iter().chain(&beyond).any(|&factor| factor != 0.0) {
                let sides = [side(region, 0.0, own), side(other, 0.0, beyond)];
                let target = flux_jump.finite_at(point, "the jump of the flux at an interface")?;
                rows.push(InterfaceRow { at, sides, target });
            }
        }
        Ok(rows)
    }
}

/// The region of which a point lies deepest inside, or to which it is nearest; the first of equals.
pub(crate) fn nearest<'a>(regions: impl Iterator<Item = &'a Domain>, point: &[f64]) -> usize {
    let distances = regions.map(|domain| domain.signed_distance(point)).enumerate();
    distances.fold((0, f64::INFINITY), |best, it| if it.1 < best.1 { it } else { best }).0
}

fn nothing_left() -> Error {
    let what = "the regions leave nothing of the domain";
    Error::input(what, "leave out the last region, and give its equation as that of the domain")
}

/// The factors of ∇u in n·A∇u, with the second-order coefficients of the first point as the symmetric matrix A.
fn flux(terms: &Terms, normal: &[f64]) -> Vec<f64> {
    let mut factors = vec![0.0; normal.len()];
    for (Argument { derivative, .. }, coefficient) in terms {
        let coefficient = match coefficient {
            Coefficient::Zero => continue,
            coefficient => coefficient.at(0),
        };
        match *derivative {
            Derivative::Laplacian => factors.iter_mut().zip(normal).for_each(|(factor, n)| *factor += coefficient * n),
            Derivative::Second(i, j) => {
                factors[i] += 0.5 * coefficient * normal[j];
                factors[j] += 0.5 * coefficient * normal[i];
            }
            Derivative::Value | Derivative::First(_) => {}
        }
    }
    factors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flux_is_that_of_the_symmetric_matrix_of_second_derivatives() {
        let terms = vec![
            (Derivative::Laplacian, Coefficient::One),
            (Derivative::Second(0, 1), Coefficient::Each(vec![0.6])),
            (Derivative::Second(1, 1), Coefficient::Each(vec![2.0])),
            (Derivative::Value, Coefficient::Each(vec![9.0])),
        ];
        let terms = terms.into_iter().map(|(derivative, coefficient)| (derivative.into(), coefficient)).collect();
        // A = [1, 0.3; 0.3, 3].
        assert_eq!(flux(&terms, &[0.6, 0.8]), [0.6 + 0.24, 0.18 + 2.4]);
    }

    #[test]
    fn points_belong_to_the_first_region_and_boundaries_to_that_beside_them() {
        let cuboid = |low: [f64; 2], high: [f64; 2]| Domain::cuboid(low.to_vec(), high.to_vec()).unwrap();
        let domain = cuboid([0.0, 0.0], [2.0, 1.0]);
        let poisson = || Equation::poisson(Function::Constant(1.0));
        let region = |name: &str, low, high| Region::new(name, cuboid(low, high), poisson());
        let regions = vec![region("left", [-1.0, -1.0], [0.5, 2.0]), region("band", [0.0, 0.25], [1.5, 0.75])];
        let regions = Regions::single(&domain, vec![poisson()]).with(&domain, regions).unwrap();
        for (point, expected) in [
            ([0.2, 0.5], 0),
            ([0.0, 0.5], 0),
            ([0.4, 0.0], 0),
            ([0.6, 0.5], 1),
            ([1.6, 0.5], 2),
            ([2.0, 0.5], 2),
            ([1.0, 0.0], 2),
        ] {
            assert_eq!(regions.of(&point), expected, "{point:?}");
        }
        let neighbour = |region, at: [f64; 2], normal: [f64; 2]| regions.neighbour(&domain, region, &at, &normal);
        assert_eq!(neighbour(0, [0.5, 0.5], [1.0, 0.0]), Some(1));
        assert_eq!(neighbour(0, [0.5, 0.1], [1.0, 0.0]), Some(2));
        assert_eq!(neighbour(0, [0.0, 0.5], [-1.0, 0.0]), None);
        assert_eq!(neighbour(1, [0.5, 0.5], [-1.0, 0.0]), None);
        assert_eq!(neighbour(1, [1.5, 0.5], [1.0, 0.0]), Some(2));
        let outside = vec![region("far", [5.0, 5.0], [6.0, 6.0])];
        let error = Regions::single(&domain, vec![poisson()]).with(&domain, outside).unwrap_err().to_string();
        assert!(error.starts_with("the region 'far' within the domain: the domain is empty"), "{error}");
        let all = vec![region("all", [-1.0, -1.0], [3.0, 3.0])];
        let error = Regions::single(&domain, vec![poisson()]).with(&domain, all).unwrap_err().to_string();
        assert_eq!(error, "the regions leave nothing of the domain");
    }
}
