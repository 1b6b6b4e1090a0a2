use std::io::{Cursor, Write};

use ndarray::{Array1, Array2};
use ndarray_npy::{WritableElement, WriteNpyExt};
use proptest::prelude::*;
use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

use super::*;

type Members = Vec<(&'static str, Vec<u8>)>;

fn npy<T: WritableElement + Clone>(values: &[T]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Array1::from(values.to_vec()).write_npy(&mut bytes).unwrap();
    bytes
}

/// A scalar of `letters`, of the type `descr`.
fn text(descr: &str, letters: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (), }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), letters].concat()
}

fn zipped(members: &Members, method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        // NumPy writes every member as a large file.
        let options = SimpleFileOptions::default().compression_method(method).large_file(true);
        writer.start_file(*name, options).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn stored(members: &Members) -> Vec<u8> {
    zipped(members, CompressionMethod::Stored)
}

/// [[0, 1, 0, 2], [0, 0, 0, 0], [0, 0, 0, 3]].
fn matrix() -> Members {
    vec![
        ("indices.npy", npy(&[1i32, 3, 3])),
        ("indptr.npy", npy(&[0i32, 2, 2, 3])),
        ("format.npy", text("|S3", b"csr")),
        ("shape.npy", npy(&[3i64, 4])),
        ("data.npy", npy(&[1.0f64, 2.0, 3.0])),
    ]
}

/// The matrix with other bytes in one member.
fn with(name: &'static str, bytes: Vec<u8>) -> Members {
    let mut members = matrix();
    members.retain(|(other, _)| *other != name);
    members.push((name, bytes));
    members
}

fn error(members: &Members) -> String {
    parse_sparse(&stored(members)).unwrap_err().to_string()
}

#[test]
fn every_type_and_compression_is_read() {
    let wanted = SparseRows::new(vec![0, 2, 2, 3], vec![1, 3, 3], vec![1.0, 2.0, 3.0], 4).unwrap();
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        assert_eq!(parse_sparse(&zipped(&matrix(), method)).unwrap(), wanted);
    }
    for data in [npy(&[1.0f32, 2.0, 3.0]), npy(&[1i64, 2, 3]), npy(&[1u8, 2, 3]), npy(&[1i16, 2, 3])] {
        assert_eq!(parse_sparse(&stored(&with("data.npy", data))).unwrap(), wanted);
    }
    let ones = SparseRows::new(vec![0, 2, 2, 3], vec![1, 3, 3], vec![1.0; 3], 4).unwrap();
    assert_eq!(parse_sparse(&stored(&with("data.npy", npy(&[true; 3])))).unwrap(), ones);
    for (name, bytes) in [
        ("indices.npy", npy(&[1i64, 3, 3])),
        ("indptr.npy", npy(&[0i64, 2, 2, 3])),
        ("shape.npy", npy(&[3i32, 4])),
        ("format.npy", text("<U3", b"c\0\0\0s\0\0\0r\0\0\0")),
        ("_is_array.npy", npy(&[true])),
    ] {
        assert_eq!(parse_sparse(&stored(&with(name, bytes))).unwrap(), wanted, "{name}");
    }
}

#[test]
fn files_are_read_with_their_name_in_errors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.NPZ");
    assert!(is_archive(&path) && !is_archive(Path::new("npz")));
    std::fs::write(&path, stored(&matrix())).unwrap();
    assert_eq!(read_sparse(&path).unwrap().nonzeros(), 3);
    std::fs::write(&path, "").unwrap();
    assert_eq!(read_sparse(&path).unwrap_err().to_string(), format!("{}: the file is empty", path.display()));
    assert!(matches!(read_sparse(&folder.path().join("b.npz")), Err(Error::Io { action: "read", .. })));
}

#[test]
fn other_formats_have_the_advice_to_convert() {
    for format in ["csc", "coo", "bsr", "dia"] {
        let error = parse_sparse(&stored(&with("format.npy", text("|S3", format.as_bytes())))).unwrap_err();
        assert_eq!(error.to_string(), format!("the matrix has the sparse format {format}, not csr"));
        assert!(error.help().unwrap().contains("scipy.sparse.save_npz(\"x.npz\", matrix.tocsr())"));
    }
}

#[test]
fn invalid_members_are_named() {
    let wide = |rows, columns| {
        let mut bytes = Vec::new();
        Array2::<i32>::zeros((rows, columns)).write_npy(&mut bytes).unwrap();
        bytes
    };
    for (name, bytes, expected) in [
        ("format.npy", npy(&[1i32]), "format.npy: the array is not one text"),
        ("format.npy", text("|S3", b"\xff\n\x1b"), "the matrix has the sparse format \\xff\\n\\x1b, not csr"),
        ("shape.npy", npy(&[3i64]), "shape.npy: the shape has 1 numbers instead of 2"),
        ("shape.npy", npy(&[3i64, -4]), "shape.npy: number 2 is -4, which is not an index"),
        ("shape.npy", npy(&[2i64, 4]), "indptr.npy has 4 numbers for 2 rows instead of one more"),
        ("shape.npy", npy(&[i64::MAX, 4]), "indptr.npy has 4 numbers for 9223372036854775807 rows instead of one more"),
        ("shape.npy", npy(&[3i64, 3]), "row 1: the column index 3 is not below 3, the number of columns"),
        ("shape.npy", npy(&[3i64, 0]), "there are no points in a matrix of 3 × 0"),
        ("indptr.npy", npy::<i32>(&[]), "indptr.npy has 0 numbers for 3 rows instead of one more"),
        ("indptr.npy", npy(&[0.0f64, 2.0, 2.0, 3.0]), "indptr.npy: the array is not of an integer type"),
        ("indptr.npy", npy(&[0, -2, 2, 3]), "indptr.npy: number 2 is -2, which is not an index"),
        ("indptr.npy", npy(&[0, 3, 2, 3]), "row 2: the row begins at value 3, behind its end at 2"),
        ("indptr.npy", npy(&[0, 2, 2, 4]), "the rows range from 0 to 4 in 3 values"),
        ("indices.npy", npy(&[1.0f32, 3.0, 3.0]), "indices.npy: the array is not of an integer type"),
        ("indices.npy", npy(&[true; 3]), "indices.npy: the array is not of an integer type"),
        ("indices.npy", npy(&[1, -1, 3]), "indices.npy: number 2 is -1, which is not an index"),
        ("indices.npy", npy(&[1, 1i64 << 32, 3]), "indices.npy: number 2 is 4294967296, which is not an index"),
        ("indices.npy", npy(&[1, 4, 3]), "row 1: the column index 4 is not below 4, the number of columns"),
        ("indices.npy", npy(&[1, 3]), "there are 3 values with 2 column indices"),
        ("indices.npy", wide(1, 3), "indices.npy: the array has shape (1, 3) instead of one dimension"),
        ("data.npy", npy(&[1.0, f64::INFINITY, 3.0]), "row 1, column C4: inf is not a finite number"),
        ("data.npy", text("|S3", b"abc"), "data.npy: the array has 0 dimensions"),
        ("data.npy", b"text".to_vec(), "data.npy: this is not an NPY file"),
        ("data.npy", npy(&[1.0, 2.0, 3.0])[..90].to_vec(), "data.npy: the NPY header is cut short"),
    ] {
        assert_eq!(error(&with(name, bytes)), expected);
    }
    for name in ["format", "shape", "indptr", "indices", "data"] {
        let mut members = matrix();
        members.retain(|(member, _)| !member.starts_with(name));
        let what = format!("the archive has no {name}.npy, so it is not a sparse matrix of SciPy");
        assert_eq!(error(&members), what);
    }
    let dense = vec![("arr_0.npy", wide(3, 3))];
    assert_eq!(error(&dense), "the archive has no format.npy, so it is not a sparse matrix of SciPy");
    assert!(error(&Vec::new()).contains("the archive has no format.npy"));
}

#[test]
fn stated_sizes_and_checksums_are_compared() {
    let zeros = npy(&vec![0.0f64; 1 << 20]);
    let members = with("data.npy", zeros.clone());
    let bytes = zipped(&members, CompressionMethod::Deflated);
    assert!(bytes.len() < zeros.len() / 100);
    assert_eq!(parse_sparse(&bytes).unwrap_err().to_string(), "there are 1048576 values with 3 column indices");
    // The size of every member in the central directory, a large file's in its last 8 bytes but one field.
    let size = (zeros.len() as u64).to_le_bytes();
    let places: Vec<usize> = bytes.windows(8).enumerate().filter(|(_, it)| *it == size).map(|(at, _)| at).collect();
    assert!(!places.is_empty());
    for stated in [1u64, zeros.len() as u64 - 8, zeros.len() as u64 + 1, 1 << 27, 1 << 50, u64::MAX - 1] {
        let mut bytes = bytes.clone();
        places.iter().for_each(|&at| bytes[at..at + 8].copy_from_slice(&stated.to_le_bytes()));
        let error = parse_sparse(&bytes).unwrap_err();
        assert!(matches!(error, Error::Memory { .. }) || error.to_string().contains("data.npy"), "{stated}: {error}");
    }
    // Damaged bytes of a stored member.
    let mut bytes = stored(&matrix());
    let three = 3.0f64.to_le_bytes();
    let at = bytes.windows(8).position(|it| *it == three).unwrap();
    bytes[at] = 1;
    let error = parse_sparse(&bytes).unwrap_err().to_string();
    assert!(error.starts_with("data.npy cannot be unpacked"), "{error}");
}

#[test]
fn shortened_files_are_errors() {
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let bytes = zipped(&matrix(), method);
        for length in 0..bytes.len() {
            assert!(parse_sparse(&bytes[..length]).is_err(), "{length} of {} bytes", bytes.len());
        }
    }
}

/// Reads bytes, and checks the rows if they are accepted.
fn check(bytes: &[u8]) {
    let Ok(rows) = parse_sparse(bytes) else { return };
    let all = (0..rows.rows()).map(|i| rows.row(i));
    assert!(all.clone().all(|(columns, _)| columns.is_sorted_by(|a, b| a < b)));
    assert!(all.clone().flat_map(|(columns, _)| columns).all(|&column| (column as usize) < rows.columns()));
    assert!(all.flat_map(|(_, values)| values).all(|value| value.is_finite() && *value != 0.0));
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&bytes);
        check(&[b"PK\x03\x04", &bytes[..]].concat());
        for name in ["format.npy", "shape.npy", "indptr.npy", "indices.npy", "data.npy"] {
            check(&stored(&with(name, bytes.clone())));
        }
    }

    #[test]
    fn no_change_of_bytes_makes_the_reader_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), deflated in any::<bool>()
    ) {
        let method = if deflated { CompressionMethod::Deflated } else { CompressionMethod::Stored };
        let mut bytes = zipped(&matrix(), method);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        check(&bytes);
    }

    #[test]
    fn no_arrays_make_the_reader_panic(
        shape in prop::collection::vec(-2i64..6, 0..4),
        starts in prop::collection::vec(-1i64..8, 0..6),
        indices in prop::collection::vec(-1i32..6, 0..8),
        data in prop::collection::vec(any::<f64>(), 0..8),
    ) {
        let arrays: Members = vec![
            ("format.npy", text("|S3", b"csr")),
            ("shape.npy", npy(&shape)),
            ("indptr.npy", npy(&starts)),
            ("indices.npy", npy(&indices)),
            ("data.npy", npy(&data)),
        ];
        check(&stored(&arrays));
    }
}
