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
pub(super) fn options(input: &InputArgs, task: Task, model: Option<&Model>) -> ReadOptions {
    let mut options = input.options();
    let target = if task == Task::Regression { options.label.take() } else { None };
    if let (Some(columns), Some(target)) = (&mut options.columns, &target) {
        *columns = format!("{columns},{target}");
    }
    // Columns of text are called COLUMN=TEXT.
    let encoded = |model: &&Model| model.columns.iter().any(|name| name.contains('='));
    if let Some(model) = model.filter(encoded) {
        options.categorical = Some(Categorical::OneHot);
        let targets = target.iter().flat_map(|target| target.split(',')).map(|target| target.trim().to_string());
        options.coordinates = Some(model.columns.iter().cloned().chain(targets).collect());
    }
    options
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
    let read = || input.read_part(&options(input, task, model), share, observer);
    let instances = match task {
        Task::Classification => Instances::from_labels(read()?.points),
        Task::Regression => {
            let Some(column) = input.label.as_deref().filter(|_| input.labels.is_none()) else {
                let help = "name it with `label = COLUMN`; `labels` is for classes";
                return Err(Error::input("the column of the numbers to learn is not named", help));
            };
            let points = read()?.points;
            // A name with a comma in it, or several names.
            let is_name = points.names.iter().any(|name| name == column);
            let columns = if is_name { vec![column] } else { column.split(',').map(str::trim).collect() };
            Instances::from_columns(points, &columns)
        }
    };
    instances.map_err(|error| error.in_file(&input.input))
}
