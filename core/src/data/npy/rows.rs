//! A `.npy` of which not all rows are read.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use super::header::{self, Header};
use super::{empty, no_points, points};
use crate::data::Points;
use crate::data::labels::Wanted;
use crate::data::points::POINTS;
use crate::{Error, Result, memory};

/// A file whose rows are read as they are asked for.
pub(crate) struct Rows {
    file: File,
    /// Where the numbers begin.
    start: u64,
    header: Header,
}

impl Rows {
    /// Reads the header. Fails unless the file is as long as that says.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let failed = failed(path);
        let mut file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        if length == 0 {
            return Err(empty());
        }
        let mut above = Vec::new();
        file.by_ref().take(Header::BEFORE).read_to_end(&mut above).map_err(failed)?;
        let dictionary = header::dictionary(&above)?;
        let end = dictionary.end as u64;
        file.by_ref().take(end.saturating_sub(Header::BEFORE)).read_to_end(&mut above).map_err(failed)?;
        let text = above.get(dictionary.clone()).ok_or_else(header::cut)?;
        let header = Header::parse(text, dictionary.end, length)?;
        if header.rows * header.columns == 0 {
            return Err(no_points(header.rows, header.columns));
        }
        Ok(Self { file, start: end, header })
    }

    /// How many rows there are.
    pub(crate) fn count(&self) -> usize {
        self.header.rows
    }

    /// Bytes of a row.
    pub(crate) fn row_bytes(&self) -> usize {
        self.header.row_bytes()
    }

    /// The points of these rows, of which there may be none, as [`read`](super::read) gives them.
    pub(crate) fn read(
        &mut self,
        path: &Path,
        of: Range<usize>,
        label: Option<Wanted<'_>>,
        missing: bool,
    ) -> Result<Points> {
        let failed = failed(path);
        let mut bytes = memory::with_capacity(of.len() * self.row_bytes(), POINTS)?;
        for piece in self.header.pieces(of.clone()) {
            self.file.seek(SeekFrom::Start(self.start + piece.start)).map_err(failed)?;
            let wanted = piece.end - piece.start;
            let read = self.file.by_ref().take(wanted).read_to_end(&mut bytes).map_err(failed)?;
            if read as u64 != wanted {
                return Err(header::broken("the file became shorter while it was read"));
            }
        }
        points(&self.header, &bytes, of, label, missing)
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> Error + Copy {
    move |source| Error::Io { action: "read", path: path.to_path_buf(), source }
}
