//! Sparse matrices in `.npz`, the archives of SciPy's `save_npz`.

use std::io::{Cursor, Read};
use std::path::Path;

use zip::{ZipArchive, read::ZipFile, result::ZipError};

use super::npy;
use crate::data::sparse::SparseRows;
use crate::error::{Error, Result};
use crate::memory;

/// Advice for files that are not sparse rows.
const SAVE: &str = "write it with scipy.sparse.save_npz(\"x.npz\", matrix.tocsr())";

/// True if the path's extension is that of an archive of arrays.
#[cfg(feature = "command")]
pub(crate) fn is_archive(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npz"))
}

/// Reads a sparse matrix from `path`, a file written by `scipy.sparse.save_npz` from a matrix or array in compressed
/// sparse rows (CSR), compressed or not.
///
/// Fails with [`Error::Io`] if the file cannot be read, [`Error::Memory`] if it does not fit, else [`Error::Input`] with
/// the file, the array and advice.
pub fn read_sparse(path: &Path) -> Result<SparseRows> {
    parse_sparse(&memory::read_file(path)?).map_err(|error| error.in_file(path))
}

/// Parses a sparse matrix from the bytes of a file, as [`read_sparse`] does from a path.
///
/// Fails with [`Error::Input`] for any bytes that are not a sparse matrix, and [`Error::Memory`] if its arrays do not fit.
pub fn parse_sparse(bytes: &[u8]) -> Result<SparseRows> {
    if bytes.is_empty() {
        return Err(Error::input("the file is empty", SAVE));
    }
    let broken = |error: ZipError| Error::input(format!("this is not an archive of arrays: {error}"), SAVE);
    let mut archive = Archive(ZipArchive::new(Cursor::new(bytes)).map_err(broken)?);
    let format = archive.array("format", npy::read_text)?;
    if format != "csr" {
        return Err(Error::input(format!("the matrix has the sparse format {format}, not csr"), SAVE));
    }
    let [rows, columns] = archive.array("shape", |bytes| match npy::read_indices::<usize>(bytes)?[..] {
        [rows, columns] => Ok([rows, columns]),
        ref shape => Err(Error::input(format!("the shape has {} numbers instead of 2", shape.len()), SAVE)),
    })?;
    let starts: Vec<usize> = archive.array("indptr", npy::read_indices)?;
    if starts.len().checked_sub(1) != Some(rows) {
        let what = format!("indptr.npy has {} numbers for {rows} rows instead of one more", starts.len());
        return Err(Error::input(what, SAVE));
    }
    let indices = archive.array("indices", npy::read_indices)?;
    let values = archive.array("data", npy::read_reals)?;
    SparseRows::new(starts, indices, values, columns)
}

/// The members of a file.
struct Archive<'a>(ZipArchive<Cursor<&'a [u8]>>);

impl Archive<'_> {
    /// Reads the array `name` with `parse`.
    fn array<T>(&mut self, name: &str, parse: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        let file = format!("{name}.npy");
        let member = match self.0.by_name(&file) {
            Err(ZipError::FileNotFound) => {
                let what = format!("the archive has no {file}, so it is not a sparse matrix of SciPy");
                return Err(Error::input(what, SAVE));
            }
            member => member.map_err(|error| Error::input(format!("{file}: {error}"), SAVE))?,
        };
        let bytes = unpack(member, &file)?;
        parse(&bytes).map_err(|error| match error {
            Error::Input { what, place, .. } => Error::input_at(place, format!("{file}: {what}"), SAVE),
            error => error,
        })
    }
}

/// Unpacks a member. Fails before it allocates memory if the size that the archive states does not fit, and afterwards if
/// the member has another size or checksum.
fn unpack<R: Read>(mut member: ZipFile<'_, R>, file: &str) -> Result<Vec<u8>> {
    let size = member.size();
    let mut bytes = memory::with_capacity(usize::try_from(size).unwrap_or(usize::MAX), "the sparse matrix")?;
    let read = member.by_ref().take(size).read_to_end(&mut bytes);
    // At the end the checksum is compared.
    let more = read.and_then(|_| member.read(&mut [0]));
    match more {
        Ok(0) if bytes.len() as u64 == size => Ok(bytes),
        Ok(_) => Err(Error::input(format!("{file} does not have the {size} bytes that the archive states"), SAVE)),
        Err(error) => Err(Error::input(format!("{file} cannot be unpacked: {error}"), SAVE)),
    }
}

#[cfg(test)]
mod tests;
