//! Boundary conditions, and where they hold.

use firebox_core::{Error, Result};

use super::{function::Function, predicate::Predicate};

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

/// Index of the first rule that never applies, since one of its unknown before it holds wherever it could.
fn hidden(rules: &[BoundaryRule]) -> Option<usize> {
    let hides = |first: &BoundaryRule, rule: &BoundaryRule| {
        let is_on = |on: &String| {
            let rest = rule.on.as_ref().and_then(|of| of.strip_prefix(on.as_str()));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let is_whole = first.when.is_none() && !matches!(first.condition, Condition::Periodic { .. });
        first.unknown == rule.unknown && is_whole && first.on.as_ref().is_none_or(is_on)
    };
    (0..rules.len()).find(|&k| rules[..k].iter().any(|first| hides(first, &rules[k])))
}

/// Fails for a rule that never applies; the error comes with the rule's index.
pub(super) fn check_hidden(rules: &[BoundaryRule]) -> std::result::Result<(), (usize, Error)> {
    let Some(index) = hidden(rules) else { return Ok(()) };
    let what = "a boundary condition never applies: one before it holds wherever it could";
    let help = "put it first if it is narrower; u and its derivative on one face are one condition, 'initial'";
    Err((index, Error::input(what, help)))
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
        let whole = "{ on = 'plate', condition = 'dirichlet', value = 0 }";
        let inner = "{ on = 'plate.left', condition = 'neumann', value = 0 }";
        let part = "{ on = 'left', where = 'y > 0.5', condition = 'dirichlet', value = 1 }";
        for rules in [[left, left, all].as_slice(), &[all, left], &[whole, inner, all], &[all, all], &[left, part, all]]
        {
            let refusal = refusal(rules).unwrap();
            assert!(refusal.contains("never applies: one before it holds wherever it could"), "{rules:?}: {refusal}");
        }
        for rules in [[left, all].as_slice(), &[part, left, all], &[inner, whole], &[left, whole, all]] {
            assert_eq!(refusal(rules), None, "{rules:?}");
        }
    }
}
