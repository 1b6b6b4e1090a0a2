//! Every type of column.

use std::sync::Arc;

use arrow_array::types::{Int8Type, TimestampMillisecondType};
use arrow_array::{
    ArrayRef, BinaryArray, Date32Array, Decimal128Array, DictionaryArray, DurationSecondArray, Float32Array, Int8Array,
    Int32Array, LargeStringArray, ListArray, NullArray, StringViewArray, Time32SecondArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, UInt64Array,
};

use super::super::cells::{Kind, numbers, texts};
use super::{FORMATS, batch, file, message, parse};
use crate::data::Categorical;
use crate::io::columns::{Columns, MissingNumbers};

#[test]
fn numbers_are_exact() {
    let decimals = Decimal128Array::from(vec![Some(150), None, Some(-(10i128.pow(17)) - 1)])
        .with_precision_and_scale(38, 2)
        .unwrap();
    let coded = DictionaryArray::<Int8Type>::new(
        Int8Array::from(vec![Some(1), None, Some(0)]),
        Arc::new(Int32Array::from(vec![7, -8])),
    );
    for (column, real, text) in [
        (Arc::new(Int8Array::from(vec![Some(-128), None])) as ArrayRef, vec![Some(-128.0), None], vec!["-128", ""]),
        (Arc::new(UInt64Array::from(vec![u64::MAX])), vec![Some(u64::MAX as f64)], vec!["18446744073709551615"]),
        (Arc::new(Float32Array::from(vec![0.1])), vec![Some(f64::from(0.1f32))], vec!["0.10000000149011612"]),
        (Arc::new(decimals), vec![Some(1.5), None, Some(-1e15)], vec!["1.50", "", "-1000000000000000.01"]),
        (Arc::new(coded), vec![Some(-8.0), None, Some(7.0)], vec!["-8", "", "7"]),
        (Arc::new(NullArray::new(2)), vec![None, None], vec!["", ""]),
    ] {
        assert_eq!(Kind::of(column.data_type()), Kind::Number);
        let found = numbers(&column).unwrap().into_iter().map(|value| Some(value).filter(|value| !value.is_nan()));
        assert_eq!(found.collect::<Vec<_>>(), real, "{column:?}");
        assert_eq!(texts(&column).unwrap(), text);
    }
}

#[test]
fn dates_and_times_are_text() {
    let millis = |value: i64| TimestampMillisecondArray::from(vec![Some(value), None]);
    let zoned = millis(1_600_000_000_500).with_timezone("Europe/Berlin");
    for (column, text) in [
        (Arc::new(Date32Array::from(vec![Some(18_262), None])) as ArrayRef, vec!["2020-01-01", ""]),
        (Arc::new(millis(1_600_000_000_500)), vec!["2020-09-13 12:26:40.500", ""]),
        (Arc::new(zoned), vec!["2020-09-13 12:26:40.500+00:00", ""]),
        (Arc::new(TimestampMicrosecondArray::from(vec![0])), vec!["1970-01-01 00:00:00"]),
        (Arc::new(millis(i64::MAX)), vec!["9223372036854775807", ""]),
        (Arc::new(Time32SecondArray::from(vec![Some(3661), None])), vec!["01:01:01", ""]),
        (
            Arc::new(DurationSecondArray::from(vec![Some(90), None, Some(i64::MAX)])),
            vec!["PT90S", "", "9223372036854775807"],
        ),
        (Arc::new(LargeStringArray::from(vec![Some("a"), None])), vec!["a", ""]),
        (
            Arc::new(StringViewArray::from(vec![Some("a text that is not inline"), None])),
            vec!["a text that is not inline", ""],
        ),
    ] {
        assert_eq!(Kind::of(column.data_type()), Kind::Text);
        assert_eq!(texts(&column).unwrap(), text, "{column:?}");
    }
}

#[test]
fn other_types_are_left_out_by_request() {
    let list: ArrayRef =
        Arc::new(ListArray::from_iter_primitive::<TimestampMillisecondType, _, _>([Some([Some(1)]), None]));
    let bytes: ArrayRef = Arc::new(BinaryArray::from_vec(vec![b"a", b"b"]));
    let x: ArrayRef = Arc::new(Int32Array::from(vec![3, 4]));
    for (name, column) in [("tags", list), ("raw", bytes)] {
        let table = vec![("x", x.clone()), (name, column.clone())];
        let base = Columns { categorical: Some(Categorical::LeaveOut), ..Default::default() };
        for roles in
            [base, Columns { columns: Some("1"), keep: Some("all"), ..base }, Columns { label: Some("2"), ..base }]
        {
            let (what, help) = message(table.clone(), roles);
            assert_eq!(
                what,
                format!(
                    "column {name}: the column is of type {}, which is neither numbers nor text",
                    column.data_type()
                )
            );
            assert_eq!(help, format!("leave it out with `drop = {name}`"));
        }
        for roles in [Columns { drop: Some(name), ..base }, Columns { columns: Some("x"), ..base }] {
            for (format, _) in FORMATS {
                let points = parse(format, &file(&batch(table.clone()), format, 1), roles).unwrap().points;
                assert_eq!((points.names, points.values), (vec!["x".into()], vec![3.0, 4.0]));
            }
        }
    }
}

#[test]
fn files_of_other_programs_are_read() {
    let roles = Columns {
        label: Some("kind"),
        drop: Some("tags"),
        keep: Some("day"),
        missing: MissingNumbers::Accepted,
        categorical: Some(Categorical::LeaveOut),
        ..Default::default()
    };
    // pyarrow: Zstandard with two row groups, LZ4 with two batches and a dictionary.
    for (format, bytes) in
        [(FORMATS[0].0, &include_bytes!("pyarrow.parquet")[..]), (FORMATS[1].0, &include_bytes!("pyarrow.arrow")[..])]
    {
        let parsed = parse(format, bytes, roles).unwrap();
        let points = parsed.points;
        assert_eq!((points.names, parsed.left_out), (vec!["x".into(), "y".into()], vec!["day".into()]));
        assert_eq!(format!("{:?}", points.values), "[1.0, 0.5, 2.0, NaN, 3.0, 1.5, 4.0, 2.5]");
        assert_eq!(
            (points.labels.unwrap(), points.label_names.unwrap()),
            (vec![0, 1, 0, 1], vec!["a".into(), "b".into()])
        );
        assert!(format!("{:?}", parsed.kept).contains("2020-01-04"));
    }
    let polars = parse(
        FORMATS[0].0,
        include_bytes!("polars.parquet"),
        Columns { label: Some("k"), drop: None, keep: None, ..roles },
    );
    let polars = polars.unwrap();
    assert_eq!(
        (format!("{:?}", polars.points.values), polars.left_out),
        ("[1.5, 2.5, NaN]".into(), vec!["c".into(), "d".into()])
    );
}
