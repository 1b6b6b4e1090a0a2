//! File format of states: a header with a checksum, then safetensors.
//!
//! | bytes | content |
//! |---|---|
//! | 8 | [`MAGIC`] |
//! | 4 | [`VERSION`]; this and all following numbers are little-endian |
//! | 8 | length of the payload |
//! | 4 | CRC-32 of all other bytes |
//! | the rest | the payload: safetensors of F64 arrays, whose metadata entry `firebox` is JSON `{"run": …, "state": …}` |
//!
//! The checksum is verified before anything of the payload is decoded.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, Read, Write},
    path::Path,
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::identity::Identity;
use super::refusal::{inconsistent, refuse};
use super::tensors::Tensors;
use crate::arrays::{self, one_line};
use crate::context::Session;
use crate::error::{Error, Result};

/// The version of the format.
pub const VERSION: u32 = 1;
const MAGIC: [u8; 8] = *b"\x89FBXST\r\n";
const HEADER: usize = 24;
/// Length of the prefix in which states of earlier versions name their format.
const PREFIX: usize = 1 << 16;

/// The content of a state file.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// Identity of the run.
    pub run: Identity,
    /// Everything but arrays, in the schema of the algorithm.
    pub state: Value,
    /// Arrays.
    pub tensors: Tensors,
}

/// The metadata entry.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry<'a> {
    run: Cow<'a, Identity>,
    state: Cow<'a, Value>,
}

impl Checkpoint {
    /// Creates a state of `run`; `state` is everything but arrays.
    pub fn new(run: &Identity, state: &impl Serialize, tensors: Tensors) -> Result<Self> {
        let state = serde_json::to_value(state).map_err(unwritable)?;
        Ok(Self { run: run.clone(), state, tensors })
    }

    /// Splits the state into everything but arrays, deserialised as `T`, and the arrays. Fails if `T` does not match.
    pub fn parts<T: DeserializeOwned>(self) -> Result<(T, Tensors)> {
        let state = serde_json::from_value(self.state).map_err(|error| inconsistent(one_line(&error)))?;
        Ok((state, self.tensors))
    }

    /// Encodes the file.
    pub fn encode(&self) -> Result<Vec<u8>> {
        self.payload().map(|payload| seal(&payload))
    }

    /// Encodes the payload.
    fn payload(&self) -> Result<Vec<u8>> {
        let entry = Entry { run: Cow::Borrowed(&self.run), state: Cow::Borrowed(&self.state) };
        let text = serde_json::to_string(&entry).map_err(unwritable)?;
        arrays::encode(&self.tensors.0, text).map_err(unwritable)
    }

    /// Writes the file atomically.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let payload = self.payload()?;
        let header = header(&payload);
        crate::atomic::write(path, |out: &mut dyn Write| {
            out.write_all(&header)?;
            out.write_all(&payload)
        })
    }
}

/// Prepends the header, with length and checksum, to any payload.
pub fn seal(payload: &[u8]) -> Vec<u8> {
    [&header(payload)[..], payload].concat()
}

/// The header of a payload. The checksum is of the header before it and of the payload.
fn header(payload: &[u8]) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(&MAGIC);
    header[8..12].copy_from_slice(&VERSION.to_le_bytes());
    header[12..20].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&header[..20]);
    checksum.update(payload);
    header[20..].copy_from_slice(&checksum.finalize().to_le_bytes());
    header
}

fn unwritable(error: impl std::fmt::Display) -> Error {
    Error::input(format!("the state cannot be encoded: {error}"), "")
}

/// Decodes a state file of any algorithm. Fails if the bytes are damaged, truncated, of another version, or not a state.
///
/// ```
/// let error = firebox_core::checkpoint::decode(b"x,y\n1,2\n").unwrap_err();
/// assert_eq!(error.to_string(), "this is not a state file of Firebox");
/// ```
pub fn decode(bytes: &[u8]) -> Result<Checkpoint> {
    let Some((header, payload)) = bytes.split_first_chunk::<HEADER>().filter(|_| bytes.starts_with(&MAGIC)) else {
        return Err(unknown(bytes));
    };
    let version = u32::from_le_bytes([header[8], header[9], header[10], header[11]]);
    if version != VERSION {
        let what = format!("this state has format version {version}, and this version of Firebox reads {VERSION}");
        return Err(Error::input(what, "resume with the version of Firebox that wrote it"));
    }
    let (expected, found) = (length(header), payload.len() as u64);
    if found != expected {
        let kind = if found < expected { "incomplete" } else { "damaged" };
        return Err(refuse(format!("this state is {kind}: {found} bytes follow its header instead of {expected}")));
    }
    if *header != self::header(payload) {
        return Err(refuse("this state is damaged: its checksum does not match"));
    }
    decode_payload(payload)
}

fn length(header: &[u8; HEADER]) -> u64 {
    header[12..20].iter().rev().fold(0, |length, byte| length << 8 | u64::from(*byte))
}

/// The error for bytes that do not start with a header.
fn unknown(bytes: &[u8]) -> Error {
    if !bytes.is_empty() && (MAGIC.starts_with(bytes) || bytes.starts_with(&MAGIC)) {
        return refuse(format!("this state is incomplete: it has only {} bytes", bytes.len()));
    }
    if let Some(format) = earlier_format(&bytes[..bytes.len().min(PREFIX)]) {
        let what = format!("this state was written by an earlier version of Firebox ({format})");
        return Error::input(what, "resume with the version that wrote it, or start the run anew");
    }
    Error::input("this is not a state file of Firebox", "give a file that `checkpoint` wrote")
}

/// Finds `firebox <algorithm> checkpoint <n>`, the format name of earlier versions.
fn earlier_format(start: &[u8]) -> Option<String> {
    String::from_utf8_lossy(start).split("firebox ").skip(1).find_map(|rest| {
        let (name, rest) = rest.split_once(" checkpoint ")?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let named = (1..=32).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_lowercase());
        (named && (1..=9).contains(&digits)).then(|| format!("firebox {name} checkpoint {}", &rest[..digits]))
    })
}

/// Decodes safetensors without trusting their content: a matching checksum does not prove that Firebox wrote it.
fn decode_payload(payload: &[u8]) -> Result<Checkpoint> {
    let (text, tensors) = arrays::decode(payload).map_err(inconsistent)?;
    let Entry { run, state } = serde_json::from_str(&text).map_err(|error| inconsistent(one_line(&error)))?;
    Ok(Checkpoint { run: run.into_owned(), state: state.into_owned(), tensors: Tensors(tensors) })
}

/// Reads a state file. Of other files only a prefix is read, since they may be endless.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    (&mut file).take(PREFIX as u64).read_to_end(&mut bytes)?;
    if let Some(header) = bytes.first_chunk::<HEADER>().filter(|_| bytes.starts_with(&MAGIC)) {
        // One byte more than expected, so that excess bytes are detected.
        let whole = length(header).saturating_add(HEADER as u64 + 1);
        file.take(whole.saturating_sub(bytes.len() as u64)).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Reads the state that the run `ours` resumes. Collective: rank 0 reads the file and broadcasts it.
///
/// Fails as [`decode`] and [`Identity::check`] do. A state of another backend gives a notice.
pub fn resume(path: &Path, ours: &Identity, session: &Session) -> Result<Checkpoint> {
    let bytes = session.communicator.broadcast_from_root(|| read(path));
    let bytes = bytes.map_err(|source| Error::Io { action: "read", path: path.into(), source })?;
    let found = decode(&bytes).and_then(|found| found.run.check(ours).map(|()| found));
    let found = found.map_err(|error| error.in_file(path))?;
    found.run.backend_notice(ours, &*session.observer);
    Ok(found)
}
