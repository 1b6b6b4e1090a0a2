//! Reading points block by block, from files that may exceed the memory.

use std::io::{BufRead, BufReader};
use std::path::Path;

#[cfg(feature = "arrow")]
use super::arrow::{Blocks, Columnar, Input};
use super::format::Format;
use super::layout::Layout;
use super::options::ReadOptions;
use super::parsed::Parsed;
use super::read::{Part, has_row_access, read_part};
use super::{compressed, npy, number};
use crate::communicator::Share;
use crate::data::kept::Kept;
use crate::data::points::Points;
use crate::error::{At, Error, Place, Result};

/// Passes the points of `path`, with the columns to keep, to `each` in order, in blocks of about `bytes` of the file and at
/// least one row. `.lrn`, and any file with a second file of labels, is one block.
///
/// Fails as [`read`](super::read::read) does, at the first block with an error, and as `each` does.
pub fn read_blocks(
    path: &Path,
    options: &ReadOptions,
    bytes: usize,
    mut each: impl FnMut(Points, Kept) -> Result<()>,
) -> Result<()> {
    if has_row_access(path, options)? {
        return numbers(path, options, bytes, each);
    }
    let format = Format::of_input(path)?;
    #[cfg(feature = "arrow")]
    if let (Some(columnar), None) = (Columnar::of(format), &options.labels) {
        let in_file = |error: Error| error.in_file(path);
        let mut blocks = Blocks::open(columnar, &Input::open(path)?, options.roles(), bytes).map_err(in_file)?;
        return blocks.try_for_each(|block| block.map_err(in_file).and_then(|(points, kept)| each(points, kept)));
    }
    match format {
        Format::Csv | Format::Tsv if options.labels.is_none() => {}
        _ => {
            let Part { points, kept, .. } = read_part(path, options, Share::WHOLE)?;
            return each(points, kept);
        }
    }
    let failed = |source| compressed::failed(path, source, bytes);
    if path.as_os_str() == "-" {
        return Text::new(std::io::stdin().lock(), options, bytes).all(Path::new("<stdin>"), &failed, &mut each);
    }
    let file = BufReader::with_capacity(1 << 16, compressed::open(path)?);
    Text::new(file, options, bytes).all(path, &failed, &mut each)
}

fn numbers(
    path: &Path,
    options: &ReadOptions,
    bytes: usize,
    mut each: impl FnMut(Points, Kept) -> Result<()>,
) -> Result<()> {
    let in_file = |error: Error| error.in_file(path);
    let mut file = npy::Rows::open(path).map_err(in_file)?;
    let (rows, height) = (file.count(), (bytes / file.row_bytes()).max(1));
    for from in (0..rows).step_by(height) {
        let Parsed { points, kept, .. } =
            file.read(path, from..rows.min(from + height), options.roles()).map_err(in_file)?;
        each(points, kept)?;
    }
    Ok(())
}

struct Text<'a, R> {
    from: R,
    options: &'a ReadOptions,
    bytes: usize,
    /// Layout of the table, from the first block.
    layout: Option<Layout>,
    /// Number of lines before the block.
    lines: usize,
}

/// True if a line is neither empty nor a comment.
fn is_row(line: &[u8]) -> bool {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii_start();
    line.first().is_some_and(|&byte| byte != b'#')
}

/// Appends the next line with its line break; false at the end. Unlike [`BufRead::read_until`] it fails, instead of
/// aborting the process, if there is not enough memory.
fn read_line(from: &mut impl BufRead, line: &mut Vec<u8>) -> std::io::Result<bool> {
    let before = line.len();
    loop {
        let there = match from.fill_buf() {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            there => there?,
        };
        let end = there.iter().position(|&byte| byte == b'\n').map(|at| at + 1);
        let taken = end.unwrap_or(there.len());
        line.try_reserve(taken)?;
        line.extend_from_slice(&there[..taken]);
        from.consume(taken);
        if end.is_some() || taken == 0 {
            return Ok(line.len() > before);
        }
    }
}

impl<'a, R: BufRead> Text<'a, R> {
    fn new(from: R, options: &'a ReadOptions, bytes: usize) -> Self {
        Self { from, options, bytes, layout: None, lines: 0 }
    }

    /// Reads the next lines up to a line break outside quotes; empty at the end. The first block has at least two rows,
    /// which the detection of a header needs.
    fn block(&mut self) -> std::io::Result<Vec<u8>> {
        let (mut block, mut quoted, mut looked_at, mut rows) = (Vec::new(), false, 0, 0);
        while read_line(&mut self.from, &mut block)? {
            let line = &block[looked_at..];
            // Quotes in comments do not count.
            if quoted || is_row(line) {
                quoted ^= line.iter().filter(|&&byte| byte == b'"').count() % 2 == 1;
                rows += usize::from(!quoted);
            }
            looked_at = block.len();
            if !quoted && block.len() >= self.bytes && (rows >= 2 || self.layout.is_some()) {
                break;
            }
        }
        Ok(block)
    }

    fn all(
        mut self,
        path: &Path,
        failed: &dyn Fn(std::io::Error) -> Error,
        each: &mut dyn FnMut(Points, Kept) -> Result<()>,
    ) -> Result<()> {
        loop {
            let block = self.block().map_err(failed)?;
            if block.is_empty() && self.layout.is_some() {
                return Ok(());
            }
            let points = self.points(&block).map_err(|error| below(self.lines, error).in_file(path))?;
            self.lines += block.iter().filter(|&&byte| byte == b'\n').count();
            points.map_or(Ok(()), |(points, kept)| each(points, kept))?;
        }
    }

    /// Parses the points of a block; `None` if it has only comments and empty lines.
    fn points(&mut self, block: &[u8]) -> Result<Option<(Points, Kept)>> {
        let Some(layout) = &self.layout else {
            let text = number::text(block)?;
            let layout = self.layout.insert(Layout::of(text, self.options.roles())?);
            return layout.read(text, true).map(Some);
        };
        if !block.split(|&byte| byte == b'\n').any(is_row) {
            return Ok(None);
        }
        layout.read(number::text(block)?, false).map(Some)
    }
}

/// Translates the line of an error in a block below `lines` lines to the line in the file.
fn below(lines: usize, mut error: Error) -> Error {
    if let Error::Input { place: Place { at: Some(At::Line(line)), .. }, .. } = &mut error {
        *line += lines;
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::read::read;

    fn blocks(text: &str, label: Option<&str>, bytes: usize) -> Result<Vec<Points>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, text).unwrap();
        let (options, mut blocks) = (ReadOptions::labelled(label), Vec::new());
        read_blocks(&path, &options, bytes, |points, _| {
            blocks.push(points);
            Ok(())
        })?;
        let whole = read(&path, &options)?;
        assert_eq!(blocks.iter().flat_map(|it| it.values.clone()).collect::<Vec<_>>(), whole.values);
        assert!(blocks.iter().all(|it| it.names == whole.names));
        Ok(blocks)
    }

    #[test]
    fn blocks_concatenate_to_the_file() {
        for text in
            ["x,y\n1,2\n3,4\n5,6\n", "1 2\n3 4\n5 6", "\u{feff}# c\n\n\"x\n1\";y\n1;2\n\n# more\n3;4\n5;6\n\n\n# end\n"]
        {
            assert_eq!(blocks(text, None, 1 << 20).unwrap().len(), 1);
            let rows: Vec<usize> = blocks(text, None, 1).unwrap().iter().map(|it| it.rows).collect();
            assert_eq!(rows.iter().sum::<usize>(), 3, "{text}");
        }
        assert_eq!(blocks("x,y\n1,2\n3,4\n5,6\n", None, 8).unwrap().len(), 2);
        assert_eq!(blocks("x,k\n1,a\n3,b\n5,a\n", Some("k"), 1).unwrap().len(), 3);
        // Rows that would be ambiguous at the top of a file.
        assert_eq!(blocks("5,a\n6,b\n1,a\n0,b\n1,a\n", Some("2"), 1).unwrap().len(), 4);
    }

    #[test]
    fn errors_have_the_line_in_the_file() {
        let message = |text: &str, bytes: usize| {
            let error = blocks(text, None, bytes).unwrap_err().to_string();
            error.split_once("a.csv, ").map(|(_, what)| what.to_string()).unwrap_or(error)
        };
        for bytes in [6, 9, 1 << 20] {
            assert_eq!(message("# c\nx,y\n1,2\n3,4\n5,z\n", bytes), "line 5, column y: \"z\" is not a number");
            assert!(message("1,2\n3,4\n5\n", bytes).starts_with("line 3: 1 fields, but "));
        }
        assert!(message("", 1).contains("the file is empty"));
    }
}
