//! Points and labels from columnar files.

use arrow_array::{ArrayRef, RecordBatch};

use super::batches::{Batches, Columnar, batches, schema};
use super::cells::{Kind, numbers, texts};
use super::input::Input;
use crate::data::kept::Kept;
use crate::data::points::{CLASSES, FINITE, POINTS, Points};
use crate::error::{At, Error, Place, Result};
use crate::io::categories;
use crate::io::columns::{Columns, MissingNumbers};
use crate::io::labels::{Codes, check_count, encode};
use crate::io::number::{MISSING, Numbers};
use crate::io::parsed::Parsed;
use crate::io::sources::{Source, Sources};
use crate::memory;

/// Reads points, and their weights if a column holds these.
pub(in crate::io) fn read(format: Columnar, input: &Input, columns: Columns<'_>) -> Result<Parsed> {
    let mut blocks = Blocks::open(format, input, columns, usize::MAX)?;
    let (points, kept) = blocks.block()?.ok_or_else(no_rows)?;
    let Table { names, sources, .. } = &blocks.table;
    let weight = sources.weight.map(|_| points.columns - 1);
    let left_out = sources.left_out.iter().map(|&at| names[at].clone()).collect();
    Ok(Parsed { targets: sources.targets, left_out, kept, ..Parsed::new(points, weight, None)? })
}

/// Points, with the columns to keep, in blocks of consecutive rows.
pub(in crate::io) struct Blocks {
    table: Table,
    batches: Batches,
    /// Rows of a batch that are not in a block yet.
    rest: Option<RecordBatch>,
    /// Number of rows before.
    first: usize,
    /// Largest number of rows of a block.
    height: usize,
}

impl Blocks {
    /// Reads the columns. Blocks have about `bytes` of numbers, and at least one row.
    pub(in crate::io) fn open(format: Columnar, input: &Input, columns: Columns<'_>, bytes: usize) -> Result<Self> {
        let table = Table::open(format, input, columns)?;
        let batches = batches(format, input, &table.used)?;
        let height = (bytes / (8 * table.used.len())).max(1);
        Ok(Self { table, batches, rest: None, first: 0, height })
    }

    /// Reads the next block; `None` at the end. Fails if the table has no rows.
    fn block(&mut self) -> Result<Option<(Points, Kept)>> {
        let mut rows = Rows::new(&self.table, self.first);
        while rows.rows < self.height {
            let Some(batch) = self.rest.take().map(Ok).or_else(|| self.batches.next()).transpose()? else { break };
            let (more, all) = (batch.num_rows().min(self.height - rows.rows), batch.num_rows());
            rows.push(&self.table, &batch.slice(0, more))?;
            self.rest = (more < all).then(|| batch.slice(more, all - more));
        }
        self.first += rows.rows;
        match (rows.rows, self.first) {
            (0, 0) => Err(no_rows()),
            (0, _) => Ok(None),
            _ => rows.finish(&self.table).map(Some),
        }
    }
}

impl Iterator for Blocks {
    type Item = Result<(Points, Kept)>;

    fn next(&mut self) -> Option<Self::Item> {
        self.block().transpose()
    }
}

/// Reads the labels of `points` points from the only column.
pub(in crate::io) fn read_labels(format: Columnar, input: &Input, points: usize) -> Result<Codes> {
    let schema = schema(format, input)?;
    let [field] = &schema.fields()[..] else {
        let what = format!("{} columns in a file of labels", schema.fields().len());
        return Err(Error::input(what, "leave one label in each row"));
    };
    if Kind::of(field.data_type()) == Kind::Other {
        return Err(no_type(field.name(), field.data_type()));
    }
    let mut labels = Vec::new();
    for batch in batches(format, input, &[0])? {
        texts(batch?.column(0))?.into_iter().try_for_each(|label| memory::push(&mut labels, label, CLASSES))?;
    }
    check_count(labels.len(), points)?;
    encode(&labels, &(1..=points).collect::<Vec<_>>(), field.name()).map_err(in_rows)
}

/// The columns of a file.
struct Table {
    names: Vec<String>,
    kinds: Vec<Kind>,
    sources: Sources,
    /// Indices of the columns that are read, ascending.
    used: Vec<usize>,
    numbers: Numbers,
}

impl Table {
    /// Assigns the columns. Fails if one that is needed is neither numbers nor text.
    fn open(format: Columnar, input: &Input, columns: Columns<'_>) -> Result<Self> {
        let schema = schema(format, input)?;
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let kinds: Vec<Kind> = schema.fields().iter().map(|field| Kind::of(field.data_type())).collect();
        let is_text: Vec<bool> =
            kinds.iter().map(|kind| columns.categorical.is_some() && *kind == Kind::Text).collect();
        let words = |at: usize| {
            let fields = batches(format, input, &[at])?.map(|batch| texts(batch?.column(0)));
            let fields = fields.flat_map(|fields| match fields {
                Ok(fields) => fields.into_iter().map(Ok).collect(),
                Err(error) => vec![Err(error)],
            });
            categories::of(fields, &names[at])
        };
        let sources = Sources::new(columns, &names, &is_text, words)?;
        let coordinates = sources.coordinates.iter().map(|source| match source {
            Source::Number(at) | Source::OneHot { at, .. } => *at,
        });
        let mut used: Vec<usize> = coordinates.chain(sources.label).chain(sources.kept.iter().copied()).collect();
        used.sort_unstable();
        used.dedup();
        if let Some(&at) = used.iter().find(|&&at| kinds[at] == Kind::Other) {
            return Err(no_type(&names[at], schema.field(at).data_type()));
        }
        let numbers = Numbers { missing: columns.missing, comma: false, label_given: sources.label.is_some() };
        Ok(Self { names, kinds, sources, used, numbers })
    }

    /// The column of a batch at an index of the file.
    fn column<'b>(&self, batch: &'b RecordBatch, at: usize) -> &'b ArrayRef {
        batch.column(self.used.partition_point(|&used| used < at))
    }
}

/// Rows that were read.
struct Rows {
    /// Number of rows of the file above them.
    first: usize,
    rows: usize,
    width: usize,
    values: Vec<f64>,
    classes: Vec<String>,
    kept: Kept,
}

impl Rows {
    fn new(table: &Table, first: usize) -> Self {
        let Table { sources, names, .. } = table;
        let kept = Kept::new(sources.kept.iter().map(|&at| names[at].clone()).collect());
        let width = sources.coordinates.iter().map(Source::width).sum();
        Self { first, rows: 0, width, values: Vec::new(), classes: Vec::new(), kept }
    }

    /// Appends the rows of a batch.
    fn push(&mut self, table: &Table, batch: &RecordBatch) -> Result<()> {
        let (before, height) = (self.values.len(), batch.num_rows());
        memory::resize(&mut self.values, before + height * self.width, f64::NAN, POINTS)?;
        let values = &mut self.values[before..];
        let mut from = 0;
        for (index, source) in table.sources.coordinates.iter().enumerate() {
            let (Source::Number(at) | Source::OneHot { at, .. }) = source;
            let column = table.column(batch, *at);
            let place = |row: usize| Place::default().row(self.first + self.rows + row + 1).column(&*table.names[*at]);
            let cells = values.chunks_exact_mut(self.width).enumerate();
            match source {
                Source::Number(_) if table.kinds[*at] == Kind::Number => {
                    for ((row, cells), number) in cells.zip(numbers(column)?) {
                        cells[from] = checked(number, table.numbers.missing, || place(row))?;
                    }
                }
                Source::Number(_) => {
                    for ((row, cells), text) in cells.zip(texts(column)?) {
                        let number = table.numbers.coordinate(&text, row + 1, &table.names[*at]);
                        let number =
                            number.map_err(|error| table.sources.in_target(index, at_place(error, place(row))));
                        cells[from] = number?;
                    }
                }
                Source::OneHot { words, .. } => {
                    let mut encoded = Vec::new();
                    for ((row, cells), text) in cells.zip(texts(column)?) {
                        encoded.clear();
                        categories::push(&mut encoded, words, &text, table.numbers.missing, || place(row))?;
                        cells[from..from + words.len()].copy_from_slice(&encoded);
                    }
                }
            }
            from += source.width();
        }
        if let Some(at) = table.sources.label {
            let labels = texts(table.column(batch, at))?;
            labels.into_iter().try_for_each(|label| memory::push(&mut self.classes, label, CLASSES))?;
        }
        for (place, &at) in table.sources.kept.iter().enumerate() {
            texts(table.column(batch, at))?.into_iter().try_for_each(|text| self.kept.push(place, text))?;
        }
        self.rows += height;
        Ok(())
    }

    /// The points with the weights as the last coordinate, and the columns to keep.
    fn finish(self, table: &Table) -> Result<(Points, Kept)> {
        let Self { first, rows, width: columns, values, classes, kept } = self;
        let lines: Vec<usize> = (first + 1..=first + classes.len()).collect();
        let (labels, label_names) = match table.sources.label {
            Some(at) => {
                let (codes, names) = encode(&classes, &lines, &table.names[at]).map_err(in_rows)?;
                (Some(codes), names)
            }
            None => (None, None),
        };
        let label_column = table.sources.label.map(|at| table.names[at].clone());
        let names = table.sources.coordinate_names(&table.names);
        Ok((Points { values, rows, columns, names, labels, label_names, label_column }, kept))
    }
}

/// A coordinate, which is finite or accepted as missing.
fn checked(number: f64, missing: MissingNumbers, place: impl Fn() -> Place) -> Result<f64> {
    if number.is_finite() || number.is_nan() && missing.are_accepted() {
        return Ok(number);
    }
    if number == f64::INFINITY && missing == MissingNumbers::OrInfinite {
        return Ok(f64::NAN);
    }
    let (what, help) = match missing {
        MissingNumbers::Advised if number.is_nan() => ("the number is missing".into(), MISSING),
        _ if number.is_nan() => ("the number is missing".into(), "fill in a number, or leave the row out"),
        _ => (format!("{number} is not a finite number"), FINITE),
    };
    Err(Error::input_at(place(), what, help))
}

fn no_rows() -> Error {
    Error::input("there are no rows", "give a table of at least one row")
}

fn no_type(name: &str, data: &impl std::fmt::Display) -> Error {
    let what = format!("the column is of type {data}, which is neither numbers nor text");
    Error::input_at(Place::default().column(name), what, format!("leave it out with `drop = {name}`"))
}

/// Moves an error to another place.
fn at_place(error: Error, to: Place) -> Error {
    match error {
        Error::Input { what, help, .. } => Error::input_at(to, what, help),
        other => other,
    }
}

/// Turns the line of an error into a row.
fn in_rows(mut error: Error) -> Error {
    if let Error::Input { place: Place { at: Some(at), .. }, .. } = &mut error
        && let At::Line(row) = *at
    {
        *at = At::Row(row);
    }
    error
}
