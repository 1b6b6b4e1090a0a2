//! Rows of the input table and their targets.

use std::path::Path;

use firebox_core::{
    Communicator, Error, Observer, Result,
    command::{InputArgs, PageArgs},
    data::{Categorical, Kept, Missing, MissingNumbers, ReadOptions, read_blocks},
    error::shown,
};

use crate::config::Task;
use crate::solve::{Instances, Model};

/// Options for rows whose classes are separated from the coordinates, and whose numbers to learn are one of them. Text is
/// encoded as the model's columns are.
pub(super) fn options(input: &InputArgs, task: Task, missing: Missing, model: Option<&Model>) -> Result<ReadOptions> {
    let mut options = input.options();
    options.missing = match (missing, model) {
        (Missing::Refuse, None) => MissingNumbers::Advised,
        (Missing::Refuse, Some(_)) => MissingNumbers::Refused,
        _ => MissingNumbers::Accepted,
    };
    if task == Task::Regression {
        options.targets = options.label.take();
    }
    // Columns of text are called COLUMN=TEXT.
    let encoded = |model: &&Model| model.columns.iter().any(|name| name.contains('='));
    if let Some(model) = model.filter(encoded) {
        options.categorical = Some(Categorical::OneHot);
        options.coordinates = Some(model.columns.clone());
        if options.columns.is_some() || options.drop.is_some() {
            let what = "the model's columns of text determine the columns, not `columns` or `drop`";
            return Err(Error::input(what, "leave them out"));
        }
    }
    Ok(options)
}

/// Where a rank's instances are in the table, and the columns that are kept beside them.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// The columns to keep, of the instances.
    pub(super) kept: Kept,
    /// Name of the column of the classes, if they were a column of the table.
    pub(super) label: Option<String>,
    /// Number of the first row that was read, from 0.
    first: usize,
    /// For each row that was read, whether it is an instance; empty if all are.
    retained: Vec<bool>,
}

impl Source {
    /// Number of each of `rows` instances in the table, from 0.
    pub(super) fn numbers(&self, rows: usize) -> Vec<u64> {
        let numbers = self.first as u64..;
        if self.retained.is_empty() {
            return numbers.take(rows).collect();
        }
        numbers.zip(&self.retained).filter(|(_, retained)| **retained).map(|(number, _)| number).collect()
    }
}

/// Reads a rank's rows and their targets, for the model if there is one. With a model the columns
/// are those of the model. Rows with missing numbers are left out if `missing` says so; other missing numbers are NaN. Only a
/// page shows columns to keep.
pub(super) fn instances(
    input: &InputArgs,
    (task, missing): (Task, Missing),
    model: Option<&Model>,
    ranks: &dyn Communicator,
    observer: &dyn Observer,
    page: &PageArgs,
) -> Result<(Instances, Source)> {
    match input.keep {
        Some(_) if page.html.is_none() => {
            let what = "`keep` is for predictions and for the report of `html`";
            return Err(Error::input(what, "leave it out, or name a report with `html`"));
        }
        Some(_) if ranks.size() > 1 => {
            return Err(Error::input("`keep` is for a single process", "leave it out, or run this without mpirun"));
        }
        _ => {}
    }
    let mut source = Source::default();
    let read = || {
        let part = input.read_part(&options(input, task, missing, model)?, ranks.share(), observer);
        part.map_err(|error| if model.is_none() { with_task(error) } else { error })
    };
    let part = if task == Task::Regression && (input.label.is_none() || input.labels.is_some()) {
        let help = "name it with `label = COLUMN`; `labels` is for classes";
        return Err(Error::input("the column of the numbers to learn is not named", help));
    } else {
        read()?
    };
    (source.first, source.kept) = (part.of.start, part.kept);
    source.label.clone_from(&part.points.label_column);
    let instances = match task {
        Task::Classification => Instances::from_labels(part.points),
        Task::Regression => {
            let targets: Vec<usize> = (part.points.columns - part.targets..part.points.columns).collect();
            Instances::from_targets(part.points, targets)
        }
    };
    let in_file = |error: Error| error.in_file(&input.input);
    let mut instances = instances.map_err(in_file)?;
    if let Some(model) = model {
        // Missing numbers in columns that the model does not know do not matter.
        let values = model.columns_of(&instances.names, &instances.values);
        instances.values = values.map_err(|error| text_error(input, model, error))?;
        instances.names = model.columns.clone();
    }
    if missing == Missing::Drop {
        source.retained = instances.retain_complete();
        source.kept.retain(&source.retained);
    }
    let dropped = source.retained.iter().filter(|retained| !**retained).count();
    instances.check_targets().map_err(in_file)?;
    let filled = instances.values.iter().filter(|value| value.is_nan()).count();
    let mut counts = [dropped as f64, filled as f64];
    ranks.all_sum(&mut counts);
    notice(missing, counts.map(|count| count as u64), &input.input)
        .into_iter()
        .for_each(|notice| observer.notice(&notice));
    Ok((instances, source))
}

/// Adds the option `task` to the advice of an error of labels or targets that suit the other task.
fn with_task(error: Error) -> Error {
    match error {
        Error::Input { what, place, .. }
            if what.starts_with("the label ") && what.ends_with("is not a whole number") =>
        {
            let help = "classes are whole numbers or names; to learn numbers, add `task = regression`";
            Error::input_at(place, what, help)
        }
        Error::Input { what, place, .. } if what.starts_with("the target ") => {
            let help = "a regression learns columns of numbers; to learn classes, give `task = classification`";
            Error::input_at(place, what, help)
        }
        other => other,
    }
}

/// The error at the first text in the columns of `model`, if they are in the file; else `error`, that they are not among
/// the columns of numbers.
pub(super) fn text_error(input: &InputArgs, model: &Model, error: Error) -> Error {
    let path = &input.input;
    let options = ReadOptions {
        coordinates: Some(model.columns.clone()),
        missing: MissingNumbers::Accepted,
        ..ReadOptions::default()
    };
    // Standard input cannot be read again.
    let found = (path.as_os_str() != "-").then(|| read_blocks(path, &options, 1 << 20, |_, _| Ok(())));
    match found {
        Some(Err(Error::Input { what, place, .. })) if place.at.is_some() && place.column.is_some() => {
            Error::input_at(place, what, "the model takes this column: give numbers, as in its training")
        }
        _ => error.in_file(path),
    }
}

/// A notice of the numbers of rows left out and of numbers replaced in a file, if there are any.
pub(super) fn notice(missing: Missing, [dropped, filled]: [u64; 2], path: &Path) -> Option<String> {
    let of = shown(&path.display().to_string());
    match missing {
        Missing::Drop if dropped > 0 => Some(format!("rows of {of} with missing numbers left out: {dropped}")),
        Missing::Mean | Missing::Median if filled > 0 => {
            let by = if missing == Missing::Mean { "means" } else { "medians" };
            Some(format!("missing numbers of {of} replaced by the {by} of the training rows: {filled}"))
        }
        _ => None,
    }
}
