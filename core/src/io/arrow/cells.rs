//! Columns of a batch as numbers or as text.

use std::sync::Arc;

use arrow_array::cast::{AsArray, as_largestring_array, as_string_array};
use arrow_array::types::{
    ArrowTemporalType, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float32Type, Float64Type,
};
use arrow_array::types::{Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType, Float16Type};
use arrow_array::{Array, ArrayRef, downcast_integer_array, downcast_temporal_array};
use arrow_schema::{DataType, TimeUnit};

use super::guard::guarded;
use crate::data::points::POINTS;
use crate::data::table::Cell;
use crate::error::Result;
use crate::memory;

/// Purpose of the memory of texts, as messages name it.
const TEXTS: &str = "the texts of a column";

/// The kind of a column, by its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    Text,
    /// Neither numbers nor text.
    Other,
}

impl Kind {
    pub(super) fn of(data: &DataType) -> Self {
        use DataType::{Date32, Date64, Dictionary, Duration, LargeUtf8, Time32, Time64, Timestamp, Utf8, Utf8View};
        match data {
            DataType::Null | DataType::Boolean => Self::Number,
            data if data.is_numeric() => Self::Number,
            Utf8 | LargeUtf8 | Utf8View | Date32 | Date64 | Time32(_) | Time64(_) | Timestamp(..) | Duration(_) => {
                Self::Text
            }
            Dictionary(_, words) if !matches!(**words, Dictionary(..)) => Self::of(words),
            _ => Self::Other,
        }
    }
}

/// A column whose values stand for themselves.
fn plain(column: &ArrayRef) -> Result<ArrayRef> {
    match column.as_any_dictionary_opt() {
        Some(coded) => guarded(|| arrow_select::take::take(coded.values(), coded.keys(), None)),
        None => Ok(Arc::clone(column)),
    }
}

/// The numbers of a column of numbers; missing ones are NaN.
pub(super) fn numbers(column: &ArrayRef) -> Result<Vec<f64>> {
    let column = &plain(column)?;
    let mut numbers = memory::with_capacity(column.len(), POINTS)?;
    macro_rules! all {
        ($values:expr, $real:expr) => {
            numbers.extend($values.iter().map(|value| value.map_or(f64::NAN, $real)))
        };
    }
    downcast_integer_array! {
        column => all!(column, |value| value as f64),
        DataType::Boolean => all!(column.as_boolean(), |value| f64::from(u8::from(value))),
        DataType::Float16 => all!(column.as_primitive::<Float16Type>(), f64::from),
        DataType::Float32 => all!(column.as_primitive::<Float32Type>(), f64::from),
        DataType::Float64 => all!(column.as_primitive::<Float64Type>(), |value| value),
        // A decimal is rounded once, by its text.
        _ => for text in texts(column)? {
            numbers.push(text.parse().unwrap_or(f64::NAN));
        },
    }
    Ok(numbers)
}

/// The text of each value of a column of numbers or text; of missing ones it is empty.
pub(super) fn texts(column: &ArrayRef) -> Result<Vec<String>> {
    let column = &plain(column)?;
    let mut texts = memory::with_capacity(column.len(), TEXTS)?;
    macro_rules! all {
        ($values:expr, $text:expr) => {
            texts.extend($values.iter().map(|value| value.map_or_else(String::new, $text)))
        };
    }
    let real = |value: f64| Cell::Float(value).to_string();
    match column.data_type() {
        DataType::Utf8 => all!(as_string_array(column), String::from),
        DataType::LargeUtf8 => all!(as_largestring_array(column), String::from),
        DataType::Utf8View => all!(column.as_string_view(), String::from),
        DataType::Boolean => all!(column.as_boolean(), |value| u8::from(value).to_string()),
        DataType::Float16 => all!(column.as_primitive::<Float16Type>(), |value| real(value.into())),
        DataType::Float32 => all!(column.as_primitive::<Float32Type>(), |value| real(value.into())),
        DataType::Float64 => all!(column.as_primitive::<Float64Type>(), real),
        DataType::Decimal32(..) => decimals::<Decimal32Type>(column, &mut texts),
        DataType::Decimal64(..) => decimals::<Decimal64Type>(column, &mut texts),
        DataType::Decimal128(..) => decimals::<Decimal128Type>(column, &mut texts),
        DataType::Decimal256(..) => decimals::<Decimal256Type>(column, &mut texts),
        data if data.is_integer() => downcast_integer_array! {
            column => all!(column, |value| value.to_string()),
            _ => {},
        },
        DataType::Duration(unit) => durations(column, *unit, &mut texts),
        _ => times(column, &mut texts),
    }
    // Nulls have neither values nor text.
    texts.resize(column.len(), String::new());
    Ok(texts)
}

fn decimals<T: DecimalType>(column: &ArrayRef, texts: &mut Vec<String>) {
    let values = column.as_primitive::<T>();
    let text = |at: usize| if values.is_null(at) { String::new() } else { values.value_as_string(at) };
    texts.extend((0..values.len()).map(text));
}

fn durations(column: &ArrayRef, unit: TimeUnit, texts: &mut Vec<String>) {
    match unit {
        TimeUnit::Second => spans::<DurationSecondType>(column, texts),
        TimeUnit::Millisecond => spans::<DurationMillisecondType>(column, texts),
        TimeUnit::Microsecond => spans::<DurationMicrosecondType>(column, texts),
        TimeUnit::Nanosecond => spans::<DurationNanosecondType>(column, texts),
    }
}

fn spans<T: ArrowTemporalType>(column: &ArrayRef, texts: &mut Vec<String>)
where
    i64: From<T::Native>,
{
    let values = column.as_primitive::<T>();
    let text =
        |at| values.value_as_duration(at).map_or_else(|| i64::from(values.value(at)).to_string(), |it| it.to_string());
    texts.extend((0..values.len()).map(|at| if values.is_null(at) { String::new() } else { text(at) }));
}

/// Appends dates, times of day and points in time; those of a time zone are in UTC. One beyond the calendar is its number.
fn times(column: &ArrayRef, texts: &mut Vec<String>) {
    downcast_temporal_array! {
        column => {
            let text = |at: usize| match column.data_type() {
                DataType::Date32 | DataType::Date64 => column.value_as_date(at).map(|it| it.to_string()),
                DataType::Timestamp(_, None) => column.value_as_datetime(at).map(|it| it.to_string()),
                DataType::Timestamp(_, Some(_)) => column.value_as_datetime(at).map(|it| format!("{it}+00:00")),
                _ => column.value_as_time(at).map(|it| it.to_string()),
            };
            let text = |at: usize| text(at).unwrap_or_else(|| column.value(at).to_string());
            texts.extend((0..column.len()).map(|at| if column.is_null(at) { String::new() } else { text(at) }));
        }
        _ => {}
    }
}
