//! Resolution of output paths.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

const STDOUT: [&str; 3] = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// True if `path` is standard output: `-`, `/dev/stdout` or its aliases, or a link to one of them.
pub fn is_stdout(path: &Path) -> bool {
    let named = |path: &Path| STDOUT.iter().any(|name| path == Path::new(name));
    path.as_os_str() == "-" || follow(path).is_ok_and(|target| named(&target))
}

/// True if two paths resolve to one file, which need not exist.
pub fn is_same(a: &Path, b: &Path) -> bool {
    matches!((follow(a), follow(b)), (Ok(a), Ok(b)) if canonical(&a) == canonical(&b))
}

/// True if `target` is not a regular file and is written directly.
pub(super) fn is_stream(target: &Path) -> bool {
    is_device(target) || target.metadata().is_ok_and(|it| !it.is_file() && !it.is_dir())
}

fn is_device(target: &Path) -> bool {
    target.starts_with("/dev") && !target.starts_with("/dev/shm") || target.starts_with("/proc")
}

/// The path in its canonical folder, so that `a.csv` and `./a.csv` are equal.
pub(super) fn canonical(target: &Path) -> PathBuf {
    match (folder(target).canonicalize(), target.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => target.to_path_buf(),
    }
}

/// Follows symbolic links one by one, except devices such as `/dev/stdout`.
pub(super) fn follow(path: &Path) -> io::Result<PathBuf> {
    const MAX_LINKS: usize = 40;
    let mut target = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        if is_device(&target) || !target.symlink_metadata().is_ok_and(|it| it.is_symlink()) {
            return Ok(target);
        }
        let link = target.read_link()?;
        target = folder(&target).join(link);
    }
    Err(io::Error::other("too many symbolic links"))
}

/// The folder of `path`; `.` if it has none.
pub(super) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Syncs the folder of `target`, so that a rename survives a power failure. Does nothing where the folder cannot be opened
/// or synced (no read permission, some network file systems).
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
