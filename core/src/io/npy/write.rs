//! Tables as arrays.

use std::io::{self, Write};

use crate::data::table::{Cell, Cells, Table};

/// Writes the table as one array, row-major.
///
/// Fails on whole numbers beside real ones that are not exact as f64.
pub(crate) fn write(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let all = table.columns();
    let descr = match all {
        [column] if matches!(column.cells(), Cells::Count(_)) => "<i4",
        all if all.iter().all(|column| !matches!(column.cells(), Cells::Float(_))) => "<i8",
        _ => "<f8",
    };
    out.write_all(&head(descr, table.rows(), table.width()))?;
    for row in 0..table.rows() {
        for (cell, name) in table.row(row).zip(table.names()) {
            match (cell, descr) {
                (Cell::Int(value), "<i4") => out.write_all(&(value as i32).to_le_bytes())?,
                (Cell::Int(value), "<i8") => out.write_all(&value.to_le_bytes())?,
                (Cell::Int(value), _) if value as f64 as i128 != i128::from(value) => {
                    let what = format!("row {}, column {name}: {value} is not exact as a real number", row + 1);
                    let help = "an array has one type; write a .csv, which keeps whole numbers";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{what} ({help})")));
                }
                (cell, _) => out.write_all(&cell.as_f64().to_le_bytes())?,
            }
        }
    }
    Ok(())
}

/// A header of version 1.0, padded to a multiple of 64 bytes as by NumPy.
fn head(descr: &str, rows: usize, columns: usize) -> Vec<u8> {
    let shape = if columns == 1 { format!("{rows},") } else { format!("{rows}, {columns}") };
    let dictionary = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape})}}");
    let width = (10 + dictionary.len() + 1).next_multiple_of(64) - 11;
    let mut head = b"\x93NUMPY\x01\x00".to_vec();
    head.extend((width as u16 + 1).to_le_bytes());
    head.extend(format!("{dictionary:width$}\n").bytes());
    head
}
