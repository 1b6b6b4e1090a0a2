//! Tables as columnar files: whole numbers, real numbers and texts keep their types.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use crate::data::table::{Cell, Cells, Column, Table};

/// Largest number of rows of a batch.
const ROWS: usize = 1 << 16;

/// Writes the table as Parquet, compressed with Snappy.
pub(in crate::io) fn write_parquet(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    // The types of the columns are those of Parquet itself.
    let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new_with_options(&mut bytes, schema(table), options)?;
    for batch in batches(table) {
        writer.write(&batch?)?;
    }
    writer.close()?;
    out.write_all(&bytes)
}

/// Writes the table as an Arrow IPC file.
pub(in crate::io) fn write_file(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = FileWriter::try_new(out, &schema(table)).map_err(io::Error::other)?;
    batches(table).try_for_each(|batch| writer.write(&batch?).map_err(io::Error::other))?;
    writer.finish().map_err(io::Error::other)
}

/// Writes the table as an Arrow IPC stream.
pub(in crate::io) fn write_stream(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = StreamWriter::try_new(out, &schema(table)).map_err(io::Error::other)?;
    batches(table).try_for_each(|batch| writer.write(&batch?).map_err(io::Error::other))?;
    writer.finish().map_err(io::Error::other)
}

fn schema(table: &Table) -> SchemaRef {
    let fields = table.columns().iter().flat_map(|column| {
        let data = match column.cells() {
            _ if !column.words().is_empty() => DataType::Utf8,
            Cells::Float(_) if is_whole(column) => DataType::Int64,
            Cells::Float(_) => DataType::Float64,
            Cells::Int(_) | Cells::Count(_) => DataType::Int64,
        };
        let is_nullable = !column.fields().is_empty();
        column.names().iter().map(move |name| Field::new(name, data.clone(), is_nullable))
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn batches(table: &Table) -> impl Iterator<Item = io::Result<RecordBatch>> {
    let schema = schema(table);
    (0..table.rows()).step_by(ROWS).map(move |from| {
        let rows = from..table.rows().min(from + ROWS);
        let arrays = table.columns().iter().flat_map(|column| {
            let rows = rows.clone();
            (0..column.width()).map(move |at| array(column, rows.clone().map(|row| row * column.width() + at)))
        });
        RecordBatch::try_new(schema.clone(), arrays.collect()).map_err(io::Error::other)
    })
}

/// True if the numbers of a column were read from fields of whole numbers, some of which may be empty.
fn is_whole(column: &Column) -> bool {
    let is_whole = |field: &String| field.is_empty() || field.parse::<i64>().is_ok();
    !column.fields().is_empty() && column.fields().iter().all(is_whole)
}

/// The cells of a column at these indices; those of empty fields are null.
fn array(column: &Column, indices: impl Iterator<Item = usize>) -> ArrayRef {
    match column.cells() {
        _ if !column.words().is_empty() => {
            let number = |at| column.cells().get(at).map_or_else(String::new, |cell: Cell| cell.to_string());
            let text = |at| column.text(at).map_or_else(|| number(at), String::from);
            Arc::new(StringArray::from_iter_values(indices.map(text)))
        }
        Cells::Float(values) if !column.fields().is_empty() => {
            let value = |at: usize| (!column.fields()[at].is_empty()).then_some(values[at]);
            if is_whole(column) {
                return Arc::new(Int64Array::from_iter(indices.map(|at| value(at).map(|value| value as i64))));
            }
            Arc::new(Float64Array::from_iter(indices.map(value)))
        }
        Cells::Float(values) => Arc::new(Float64Array::from_iter_values(indices.map(|at| values[at]))),
        Cells::Int(values) => Arc::new(Int64Array::from_iter_values(indices.map(|at| values[at]))),
        Cells::Count(values) => Arc::new(Int64Array::from_iter_values(indices.map(|at| values[at].into()))),
    }
}
