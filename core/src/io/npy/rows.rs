//! Partial reading of arrays.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use super::header::{self, Header};
use super::invalid::{broken, empty, no_points, truncated};
use super::read::points;
use crate::data::points::{POINTS, Points};
use crate::error::{Error, Result};
use crate::io::label_column::LabelColumn;
use crate::memory;

/// An open file whose rows are read on demand.
pub(crate) struct Rows {
    file: File,
    /// Offset of the numbers.
    start: u64,
    header: Header,
}

impl Rows {
    /// Opens a file and reads its header. Fails unless the length of the file matches.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let failed = failed(path);
        let mut file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        if length == 0 {
            return Err(empty());
        }
        let mut above = Vec::new();
        file.by_ref().take(Header::PREAMBLE).read_to_end(&mut above).map_err(failed)?;
        let dictionary = header::dictionary_range(&above)?;
        let end = dictionary.end as u64;
        file.by_ref().take(end.saturating_sub(Header::PREAMBLE)).read_to_end(&mut above).map_err(failed)?;
        let text = above.get(dictionary.clone()).ok_or_else(truncated)?;
        let header = Header::parse(text, dictionary.end, length)?;
        if header.rows * header.columns == 0 {
            return Err(no_points(header.rows, header.columns));
        }
        Ok(Self { file, start: end, header })
    }

    /// Number of rows.
    pub(crate) fn count(&self) -> usize {
        self.header.rows
    }

    /// Bytes per row.
    pub(crate) fn row_bytes(&self) -> usize {
        self.header.row_bytes()
    }

    /// Reads the points of these rows, which may be empty, as [`read`](super::read::read) does.
    pub(crate) fn read(
        &mut self,
        path: &Path,
        of: Range<usize>,
        label: Option<LabelColumn<'_>>,
        missing: bool,
    ) -> Result<Points> {
        let failed = failed(path);
        let mut bytes = memory::with_capacity(of.len() * self.row_bytes(), POINTS)?;
        for piece in self.header.pieces(of.clone()) {
            self.file.seek(SeekFrom::Start(self.start + piece.start)).map_err(failed)?;
            let wanted = piece.end - piece.start;
            let read = self.file.by_ref().take(wanted).read_to_end(&mut bytes).map_err(failed)?;
            if read as u64 != wanted {
                return Err(broken("the file became shorter while it was read"));
            }
        }
        points(&self.header, &bytes, of, label, missing)
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> Error + Copy {
    move |source| Error::Io { action: "read", path: path.to_path_buf(), source }
}
