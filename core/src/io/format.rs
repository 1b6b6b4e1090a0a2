//! File formats of tables.

use std::io::ErrorKind;
use std::path::Path;

use super::compressed::{inner, is_compressed};
use crate::error::{Error, Place, Result};

/// A file format of tables, determined by the path's extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// `.csv`, `.txt`, `.dat`, `.data`: delimited text. Written with commas; read with commas, semicolons, tabs, bars or blanks.
    Csv,
    /// `.tsv`: delimited text, written with tabs.
    Tsv,
    /// `.npy`: one NumPy array.
    Npy,
    /// `.lrn`: keyed points of the ESOM tools and the FCPS.
    Lrn,
    /// `.cls`: keyed classes of the ESOM tools and the FCPS.
    Cls,
    /// `.parquet`: Parquet.
    #[cfg(feature = "arrow")]
    Parquet,
    /// `.arrow`, `.feather`, `.ipc`: an Arrow IPC file.
    #[cfg(feature = "arrow")]
    Arrow,
    /// `.arrows`: an Arrow IPC stream.
    #[cfg(feature = "arrow")]
    ArrowStream,
}

impl Format {
    /// The format of `path` by its extension, ignoring case. `-`, and paths without an extension that are not regular
    /// files (`/dev/stdin`, a pipe), are CSV.
    pub fn of(path: &Path) -> Result<Self> {
        let stream = || {
            let special = path.metadata().is_ok_and(|it| !it.is_file() && !it.is_dir());
            special || path.as_os_str() == "-" || path.starts_with("/dev")
        };
        let extension = path.extension().map(|it| it.to_string_lossy().to_ascii_lowercase());
        let what = match extension.as_deref() {
            Some("csv" | "txt" | "dat" | "data") => return Ok(Self::Csv),
            Some("tsv") => return Ok(Self::Tsv),
            Some("npy") => return Ok(Self::Npy),
            Some("lrn") => return Ok(Self::Lrn),
            Some("cls") => return Ok(Self::Cls),
            #[cfg(feature = "arrow")]
            Some("parquet") => return Ok(Self::Parquet),
            #[cfg(feature = "arrow")]
            Some("arrow" | "feather" | "ipc") => return Ok(Self::Arrow),
            #[cfg(feature = "arrow")]
            Some("arrows") => return Ok(Self::ArrowStream),
            #[cfg(not(feature = "arrow"))]
            Some(columnar @ ("parquet" | "arrow" | "feather" | "ipc" | "arrows")) => {
                let what = format!("tables in .{columnar} are not built in");
                let help = "build with the feature `arrow` of firebox-core, or convert the file to .csv";
                return Err(Error::input_at(Place::file(path), what, help));
            }
            Some("npz") => {
                let help = "save one array with numpy.save; sparse rows can be clustered with `metric = cosine`";
                return Err(Error::input_at(Place::file(path), "an .npz is an archive of arrays, not a table", help));
            }
            Some("gz" | "zst") => {
                let help = "leave out this extension; compressed tables can only be read";
                return Err(Error::input_at(Place::file(path), "tables are not written compressed", help));
            }
            Some(other) => format!("unknown extension .{other}"),
            None if stream() => return Ok(Self::Csv),
            None => "the name has no extension to determine the format".into(),
        };
        let columnar = if cfg!(feature = "arrow") { ", .parquet, .arrow" } else { "" };
        let help = format!("name the file .csv, .tsv, .txt, .dat, .npy{columnar}, .lrn or .cls");
        Err(Error::input_at(Place::file(path), what, help))
    }

    /// The format of a file that is read, which may be compressed: [`Format::of`] without the extension `.gz` or `.zst`.
    pub(crate) fn of_input(path: &Path) -> Result<Self> {
        if path.is_dir() {
            let source = ErrorKind::IsADirectory.into();
            return Err(Error::Io { action: "read", path: path.to_path_buf(), source });
        }
        let inner = inner(path);
        if inner.extension().is_none() && is_compressed(path) {
            let what = "the name has no extension before the one of its compression";
            return Err(Error::input_at(Place::file(path), what, "name the file .csv.gz, .npy.zst or similarly"));
        }
        if is_compressed(inner) {
            let what = "the file is compressed twice, by its name";
            return Err(Error::input_at(Place::file(path), what, "decompress it once"));
        }
        Self::of(inner).map_err(|error| error.in_file(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extensions_determine_formats() {
        let of = |path: &str| Format::of(Path::new(path));
        for path in ["a.csv", "a.b.CSV", "-", "/dev/stdout", "/dev/null", "x/y.txt"] {
            assert_eq!(of(path).unwrap(), Format::Csv, "{path}");
        }
        #[cfg(feature = "arrow")]
        for (path, format) in [
            ("a.parquet", Format::Parquet),
            ("a.arrow", Format::Arrow),
            ("a.FEATHER", Format::Arrow),
            ("a.ipc", Format::Arrow),
            ("a.arrows", Format::ArrowStream),
        ] {
            assert_eq!(of(path).unwrap(), format, "{path}");
        }
        #[cfg(not(feature = "arrow"))]
        for extension in ["parquet", "arrow", "feather", "ipc", "arrows"] {
            let error = of(&format!("a.{extension}")).unwrap_err();
            assert_eq!(error.to_string(), format!("a.{extension}: tables in .{extension} are not built in"));
            assert!(error.help().unwrap().contains("feature `arrow`"));
        }
        let others = ["a.tsv", "a.npy", "a.lrn", "a.cls"].map(|path| of(path).unwrap());
        assert_eq!(others, [Format::Tsv, Format::Npy, Format::Lrn, Format::Cls]);
        let error = of("a.xlsx").unwrap_err();
        assert_eq!(error.to_string(), "a.xlsx: unknown extension .xlsx");
        assert!(error.help().unwrap().contains(".npy"));
        assert!(of("points").is_err() && of("a.csv.gz").is_err());
        let of_input = |path: &str| Format::of_input(Path::new(path));
        assert_eq!(
            ["a.csv.gz", "a.CSV.ZST", "a.tsv"].map(|path| of_input(path).unwrap()),
            [Format::Csv, Format::Csv, Format::Tsv]
        );
        assert_eq!(
            of_input("x/a.gz").unwrap_err().to_string(),
            "x/a.gz: the name has no extension before the one of its compression"
        );
        let error = of_input(".").unwrap_err();
        assert_eq!(error.to_string(), "cannot read .: is a directory");
        let error = of("a.npz").unwrap_err();
        assert_eq!(error.to_string(), "a.npz: an .npz is an archive of arrays, not a table");
    }
}
