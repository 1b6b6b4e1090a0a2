//! Files of labels.

#[cfg(feature = "arrow")]
use super::arrow::{self, Columnar, Input};
use super::format::Format;
use super::labels::{Codes, check_count, encode};
use super::number::{Field, classify, text};
use super::records::{Records, sniff_without_blanks};
use super::{cls, npy};
use crate::data::points::CLASSES;
use crate::error::{Error, Place, Result};
use crate::memory;

/// Parses the labels of `points` points from the bytes of a file of `format`: a `.cls` is joined by the points' `keys`
/// (1, 2, … by default), other formats hold one label per row. Returns the labels with the classes' names, if they have
/// names, as in [`Points`](crate::data::Points).
///
/// Fails with [`Error::Input`] with the line or row, for any bytes that are not one label for each point.
pub fn parse_labels(
    format: Format,
    bytes: &[u8],
    points: usize,
    keys: Option<&[i64]>,
) -> Result<(Vec<i64>, Option<Vec<String>>)> {
    match format {
        Format::Cls => cls::read(text(bytes)?, keys, points),
        Format::Csv | Format::Tsv => rows(text(bytes)?, points),
        Format::Npy => Ok((npy::read_labels(bytes, points)?, None)),
        #[cfg(feature = "arrow")]
        Format::Parquet => arrow::read_labels(Columnar::Parquet, &Input::new(bytes.to_vec()), points),
        #[cfg(feature = "arrow")]
        Format::Arrow | Format::ArrowStream => arrow::read_labels(Columnar::Ipc, &Input::new(bytes.to_vec()), points),
        Format::Lrn => {
            let help = "give a .cls, or a .csv, .txt or .npy with one label a row";
            Err(Error::input("an .lrn holds points", help))
        }
    }
}

/// Reads one label per line. The first line is a header if there is one line more than points and its text is no other
/// line's label.
fn rows(text: &str, points: usize) -> Result<Codes> {
    let mut labels = Vec::new();
    let mut lines = Vec::new();
    for record in Records::new(text, sniff_without_blanks(text)) {
        let record = record?;
        let place = Place::default().line(record.line);
        let [label] = <[_; 1]>::try_from(record.fields).map_err(|fields| {
            let what = format!("{} fields in a file of labels", fields.len());
            Error::input_at(place, what, "leave one label in each row")
        })?;
        memory::push(&mut labels, label, CLASSES)?;
        memory::push(&mut lines, record.line, CLASSES)?;
    }
    let header = labels.split_first().is_some_and(|(first, rest)| {
        let text = classify(first) == Field::Text;
        rest.len() == points && text && !rest.contains(first)
    });
    let from = usize::from(header);
    check_count(labels.len() - from, points)?;
    encode(&labels[from..], &lines[from..], "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_detected_by_the_number_of_lines() {
        assert_eq!(rows("label\n1\n2\n", 2).unwrap(), (vec![1, 2], None));
        assert_eq!(rows("# classes\n1\n2\n", 2).unwrap(), (vec![1, 2], None));
        let (codes, names) = rows("Iris setosa\nIris virginica\n", 2).unwrap();
        assert_eq!((codes, names.unwrap().len()), (vec![0, 1], 2));
        let error = rows("1\n2\n3\n", 2).unwrap_err();
        assert_eq!(error.to_string(), "there are 3 labels for 2 points");
        assert!(rows("a\nb\na\n", 2).is_err());
        let error = rows("1,2\n", 1).unwrap_err();
        assert_eq!(error.to_string(), "line 1: 2 fields in a file of labels");
    }
}
