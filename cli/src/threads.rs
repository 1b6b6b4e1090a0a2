//! Number of threads that compute on the CPU.

use std::{env, fs, num::NonZero, thread};

use firebox_core::{Error, Result};

/// Maximum threads per core. More would wait for each other, and thousands stall the machine.
const MAX_PER_CORE: usize = 4;
const VARIABLE: &str = "RAYON_NUM_THREADS";

/// Starts the global thread pool with `requested` threads, else `RAYON_NUM_THREADS`, else this process's part of the
/// cores that `sharers` processes on this machine share. Returns a notice if the number was reduced to the maximum.
///
/// # Errors
///
/// [`Error::Input`] if the threads cannot be started.
pub(crate) fn start(requested: Option<NonZero<usize>>, sharers: usize) -> Result<Option<String>> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let max = cores * MAX_PER_CORE;
    let variable = env::var(VARIABLE).ok().and_then(|text| text.parse::<NonZero<usize>>().ok());
    let requested_threads = requested.or(variable).map(NonZero::get);
    let threads = match requested_threads {
        Some(threads) => threads.min(max),
        None if sharers > 1 => cores.min((online_cores() / sharers).max(1)),
        None => return Ok(None),
    };
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(|error| {
        Error::input(format!("{threads} threads cannot be started: {error}"), "set --threads to fewer")
    })?;
    let source = if requested.is_some() { "--threads" } else { VARIABLE };
    Ok(requested_threads.filter(|threads| *threads > max).map(|threads| {
        format!("{source} asks for {threads} threads: {max} are used, {MAX_PER_CORE} for each of {cores} cores")
    }))
}

/// Returns the number of online cores of the machine, or 0 if the system does not report it.
pub(crate) fn online_cores() -> usize {
    fs::read_to_string("/sys/devices/system/cpu/online").map_or(0, |list| count_cores(&list))
}

/// Counts the cores in a list such as `0-3,8`.
pub(crate) fn count_cores(list: &str) -> usize {
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        Some((last + 1).saturating_sub(first))
    };
    list.trim().split(',').filter_map(range).sum()
}

#[cfg(test)]
mod tests {
    #[test]
    fn cores_in_lists_are_counted() {
        assert_eq!(["0", "0-15\n", "0-3,8,10-11", "", "x"].map(super::count_cores), [1, 16, 7, 0, 0]);
    }
}
