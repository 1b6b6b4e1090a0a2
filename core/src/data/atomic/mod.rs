//! Files written whole or not at all, and durably.
//!
//! Content goes to a temporary file beside its target, is flushed to the disk and renamed over the target, and the folder
//! is flushed in turn: after a crash or a power failure the target is the old file or the new one, never a part of either.
//! Targets that are not ordinary files (`/dev/null`, `/dev/stdout`, a pipe) are written to directly, after all files are in
//! place. A symbolic link is followed, not replaced.

mod place;
mod temporary;

use std::{
    fs::{File, OpenOptions},
    io::{self, BufWriter, Seek, Write},
    path::{Path, PathBuf},
};

use tempfile::SpooledTempFile;

use crate::{Error, Result};

use self::{
    place::{flush_folder, folder, follow, is_stream, place},
    temporary::Temporary,
};
pub use self::{
    place::{is_same, is_stdout},
    temporary::abandon,
};

/// Writes one file, whole or not at all: if `fill` or the disk fails, the previous content of `path` remains.
///
/// # Errors
///
/// [`Error::Io`] with the path and the system's reason.
pub fn write(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut staged = Staged::default();
    staged.add(path, fill)?;
    let (_, failed) = staged.finish();
    failed.into_iter().next().map_or(Ok(()), Err)
}

/// Several outputs of one run: each file is written to its temporary file first, and [`Staged::commit`] puts all of them
/// into their places. Dropped without it, nothing remains.
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
    /// Outputs that could not be staged.
    failed: Vec<Error>,
}

#[derive(Debug)]
struct Output {
    path: PathBuf,
    target: PathBuf,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Rename(Temporary),
    Copy(SpooledTempFile, Stream),
}

#[derive(Debug)]
enum Stream {
    Stdout,
    File(File),
}

impl Staged {
    /// Writes what `fill` produces to a temporary file for `path`.
    ///
    /// # Errors
    ///
    /// If the directory is missing, if `path` or an existing file there may not be written, if it is added for the second
    /// time, or as `fill` does.
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

    /// Keeps what `fill` produces for standard output.
    ///
    /// # Errors
    ///
    /// As `fill` does, and if there is no room for the copy.
    pub fn print(&mut self, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        let path = PathBuf::from("standard output");
        let content = spool(fill).map(|spool| Content::Copy(spool, Stream::Stdout));
        let content = content.map_err(|error| unwritable(&path, error))?;
        self.outputs.push(Output { target: path.clone(), path, content });
        Ok(())
    }

    /// Stages an output by `add`. If that fails, the others are still written, and [`commit`](Self::commit) reports all
    /// failures together.
    pub fn attempt(&mut self, add: impl FnOnce(&mut Self) -> Result<()>) {
        let failed = add(self).err();
        self.failed.extend(failed);
    }

    /// Puts every output into its place: files first, then streams, which may block. One that fails does not stop the
    /// others.
    ///
    /// # Errors
    ///
    /// [`Error::Outputs`] with every output that failed and every one that was written.
    pub fn commit(self) -> Result<()> {
        match self.finish() {
            (_, failed) if failed.is_empty() => Ok(()),
            (written, failed) => Err(Error::Outputs { failed, written }),
        }
    }

    /// Puts every output into its place; returns those written, and the errors of the others.
    fn finish(self) -> (Vec<PathBuf>, Vec<Error>) {
        let (mut written, mut failed) = (Vec::new(), self.failed);
        let (streams, files): (Vec<_>, Vec<_>) =
            self.outputs.into_iter().partition(|output| matches!(output.content, Content::Copy(..)));
        for Output { path, target, content } in files.into_iter().chain(streams) {
            let done = match content {
                Content::Rename(file) => file.persist(&target).and_then(|()| flush_folder(&target)),
                Content::Copy(spool, stream) => copy(spool, stream),
            };
            match done {
                Ok(()) => written.push(path),
                Err(error) => failed.push(unwritable(&path, error)),
            }
        }
        (written, failed)
    }
}

fn unwritable(path: &Path, source: io::Error) -> Error {
    Error::Io { action: "write", path: path.to_path_buf(), source }
}

fn stage(target: &Path, stream: bool, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<Content> {
    if stream {
        let stream = OpenOptions::new().append(true).open(target)?;
        return Ok(Content::Copy(spool(fill)?, Stream::File(stream)));
    }
    let existing = target.metadata().ok();
    if existing.is_some() {
        // A file that may not be written must not be replaced either; a directory fails here too.
        OpenOptions::new().write(true).open(target)?;
    }
    let mut temporary = Temporary::beside(target)?;
    let mut out = BufWriter::new(temporary.file());
    fill(&mut out)?;
    out.into_inner().map_err(|error| error.into_error())?;
    if let Some(existing) = existing {
        temporary.file().set_permissions(existing.permissions())?;
    }
    Ok(Content::Rename(temporary))
}

/// Collects the output of `fill` in memory, or on the disk above 16 MiB.
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
        // The reader has read enough, which is not a failure.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests;
