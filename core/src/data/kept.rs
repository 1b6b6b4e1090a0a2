//! Columns of an input that are written beside the answer.

use super::preparation::retain_rows;
use super::table::{Cell, Table};
use crate::error::Result;
use crate::memory;

/// Purpose of the memory, as messages name it.
const KEPT: &str = "the columns to keep";

/// Columns of an input table, as they are in the file, that are written beside the answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    names: Vec<String>,
    /// The fields of each column.
    columns: Vec<Vec<String>>,
}

impl Kept {
    /// Creates columns without rows.
    pub(crate) fn new(names: Vec<String>) -> Self {
        Self { columns: vec![Vec::new(); names.len()], names }
    }

    /// Appends a field to a column.
    pub(crate) fn push(&mut self, column: usize, field: String) -> Result<()> {
        memory::push(&mut self.columns[column], field, KEPT)
    }

    /// The name and the fields of each column.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &[String])> {
        self.names.iter().map(String::as_str).zip(self.columns.iter().map(Vec::as_slice))
    }

    /// Retains the rows for which `rows`, with an element a row, is true.
    pub fn retain(&mut self, rows: &[bool]) {
        self.columns.iter_mut().for_each(|column| retain_rows(column, rows, 1));
    }

    /// Appends the rows of the same columns of another part of the table.
    pub fn append(&mut self, next: Self) {
        if self.names.is_empty() {
            *self = next;
            return;
        }
        self.columns.iter_mut().zip(next.columns).for_each(|(column, next)| column.extend(next));
    }

    /// The columns, then those of the answer. A column is one of numbers if all its fields are numbers or empty, and one of
    /// words otherwise. A name that the answer has too gets `_input` behind.
    ///
    /// Fails if the answer has another number of rows.
    pub fn beside(self, answer: Table) -> Result<Table> {
        let rename = |name: String| if answer.names().any(|own| *own == name) { name + "_input" } else { name };
        let names: Vec<String> = self.names.into_iter().map(rename).collect();
        let columns = names.into_iter().zip(self.columns);
        let mut tables = columns.map(|(name, fields)| column(name, fields));
        let Some(first) = tables.next() else { return Ok(answer) };
        tables.try_fold(first?, |left, right| left.beside(right?))?.beside(answer)
    }
}

/// A column of whole numbers, of real numbers or of words.
fn column(name: String, fields: Vec<String>) -> Result<Table> {
    let whole = fields.iter().map(|field| field.parse::<i64>().ok().filter(|value| value.to_string() == *field));
    if let Some(values) = whole.collect() {
        return Ok(Table::ints(name, values));
    }
    let real = |field: &String| if field.is_empty() { Some(f64::NAN) } else { number(field) };
    if let Some(values) = fields.iter().map(real).collect::<Option<Vec<f64>>>()
        && fields.iter().any(|field| !field.is_empty())
    {
        let is_plain = |(field, value): (&String, &f64)| Cell::Float(*value).to_string() == *field;
        let plain = fields.iter().zip(&values).all(is_plain);
        return if plain { Ok(Table::floats(name, values)) } else { Table::fields(name, values, fields) };
    }
    let mut words = fields.clone();
    words.sort_unstable();
    words.dedup();
    let codes = fields.iter().map(|field| words.partition_point(|word| word < field) as i64);
    Ok(Table::words(name, codes.collect(), words))
}

/// The number that a field is, unless it is rather a code, such as 007 or +49, or has digits that a float does not.
fn number(field: &str) -> Option<f64> {
    let digits = field.strip_prefix('-').unwrap_or(field);
    let is_code = digits.strip_prefix('0').is_some_and(|rest| rest.starts_with(|next: char| next.is_ascii_digit()));
    let value = field.parse::<f64>().ok().filter(|value| value.is_finite())?;
    let is_whole = digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_exact = !is_whole || value.abs() <= (1u64 << f64::MANTISSA_DIGITS) as f64;
    (digits.starts_with(|first: char| first.is_ascii_digit() || first == '.') && !is_code && is_exact).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Format;

    #[test]
    fn columns_are_written_as_they_were_read() {
        let rows = [["7", "0.5", "b,c", "007"], ["-1", "1e300", "", "1"], ["0", "2", "b,c", "2.50"]];
        let mut kept = Kept::new(["i", "x", "text", "code"].map(String::from).to_vec());
        for row in &rows {
            row.iter().enumerate().for_each(|(at, field)| kept.push(at, field.to_string()).unwrap());
        }
        let mut part = kept.clone();
        part.retain(&[true, false, true]);
        let mut all = Kept::default();
        all.append(part.clone());
        all.append(part);
        let mut text = Vec::new();
        let table = kept.beside(Table::ints("cluster", vec![3, 4, 5])).unwrap();
        table.write_csv(&mut text).unwrap();
        let expected = "i,x,text,code,cluster\n7,0.5,\"b,c\",007,3\n-1,1e300,\"\",1,4\n0,2,\"b,c\",2.50,5\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
        let table = all.beside(Table::ints("cluster", vec![0; 4])).unwrap();
        assert_eq!((table.rows(), table.width()), (4, 5));
        let columns =
            [("n", ["1.0", "2.50"]), ("gap", ["7", ""]), ("id", ["12345678901234567890", "1"]), ("tel", ["+49", "1"])];
        let mut kept = Kept::new(columns.map(|(name, _)| name.to_string()).to_vec());
        for (at, (_, fields)) in columns.iter().enumerate() {
            fields.iter().for_each(|field| kept.push(at, field.to_string()).unwrap());
        }
        let table = kept.beside(Table::ints("cluster", vec![0, 1])).unwrap();
        let (mut text, names) = (Vec::new(), ["n", "gap", "id", "tel", "cluster"]);
        table.write_csv(&mut text).unwrap();
        let expected = "n,gap,id,tel,cluster\n1.0,7,12345678901234567890,+49,0\n2.50,\"\",1,1,1\n";
        assert_eq!(
            (String::from_utf8(text).unwrap().as_str(), table.names().collect::<Vec<_>>()),
            (expected, names.to_vec())
        );
        let values: Vec<f64> = table.row(1).map(Cell::as_f64).collect();
        assert!(values[0] == 2.5 && values[1].is_nan(), "{values:?}");
        assert_eq!(table.losses(Format::Npy).len(), 2);
        let mut twice = Kept::new(vec!["b".into()]);
        twice.push(0, "3".into()).unwrap();
        let table = twice.beside(Table::ints("b", vec![1])).unwrap();
        assert_eq!(table.names().collect::<Vec<_>>(), ["b_input", "b"]);
        assert!(Kept::new(vec!["a".into()]).beside(Table::ints("b", vec![1])).is_err());
    }
}
