//! How many threads compute on the CPU.

use std::{env, fs, num::NonZero, thread};

use firebox_core::{Error, Result};

/// Threads for each core at most: more of them wait for each other, and thousands stall the machine.
const MOST_PER_CORE: usize = 4;
const VARIABLE: &str = "RAYON_NUM_THREADS";

/// Sets the number of threads once for the process: `wanted`, else `RAYON_NUM_THREADS`, else this process's part of the
/// cores that `sharers` processes on this machine share. Returns a notice if that was too many.
///
/// # Errors
///
/// If the threads cannot be started.
pub(crate) fn start(wanted: Option<NonZero<usize>>, sharers: usize) -> Result<Option<String>> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let most = cores * MOST_PER_CORE;
    let named = env::var(VARIABLE).ok().and_then(|text| text.parse::<NonZero<usize>>().ok());
    let asked = wanted.or(named).map(NonZero::get);
    let threads = match asked {
        Some(asked) => asked.min(most),
        None if sharers > 1 => cores.min((online() / sharers).max(1)),
        None => return Ok(None),
    };
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(|error| {
        Error::input(format!("{threads} threads cannot be started: {error}"), "set --threads to fewer")
    })?;
    let source = if wanted.is_some() { "--threads" } else { VARIABLE };
    Ok(asked.filter(|asked| *asked > most).map(|asked| {
        format!("{source} asks for {asked} threads: {most} are used, {MOST_PER_CORE} for each of {cores} cores")
    }))
}

/// The machine's cores, as the system counts them; 0 if it does not say.
pub(crate) fn online() -> usize {
    fs::read_to_string("/sys/devices/system/cpu/online").map_or(0, |list| cores(&list))
}

/// How many cores a list such as `0-3,8` names.
pub(crate) fn cores(list: &str) -> usize {
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
    fn cores_of_a_list_are_counted() {
        assert_eq!(["0", "0-15\n", "0-3,8,10-11", "", "x"].map(super::cores), [1, 16, 7, 0, 0]);
    }
}
