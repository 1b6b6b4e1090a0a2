//! Files that are cut short, changed, or something else.

use super::{FORMATS, batch, columns, file, parse};
use crate::data::Categorical;
use crate::io::columns::Columns;
use crate::io::format::Format;

const ROLES: Columns<'static> = Columns {
    label: None,
    weight: None,
    columns: Some("id,flag,weight"),
    drop: None,
    targets: None,
    keep: Some("all"),
    like: None,
    own: false,
    categorical: Some(Categorical::LeaveOut),
    missing: crate::io::columns::MissingNumbers::Accepted,
};

fn files() -> Vec<(Format, Vec<u8>)> {
    let own = FORMATS.map(|(format, _)| (format, file(&batch(columns()), format, 3)));
    let others = [
        (Format::Parquet, include_bytes!("pyarrow.parquet").to_vec()),
        (Format::Arrow, include_bytes!("pyarrow.arrow").to_vec()),
        (Format::Parquet, include_bytes!("polars.parquet").to_vec()),
    ];
    own.into_iter().chain(others).collect()
}

fn roles(at: usize) -> Columns<'static> {
    // The other programs' files have other columns.
    if at < FORMATS.len() { ROLES } else { Columns { columns: Some("x"), keep: None, ..ROLES } }
}

#[test]
fn files_that_are_cut_short_are_refused() {
    for (at, (format, bytes)) in files().into_iter().enumerate() {
        assert!(parse(format, &bytes, roles(at)).is_ok());
        for end in (0..bytes.len()).step_by(3).chain([bytes.len() - 1]) {
            let cut = parse(format, &bytes[..end], roles(at));
            // A stream may end behind any message, without a mark.
            let ends = format == Format::ArrowStream
                && cut.as_ref().is_ok_and(|cut| cut.points.rows % 3 == 0 || end + 8 == bytes.len());
            let error = cut.err();
            assert!(ends || error.is_some_and(|error| error.help().is_some()), "{format:?} {end}");
        }
    }
}

#[test]
fn damaged_files_neither_panic_nor_abort() {
    for (at, (format, bytes)) in files().into_iter().enumerate() {
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= [0x01, 0x80, 0xff][place % 3];
            if let Ok(parsed) = parse(format, &damaged, roles(at)) {
                let points = parsed.points;
                assert_eq!(points.values.len(), points.rows * points.columns);
            }
        }
    }
}

#[test]
fn other_files_are_refused() {
    for (format, _) in FORMATS {
        for (bytes, expected) in [
            (&b""[..], "the file is empty"),
            (b"x,y\n1,2\n3,4\n", "the file cannot be decoded: "),
            (b"PAR1PAR1", "the file cannot be decoded: "),
            (b"ARROW1\0\0ARROW1", "the file cannot be decoded: "),
            (b"\xff\xff\xff\xff\xff\xff\xff\xff", "the file cannot be decoded: "),
        ] {
            let error = parse(format, bytes, ROLES).err().unwrap();
            assert!(error.to_string().starts_with(expected) && error.help().is_some(), "{format:?}: {error}");
        }
    }
    let error = parse(Format::Arrow, b"FEA1....FEA1", ROLES).err().unwrap();
    assert_eq!(error.to_string(), "the file is a Feather file of version 1");
}
