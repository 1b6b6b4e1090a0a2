//! Boundary conditions, and where they hold.

use firebox_core::Result;

use super::{boundary::Piece, function::Function, predicate::Predicate};

/// A condition of one unknown, u, on the boundary; n is the outward unit normal.
#[derive(Debug, Clone)]
pub enum Condition {
    /// u = value.
    Dirichlet {
        /// Right-hand side.
        value: Function,
    },
    /// ∂u/∂n = value.
    Neumann {
        /// Right-hand side.
        value: Function,
    },
    /// normal·∂u/∂n + coefficient·u = value.
    Robin {
        /// Factor of the normal derivative.
        normal: Function,
        /// Factor of u.
        coefficient: Function,
        /// Right-hand side.
        value: Function,
    },
    /// direction·∇u + coefficient·u = value.
    Oblique {
        /// Factors of the derivatives, one per dimension.
        direction: Vec<Function>,
        /// Factor of u.
        coefficient: Function,
        /// Right-hand side.
        value: Function,
    },
    /// u = value and −∂u/∂n = rate: on the face where time begins, −∂u/∂n is ∂u/∂t.
    Initial {
        /// u.
        value: Function,
        /// Derivative into the domain.
        rate: Function,
    },
    /// u and, where the equation has second derivatives by this axis, its derivative are equal at opposite points of the
    /// domain's box; on both faces across the axis, and nowhere else.
    Periodic {
        /// The axis, counted from 0.
        axis: usize,
    },
    /// No condition, as at the end of time.
    Free,
}

/// A boundary condition and where it holds.
#[derive(Debug, Clone)]
pub struct BoundaryRule {
    /// A shape, a face, or both as `shape.face`; all if `None`. Faces of a box are `left`, `right`, `bottom`, `top`, in
    /// three dimensions also `front` and `back`, and in any number `x=low`, `x=high`, … by coordinate; those of a polygon
    /// `edge-1`, ….
    pub on: Option<String>,
    /// A predicate on points; all if `None`.
    pub when: Option<Predicate>,
    /// The unknown, counted from 0.
    pub unknown: usize,
    /// The condition.
    pub condition: Condition,
}

impl BoundaryRule {
    /// `condition` of the first unknown on the whole boundary.
    pub fn everywhere(condition: Condition) -> Self {
        Self { on: None, when: None, unknown: 0, condition }
    }
}

/// The first of some groups of rules none of which ever applies, with the first group that prevents it: on every piece of the
/// boundary on which a rule could apply, an unrestricted one of the same unknown before it does.
pub(super) fn hidden(groups: &[Vec<BoundaryRule>], pieces: &[Piece]) -> Option<(usize, usize)> {
    let is_on = |rule: &BoundaryRule, piece: &Piece| rule.on.as_ref().is_none_or(|on| piece.is(on));
    let hides = |first: &BoundaryRule, rule: &BoundaryRule| {
        let is_whole = first.when.is_none() && !matches!(first.condition, Condition::Periodic { .. });
        let mut common = pieces.iter().filter(|piece| is_on(rule, piece)).peekable();
        first.unknown == rule.unknown && is_whole && common.peek().is_some() && common.all(|piece| is_on(first, piece))
    };
    let hider = |index: usize, rule: &BoundaryRule| {
        groups[..index].iter().position(|group| group.iter().any(|first| hides(first, rule)))
    };
    groups.iter().enumerate().find_map(|(index, group)| {
        let hiders: Option<Vec<usize>> = group.iter().map(|rule| hider(index, rule)).collect();
        Some((index, *hiders?.first()?))
    })
}

/// gradient·∇u + value·u = target at a point of the boundary.
pub(super) struct Row {
    pub(super) gradient: Vec<f64>,
    pub(super) value: f64,
    pub(super) target: f64,
}

/// The rows of a condition at points with outward unit normals, both row-major n × dims: for each equation of the condition
/// one row at every point.
pub(super) fn rows_at(condition: &Condition, points: &[f64], normals: &[f64], dims: usize) -> Result<Vec<Vec<Row>>> {
    let all = |function: &Function, what: &str| function.finite_values(points, dims, what);
    let right = |function: &Function| all(function, "the value of a boundary condition");
    let rows = |along: &dyn Fn(usize) -> f64, value: &dyn Fn(usize) -> f64, target: Vec<f64>| -> Vec<Row> {
        let row = |(i, target)| {
            let normal = &normals[i * dims..(i + 1) * dims];
            Row { gradient: normal.iter().map(|n| along(i) * n).collect(), value: value(i), target }
        };
        target.into_iter().enumerate().map(row).collect()
    };
    Ok(match condition {
        Condition::Dirichlet { value } => vec![rows(&|_| 0.0, &|_| 1.0, right(value)?)],
        Condition::Neumann { value } => vec![rows(&|_| 1.0, &|_| 0.0, right(value)?)],
        Condition::Robin { normal, coefficient, value } => {
            let along = all(normal, "the factor of a Robin condition's normal derivative")?;
            let factor = all(coefficient, "the coefficient of a Robin condition")?;
            vec![rows(&|i| along[i], &|i| factor[i], right(value)?)]
        }
        Condition::Oblique { direction, coefficient, value } => {
            let factor = |function: &Function| all(function, "the direction of an oblique condition");
            let direction = direction.iter().map(factor).collect::<Result<Vec<_>>>()?;
            let factor = all(coefficient, "the coefficient of an oblique condition")?;
            let row =
                |(i, target)| Row { gradient: direction.iter().map(|of| of[i]).collect(), value: factor[i], target };
            vec![right(value)?.into_iter().enumerate().map(row).collect()]
        }
        Condition::Initial { value, rate } => {
            let rate = all(rate, "the rate of an initial condition")?;
            vec![rows(&|_| 0.0, &|_| 1.0, right(value)?), rows(&|_| -1.0, &|_| 0.0, rate)]
        }
        Condition::Periodic { .. } | Condition::Free => Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::definition::Problem;

    fn refusal(rules: &[&str]) -> Option<String> {
        let text = format!(
            "equation = {{ laplacian = 1 }}\ndomain = {{ name = 'plate', type = 'box', low = [0, 0], high = [1, 1] }}\n\
             boundary = [{}]",
            rules.join(", ")
        );
        Problem::parse(&text).err().map(|error| error.to_string())
    }

    #[test]
    fn conditions_that_never_apply_are_refused() {
        let all = "{ condition = 'dirichlet', value = 0 }";
        let left = "{ on = 'left', condition = 'neumann', value = 0 }";
        let low = "{ on = 'x=low', condition = 'neumann', value = 0 }";
        let whole = "{ on = 'plate', condition = 'dirichlet', value = 0 }";
        let inner = "{ on = 'plate.left', condition = 'neumann', value = 0 }";
        let part = "{ on = 'left', where = 'y > 0.5', condition = 'dirichlet', value = 1 }";
        let pairs = [left, low, inner].map(|first| [left, low, inner].map(|second| vec![first, second, all]));
        let others = [vec![all, left], vec![whole, inner], vec![all, all], vec![whole, all], vec![left, part, all]];
        for rules in pairs.into_iter().flatten().chain(others) {
            let refusal = refusal(&rules).unwrap();
            let expected = "line 3, column ";
            assert!(refusal.contains(expected) && refusal.contains("the one in line 3"), "{rules:?}: {refusal}");
        }
        for rules in [[left, all].as_slice(), &[part, left, all], &[inner, whole], &[left, whole]] {
            assert_eq!(refusal(rules), None, "{rules:?}");
        }
    }

    /// A condition of several unknowns applies if it does to one of them.
    #[test]
    fn conditions_of_several_unknowns_may_be_hidden_for_some() {
        let system = |rules: &str| {
            let text = format!(
                "unknowns = ['u', 'v']\ndomain = {{ type = 'box', low = [0, 0], high = [1, 1] }}\n\
                 equation = [{{ residual = 'u_xx + u_yy' }}, {{ residual = 'v_xx + v_yy' }}]\n\
                 boundary = [{rules}, {{ of = ['u', 'v'], condition = 'dirichlet', value = 0 }}]"
            );
            Problem::parse(&text).err().map(|error| error.to_string())
        };
        let outlet = "{ of = 'v', on = 'right', condition = 'dirichlet', value = 0 }";
        assert_eq!(system(&format!("{outlet}, {{ on = 'right', condition = 'none' }}")), None);
        assert!(system(&format!("{outlet}, {outlet}")).unwrap().contains("never applies"));
    }
}
