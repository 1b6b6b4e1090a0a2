//! Types that stand for the tasks.

use crate::config::Task;

/// Type that stands for a [`Task`].
pub trait TaskKind {
    /// The task.
    const TASK: Task;
}

/// [`Task::Classification`].
#[derive(Debug, Clone, Copy)]
pub enum Classification {}

/// [`Task::Regression`].
#[derive(Debug, Clone, Copy)]
pub enum Regression {}

impl TaskKind for Classification {
    const TASK: Task = Task::Classification;
}

impl TaskKind for Regression {
    const TASK: Task = Task::Regression;
}
