//! Fallible allocation of host memory for data whose size depends on the user or on a file; otherwise a failed
//! allocation would abort the process.

use std::collections::HashMap;
use std::fs::File;
use std::hash::Hash;
use std::io::{self, Read};
use std::path::Path;

use crate::error::{Error, Result, human_bytes};

/// Minimum size of reservations that are compared with the free memory, since the system overcommits.
const LARGE: u64 = 1 << 28;

const HELP: &str = "use less data, a machine with more memory, or a higher memory limit of the process (ulimit -v)";

/// Checks that `bytes` can be allocated for `purpose` ("the points"). Nothing stays reserved.
///
/// Fails with [`Error::Memory`] if less than that is free, [`Error::Input`] if the system does not grant it to this
/// process.
pub fn admit(bytes: u128, purpose: &str) -> Result<()> {
    let needed = u64::try_from(bytes).unwrap_or(u64::MAX);
    if needed >= LARGE
        && let Some(free) = free()
        && needed > free
    {
        let (device, purpose, help) = ("this machine".into(), purpose.into(), HELP.into());
        return Err(Error::Memory { device, purpose, needed, available: free, limit: "are free", help });
    }
    let mut probe = Vec::<u8>::new();
    let granted = usize::try_from(needed).is_ok_and(|bytes| probe.try_reserve_exact(bytes).is_ok());
    // Otherwise the compiler may elide the unused allocation and assume success.
    std::hint::black_box(&probe);
    if granted { Ok(()) } else { Err(denied(needed, purpose)) }
}

/// Creates an empty vector with capacity for `count` values. Fails as [`admit`] does.
pub fn with_capacity<T>(count: usize, purpose: &str) -> Result<Vec<T>> {
    let bytes = count as u128 * size_of::<T>() as u128;
    if bytes >= u128::from(LARGE) {
        admit(bytes, purpose)?;
    }
    let mut values = Vec::new();
    let needed = u64::try_from(bytes).unwrap_or(u64::MAX);
    values.try_reserve_exact(count).map_err(|_| denied(needed, purpose))?;
    Ok(values)
}

/// Copies `values`. Fails as [`admit`] does.
pub fn copied<T: Copy>(values: &[T], purpose: &str) -> Result<Vec<T>> {
    let mut copy = with_capacity(values.len(), purpose)?;
    copy.extend_from_slice(values);
    Ok(copy)
}

/// Appends to a vector, which grows if needed. Fails with [`Error::Input`] if the system does not grant the memory.
#[inline]
pub fn push<T>(values: &mut Vec<T>, value: T, purpose: &str) -> Result<()> {
    if values.len() == values.capacity() {
        grow(values, purpose)?;
    }
    values.push(value);
    Ok(())
}

/// Extends a vector with copies of `value`. Fails as [`push`] does.
pub fn resize<T: Copy>(values: &mut Vec<T>, length: usize, value: T, purpose: &str) -> Result<()> {
    let bytes = length.saturating_mul(size_of::<T>());
    values.try_reserve(length.saturating_sub(values.len())).map_err(|_| denied(bytes as u64, purpose))?;
    values.resize(length, value);
    Ok(())
}

#[cold]
fn grow<T>(values: &mut Vec<T>, purpose: &str) -> Result<()> {
    let bytes = values.len().saturating_mul(2 * size_of::<T>());
    values.try_reserve(1).map_err(|_| denied(bytes as u64, purpose))
}

/// Reserves one more entry of a map. Fails as [`push`] does.
#[inline]
pub fn reserve_entry<K: Eq + Hash, V>(map: &mut HashMap<K, V>, purpose: &str) -> Result<()> {
    let bytes = map.len().saturating_mul(2 * (size_of::<(K, V)>() + 1));
    map.try_reserve(1).map_err(|_| denied(bytes as u64, purpose))
}

/// Reads all bytes of a file.
///
/// Fails with [`Error::Io`] if it cannot be read, [`Error::Memory`] or [`Error::Input`] if there is no memory for it.
pub fn read_file(path: &Path) -> Result<Vec<u8>> {
    let file = File::open(path).map_err(|error| unread(error, path, 0))?;
    let size = file.metadata().map_or(0, |of| if of.is_file() { of.len() } else { 0 });
    let size = usize::try_from(size).map_err(|_| denied(size, "the file").in_file(path))?;
    read_all(file, with_capacity(size, "the file").map_err(|error| error.in_file(path))?, path)
}

/// Appends all remaining bytes of `source`, which messages call `name`, to `bytes`. Fails as [`read_file`] does.
pub(crate) fn read_all(mut source: impl Read, mut bytes: Vec<u8>, name: &Path) -> Result<Vec<u8>> {
    source.read_to_end(&mut bytes).map_err(|error| unread(error, name, bytes.len()))?;
    Ok(bytes)
}

/// The error of a read that failed after `read` bytes.
pub(crate) fn unread(source: io::Error, path: &Path, read: usize) -> Error {
    match source.kind() {
        io::ErrorKind::OutOfMemory => denied(read.saturating_mul(2) as u64, "the data").in_file(path),
        _ => Error::Io { action: "read", path: path.to_path_buf(), source },
    }
}

fn denied(needed: u64, purpose: &str) -> Error {
    let what = format!(
        "{purpose}: {} ({needed} bytes) of memory are needed, and the system does not grant them to this process",
        human_bytes(needed)
    );
    Error::input(what, HELP)
}

/// Bytes available without swapping, on the machine and in the control group; `None` if unknown.
fn free() -> Option<u64> {
    let mut system = sysinfo::System::new().ok()?;
    system.refresh_memory();
    // The group's page cache is reclaimable: only resident memory counts.
    let group = system.cgroup_limits().map(|group| group.total_memory.saturating_sub(group.rss));
    Some(system.available_memory().min(group.unwrap_or(u64::MAX))).filter(|free| *free > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_beyond_memory_fail_with_the_bytes() {
        for bytes in [1u128 << 50, u128::from(u64::MAX), u128::MAX] {
            let error = admit(bytes, "the points").unwrap_err();
            assert_eq!(error.exit_code(), 2);
            let (text, bytes) = (error.to_string(), format!("({} bytes)", bytes.min(u64::MAX.into())));
            assert!(text.contains("the points") && text.contains(&bytes), "{text}");
        }
        assert!(with_capacity::<f64>(usize::MAX, "the points").is_err());
        assert!(with_capacity::<f64>(1 << 50, "the points").is_err());
        admit(0, "nothing").unwrap();
        assert!(with_capacity::<f64>(100, "the points").unwrap().capacity() >= 100);
        assert_eq!(copied(&[1, 2], "the points").unwrap(), [1, 2]);
    }

    #[test]
    fn vectors_grow_by_pushes() {
        let mut values = Vec::new();
        (0..1000).for_each(|k| push(&mut values, k, "the points").unwrap());
        assert_eq!(values, (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn files_are_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        assert!(matches!(read_file(&path), Err(Error::Io { action: "read", .. })));
        std::fs::write(&path, b"abc").unwrap();
        assert_eq!(read_file(&path).unwrap(), b"abc");
        assert_eq!(read_all(&b"abc"[..], Vec::new(), &path).unwrap(), b"abc");
        // A sparse file, larger than any machine's memory.
        let file = File::options().write(true).open(&path).unwrap();
        if file.set_len(1 << 43).is_ok() {
            let error = read_file(&path).unwrap_err();
            assert!(!matches!(error, Error::Io { .. }), "{error}");
            assert_eq!(error.exit_code(), 2);
        }
    }
}
