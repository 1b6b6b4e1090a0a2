//! Arrow IPC: messages one after the other, of which the first holds the schema. A file has a magic word before them, and
//! their list and the word again behind.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::FileDecoder;
use arrow_ipc::{Block, Message, MessageHeader, RecordBatch as Header, Schema, root_as_footer, root_as_message};
use arrow_schema::SchemaRef;
use bytes::Bytes;

use super::guard::{broken, guarded};
use super::input::Input;
use crate::error::{Error, Result};
use crate::memory;

/// The magic word of files.
const MAGIC: &[u8] = b"ARROW1";

/// Mark before a message.
const MARK: [u8; 4] = [0xff; 4];

/// Bytes before a message: the mark, and the length of its description.
const PREFIX: u64 = 8;

/// The record batches of a file or stream.
pub(super) struct Messages {
    input: Input,
    at: u64,
    /// The places of the messages of a file; those of a stream follow each other.
    listed: Option<std::vec::IntoIter<i64>>,
    pub(super) schema: SchemaRef,
    decoder: FileDecoder,
}

/// The description and the content of a message, and the length of the description.
struct Part {
    bytes: Buffer,
    described: u64,
}

impl Part {
    /// Decodes the description.
    fn message(&self) -> Result<Message<'_>> {
        guarded(|| root_as_message(&self.bytes[PREFIX as usize..self.described as usize]))
    }

    fn block(&self) -> Block {
        Block::new(0, self.described as i32, self.bytes.len() as i64 - self.described as i64)
    }
}

impl Messages {
    /// Reads the schema. Batches have the columns of `projection`, in ascending order, or all.
    pub(super) fn open(input: Input, projection: Option<&[usize]>) -> Result<Self> {
        let start = bytes(&input, 0, input.len().min(PREFIX))?;
        if start.starts_with(b"FEA1") {
            let help = "write it again as version 2, with pandas' to_feather";
            return Err(Error::input("the file is a Feather file of version 1", help));
        }
        let mut at = 0;
        let (schema, version, listed) = if start.starts_with(MAGIC) {
            let footer = footer(&input)?;
            let footer = guarded(|| root_as_footer(&footer))?;
            let blocks = footer.dictionaries().into_iter().chain(footer.recordBatches()).flatten();
            let listed: Vec<i64> = blocks.map(|block| block.offset()).collect();
            (decoded(footer.schema())?, footer.version(), Some(listed.into_iter()))
        } else {
            let first = part(&input, &mut at)?.ok_or_else(|| broken(&"there is no schema"))?;
            let message = first.message()?;
            (decoded(message.header_as_schema())?, message.version(), None)
        };
        let mut decoder = FileDecoder::new(schema.clone(), version);
        if let Some(projection) = projection {
            decoder = decoder.with_projection(projection.to_vec());
        }
        Ok(Self { input, at, listed, schema, decoder })
    }

    /// Reads the next message; `None` at the end.
    fn part(&mut self) -> Result<Option<Part>> {
        match &mut self.listed {
            None if self.at == self.input.len() => return Ok(None),
            None => {}
            Some(listed) => {
                let Some(offset) = listed.next() else { return Ok(None) };
                self.at = u64::try_from(offset).map_err(|_| broken(&"a message has a negative place"))?;
            }
        }
        part(&self.input, &mut self.at)
    }

    /// Decodes the next batch; `None` at the end.
    fn batch(&mut self) -> Result<Option<RecordBatch>> {
        while let Some(part) = self.part()? {
            let message = part.message()?;
            let content = &part.bytes[part.described as usize..];
            match message.header_type() {
                MessageHeader::DictionaryBatch => {
                    let batch = message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data());
                    check(batch, content)?;
                    guarded(|| self.decoder.read_dictionary(&part.block(), &part.bytes))?;
                }
                MessageHeader::RecordBatch => {
                    check(message.header_as_record_batch(), content)?;
                    return guarded(|| self.decoder.read_record_batch(&part.block(), &part.bytes));
                }
                other => return Err(broken(&format!("a message of type {other:?} is among the batches"))),
            }
        }
        Ok(None)
    }
}

impl Iterator for Messages {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batch();
        if batch.is_err() {
            (self.at, self.listed) = (self.input.len(), None);
        }
        batch.transpose()
    }
}

fn bytes(input: &Input, start: u64, length: u64) -> Result<Bytes> {
    input.bytes(start, length).map_err(|error| broken(&error))
}

/// The list at the end of a file.
fn footer(input: &Input) -> Result<Bytes> {
    const TRAILER: u64 = 4 + MAGIC.len() as u64;
    let cut_short = || broken(&"the file is cut short");
    let end = input.len().checked_sub(TRAILER).ok_or_else(cut_short)?;
    let trailer = bytes(input, end, TRAILER)?;
    let length = trailer.strip_suffix(MAGIC).and_then(|length| length.try_into().ok()).map(u32::from_le_bytes);
    let length = u64::from(length.ok_or_else(cut_short)?);
    bytes(input, end.checked_sub(length).ok_or_else(cut_short)?, length)
}

fn decoded(schema: Option<Schema<'_>>) -> Result<SchemaRef> {
    let schema = schema.ok_or_else(|| broken(&"there is no schema"))?;
    if !schema.endianness().equals_to_target_endianness() {
        return Err(broken(&"its numbers have another order of bytes than those of this machine"));
    }
    guarded(|| try_fb_to_schema(schema).map(Arc::new))
}

/// Reads the message at `at` and moves on; `None` for a mark of the end.
fn part(input: &Input, at: &mut u64) -> Result<Option<Part>> {
    let prefix = bytes(input, *at, PREFIX)?;
    let word = |from: usize| [0, 1, 2, 3].map(|byte| prefix[from + byte]);
    if word(0) != MARK {
        return Err(broken(&"there is no message where one is expected"));
    }
    let length = u32::from_le_bytes(word(4));
    if length == 0 {
        return Ok(None);
    }
    let described = PREFIX + u64::from(length);
    let description = bytes(input, *at, described)?;
    let content = guarded(|| root_as_message(&description[PREFIX as usize..]))?.bodyLength();
    let content = u64::try_from(content).map_err(|_| broken(&"a message has a negative length"))?;
    let all = bytes(input, *at, described.saturating_add(content))?;
    *at += all.len() as u64;
    Ok(Some(Part { bytes: all.into(), described }))
}

/// Checks the parts of a batch before they are decoded: that `content` has them, and that there is memory for what they are
/// after decompression.
fn check(batch: Option<Header<'_>>, content: &[u8]) -> Result<()> {
    let batch = batch.ok_or_else(|| broken(&"a message has no content"))?;
    let mut needed = 0u128;
    for buffer in batch.buffers().iter().flatten() {
        let part = usize::try_from(buffer.offset()).ok().zip(usize::try_from(buffer.length()).ok());
        let part = part.and_then(|(from, length)| content.get(from..from.checked_add(length)?));
        let part = part.ok_or_else(|| broken(&"a column has bytes beyond the end of its message"))?;
        if let (true, Some(length)) = (batch.compression().is_some(), part.first_chunk()) {
            needed += u128::try_from(i64::from_le_bytes(*length)).unwrap_or(0);
        }
    }
    memory::admit(needed, "the decompressed table")
}
