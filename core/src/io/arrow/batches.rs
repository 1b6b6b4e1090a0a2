//! The rows of a file as batches of columns.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder as Builder;

use super::guard::guarded;
use super::input::Input;
use super::ipc::Messages;
use crate::error::{Error, Result};
use crate::io::format::Format;

/// A columnar format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::io) enum Columnar {
    /// Parquet.
    Parquet,
    /// Arrow IPC, a file or a stream by its first bytes.
    Ipc,
}

impl Columnar {
    /// The columnar format of a file of `format`, if it is one.
    pub(in crate::io) fn of(format: Format) -> Option<Self> {
        match format {
            Format::Parquet => Some(Self::Parquet),
            Format::Arrow | Format::ArrowStream => Some(Self::Ipc),
            _ => None,
        }
    }
}

/// The batches of a file.
pub(super) type Batches = Box<dyn Iterator<Item = Result<RecordBatch>>>;

/// Number of cells of a batch of Parquet.
const CELLS: usize = 1 << 20;

/// Reads the names and types of the columns.
pub(super) fn schema(format: Columnar, input: &Input) -> Result<SchemaRef> {
    if input.len() == 0 {
        return Err(Error::input("the file is empty", "write it again, for example with pandas or polars"));
    }
    match format {
        Columnar::Parquet => guarded(|| Builder::try_new(input.clone())).map(|file| file.schema().clone()),
        Columnar::Ipc => Messages::open(input.clone(), None).map(|messages| messages.schema),
    }
}

/// Reads all rows of the columns at these indices, which are ascending. Batches may be empty.
pub(super) fn batches(format: Columnar, input: &Input, columns: &[usize]) -> Result<Batches> {
    match format {
        Columnar::Ipc => Ok(Box::new(Messages::open(input.clone(), Some(columns))?)),
        Columnar::Parquet => {
            let mut reader = guarded(|| {
                let file = Builder::try_new(input.clone())?;
                let mask = ProjectionMask::roots(file.parquet_schema(), columns.iter().copied());
                file.with_projection(mask).with_batch_size((CELLS / columns.len().max(1)).clamp(64, 8192)).build()
            })?;
            Ok(Box::new(std::iter::from_fn(move || guarded(|| reader.next().transpose()).transpose())))
        }
    }
}
