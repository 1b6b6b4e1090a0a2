//! Slabs of time: parts of a problem, whose time is a coordinate, that are solved one after the other.

/// The division of a problem's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeSlabs {
    /// The coordinate that is time, counted from 0.
    pub axis: usize,
    /// Number of slabs; as many as needed if `None`.
    pub count: Option<usize>,
}
