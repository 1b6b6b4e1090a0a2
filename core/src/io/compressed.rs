//! Compressed files: `.gz` and `.zst`.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::{
    BlockDecodingStrategy, FrameDecoder,
    errors::{FrameDecoderError, ReadFrameHeaderError},
};

use crate::error::{Error, Result};
use crate::memory;

/// Bytes that are decompressed at first.
const FIRST: usize = 1 << 16;

/// The extensions of compressed files.
const EXTENSIONS: [&str; 2] = ["gz", "zst"];

/// True if the path's extension is that of a compressed file.
pub(crate) fn is_compressed(path: &Path) -> bool {
    extension(path).is_some()
}

/// The path without the extension of a compressed file.
pub(super) fn inner(path: &Path) -> &Path {
    let stem = path.file_stem().filter(|_| is_compressed(path));
    stem.map_or(path, |stem| Path::new(OsStr::new(stem)))
}

fn extension(path: &Path) -> Option<&'static str> {
    let own = path.extension()?;
    EXTENSIONS.into_iter().find(|extension| own.eq_ignore_ascii_case(extension))
}

/// Opens a file, and decompresses it if its extension says that it is compressed.
pub(super) fn open(path: &Path) -> Result<Box<dyn Read>> {
    let file = File::open(path).map_err(|source| memory::unread(source, path, 0))?;
    let file = BufReader::with_capacity(FIRST, file);
    Ok(match extension(path) {
        None => Box::new(file),
        Some("gz") => Box::new(MultiGzDecoder::new(file)),
        Some(_) => Box::new(Frames { source: file, frame: FrameDecoder::new(), is_inside: false }),
    })
}

/// The content of the Zstandard frames of a source, one after the other.
struct Frames<R> {
    source: R,
    frame: FrameDecoder,
    /// True between the start and the end of a frame.
    is_inside: bool,
}

impl<R: BufRead> Frames<R> {
    /// Begins the next frame; false at the end of the source. Skippable frames are skipped.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.frame.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    io::copy(&mut self.source.by_ref().take(length.into()), &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.frame.can_collect() == 0 {
            if !self.is_inside || self.frame.is_finished() {
                let sums = [self.frame.get_checksum_from_data(), self.frame.get_calculated_checksum()];
                if self.is_inside && sums[0].is_some() && sums[0] != sums[1] {
                    return Err(io::Error::other("a checksum is wrong"));
                }
                self.is_inside = self.begin()?;
                if !self.is_inside {
                    return Ok(0);
                }
            } else {
                let blocks = self.frame.decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1));
                blocks.map_err(io::Error::other)?;
            }
        }
        self.frame.read(out)
    }
}

/// The error of a read from [`open`].
pub(super) fn failed(path: &Path, source: io::Error, read: usize) -> Error {
    let is_content = matches!(
        source.kind(),
        ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::UnexpectedEof | ErrorKind::Other
    );
    if is_compressed(path) && is_content {
        return broken(path, &source.to_string());
    }
    memory::unread(source, path, read)
}

fn broken(path: &Path, reason: &str) -> Error {
    let what = format!("the file cannot be decompressed: {reason}");
    Error::input(what, "compress it again, or give it uncompressed").in_file(path)
}

/// Reads and decompresses a file. Fails before more memory is used than is available.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    let (mut from, mut bytes) = (open(path)?, Vec::new());
    loop {
        let (before, more) = (bytes.len(), bytes.len().max(FIRST));
        memory::admit(more as u128, "the decompressed file").map_err(|error| error.in_file(path))?;
        from.by_ref().take(more as u64).read_to_end(&mut bytes).map_err(|source| failed(path, source, before))?;
        if bytes.len() == before {
            return Ok(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::data::{Points, ReadOptions};
    use crate::io::{blocks::read_blocks, read};

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        out.write_all(bytes).unwrap();
        out.finish().unwrap()
    }

    fn zstd(bytes: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
    }

    #[test]
    fn compressed_tables_equal_plain_ones() {
        let folder = tempfile::tempdir().unwrap();
        let rows: Vec<f64> = (0..40_000).map(|i| f64::from(i) * 0.25).collect();
        let points = Points::new(rows, 2).unwrap();
        let options = ReadOptions::default();
        for (name, plain) in [("a.csv", "b.csv"), ("a.npy", "b.npy")] {
            let path = folder.path().join(name);
            points.table().unwrap().write(&path).unwrap();
            let bytes = std::fs::read(&path).unwrap();
            // A skippable frame of three bytes between two frames.
            let skipped = [&0x184d_2a50u32.to_le_bytes()[..], &3u32.to_le_bytes(), b"abc"].concat();
            let frames = [zstd(&bytes[..700]), skipped, zstd(&bytes[700..])].concat();
            for (extension, packed) in [
                ("gz", gzip(&bytes)),
                ("zst", zstd(&bytes)),
                ("GZ", [gzip(&bytes[..700]), gzip(&bytes[700..])].concat()),
                ("ZST", frames),
            ] {
                let path = folder.path().join(format!("{plain}.{extension}"));
                std::fs::write(&path, packed).unwrap();
                assert_eq!(read::read(&path, &options).unwrap(), points, "{name} {extension}");
                let mut values = Vec::new();
                let append = |block: Points, _| {
                    values.extend(block.values);
                    Ok(())
                };
                read_blocks(&path, &options, 5000, append).unwrap();
                assert_eq!(values, points.values, "{name} {extension}");
            }
        }
    }

    #[test]
    fn broken_files_are_errors() {
        let folder = tempfile::tempdir().unwrap();
        let packed = [gzip(b"x,y\n1,2\n3,4\n"), zstd(b"x,y\n1,2\n3,4\n")];
        for (extension, packed) in EXTENSIONS.into_iter().zip(&packed) {
            let path = folder.path().join(format!("a.csv.{extension}"));
            for bytes in [&packed[..packed.len() - 3], b"x,y\n1,2\n", &packed[..1], b""] {
                std::fs::write(&path, bytes).unwrap();
                for error in [
                    read::read(&path, &ReadOptions::default()).unwrap_err(),
                    read_blocks(&path, &ReadOptions::default(), 100, |_, _| Ok(())).unwrap_err(),
                ] {
                    let text = error.to_string();
                    assert!(matches!(error, Error::Input { .. }), "{extension} {bytes:?}: {text}");
                }
            }
        }
        let mut corrupt = packed[1].clone();
        *corrupt.last_mut().unwrap() ^= 1;
        let path = folder.path().join("sum.csv.zst");
        std::fs::write(&path, corrupt).unwrap();
        let error = read::read(&path, &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.ends_with("the file cannot be decompressed: a checksum is wrong"), "{error}");
        for (name, what) in [
            ("a.csv.bz2", "unknown extension .bz2"),
            ("a.gz", "no extension before the one of its compression"),
            ("a.xyz.gz", "unknown extension .xyz"),
            ("a.csv.gz.gz", "compressed twice"),
        ] {
            let error = read::read(&folder.path().join(name), &ReadOptions::default()).unwrap_err().to_string();
            assert!(error.contains(what), "{name}: {error}");
        }
    }
}
