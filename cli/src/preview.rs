//! The first rows of a table, for a terminal.

use std::io::{self, Write};

use firebox_core::data::Table;

use crate::printable;

/// Number of rows shown.
const ROWS: usize = 10;
/// Number of columns shown.
const COLUMNS: usize = 8;
/// Significant digits of numbers.
const DIGITS: usize = 6;
/// Largest width of a column.
const WIDTH: usize = 20;

/// Writes the first rows and columns in aligned columns, and the numbers of those that are left out.
pub(crate) fn write(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let mut columns: Vec<Vec<String>> = Vec::new();
    let rows = table.rows().min(ROWS);
    'all: for column in table.columns() {
        for (at, name) in column.names().iter().enumerate() {
            if columns.len() == COLUMNS {
                break 'all;
            }
            let cell = |row: usize| {
                let index = row * column.width() + at;
                let number = || column.cells().get(index).map_or(String::new(), |cell| short(cell.as_f64()));
                column.text(index).map_or_else(number, String::from)
            };
            let fields = std::iter::once(name.clone()).chain((0..rows).map(cell));
            columns.push(fields.map(|field| shortened(&printable::line(&field))).collect());
        }
    }
    let width = |column: &Vec<String>| column.iter().map(|field| field.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = columns.iter().map(width).collect();
    for row in 0..=rows {
        let fields = columns.iter().zip(&widths).map(|(column, width)| format!("{:>width$}", column[row]));
        writeln!(out, "{}", fields.collect::<Vec<_>>().join("  "))?;
    }
    let more = [(table.rows() - rows, "row"), (table.width() - columns.len(), "column")];
    let counted = |(count, what): &(usize, &str)| format!("{count} more {what}{}", if *count == 1 { "" } else { "s" });
    let more: Vec<String> = more.iter().filter(|(count, _)| *count > 0).map(counted).collect();
    if more.is_empty() { Ok(()) } else { writeln!(out, "… and {}; -o FILE writes all", more.join(" and ")) }
}

/// A number with at most [`DIGITS`] significant digits.
fn short(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 || !value.is_finite() {
        return value.to_string();
    }
    let exponent = value.abs().log10().floor();
    if (-4.0..DIGITS as f64).contains(&exponent) {
        let text = format!("{value:.*}", (DIGITS as f64 - 1.0 - exponent) as usize);
        return if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text };
    }
    format!("{value:.*e}", DIGITS - 1)
}

fn shortened(field: &str) -> String {
    if field.chars().count() <= WIDTH {
        return field.to_string();
    }
    field.chars().take(WIDTH - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(table: &Table) -> String {
        let mut out = Vec::new();
        write(table, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_first_rows_are_aligned() {
        let table = Table::words("kind", vec![0, 1, 0], vec!["a".into(), "a very long name of a class".into()]);
        let table = table.beside(Table::floats("x", vec![0.5, -12345.678, 1e-9])).unwrap();
        let table = table.beside(Table::ints("cluster", vec![0, -1, 10])).unwrap();
        let rows = [
            ["kind", "x", "cluster"],
            ["a", "0.5", "0"],
            ["a very long name of…", "-12345.7", "-1"],
            ["a", "1.00000e-9", "10"],
        ];
        let expected = rows.map(|[kind, x, cluster]| format!("{kind:>20}  {x:>10}  {cluster:>7}\n"));
        assert_eq!(shown(&table), expected.concat());
    }

    #[test]
    fn rows_and_columns_beyond_are_counted() {
        let table = Table::ints("cluster", (0..12).collect());
        let text = shown(&table);
        assert_eq!(text.lines().count(), 12);
        assert!(text.ends_with("… and 2 more rows; -o FILE writes all\n"), "{text}");
        let wide = Table::float_matrix((0..9).map(|i| i.to_string()).collect(), vec![0.1; 9]).unwrap();
        assert!(shown(&wide).ends_with("… and 1 more column; -o FILE writes all\n"));
    }

    #[test]
    fn numbers_have_six_significant_digits() {
        let texts = [0.1, 1.0 / 3.0, 123450.4, 999999.7, 1234567.8, 1e-5, -2.0, f64::NAN].map(short);
        assert_eq!(texts, ["0.1", "0.333333", "123450", "1000000", "1.23457e6", "1.00000e-5", "-2", "NaN"]);
    }
}
