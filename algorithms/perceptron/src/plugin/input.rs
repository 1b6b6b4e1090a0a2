//! The rows of a command, and what tells them from others.

use firebox_core::{
    Communicator, Error, Result, Share,
    data::{InputArgs, ReadOptions, read_part},
};

use crate::{
    config::Task,
    data::{Instances, Targets, select},
};

/// 64 bits of every number, the same however ranks share the rows: the sum of what Fowler, Noll and Vo's hash, a word at a
/// time, makes of each row and its place.
pub(super) fn fingerprint(instances: &Instances, ranks: &dyn Communicator) -> String {
    let (own, _) = instances.place(ranks);
    let rows = instances.values.chunks(instances.names.len().max(1)).enumerate().map(|(row, values)| {
        let target = match &instances.targets {
            Targets::Classes(codes, _) => codes[row] as u64,
            Targets::Numbers(numbers, _) => numbers[row].to_bits(),
        };
        let words = [(own.start + row) as u64, target].into_iter().chain(values.iter().map(|value| value.to_bits()));
        words.fold(0xcbf2_9ce4_8422_2325u64, |hash, bits| {
            let hash = (hash ^ bits).wrapping_mul(0x0000_0100_0000_01b3);
            hash ^ (hash >> 29)
        })
    });
    let sums = ranks.all_gather(&[rows.fold(0, u64::wrapping_add)]);
    format!("{:016x}", sums.into_iter().fold(0, u64::wrapping_add))
}

/// A rank's rows with what is known of them.
pub(super) fn instances(input: &InputArgs, task: Task, share: Share) -> Result<Instances> {
    match task {
        Task::Classification => {
            Instances::classes(input.read_part(share)?.points).map_err(|error| error.in_file(&input.input))
        }
        Task::Regression => {
            let Some(column) = input.label.as_deref().filter(|_| input.labels.is_none()) else {
                let help = "name it with --label COLUMN; --labels is for classes";
                return Err(Error::input("the column of the numbers to learn is not named", help));
            };
            let part = read_part(&input.input, &ReadOptions::default(), share)?;
            Instances::numbers(part.points, column).map_err(|error| error.in_file(&input.input))
        }
    }
}

/// Of these rows alone.
pub(super) fn of_rows(targets: &Targets, rows: &[usize]) -> Targets {
    match targets {
        Targets::Classes(codes, classes) => {
            Targets::Classes(rows.iter().map(|&row| codes[row]).collect(), classes.clone())
        }
        Targets::Numbers(numbers, name) => Targets::Numbers(select(numbers, 1, rows), name.clone()),
    }
}
