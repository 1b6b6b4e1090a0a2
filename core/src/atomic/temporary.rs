//! Temporary files that another thread can delete before the program exits.

use std::{
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tempfile::NamedTempFile;

use super::target::folder;

/// All temporary files of this process.
static LIVE: Mutex<Live> = Mutex::new(Live { paths: Vec::new(), abandoned: false });

struct Live {
    paths: Vec<PathBuf>,
    abandoned: bool,
}

fn live() -> MutexGuard<'static, Live> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Deletes all temporary files and refuses new ones, for a program that is about to exit while other threads still write.
pub fn abandon() {
    let mut live = live();
    live.abandoned = true;
    for path in live.paths.drain(..) {
        // Another thread may just have renamed or deleted it.
        let _ = fs::remove_file(path);
    }
}

/// Registration of a path in [`LIVE`], removed when dropped.
#[derive(Debug)]
struct Entry(PathBuf);

impl Drop for Entry {
    fn drop(&mut self) {
        live().paths.retain(|path| *path != self.0);
    }
}

/// A hidden file beside its target, deleted when dropped.
#[derive(Debug)]
pub(super) struct Temporary {
    // Declared first, so that it is dropped, and deleted, before its entry.
    file: NamedTempFile,
    entry: Entry,
}

impl Temporary {
    pub(super) fn beside(target: &Path) -> io::Result<Self> {
        let mut entry = None;
        // `tempfile` would restrict the permissions and wrap the system's error.
        let create = |path: &Path| {
            let mut live = live();
            if live.abandoned {
                return Err(io::Error::new(io::ErrorKind::Interrupted, "the program is about to end"));
            }
            let file = OpenOptions::new().write(true).create_new(true).open(path)?;
            live.paths.push(path.to_path_buf());
            drop(live);
            entry = Some(Entry(path.to_path_buf()));
            Ok(file)
        };
        let file = tempfile::Builder::new().prefix(".firebox-").make_in(folder(target), create)?;
        let entry = entry.ok_or_else(|| io::Error::other("the temporary file was not created"))?;
        Ok(Self { file, entry })
    }

    pub(super) fn file(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    /// Syncs the content and renames the file to `target`.
    pub(super) fn persist(self, target: &Path) -> io::Result<()> {
        let Self { file, entry } = self;
        file.as_file().sync_all()?;
        file.persist(target).map_err(|error| error.error)?;
        drop(entry);
        Ok(())
    }
}
