//! Functions by tables: values on a grid, interpolated linearly.

use std::{collections::BTreeSet, path::Path};

use firebox_core::{
    Error, Result,
    data::{ReadOptions, read},
};

/// Distance beyond a table that is rounding, in its extent along an axis.
const EDGE: f64 = 1e-9;

/// Values on a grid whose lines may have any distances, interpolated linearly along each axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Tabulated {
    /// The name in messages: the file.
    name: String,
    /// The coordinates that the values depend on, each with those of the grid's lines in ascending order.
    axes: Vec<(usize, Vec<f64>)>,
    /// The values, the last axis running fastest.
    values: Vec<f64>,
}

impl Tabulated {
    /// Reads a table of a row per point of the grid, in any order: columns named like some of `coordinates`, and a last one
    /// with the values.
    ///
    /// # Errors
    ///
    /// Those of [`read`]; [`Error::Input`] naming the file for other columns, and for a point of the grid that is absent or
    /// occurs twice.
    pub fn read(path: impl AsRef<Path>, coordinates: &[String]) -> Result<Self> {
        let path = path.as_ref();
        let points = read(path, &ReadOptions::default())?;
        Self::new(path.display().to_string(), &points.names, &points.values, coordinates)
            .map_err(|error| error.in_file(path))
    }

    /// The table of rows of numbers, row-major, with a name per column.
    fn new(name: String, columns: &[String], rows: &[f64], coordinates: &[String]) -> Result<Self> {
        let wrong = || {
            let all = coordinates.join(", ");
            let what = format!("a table of the columns {}", columns.join(", "));
            Error::input(what, format!("its first line names coordinates (some of {all}), then one column of values"))
        };
        let Some((_, names)) = columns.split_last().filter(|(_, names)| !names.is_empty()) else { return Err(wrong()) };
        let mut axes: Vec<(usize, Vec<f64>)> = Vec::new();
        for (column, name) in names.iter().enumerate() {
            let Some(axis) = coordinates.iter().position(|other| other == name) else { return Err(wrong()) };
            if axes.iter().any(|(other, _)| *other == axis) {
                return Err(wrong());
            }
            let mut lines: Vec<f64> = rows.chunks_exact(columns.len()).map(|row| row[column]).collect();
            lines.sort_by(f64::total_cmp);
            lines.dedup();
            axes.push((axis, lines));
        }
        let total = axes.iter().try_fold(1usize, |total, (_, lines)| total.checked_mul(lines.len()));
        let count = rows.len() / columns.len();
        let (mut values, mut filled) = (vec![0.0; count], BTreeSet::new());
        for (row, number) in rows.chunks_exact(columns.len()).zip(1..) {
            let (place, value) = row.split_at(names.len());
            let line = |k: usize| axes[k].1.partition_point(|line| *line < place[k]);
            let at = (0..axes.len()).fold(0, |at, k| at * axes[k].1.len() + line(k));
            if !filled.insert(at) {
                let what = format!("row {number} has a point of the grid that is there already");
                return Err(Error::input(what, "give each point once"));
            }
            if let Some(slot) = values.get_mut(at) {
                *slot = value[0];
            }
        }
        if total != Some(count) {
            let sides: Vec<String> = axes.iter().map(|(_, lines)| lines.len().to_string()).collect();
            let what =
                format!("{count} rows are no grid: a grid of their coordinates has {} points", sides.join(" × "));
            return Err(Error::input(what, "give a value at every point of a grid"));
        }
        Ok(Self { name, axes, values })
    }

    /// The name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value at a point; NaN outside the table.
    pub fn at(&self, point: &[f64]) -> f64 {
        self.interpolate(point, 0, 0).unwrap_or(f64::NAN)
    }

    /// Interpolates along the axes from number `depth` on, within the block of values number `block`.
    fn interpolate(&self, point: &[f64], depth: usize, block: usize) -> Option<f64> {
        let Some((axis, lines)) = self.axes.get(depth) else { return self.values.get(block).copied() };
        let (first, last) = (lines[0], lines[lines.len() - 1]);
        let x = *point.get(*axis)?;
        let edge = EDGE * (last - first);
        if !(first - edge..=last + edge).contains(&x) {
            return None;
        }
        let upper = lines.partition_point(|line| *line < x).clamp(1, lines.len().max(2) - 1);
        let inner = |line: usize| self.interpolate(point, depth + 1, block * lines.len() + line);
        if lines.len() == 1 {
            return inner(0);
        }
        let share = ((x - lines[upper - 1]) / (lines[upper] - lines[upper - 1])).clamp(0.0, 1.0);
        Some((1.0 - share) * inner(upper - 1)? + share * inner(upper)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(columns: &str, rows: &[f64]) -> Result<Tabulated> {
        let names = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        Tabulated::new("k.csv".into(), &names(columns), rows, &names("x y t"))
    }

    #[test]
    fn values_between_the_lines_of_a_grid_are_linear_along_each_axis() {
        let lines = [[-1.0, 0.0, 2.0], [0.0, 0.25, 4.0]];
        let f = |x: f64, t: f64| 2.0 + x - 3.0 * t + 0.5 * x * t;
        let mut rows: Vec<[f64; 3]> =
            lines[0].iter().flat_map(|&x| lines[1].iter().map(move |&t| [t, x, f(x, t)])).collect();
        rows.swap(0, 7);
        let table = table("t x k", rows.as_flattened()).unwrap();
        for x in [-1.0, -0.3, 0.0, 1.7, 2.0, 2.0 + 1e-12] {
            for t in [0.0, 0.1, 0.25, 3.0, 4.0] {
                let found = table.at(&[x, 99.0, t]);
                assert!((found - f(x, t)).abs() < 1e-10, "{x} {t}: {found}");
            }
        }
        assert!(table.at(&[2.1, 0.0, 0.0]).is_nan() && table.at(&[0.0, 0.0, -0.1]).is_nan());
        let one = super::tests::table("y k", &[3.0, 7.0]).unwrap();
        assert_eq!((one.at(&[0.0, 3.0]), one.at(&[0.0, 4.0]).is_nan()), (7.0, true));
    }

    #[test]
    fn other_tables_are_refused() {
        let error = |columns: &str, rows: &[f64]| table(columns, rows).unwrap_err().to_string();
        assert_eq!(error("x z k", &[0.0; 3]), "a table of the columns x, z, k");
        assert_eq!(error("x x k", &[0.0; 3]), "a table of the columns x, x, k");
        assert_eq!(error("k", &[0.0]), "a table of the columns k");
        let rows = [0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0];
        assert_eq!(error("x y k", &rows), "3 rows are no grid: a grid of their coordinates has 2 × 2 points");
        let error = error("x k", &[0.0, 1.0, 0.0, 2.0]);
        assert_eq!(error, "row 2 has a point of the grid that is there already");
    }
}
