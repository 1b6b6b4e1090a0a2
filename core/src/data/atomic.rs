//! Files written whole or not at all.
//!
//! What is written goes to a temporary file beside its target and is renamed over it at the end, so that whoever
//! looks finds the old file or the new one. Targets that are no ordinary files (`/dev/null`, `/dev/stdout`, a pipe)
//! are written to directly, at the end, before any file is put in its place: a full disk behind one of them is told
//! while nothing is there yet. A symbolic link is followed, not replaced.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, SpooledTempFile};

use crate::{Error, Result};

/// Writes one file, whole or not at all: if `fill` or the disk fails, what stood at `path` still does.
pub fn write(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut staged = Staged::default();
    staged.add(path, fill)?;
    staged.commit()
}

/// Several files that are to appear together: each is written to its temporary file first, and only
/// [`Staged::commit`] puts them in their places. Dropped without it, nothing remains.
///
/// ```
/// use std::io::Write;
/// use firebox_core::data::atomic::Staged;
///
/// # let folder = tempfile::tempdir()?;
/// let (table, report) = (folder.path().join("table.csv"), folder.path().join("report.json"));
/// let mut staged = Staged::default();
/// staged.add(&table, |out| writeln!(out, "x\n1"))?;
/// staged.add(&report, |out| writeln!(out, "{{}}"))?;
/// assert!(!table.exists());
/// staged.commit()?;
/// assert!(table.exists() && report.exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Staged {
    outputs: Vec<Output>,
}

/// Whether `path` stands for standard output: `-`, `/dev/stdout` and its other names, or a link to one of them.
pub fn is_stdout(path: &Path) -> bool {
    let named = |path: &Path| STDOUT.iter().any(|name| path == Path::new(name));
    path.as_os_str() == "-" || follow(path).is_ok_and(|target| named(&target))
}

const STDOUT: [&str; 3] = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

#[derive(Debug)]
struct Output {
    path: PathBuf,
    target: PathBuf,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Rename(NamedTempFile),
    Copy(SpooledTempFile, Stream),
}

#[derive(Debug)]
enum Stream {
    Stdout,
    File(File),
}

impl Staged {
    /// Writes what `fill` gives to a temporary file for `path`.
    ///
    /// Fails if the directory is missing, if `path` or an existing file there may not be written, if it is added
    /// for the second time, or as `fill` does.
    pub fn add(&mut self, path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        if is_stdout(path) {
            return self.print(fill);
        }
        let target = follow(path).map_err(|error| unwritable(path, error))?;
        let stream = is_stream(&target);
        if !stream && self.outputs.iter().any(|output| place(&output.target) == place(&target)) {
            let what = format!("two outputs are to be written to {}", path.display());
            return Err(Error::input(what, "give each output a file of its own"));
        }
        let content = stage(&target, stream, fill).map_err(|error| unwritable(path, error))?;
        self.outputs.push(Output { path: path.to_path_buf(), target, content });
        Ok(())
    }

    /// Keeps what `fill` gives for standard output.
    pub fn print(&mut self, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        let path = PathBuf::from("standard output");
        let content = spool(fill).map(|spool| Content::Copy(spool, Stream::Stdout));
        let content = content.map_err(|error| unwritable(&path, error))?;
        self.outputs.push(Output { target: path.clone(), path, content });
        Ok(())
    }

    /// Puts everything in its place: streams first, for only they can still fail for want of room, then the files.
    pub fn commit(self) -> Result<()> {
        let (streams, files): (Vec<_>, Vec<_>) =
            self.outputs.into_iter().partition(|output| matches!(output.content, Content::Copy(..)));
        for Output { path, target, content } in streams.into_iter().chain(files) {
            let done = match content {
                Content::Rename(file) => file.persist(&target).map(drop).map_err(|error| error.error),
                Content::Copy(spool, stream) => copy(spool, stream),
            };
            done.map_err(|error| unwritable(&path, error))?;
        }
        Ok(())
    }
}

fn unwritable(path: &Path, source: io::Error) -> Error {
    Error::Io { action: "write", path: path.to_path_buf(), source }
}

/// Whether `target` is written to directly.
fn is_stream(target: &Path) -> bool {
    is_device(target) || target.metadata().is_ok_and(|it| !it.is_file() && !it.is_dir())
}

fn is_device(target: &Path) -> bool {
    target.starts_with("/dev") && !target.starts_with("/dev/shm") || target.starts_with("/proc")
}

/// Whether two paths are one file, be it there yet or not.
pub fn is_same(a: &Path, b: &Path) -> bool {
    matches!((follow(a), follow(b)), (Ok(a), Ok(b)) if place(&a) == place(&b))
}

/// A path with its folder's one name, so that `a.csv` and `./a.csv` are equal.
fn place(target: &Path) -> PathBuf {
    match (folder(target).canonicalize(), target.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => target.to_path_buf(),
    }
}

/// Where `path` leads: symbolic links followed one by one, except that `/dev/stdout` and its like stay what they are.
fn follow(path: &Path) -> io::Result<PathBuf> {
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

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn stage(target: &Path, stream: bool, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<Content> {
    if stream {
        let stream = OpenOptions::new().append(true).open(target)?;
        return Ok(Content::Copy(spool(fill)?, Stream::File(stream)));
    }
    let existing = target.metadata().ok();
    if existing.is_some() {
        // What may not be written must not be replaced either; a directory fails here too.
        OpenOptions::new().write(true).open(target)?;
    }
    // Made by hand, so that it has an ordinary file's permissions and an error is the system's own.
    let create = |path: &Path| OpenOptions::new().write(true).create_new(true).open(path);
    let temporary = tempfile::Builder::new().prefix(".firebox-").make_in(folder(target), create)?;
    let mut out = BufWriter::new(temporary);
    fill(&mut out)?;
    let file = out.into_inner().map_err(|error| error.into_error())?;
    if let Some(existing) = existing {
        file.as_file().set_permissions(existing.permissions())?;
    }
    Ok(Content::Rename(file))
}

/// What `fill` gives, in memory, or on the disk if it is much.
fn spool(fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<SpooledTempFile> {
    const MOST: usize = 1 << 24;
    let mut out = BufWriter::new(SpooledTempFile::new(MOST));
    fill(&mut out)?;
    out.into_inner().map_err(|error| error.into_error())
}

fn copy(mut spool: SpooledTempFile, stream: Stream) -> io::Result<()> {
    spool.rewind()?;
    let copied = match stream {
        Stream::Stdout => {
            let mut out = io::stdout().lock();
            io::copy(&mut spool, &mut out).and_then(|_| out.flush())
        }
        Stream::File(mut out) => io::copy(&mut spool, &mut out).map(drop),
    };
    match copied {
        // Whoever read it has read enough, which is no reason to keep the files from appearing.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn names(folder: &Path) -> Vec<String> {
        let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
        let mut names: Vec<String> = fs::read_dir(folder).unwrap().map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        write(&path, |out| out.write_all(b"old")).unwrap();
        let error = write(&path, |out| {
            out.write_all(&[b'x'; 100_000])?;
            Err(io::Error::other("the disk is full"))
        });
        let expected = format!("cannot write {}: the disk is full", path.display());
        assert_eq!(error.unwrap_err().to_string(), expected);
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["a.csv"]);
        write(&path, |out| out.write_all(b"new")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(names(folder.path()), ["a.csv"]);
    }

    #[test]
    fn one_output_that_cannot_be_written_stops_all() {
        let folder = tempfile::tempdir().unwrap();
        let mut staged = Staged::default();
        staged.add(&folder.path().join("a.csv"), |out| out.write_all(b"a")).unwrap();
        let missing = folder.path().join("no/b.csv");
        assert!(matches!(staged.add(&missing, |_| Ok(())), Err(Error::Io { action: "write", .. })));
        assert!(matches!(staged.add(folder.path(), |_| Ok(())), Err(Error::Io { .. })));
        let twice = staged.add(&folder.path().join("a.csv"), |_| Ok(())).unwrap_err();
        assert!(twice.to_string().starts_with("two outputs are to be written to "));
        let roundabout = folder.path().join(".").join("a.csv");
        assert!(staged.add(&roundabout, |_| Ok(())).unwrap_err().to_string().starts_with("two outputs are to be"));
        drop(staged);
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn devices_are_written_to_and_stay() {
        let null = Path::new("/dev/null");
        write(null, |out| out.write_all(b"x")).unwrap();
        assert!(!fs::metadata(null).unwrap().is_file());
        assert!(write(Path::new("/dev/no-such-device"), |_| Ok(())).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn no_file_appears_if_a_stream_fails() {
        let folder = tempfile::tempdir().unwrap();
        let mut staged = Staged::default();
        staged.add(&folder.path().join("a.csv"), |out| out.write_all(b"a")).unwrap();
        staged.add(Path::new("/dev/full"), |out| out.write_all(b"b")).unwrap();
        assert!(matches!(staged.commit(), Err(Error::Io { action: "write", .. })));
        assert!(names(folder.path()).is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn standard_output_has_several_names() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/stdout", &link).unwrap();
        assert!(["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().all(|it| is_stdout(Path::new(it))));
        assert!(is_stdout(&link));
        assert!(!["/dev/stderr", "/dev/null", "a.csv", "./-"].iter().any(|it| is_stdout(Path::new(it))));
    }

    #[cfg(unix)]
    #[test]
    fn a_file_has_several_names() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("below")).unwrap();
        std::os::unix::fs::symlink("a.csv", at("link.csv")).unwrap();
        std::os::unix::fs::symlink("below", at("other")).unwrap();
        for there in [false, true] {
            for (a, b) in [("a.csv", "below/../a.csv"), ("a.csv", "link.csv"), ("below/b.csv", "other/b.csv")] {
                assert!(is_same(&at(a), &at(b)) && is_same(&at(b), &at(a)), "{a} {b}");
            }
            assert!(!is_same(&at("a.csv"), &at("below/a.csv")) && !is_same(&at("none/a.csv"), &at("a.csv")));
            if !there {
                fs::write(at("a.csv"), "x").unwrap();
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn permissions_and_links_are_kept() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (path, plain, link) = (folder.path().join("a"), folder.path().join("b"), folder.path().join("c"));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        fs::write(&plain, "x").unwrap();
        write(&path, |_| Ok(())).unwrap();
        assert_eq!(mode(&path), mode(&plain));
        fs::set_permissions(&plain, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("b", &link).unwrap();
        write(&link, |out| out.write_all(b"through")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!((fs::read(&plain).unwrap(), mode(&plain)), (b"through".to_vec(), 0o640));
        symlink("d", folder.path().join("d")).unwrap();
        assert!(write(&folder.path().join("d"), |_| Ok(())).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_pipe_gets_what_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        if !made.is_ok_and(|status| status.success()) {
            return;
        }
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        write(&pipe, |out| out.write_all(b"through")).unwrap();
        assert_eq!(reader.join().unwrap(), b"through");
        assert_eq!(names(folder.path()), ["pipe"]);
    }
}
