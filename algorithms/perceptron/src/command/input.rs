//! Rows of the input table and their targets.

use firebox_core::{
    Error, Observer, Result, Share,
    command::InputArgs,
    data::{Categorical, ReadOptions},
};

use crate::config::Task;
use crate::solve::{Instances, Model};

/// Options for rows whose classes are separated from the coordinates, and whose numbers to learn are one of them. Text is
/// encoded as the model's columns are.
pub(super) fn options(input: &InputArgs, task: Task, model: Option<&Model>) -> Result<ReadOptions> {
    let mut options = input.options();
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

/// Reads a rank's rows and their targets, for the model if there is one.
pub(super) fn instances(
    input: &InputArgs,
    task: Task,
    model: Option<&Model>,
    share: Share,
    observer: &dyn Observer,
) -> Result<Instances> {
    if input.keep.is_some() {
        return Err(Error::input("`keep` is for predictions", "leave it out"));
    }
    let read = || input.read_part(&options(input, task, model)?, share, observer);
    let instances = match task {
        Task::Classification => Instances::from_labels(read()?.points),
        Task::Regression => {
            if input.label.is_none() || input.labels.is_some() {
                let help = "name it with `label = COLUMN`; `labels` is for classes";
                return Err(Error::input("the column of the numbers to learn is not named", help));
            }
            let part = read()?;
            let targets: Vec<usize> = (part.points.columns - part.targets..part.points.columns).collect();
            Instances::from_targets(part.points, targets)
        }
    };
    instances.map_err(|error| error.in_file(&input.input))
}
