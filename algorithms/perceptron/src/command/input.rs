//! Rows of the input table and their targets.

use firebox_core::{
    Error, Result, Share,
    command::InputArgs,
    data::{ReadOptions, read_part},
};

use crate::config::Task;
use crate::solve::Instances;

/// Reads a rank's rows and their targets.
pub(super) fn instances(input: &InputArgs, task: Task, share: Share) -> Result<Instances> {
    match task {
        Task::Classification => {
            Instances::from_labels(input.read_part(share)?.points).map_err(|error| error.in_file(&input.input))
        }
        Task::Regression => {
            let Some(column) = input.label.as_deref().filter(|_| input.labels.is_none()) else {
                let help = "name it with `label = COLUMN`; `labels` is for classes";
                return Err(Error::input("the column of the numbers to learn is not named", help));
            };
            let part = read_part(&input.input, &ReadOptions::default(), share)?;
            // A name with a comma in it, or several names.
            let is_name = part.points.names.iter().any(|name| name == column);
            let columns = if is_name { vec![column] } else { column.split(',').map(str::trim).collect() };
            Instances::from_columns(part.points, &columns).map_err(|error| error.in_file(&input.input))
        }
    }
}
