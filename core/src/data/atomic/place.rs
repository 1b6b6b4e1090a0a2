//! Where an output path leads.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

const STDOUT: [&str; 3] = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// Whether `path` stands for standard output: `-`, `/dev/stdout` and its other names, or a link to one of them.
pub fn is_stdout(path: &Path) -> bool {
    let named = |path: &Path| STDOUT.iter().any(|name| path == Path::new(name));
    path.as_os_str() == "-" || follow(path).is_ok_and(|target| named(&target))
}

/// Whether two paths are one file, existing or not.
pub fn is_same(a: &Path, b: &Path) -> bool {
    matches!((follow(a), follow(b)), (Ok(a), Ok(b)) if place(&a) == place(&b))
}

/// Whether `target` is written to directly.
pub(super) fn is_stream(target: &Path) -> bool {
    is_device(target) || target.metadata().is_ok_and(|it| !it.is_file() && !it.is_dir())
}

fn is_device(target: &Path) -> bool {
    target.starts_with("/dev") && !target.starts_with("/dev/shm") || target.starts_with("/proc")
}

/// A path with its folder's canonical name, so that `a.csv` and `./a.csv` are equal.
pub(super) fn place(target: &Path) -> PathBuf {
    match (folder(target).canonicalize(), target.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => target.to_path_buf(),
    }
}

/// Where `path` leads: symbolic links followed one by one, except that `/dev/stdout` and its like stay what they are.
pub(super) fn follow(path: &Path) -> io::Result<PathBuf> {
    const MOST: usize = 40;
    let mut target = path.to_path_buf();
    for _ in 0..MOST {
        if is_device(&target) || !target.symlink_metadata().is_ok_and(|it| it.is_symlink()) {
            return Ok(target);
        }
        let link = target.read_link()?;
        target = folder(&target).join(link);
    }
    Err(io::Error::other("too many symbolic links"))
}

pub(super) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Flushes the folder of `target` to the disk, so that a renamed file is still there after a power failure. A folder that
/// cannot be opened or flushed (one without read permission, some network file systems) is left to the system.
pub(super) fn flush_folder(target: &Path) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    if cfg!(not(unix)) {
        return Ok(());
    }
    match File::open(folder(target)).and_then(|folder| folder.sync_all()) {
        Err(error) if matches!(error.kind(), InvalidInput | PermissionDenied | Unsupported) => Ok(()),
        other => other,
    }
}
