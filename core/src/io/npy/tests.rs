use super::*;
use crate::communicator::Share;
use crate::data::points::Points;
use crate::data::table::Table;
use crate::error::Result;
use crate::io::blocks::read_blocks;
use crate::io::columns::Columns;
use crate::io::options::ReadOptions;
use crate::io::read::{self, Part, read_part};
use ndarray::{Array1, Array2, ShapeBuilder};
use ndarray_npy::{ReadNpyExt, WriteNpyExt};
use proptest::prelude::*;
use std::path::Path;

fn read(bytes: &[u8], label: Option<&str>) -> Result<Points> {
    super::read(bytes, Columns { label, ..Columns::default() }).map(|parsed| parsed.points)
}

fn saved(array: &impl WriteNpyExt) -> Vec<u8> {
    let mut bytes = Vec::new();
    array.write_npy(&mut bytes).unwrap();
    bytes
}

/// A file with any header.
fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

#[test]
fn every_element_type_is_read() {
    macro_rules! check {
        ($($kind:ty),*) => {$(
            let numbers = [1u8, 2, 3, 4, 5, 127].map(|number| number as $kind).to_vec();
            let array = Array2::from_shape_vec((2, 3), numbers).unwrap();
            let points = read(&saved(&array), None).unwrap();
            assert_eq!((points.rows, points.columns), (2, 3));
            assert_eq!(points.values, [1.0, 2.0, 3.0, 4.0, 5.0, 127.0], stringify!($kind));
        )*};
    }
    check!(f64, f32, i64, i32, i16, i8, u64, u32, u16, u8);
    let points = read(&saved(&Array1::from(vec![-1i16, -300, 2])), None).unwrap();
    assert_eq!((points.columns, points.values), (1, vec![-1.0, -300.0, 2.0]));
    let header = "{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }\n";
    let data: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|v| v.to_be_bytes()).collect();
    assert_eq!(read(&file(header, &data), None).unwrap().values, [1.5, -2.0]);
}

#[test]
fn fortran_order_is_transposed() {
    let array = Array2::from_shape_vec((2, 3).f(), vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0]).unwrap();
    let bytes = saved(&array);
    assert!(String::from_utf8_lossy(&bytes[..80]).contains("'fortran_order': True"));
    assert_eq!(read(&bytes, None).unwrap().values, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
}

#[test]
fn a_column_can_be_the_labels() {
    let array = Array2::from_shape_vec((2, 2), vec![0.5, 7.0, 1.5, -1.0]).unwrap();
    let points = read(&saved(&array), Some("2")).unwrap();
    assert_eq!((points.values, points.labels.unwrap()), (vec![0.5, 1.5], vec![7, -1]));
    let error = read(&saved(&array), Some("C1")).unwrap_err();
    assert_eq!(error.to_string(), "row 1, column C1: the label 0.5 is not a whole number");
    assert!(read(&saved(&array), Some("3")).unwrap_err().to_string().contains("no column \"3\""));
}

#[test]
fn files_of_labels_are_counted() {
    assert_eq!(read_labels(&saved(&Array1::from(vec![1i64, -1])), 2).unwrap(), [1, -1]);
    let error = read_labels(&saved(&Array1::from(vec![1i64, -1])), 3).unwrap_err();
    assert_eq!(error.to_string(), "there are 2 labels for 3 points");
    let error = read_labels(&saved(&Array2::<i64>::zeros((2, 2))), 4).unwrap_err();
    assert_eq!(error.to_string(), "the array of labels has shape (2, 2)");
}

#[test]
fn errors_are_specific() {
    let nan = Array2::from_shape_vec((2, 2), vec![1.0, 2.0, f64::NAN, 3.0]).unwrap();
    let long = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 1000000000000), }";
    let deep = "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 1), }";
    let complex = "{'descr': '<c16', 'fortran_order': False, 'shape': (1, 1), }";
    let record = "{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (1,), }";
    for (bytes, expected) in [
        (saved(&nan), "row 2, column C1: NaN is not a finite number"),
        (b"x,y\n1,2\n".to_vec(), "this is not an NPY file"),
        (b"\x93NUMPY\x01\x00\xff".to_vec(), "the NPY header is cut short"),
        (file("{}", &[]), "the NPY header has no descr"),
        (
            file("{'descr': '<f8', 'fortran_order': Maybe, 'shape': (1,)}", &[0; 8]),
            "the NPY header's fortran_order is neither True nor False",
        ),
        (b"\x93NUMPY\x00\x00\x02\x00{}".to_vec(), "version 0.0 of the NPY format is not known"),
        (b"\x93NUMPY\x09\x00\x02\x00\x00\x00{}".to_vec(), "version 9.0 of the NPY format is not known"),
        (b"\x93NUMPY\x01\x01\x02\x00{}".to_vec(), "version 1.1 of the NPY format is not known"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff{}".to_vec(), "the NPY header has 4294967295 bytes, more than 10000"),
        (
            file("{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}", &[1, 2]),
            "the array of booleans has bytes that are neither 0 nor 1",
        ),
        (file(deep, &[0; 8]), "the array has 3 dimensions"),
        (file(complex, &[0; 16]), "arrays of <c16 cannot be read"),
        (file(record, &[0; 8]), "arrays of a structure cannot be read"),
        (file(long, &[0; 8]), "an array of shape (1000000000000, 1000000000000) of <f8 does not have 8 bytes"),
        (saved(&Array2::<f64>::zeros((0, 2))), "the array has shape (0, 2): there are no points"),
    ] {
        assert_eq!(read(&bytes, None).unwrap_err().to_string(), expected);
    }
}

#[test]
fn weights_are_separated_beside_labels() {
    let array = Array2::from_shape_vec((2, 4), vec![1.0, 7.0, 5.0, 2.0, 3.0, 8.0, 6.0, 4.0]).unwrap();
    for (label, weight, weights, values) in [
        (Some("2"), "3", vec![5, 6], vec![1.0, 2.0, 3.0, 4.0]),
        (Some("2"), "C1", vec![1, 3], vec![5.0, 2.0, 6.0, 4.0]),
        (None, "4", vec![2, 4], vec![1.0, 7.0, 5.0, 3.0, 8.0, 6.0]),
    ] {
        let columns = Columns { label, weight: Some(weight), ..Columns::default() };
        let found = super::read(&saved(&array), columns).unwrap();
        assert_eq!((found.weights.unwrap(), found.points.values), (weights, values));
    }
    let (columns, array) = (Columns { weight: Some("2"), ..Columns::default() }, array.mapv(|x| x / 2.0));
    let error = super::read(&saved(&array), columns).err().unwrap().to_string();
    assert_eq!(error, "row 1, column C2: the weight 3.5 is no whole number from 1 to 4294967295");
}

#[test]
fn versions_2_and_3_are_read() {
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }\n";
    for version in [2, 3] {
        let mut bytes = [b"\x93NUMPY".as_slice(), &[version, 0]].concat();
        bytes.extend((header.len() as u32).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(2.5f64.to_le_bytes());
        assert_eq!(read(&bytes, None).unwrap().values, [2.5]);
    }
}

#[test]
fn labels_of_64_bits_are_exact_or_refused() {
    const ODD: i64 = (1 << 53) + 1;
    let labels = [ODD, -ODD, i64::MAX, i64::MIN];
    assert_eq!(read_labels(&saved(&Array1::from(labels.to_vec())), 4).unwrap(), labels);
    for array in [
        Array2::from_shape_vec((2, 2), vec![1, ODD, 2, i64::MAX]),
        Array2::from_shape_vec((2, 2).f(), vec![1, 2, ODD, i64::MAX]),
    ] {
        let points = read(&saved(&array.unwrap()), Some("2")).unwrap();
        assert_eq!((points.values, points.labels.unwrap()), (vec![1.0, 2.0], vec![ODD, i64::MAX]));
    }
    let error = read_labels(&saved(&Array1::from(vec![1, u64::MAX])), 2).unwrap_err();
    assert_eq!(error.to_string(), "row 2, column C1: the label 18446744073709551615 is too large to be kept exactly");
    // A float of this size may be a rounded whole number.
    let array = Array2::from_shape_vec((2, 2), vec![0.5, 7.0, 1.5, ODD as f64]).unwrap();
    let error = read(&saved(&array), Some("2")).unwrap_err();
    assert_eq!(error.to_string(), "row 2, column C2: the label 9007199254740992 is too large to be kept exactly");
}

#[test]
fn tables_of_integers_keep_their_type() {
    let matrix = Table::int_matrix(vec!["a".into(), "b".into()], vec![1, 2, 3, 4]).unwrap();
    let table = Table::ints("x", vec![i64::MAX, i64::MIN]).beside(matrix).unwrap();
    let mut bytes = Vec::new();
    write(&table, &mut bytes).unwrap();
    let back = Array2::<i64>::read_npy(bytes.as_slice()).unwrap();
    assert_eq!(back, ndarray::array![[i64::MAX, 1, 2], [i64::MIN, 3, 4]]);
    let mut bytes = Vec::new();
    let table = Table::ints("x", vec![7, -7]).beside(Table::floats("y", vec![0.5, 1.5])).unwrap();
    write(&table, &mut bytes).unwrap();
    assert_eq!(Array2::<f64>::read_npy(bytes.as_slice()).unwrap(), ndarray::array![[7.0, 0.5], [-7.0, 1.5]]);
    let mut bytes = Vec::new();
    write(&Table::ints("x", vec![3]), &mut bytes).unwrap();
    assert_eq!(Array1::<i64>::read_npy(bytes.as_slice()).unwrap(), ndarray::array![3]);
}

#[test]
fn files_are_bitwise_those_of_ndarray_npy() {
    for rows in [1, 5, 100_000] {
        let mut single = Vec::new();
        write(&Table::floats("x", (0..rows).map(f64::from).collect()), &mut single).unwrap();
        assert_eq!(single, saved(&(0..rows).map(f64::from).collect::<Array1<f64>>()));
        let numbers: Vec<i32> = (0..3 * rows).collect();
        let mut matrix = Vec::new();
        let names = ["a", "b", "c"].map(String::from).to_vec();
        write(&Table::count_matrix(names, numbers.clone()).unwrap(), &mut matrix).unwrap();
        assert_eq!(matrix, saved(&Array2::from_shape_vec((rows as usize, 3), numbers).unwrap()));
    }
}

#[test]
fn integers_beside_reals_are_not_rounded() {
    let beside = |label: i64| Table::floats("x", vec![0.5]).beside(Table::ints("label", vec![label])).unwrap();
    write(&beside(1 << 53), &mut Vec::new()).unwrap();
    write(&beside(i64::MIN), &mut Vec::new()).unwrap();
    for label in [(1 << 53) + 1, i64::MAX] {
        let error = write(&beside(label), &mut Vec::new()).unwrap_err().to_string();
        assert!(error.contains(&format!("row 1, column label: {label} is not exact")), "{error}");
    }
}

proptest! {
    #[test]
    fn written_points_round_trip(values in prop::collection::vec(-1e300f64..1e300, 1..60), columns in 1usize..4) {
        let rows = values.len() / columns;
        prop_assume!(rows > 0);
        let points = Points::new(values[..rows * columns].to_vec(), columns).unwrap();
        let mut bytes = Vec::new();
        write(&points.table().unwrap(), &mut bytes).unwrap();
        prop_assert_eq!(read(&bytes, None).unwrap(), points);
    }

    #[test]
    fn arbitrary_headers_do_not_panic(
        header in "(\\{?'descr': ?'?[<>|=]?[fiub]?[1248]?'?,? ?'fortran_order': ?(True|False)?,? ?'shape': ?\\(?[0-9]{0,20},? ?[0-9]{0,20}\\)?.{0,4})",
        data in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let _ = read(&file(&header, &data), None);
        let _ = read_labels(&file(&header, &data), 3);
    }
}

/// Reads all rows of a file in parts by `size` ranks.
fn in_parts(path: &Path, size: usize, label: Option<&str>) -> Result<Points> {
    let options = ReadOptions::labelled(label);
    let parts = (0..size).map(|rank| read_part(path, &options, Share { rank, size })).collect::<Result<Vec<_>>>()?;
    let rows = parts.iter().map(|part| part.of.len()).sum();
    assert!(parts.iter().all(|part| part.rows == rows && part.points.rows == part.of.len()));
    assert!(parts.windows(2).all(|pair| pair[0].of.end == pair[1].of.start));
    let mut all = parts[0].points.clone();
    for Part { points, .. } in &parts[1..] {
        assert_eq!((&points.names, points.columns), (&all.names, all.columns));
        all.values.extend(&points.values);
        all.labels.iter_mut().zip(&points.labels).for_each(|(all, more)| all.extend(more));
    }
    Ok(Points { rows, ..all })
}

#[test]
fn parts_concatenate_to_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    let numbers = |rows: usize| (0..3 * rows).map(|k| k as f32 - 4.0).collect::<Vec<_>>();
    for rows in [1, 2, 7, 100] {
        let array = Array2::from_shape_vec((rows, 3), numbers(rows)).unwrap();
        let turned = Array2::from_shape_vec((rows, 3).f(), numbers(rows)).unwrap();
        for bytes in [saved(&array), saved(&turned), saved(&Array1::from(numbers(rows)))] {
            std::fs::write(&path, &bytes).unwrap();
            for label in [None, Some("2")] {
                let Ok(whole) = read(&bytes, label) else { continue };
                for size in [1, 2, 3, 8] {
                    assert_eq!(in_parts(&path, size, label).unwrap(), whole, "{rows} rows, {size} ranks");
                }
                let mut blocks = Vec::new();
                read_blocks(&path, &ReadOptions::labelled(label), 30, |block, _| {
                    assert!(block.rows * 4 <= 30);
                    blocks.extend(block.values);
                    Ok(())
                })
                .unwrap();
                assert_eq!(blocks, whole.values);
            }
        }
    }
    let csv = folder.path().join("a.csv");
    std::fs::write(&csv, "x,k\n1,b\n2,a\n3,b\n4,c\n").unwrap();
    let whole = read::read(&csv, &ReadOptions::labelled(Some("k"))).unwrap();
    assert_eq!(in_parts(&csv, 3, Some("k")).unwrap(), whole);
}

#[test]
fn errors_in_a_part_name_the_row_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    let error = |bytes: &[u8], label: Option<&str>| {
        std::fs::write(&path, bytes).unwrap();
        in_parts(&path, 2, label).unwrap_err().to_string().replace(&format!("{}: ", path.display()), "")
    };
    let array = Array2::from_shape_vec((4, 2), vec![1.0, 1.0, 1.0, 1.0, 1.0, 1.0, f64::NAN, 0.5]).unwrap();
    let place = format!("{}, ", path.display());
    assert_eq!(error(&saved(&array), None), format!("{place}row 4, column C1: NaN is not a finite number"));
    let array = array.mapv(|x| if x.is_nan() { 1.0 } else { x });
    assert_eq!(
        error(&saved(&array), Some("2")),
        format!("{place}row 4, column C2: the label 0.5 is not a whole number")
    );
    let bytes = saved(&array);
    for length in 0..bytes.len() {
        let (part, whole) = (error(&bytes[..length], None), read(&bytes[..length], None));
        let what = if length == 0 { empty() } else { whole.unwrap_err() };
        assert_eq!(part, what.to_string(), "{length} bytes");
    }
    let none = Array2::<f64>::zeros((0, 2));
    assert_eq!(error(&saved(&none), None), "the array has shape (0, 2): there are no points");
}
