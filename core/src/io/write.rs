//! Writing tables to files.

use std::io::{self, Write};
use std::path::Path;

#[cfg(feature = "arrow")]
use super::arrow;
use super::format::Format;
use super::{cls, csv, lrn, npy};
use crate::atomic;
use crate::data::table::Table;
use crate::error::{Result, shown};

/// Number of words that a sentence lists.
const WORDS: usize = 5;

impl Table {
    /// Writes the table to `path` atomically ([`atomic`]), in the format of the path's extension.
    ///
    /// CSV (`.csv`, `.txt`, `.dat`; `.tsv` with tabs) has one header line. NPY is an array of shape (rows) if there
    /// is one column, else (rows, width), of `i64` if all numbers are whole (`i32` for a single matrix of counts), else of
    /// `f64`. `.cls` holds exactly one column, of whole numbers. Both leave out details ([`Table::with_details`]). In `.lrn` a
    /// column of whole numbers named `label`, `class` or `cluster` is the class and all others are data. In `.parquet`, `.arrow`
    /// and `.arrows` columns keep their types: `i64`, `f64`, and text for words. `/dev/stdout` and other paths without an
    /// extension that are not regular files receive CSV.
    pub fn write(&self, path: &Path) -> Result<()> {
        let format = self.format_for(path)?;
        atomic::write(path, |out| self.write_as(format, out))
    }

    /// The format in which [`Table::write`] writes this table to `path`. Fails if the format cannot hold the table.
    pub fn format_for(&self, path: &Path) -> Result<Format> {
        let format = Format::of(path)?;
        if format == Format::Cls {
            cls::check(&self.main_columns()).map_err(|error| error.in_file(path))?;
        }
        Ok(format)
    }

    /// Returns what a file in `format` does not hold of the table, in a sentence each.
    pub fn losses(&self, format: Format) -> Vec<String> {
        if !matches!(format, Format::Npy | Format::Cls | Format::Lrn) {
            return Vec::new();
        }
        let mut losses = Vec::new();
        if format != Format::Lrn {
            let details = self.columns().iter().filter(|column| column.is_detail()).flat_map(|column| column.names());
            let details = details.map(|name| shown(name)).collect::<Vec<_>>().join(", ");
            if !details.is_empty() {
                losses.push(format!("this format has no names of columns, so that {details} are left out"));
            }
        }
        for column in self.columns().iter().filter(|column| !column.words().is_empty()) {
            let words =
                column.words().iter().enumerate().take(WORDS).map(|(code, word)| format!("{code} is {}", shown(word)));
            let words = words.collect::<Vec<_>>().join(", ");
            let more = if column.words().len() > WORDS { ", …" } else { "" };
            let name = shown(&column.names()[0]);
            losses.push(format!("this format has numbers only, so that {name} is written as codes: {words}{more}"));
        }
        losses
    }

    /// Writes the table in `format`.
    pub fn write_as(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Csv => csv::write(self, b',', out),
            Format::Tsv => csv::write(self, b'\t', out),
            Format::Npy => npy::write(&self.main_columns(), out),
            Format::Lrn => lrn::write(self, out),
            Format::Cls => cls::write(&self.main_columns(), out),
            #[cfg(feature = "arrow")]
            Format::Parquet => arrow::write_parquet(self, out),
            #[cfg(feature = "arrow")]
            Format::Arrow => arrow::write_file(self, out),
            #[cfg(feature = "arrow")]
            Format::ArrowStream => arrow::write_stream(self, out),
        }
    }

    /// Writes the table as CSV with a header line.
    pub fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_as(Format::Csv, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::table::Cell;

    #[test]
    fn details_are_left_out_of_arrays() {
        let written = |table: &Table, format: Format| {
            let mut bytes = Vec::new();
            table.write_as(format, &mut bytes).unwrap();
            bytes
        };
        let plain = Table::ints("cluster", vec![0, -1, 1]);
        let table = plain.clone().with_details(Table::floats("outlier", vec![0.5, 1.0, 0.0])).unwrap();
        for format in [Format::Npy, Format::Cls] {
            assert_eq!(written(&table, format), written(&plain, format));
        }
        assert_eq!(written(&table, Format::Csv), b"cluster,outlier\n0,0.5\n-1,1\n1,0\n");
        assert!(table.format_for(Path::new("a.cls")).is_ok());
        assert!(plain.with_details(Table::floats("outlier", vec![0.5])).is_err());
    }

    #[test]
    fn words_are_written_to_text_formats() {
        let words = ["a", "b, \"c\"", "#d"].map(String::from).to_vec();
        let table = Table::words("class", vec![1, 0, 2, 7], words).beside(Table::ints("n", vec![1, 2, 3, 4])).unwrap();
        let mut text = Vec::new();
        table.write_csv(&mut text).unwrap();
        let wanted = "class,n\n\"b, \"\"c\"\"\",1\na,2\n\"#d\",3\n7,4\n";
        assert_eq!(String::from_utf8(text).unwrap(), wanted);
        assert_eq!(table.row(0).next(), Some(Cell::Int(1)));
    }
}
