//! File formats of tables.

use std::path::Path;

use crate::error::{Error, Place, Result};

/// A file format of tables, determined by the path's extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `.csv`, `.txt`, `.dat`: delimited text. Written with commas; read with commas, semicolons, tabs, bars or blanks.
    Csv,
    /// `.tsv`: delimited text, written with tabs.
    Tsv,
    /// `.npy`: one NumPy array.
    Npy,
    /// `.lrn`: keyed points of the ESOM tools and the FCPS.
    Lrn,
    /// `.cls`: keyed classes of the ESOM tools and the FCPS.
    Cls,
}

impl Format {
    /// The format of `path` by its extension, ignoring case. `-`, and paths without an extension that are not regular
    /// files (`/dev/stdin`, a pipe), are CSV.
    pub fn of(path: &Path) -> Result<Self> {
        let Some(extension) = path.extension() else {
            let stream = path.as_os_str() == "-"
                || path.metadata().is_ok_and(|it| !it.is_file() && !it.is_dir())
                || path.starts_with("/dev");
            let what = "the name has no extension to determine the format";
            return if stream { Ok(Self::Csv) } else { Err(unknown(path, what.into())) };
        };
        match extension.to_string_lossy().to_ascii_lowercase().as_str() {
            "csv" | "txt" | "dat" => Ok(Self::Csv),
            "tsv" => Ok(Self::Tsv),
            "npy" => Ok(Self::Npy),
            "lrn" => Ok(Self::Lrn),
            "cls" => Ok(Self::Cls),
            other => Err(unknown(path, format!("unknown extension .{other}"))),
        }
    }
}

fn unknown(path: &Path, what: String) -> Error {
    Error::input_at(Place::file(path), what, "name the file .csv, .tsv, .txt, .dat, .npy, .lrn or .cls")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_determine_formats() {
        for (path, format) in [
            ("a.csv", Format::Csv),
            ("a.b.CSV", Format::Csv),
            ("-", Format::Csv),
            ("/dev/stdout", Format::Csv),
            ("/dev/null", Format::Csv),
            ("x/y.txt", Format::Csv),
            ("a.tsv", Format::Tsv),
            ("a.npy", Format::Npy),
            ("a.lrn", Format::Lrn),
            ("a.cls", Format::Cls),
        ] {
            assert_eq!(Format::of(Path::new(path)).unwrap(), format, "{path}");
        }
        let error = Format::of(Path::new("a.xlsx")).unwrap_err();
        assert_eq!(error.to_string(), "a.xlsx: unknown extension .xlsx");
        assert!(error.help().unwrap().contains(".npy"));
        assert!(Format::of(Path::new("points")).is_err());
    }
}
