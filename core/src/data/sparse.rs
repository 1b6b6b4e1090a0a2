//! Rows of which only the nonzero values are stored.

use super::points::{FINITE, direction};
use crate::error::{Error, Place, Result};
use crate::memory;
use crate::report::InputSize;

/// Advice for arrays that are not compressed sparse rows.
const CSR: &str = "give the arrays of compressed sparse rows, as SciPy's csr_matrix has them after matrix.prune()";

/// A matrix in compressed sparse rows: at least one row and one column, finite values other than 0, and in each row
/// ascending columns.
#[derive(Debug, Clone, PartialEq)]
pub struct SparseRows {
    /// The nonzero values of row i are at `starts[i]..starts[i + 1]`.
    starts: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
    columns: usize,
}

impl SparseRows {
    /// Creates rows of `columns` columns from SciPy's `indptr`, `indices` and `data`: the values of row i and their
    /// columns, from 0, are at `starts[i]..starts[i + 1]`. Columns may be in any order; values of the same column are
    /// summed in the order given, and zeros are dropped.
    ///
    /// Fails if there are no rows or no columns, or 2³² of either; if `starts` does not begin at 0, decreases, or does not
    /// end at the number of values, of which each has a column; and if a column is out of range, or a value or a sum not
    /// finite.
    pub fn new(starts: Vec<usize>, indices: Vec<u32>, values: Vec<f64>, columns: usize) -> Result<Self> {
        let rows = starts.len().saturating_sub(1);
        if rows == 0 || columns == 0 {
            let what = format!("there are no points in a matrix of {rows} × {columns}");
            return Err(Error::input(what, "give at least one row of at least one column"));
        }
        if rows.max(columns) >= u32::MAX as usize {
            let what = format!("a matrix of {rows} × {columns} has more rows or columns than 2³² − 2");
            return Err(Error::input(what, "leave out columns, or hash them to fewer"));
        }
        if indices.len() != values.len() {
            let what = format!("there are {} values with {} column indices", values.len(), indices.len());
            return Err(Error::input(what, CSR));
        }
        if starts[0] != 0 || starts[rows] != values.len() {
            let (first, last, count) = (starts[0], starts[rows], values.len());
            return Err(Error::input(format!("the rows range from {first} to {last} in {count} values"), CSR));
        }
        if let Some(row) = starts.windows(2).position(|pair| pair[0] > pair[1]) {
            let what = format!("the row begins at value {}, behind its end at {}", starts[row], starts[row + 1]);
            return Err(Error::input_at(Place::default().row(row + 1), what, CSR));
        }
        let mut rows = Self { starts, indices, values, columns };
        rows.check_columns()?;
        rows.put_in_order()?;
        Ok(rows)
    }

    fn check_columns(&self) -> Result<()> {
        let Some(at) = self.indices.iter().position(|&column| column as usize >= self.columns) else { return Ok(()) };
        let row = self.starts.partition_point(|&start| start <= at);
        let what =
            format!("the column index {} is not below {}, the number of columns", self.indices[at], self.columns);
        Err(Error::input_at(Place::default().row(row), what, "number the columns from 0"))
    }

    /// Sorts each row by columns, sums the values of equal ones, and drops zeros.
    fn put_in_order(&mut self) -> Result<()> {
        let (mut row, mut kept, mut start) = (Vec::new(), 0, 0);
        for i in 0..self.rows() {
            let end = self.starts[i + 1];
            row.clear();
            row.extend(self.indices[start..end].iter().copied().zip(self.values[start..end].iter().copied()));
            // Stable, so that values of the same column are summed in order.
            row.sort_by_key(|&(column, _)| column);
            for same in row.chunk_by(|a, b| a.0 == b.0) {
                let (column, value) = (same[0].0, same.iter().map(|(_, value)| value).sum::<f64>());
                if !value.is_finite() {
                    let place = Place::default().row(i + 1).column(format!("C{}", column + 1));
                    return Err(Error::input_at(place, format!("{value} is not a finite number"), FINITE));
                }
                if value != 0.0 {
                    (self.indices[kept], self.values[kept]) = (column, value);
                    kept += 1;
                }
            }
            (start, self.starts[i + 1]) = (end, kept);
        }
        self.indices.truncate(kept);
        self.values.truncate(kept);
        Ok(())
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of nonzero values.
    pub fn nonzeros(&self) -> usize {
        self.values.len()
    }

    /// The columns, ascending, and the values of row `i`. Panics beyond the last row.
    pub fn row(&self, i: usize) -> (&[u32], &[f64]) {
        let row = self.starts[i]..self.starts[i + 1];
        (&self.indices[row.clone()], &self.values[row])
    }

    /// Copies the rows `of`, which may repeat, in this order. Panics beyond the last row.
    ///
    /// Fails if there is not enough memory.
    pub fn select(&self, of: &[u32]) -> Result<Self> {
        const PURPOSE: &str = "the sparse rows";
        let count = of.iter().map(|&i| self.row(i as usize).0.len()).sum();
        let mut starts = memory::with_capacity(of.len() + 1, PURPOSE)?;
        let (mut indices, mut values) =
            (memory::with_capacity(count, PURPOSE)?, memory::with_capacity::<f64>(count, PURPOSE)?);
        starts.push(0);
        for &i in of {
            let (columns, numbers) = self.row(i as usize);
            indices.extend_from_slice(columns);
            values.extend_from_slice(numbers);
            starts.push(values.len());
        }
        Ok(Self { starts, indices, values, columns: self.columns })
    }

    /// Normalises each row to unit Euclidean length, to the bits of the [`directions`](super::directions) of the dense row.
    ///
    /// Fails on a row of zeros, which has no direction.
    pub fn into_directions(mut self) -> Result<Self> {
        for i in 0..self.rows() {
            direction(&mut self.values[self.starts[i]..self.starts[i + 1]], i, "leave the row out")?;
        }
        // Values may underflow to 0.
        self.put_in_order()?;
        Ok(self)
    }

    /// The size for the report.
    pub fn size(&self) -> InputSize {
        InputSize { rows: self.rows(), columns: self.columns }
    }
}

#[cfg(test)]
mod tests {
    use super::super::points::directions;
    use super::*;
    use crate::random::Random;

    fn error(starts: &[usize], indices: &[u32], values: &[f64], columns: usize) -> String {
        SparseRows::new(starts.to_vec(), indices.to_vec(), values.to_vec(), columns).unwrap_err().to_string()
    }

    #[test]
    fn rows_are_sorted_summed_and_without_zeros() {
        let starts = vec![0, 4, 4, 6, 9];
        let indices = vec![3, 0, 3, 1, 2, 1, 0, 0, 4];
        let values = vec![1.0, 2.0, 0.5, 0.0, -1.0, 3.0, 7.0, -7.0, -0.0];
        let rows = SparseRows::new(starts, indices, values, 5).unwrap();
        assert_eq!((rows.rows(), rows.columns(), rows.nonzeros()), (4, 5, 4));
        let found: Vec<_> = (0..4).map(|i| rows.row(i)).collect();
        let empty = (&[][..], &[][..]);
        assert_eq!(found, [(&[0, 3][..], &[2.0, 1.5][..]), empty, (&[1, 2], &[3.0, -1.0]), empty]);
        let selected = rows.select(&[2, 1, 0, 2]).unwrap();
        assert_eq!([0, 1, 2, 3].map(|i| selected.row(i)), [found[2], empty, found[0], found[2]]);
    }

    #[test]
    fn invalid_arrays_are_rejected() {
        const NAN: f64 = f64::NAN;
        for (starts, indices, values, columns, expected) in [
            (&[][..], &[][..], &[][..], 3, "there are no points in a matrix of 0 × 3"),
            (&[0], &[], &[], 3, "there are no points in a matrix of 0 × 3"),
            (&[0, 0], &[], &[], 0, "there are no points in a matrix of 1 × 0"),
            (&[0, 0], &[], &[], 1 << 32, "a matrix of 1 × 4294967296 has more rows or columns than 2³² − 2"),
            (&[0, 2], &[0, 1], &[1.0], 3, "there are 1 values with 2 column indices"),
            (&[1, 2], &[0, 1], &[1.0, 1.0], 3, "the rows range from 1 to 2 in 2 values"),
            (&[0, 1], &[0, 1], &[1.0, 1.0], 3, "the rows range from 0 to 1 in 2 values"),
            (&[0, 3], &[0, 1], &[1.0, 1.0], 3, "the rows range from 0 to 3 in 2 values"),
            (&[0, 9, 2], &[0, 1], &[1.0, 1.0], 3, "row 2: the row begins at value 9, behind its end at 2"),
            (&[0, 0, 2], &[0, 3], &[1.0, 1.0], 3, "row 2: the column index 3 is not below 3, the number of columns"),
            (&[0, 1, 2], &[0, 2], &[1.0, NAN], 3, "row 2, column C3: NaN is not a finite number"),
            (&[0, 2], &[1, 1], &[1e308, 1e308], 3, "row 1, column C2: inf is not a finite number"),
        ] {
            assert_eq!(error(starts, indices, values, columns), expected);
        }
    }

    #[test]
    fn directions_are_bitwise_those_of_dense_rows() {
        let mut random = Random::new(5, 0);
        for (rows, columns, scale) in [(1, 1, 1.0), (20, 7, 1e300), (40, 33, 1e-300), (9, 100, 1.0)] {
            let nonzero = |at: usize| at % columns == at / columns % columns;
            let mut dense: Vec<f64> = (0..rows * columns)
                .map(|at| if nonzero(at) || random.unit() < 0.1 { scale * random.normal() } else { 0.0 })
                .collect();
            // Of these one underflows when the row is normalised.
            dense[0] = 1e308;
            if columns > 1 {
                dense[1] = 1e-300;
            }
            let (mut starts, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
            for row in dense.chunks(columns) {
                for (column, value) in row.iter().enumerate() {
                    indices.push(column as u32);
                    values.push(*value);
                }
                starts.push(values.len());
            }
            directions(&mut dense, columns, |i| i).unwrap();
            let sparse = SparseRows::new(starts, indices, values, columns).unwrap().into_directions().unwrap();
            for (i, row) in dense.chunks(columns).enumerate() {
                let nonzero: Vec<usize> = (0..columns).filter(|&column| row[column] != 0.0).collect();
                let (columns, values) = sparse.row(i);
                assert!(columns.iter().map(|&column| column as usize).eq(nonzero.iter().copied()));
                assert!(values.iter().zip(&nonzero).all(|(value, &at)| value.to_bits() == row[at].to_bits()));
            }
        }
        let zero = SparseRows::new(vec![0, 1, 2], vec![1, 1], vec![1.0, 0.0], 2).unwrap();
        let error = zero.into_directions().unwrap_err().to_string();
        assert!(error.starts_with("row 2: a vector of zeros has no direction"), "{error}");
    }
}
