//! Files whose parts are read on demand.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::Result as ParquetResult;
use parquet::file::reader::{ChunkReader, Length};

use crate::error::Result;
use crate::io::compressed::{self, is_compressed};
use crate::memory;

/// Purpose of the memory of a part, as messages name it.
const PART: &str = "a part of the table";

/// The bytes of a file, in memory or on a disk.
#[derive(Debug, Clone)]
pub(in crate::io) struct Input {
    from: From,
    length: u64,
}

#[derive(Debug, Clone)]
enum From {
    Disk(Arc<File>),
    Memory(Bytes),
}

impl Input {
    /// Opens a file. It is read now if it is compressed or no regular file, and else on demand.
    pub(in crate::io) fn open(path: &Path) -> Result<Self> {
        let failed = |source| memory::unread(source, path, 0);
        let metadata = std::fs::metadata(path).map_err(failed)?;
        if is_compressed(path) || !metadata.is_file() {
            return compressed::read(path).map(Self::new);
        }
        let file = File::open(path).map_err(failed)?;
        Ok(Self { from: From::Disk(Arc::new(file)), length: metadata.len() })
    }

    /// Bytes in memory.
    pub(in crate::io) fn new(bytes: Vec<u8>) -> Self {
        Self { length: bytes.len() as u64, from: From::Memory(bytes.into()) }
    }

    /// Number of bytes.
    pub(super) fn len(&self) -> u64 {
        self.length
    }

    /// The `length` bytes from `start`. Fails, before it allocates memory, if the file has fewer.
    pub(super) fn bytes(&self, start: u64, length: u64) -> io::Result<Bytes> {
        let end = start.checked_add(length).filter(|&end| end <= self.length);
        let end = end.ok_or_else(|| io::Error::new(ErrorKind::UnexpectedEof, "it refers to bytes beyond its end"))?;
        match &self.from {
            From::Memory(bytes) => Ok(bytes.slice(start as usize..end as usize)),
            From::Disk(file) => {
                let mut file = &**file;
                let mut bytes = memory::with_capacity(length as usize, PART).map_err(io::Error::other)?;
                file.seek(SeekFrom::Start(start))?;
                if file.take(length).read_to_end(&mut bytes)? as u64 != length {
                    return Err(io::Error::new(ErrorKind::UnexpectedEof, "it became shorter while it was read"));
                }
                Ok(bytes.into())
            }
        }
    }
}

impl Length for Input {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Input {
    type T = BufReader<Tail>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(BufReader::new(Tail { input: self.clone(), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        Ok(self.bytes(start, length as u64)?)
    }
}

/// The rest of a file.
pub(in crate::io) struct Tail {
    input: Input,
    at: u64,
}

impl Read for Tail {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let length = (out.len() as u64).min(self.input.length.saturating_sub(self.at));
        let bytes = self.input.bytes(self.at.min(self.input.length), length)?;
        out[..bytes.len()].copy_from_slice(&bytes);
        self.at += length;
        Ok(bytes.len())
    }
}
