//! Boundary conditions, and where they hold.

use firebox_core::Result;

use super::{function::Function, predicate::Predicate};

/// A boundary condition; n is the outward unit normal.
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
    /// The condition.
    pub condition: Condition,
}

impl BoundaryRule {
    /// `condition` on the whole boundary.
    pub fn everywhere(condition: Condition) -> Self {
        Self { on: None, when: None, condition }
    }
}

/// gradient·∇u + value·u = target at a point of the boundary.
pub(super) struct Row {
    pub(super) gradient: Vec<f64>,
    pub(super) value: f64,
    pub(super) target: f64,
}

/// The rows of a condition at a point with an outward unit normal.
pub(super) fn rows_at(condition: &Condition, point: &[f64], normal: &[f64]) -> Result<Vec<Row>> {
    let right = |function: &Function| function.finite_at(point, "the value of a boundary condition");
    let row = |along: f64, value: f64, target: f64| Row {
        gradient: normal.iter().map(|n| along * n).collect(),
        value,
        target,
    };
    Ok(match condition {
        Condition::Dirichlet { value } => vec![row(0.0, 1.0, right(value)?)],
        Condition::Neumann { value } => vec![row(1.0, 0.0, right(value)?)],
        Condition::Robin { normal, coefficient, value } => {
            let along = normal.finite_at(point, "the factor of a Robin condition's normal derivative")?;
            let factor = coefficient.finite_at(point, "the coefficient of a Robin condition")?;
            vec![row(along, factor, right(value)?)]
        }
        Condition::Oblique { direction, coefficient, value } => {
            let factor = |function: &Function| function.finite_at(point, "the direction of an oblique condition");
            vec![Row {
                gradient: direction.iter().map(factor).collect::<Result<_>>()?,
                value: coefficient.finite_at(point, "the coefficient of an oblique condition")?,
                target: right(value)?,
            }]
        }
        Condition::Initial { value, rate } => {
            let rate = rate.finite_at(point, "the rate of an initial condition")?;
            vec![row(0.0, 1.0, right(value)?), row(-1.0, 0.0, rate)]
        }
        Condition::Periodic { .. } | Condition::Free => Vec::new(),
    })
}
