//! Atomic, durable writes of files.
//!
//! Content goes to a temporary file beside its target, which is synced and renamed over the target; then the folder is
//! synced. After a crash or a power failure the target is the old file or the new one, never a part of either. Targets
//! that are not regular files (`/dev/null`, `/dev/stdout`, a pipe) are written directly, after all files are in place.
//! Symbolic links are followed, not replaced.

mod target;
mod temporary;

use std::{
    fs::{File, OpenOptions},
    io::{self, BufWriter, Seek, Write},
    path::{Path, PathBuf},
};

use tempfile::SpooledTempFile;

use crate::error::{Error, Result};

use self::{
    target::{canonical, flush_folder, follow, is_stream},
    temporary::Temporary,
};
pub use self::{
    target::{is_same, is_stdout},
    temporary::abandon,
};

/// Writes one file atomically: if `fill` or the disk fails, the previous content of `path` remains.
///
/// Fails with [`Error::Io`], which has the path and the system's reason.
pub fn write(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut staged = Staged::default();
    staged.add(path, fill)?;
    let (_, failed) = staged.finish();
    failed.into_iter().next().map_or(Ok(()), Err)
}

/// The outputs of one run, staged in temporary files. [`Staged::commit`] moves all of them into place; dropping discards
/// them.
///
/// ```
/// use std::io::Write;
/// use firebox_core::atomic::Staged;
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
    /// To this stream, or to standard output.
    Copy(SpooledTempFile, Option<File>),
}

impl Staged {
    /// Writes what `fill` produces to a temporary file for `path`.
    ///
    /// Fails if the folder is missing, `path` is not writable or already added, or `fill` fails.
    pub fn add(&mut self, path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        if is_stdout(path) {
            return self.print(fill);
        }
        let target = follow(path).map_err(|error| unwritable(path, error))?;
        let stream = is_stream(&target);
        if !stream && self.outputs.iter().any(|output| canonical(&output.target) == canonical(&target)) {
            let what = format!("two outputs are to be written to {}", path.display());
            return Err(Error::input(what, "give each output a file of its own"));
        }
        let content = stage(&target, stream, fill).map_err(|error| unwritable(path, error))?;
        self.outputs.push(Output { path: path.to_path_buf(), target, content });
        Ok(())
    }

    /// Stages what `fill` produces for standard output.
    ///
    /// Fails as `fill` does, and if there is no space for the copy.
    pub fn print(&mut self, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
        let path = PathBuf::from("standard output");
        let content = spool(fill).map(|spool| Content::Copy(spool, None));
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

    /// Moves every output into place: files first, then streams, which may block. A failure does not stop the others.
    ///
    /// Fails with [`Error::Outputs`], which lists the outputs that failed and those that were written.
    pub fn commit(self) -> Result<()> {
        match self.finish() {
            (_, failed) if failed.is_empty() => Ok(()),
            (written, failed) => Err(Error::Outputs { failed, written }),
        }
    }

    /// Moves every output into place. Returns those written and the errors of the others.
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
        return Ok(Content::Copy(spool(fill)?, Some(stream)));
    }
    let existing = target.metadata().ok();
    if existing.is_some() {
        // A read-only file must not be replaced either; a folder fails here too.
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

/// Buffers the output of `fill` in memory, or on disk above 16 MiB.
fn spool(fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<SpooledTempFile> {
    const IN_MEMORY: usize = 1 << 24;
    let mut out = BufWriter::new(SpooledTempFile::new(IN_MEMORY));
    fill(&mut out)?;
    out.into_inner().map_err(|error| error.into_error())
}

fn copy(mut spool: SpooledTempFile, stream: Option<File>) -> io::Result<()> {
    spool.rewind()?;
    let copied = match stream {
        Some(mut out) => io::copy(&mut spool, &mut out).map(drop),
        None => {
            let mut out = io::stdout().lock();
            io::copy(&mut spool, &mut out).and_then(|_| out.flush())
        }
    };
    match copied {
        // A reader that closes early, such as `head`, is not a failure.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests;
