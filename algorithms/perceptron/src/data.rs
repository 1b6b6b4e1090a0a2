//! Instances with what is to be learnt of them, parts of them, and their scaling.

use std::ops::Range;

use firebox_core::{Communicator, Error, Result, data::Points, error::Place, random::Random, scaling::exponent};
use serde::{Deserialize, Serialize};

/// The stream of [`Random`] that parts are drawn from.
const STREAM: u64 = 0x7061;

/// What classes are called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Classes {
    /// Whole numbers, ascending.
    Numbers(Vec<i64>),
    /// Words, by first appearance.
    Names(Vec<String>),
}

impl Classes {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(of) => of.len(),
            Self::Names(of) => of.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What a class is called; nothing beyond the last.
    pub fn name(&self, class: usize) -> String {
        match self {
            Self::Numbers(of) => of.get(class).map(i64::to_string),
            Self::Names(of) => of.get(class).cloned(),
        }
        .unwrap_or_default()
    }
}

/// What is known of each instance.
#[derive(Debug, Clone, PartialEq)]
pub enum Targets {
    /// Its class, by number from 0.
    Classes(Vec<usize>, Classes),
    /// A number, and what that is called.
    Numbers(Vec<f64>, String),
}

/// Instances to learn from: rows of `names.len()` numbers. Where ranks share a training, each has some, which follow one
/// another in the order of the ranks.
#[derive(Debug, Clone, PartialEq)]
pub struct Instances {
    /// Row-major.
    pub values: Vec<f64>,
    /// The columns.
    pub names: Vec<String>,
    /// One for each row.
    pub targets: Targets,
}

/// Classes that a table of rights and wrongs has room for.
const MOST_CLASSES: usize = 4096;

impl Instances {
    /// Points with their classes. Fails if there are no labels.
    pub fn classes(points: Points) -> Result<Self> {
        let Some(labels) = points.labels else {
            let help = "name the column with --label, or a file of classes with --labels";
            return Err(Error::input("the rows have no classes to learn", help));
        };
        let classes = match points.label_names {
            Some(names) => Classes::Names(names),
            None => {
                let mut of = labels.clone();
                of.sort_unstable();
                of.dedup();
                Classes::Numbers(of)
            }
        };
        let codes = labels.iter().filter_map(|label| match &classes {
            Classes::Numbers(of) => of.binary_search(label).ok(),
            Classes::Names(_) => usize::try_from(*label).ok(),
        });
        let codes = codes.collect();
        Ok(Self { values: points.values, names: points.names, targets: Targets::Classes(codes, classes) })
    }

    /// Points one of whose columns, by name or by number from 1, is the number to learn.
    pub fn numbers(points: Points, column: &str) -> Result<Self> {
        let missing = || {
            let what = format!("there is no column {column:?} to learn");
            Error::input(what, "give the column's name, or its number from 1")
        };
        let by_number = || column.parse::<usize>().ok().and_then(|at| at.checked_sub(1));
        let at = points.names.iter().position(|name| name == column).or_else(by_number);
        let at = at.filter(|at| *at < points.columns).ok_or_else(missing)?;
        if points.columns == 1 {
            return Err(Error::input("the only column is the one to learn", "give at least one column more"));
        }
        let numbers = points.iter().map(|row| row[at]).collect();
        let others = |k: &usize| k % points.columns != at;
        let values = (0..points.values.len()).filter(others).map(|k| points.values[k]).collect();
        let mut names = points.names;
        let name = names.remove(at);
        Ok(Self { values, names, targets: Targets::Numbers(numbers, name) })
    }

    /// The same rows with the classes of all ranks, of which this one's may have some. Classes with names are taken to be
    /// the same on all: they are told by tables that each has read whole.
    pub fn of_all(mut self, ranks: &dyn Communicator) -> Self {
        // Too many end all ranks.
        if let Targets::Classes(codes, Classes::Numbers(own)) = &mut self.targets
            && own.len() <= MOST_CLASSES
        {
            let mut all = ranks.all_gather(own);
            all.sort_unstable();
            all.dedup();
            codes.iter_mut().for_each(|code| *code = all.partition_point(|class| *class < own[*code]));
            *own = all;
        }
        self
    }

    /// Fails where a network cannot learn from them: of one class, of more than a few thousand, or with columns of one
    /// name, which a model could not tell apart.
    pub fn check(&self) -> Result<()> {
        let mut names: Vec<&String> = self.names.iter().collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(doubled(pair[0]));
        }
        match &self.targets {
            Targets::Classes(_, classes) if classes.len() < 2 => {
                let what = format!("all rows are of one class, {}", classes.name(0));
                Err(Error::input(what, "give rows of at least two classes"))
            }
            Targets::Classes(_, classes) if classes.len() > MOST_CLASSES => {
                let what = format!("the rows have {} classes, more than {MOST_CLASSES}", classes.len());
                Err(Error::input(what, "name the column of the classes; to learn a number, give --task regression"))
            }
            _ => Ok(()),
        }
    }

    /// Which of the rows of all ranks these are, and how many those are.
    pub fn place(&self, ranks: &dyn Communicator) -> (Range<usize>, usize) {
        let counts = ranks.all_gather(&[self.rows() as u64]);
        let before: u64 = counts.iter().take(ranks.rank()).sum();
        let first = before as usize;
        (first..first + self.rows(), counts.iter().sum::<u64>() as usize)
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.values.len() / self.names.len().max(1)
    }
}

/// The error of a name that several columns have.
pub(crate) fn doubled(name: &str) -> Error {
    let what = format!("several columns are called {name:?}");
    Error::input(what, "give each column a name of its own: a model finds them by name")
}

/// Which rows learn, stop early and test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// Rows to learn from, in order.
    pub training: Vec<usize>,
    /// Rows that early stopping looks at.
    pub validation: Vec<usize>,
    /// Rows that nobody sees before the end.
    pub test: Vec<usize>,
}

impl Parts {
    /// Shares of `rows` rows, drawn by `seed`: of all for the test, of the others for the validation, to the nearest
    /// row. Fails if no row is left to learn from.
    pub fn draw(rows: usize, test: f64, validation: f64, seed: u64) -> Result<Self> {
        let mut order: Vec<usize> = (0..rows).collect();
        Random::new(seed, STREAM).shuffle(&mut order);
        let test = (rows as f64 * test).round() as usize;
        let validation = ((rows - test) as f64 * validation).round() as usize;
        if test + validation >= rows {
            let what = format!("of {rows} rows none is left to learn from");
            return Err(Error::input(what, "give more rows, or smaller shares with --test and --validation"));
        }
        let mut part = |count: usize| {
            let mut rows = order.split_off(order.len() - count);
            rows.sort_unstable();
            rows
        };
        let (test, validation) = (part(test), part(validation));
        order.sort_unstable();
        Ok(Self { training: order, validation, test })
    }
}

/// Where ascending `rows` have those of a rank, which are the rows `own`.
pub(crate) fn places(rows: &[usize], own: &Range<usize>) -> Range<usize> {
    rows.partition_point(|row| *row < own.start)..rows.partition_point(|row| *row < own.end)
}

/// These, counted from its first row on.
pub(crate) fn among(rows: &[usize], own: &Range<usize>) -> Vec<usize> {
    rows[places(rows, own)].iter().map(|row| row - own.start).collect()
}

/// Columns to a mean of 0 and a standard deviation of 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// What is taken off each column.
    pub mean: Vec<f64>,
    /// What it is divided by then; 1 for a column of one number.
    pub deviation: Vec<f64>,
}

impl Scaling {
    /// The means and deviations of these `rows` of row-major `values`, columns called `names`, and of those that the other
    /// ranks name of theirs, in two passes. Each column is first scaled by a power of two to numbers about 1, which changes
    /// no digit, so that no square overflows or underflows.
    ///
    /// Fails on columns whose scaled numbers could not be computed: where a deviation is below the normal numbers, or the
    /// difference of a number and the mean is beyond all.
    pub fn of(values: &[f64], names: &[String], rows: &[usize], ranks: &dyn Communicator) -> Result<Self> {
        let columns = names.len();
        let at = |row: usize, column: usize| values[row * columns + column];
        let mut count = [rows.len() as f64];
        ranks.all_sum(&mut count);
        let count = count[0].max(1.0);
        let largest = |column: usize| rows.iter().fold(0.0f64, |most, &row| most.max(at(row, column).abs()));
        let mut largest: Vec<f64> = (0..columns).map(largest).collect();
        if ranks.size() > 1 {
            let all = ranks.all_gather_known(&largest, (0..ranks.size()).map(|_| columns));
            for own in all.chunks_exact(columns.max(1)) {
                largest.iter_mut().zip(own).for_each(|(most, own)| *most = most.max(*own));
            }
        }
        let exponents: Vec<i32> = largest.iter().map(|it| exponent(*it)).collect();
        let down: Vec<f64> = exponents.iter().map(|it| 2f64.powi(-it)).collect();
        let up: Vec<f64> = exponents.iter().map(|it| 2f64.powi(*it)).collect();
        let means_of = |value: &dyn Fn(usize, usize) -> f64| {
            let mean = |column: usize| rows.iter().map(|&row| value(row, column) / count).sum::<f64>();
            let mut means: Vec<f64> = (0..columns).map(mean).collect();
            ranks.all_sum(&mut means);
            means
        };
        let scaled = |row: usize, column: usize| at(row, column) * down[column];
        let mean = means_of(&scaled);
        let squares = means_of(&|row, column| (scaled(row, column) - mean[column]).powi(2));
        // What rounding makes of equal numbers is no spread.
        let spread = |(squares, mean): (&f64, &f64)| Some(squares.sqrt()).filter(|it| *it > 1e-12 * mean.abs());
        let spreads = squares.iter().zip(&mean).map(spread);
        let deviation: Vec<f64> = spreads.zip(&up).map(|(it, up)| it.map_or(1.0, |it| it * up)).collect();
        let mean: Vec<f64> = mean.iter().zip(&up).map(|(mean, up)| mean * up).collect();
        for column in 0..columns {
            let (what, help) = if !(largest[column] + mean[column].abs()).is_finite() {
                ("the numbers are so large that their differences are beyond all numbers", "give them in a larger unit")
            } else if !deviation[column].is_normal() {
                ("the numbers are so small that their spread has lost its digits", "give them in a smaller unit")
            } else {
                continue;
            };
            return Err(Error::input_at(Place::default().column(names[column].clone()), what, help));
        }
        Ok(Self { mean, deviation })
    }

    /// Scales rows in place.
    pub fn apply(&self, values: &mut [f64]) {
        for row in values.chunks_mut(self.mean.len().max(1)) {
            for ((x, mean), deviation) in row.iter_mut().zip(&self.mean).zip(&self.deviation) {
                *x = (*x - mean) / deviation;
            }
        }
    }

    /// What was scaled, again as it was.
    pub fn revert(&self, values: &mut [f64]) {
        for row in values.chunks_mut(self.mean.len().max(1)) {
            for ((x, mean), deviation) in row.iter_mut().zip(&self.mean).zip(&self.deviation) {
                *x = *x * deviation + mean;
            }
        }
    }
}

/// These rows of row-major values.
pub(crate) fn select(values: &[f64], columns: usize, rows: &[usize]) -> Vec<f64> {
    rows.iter().flat_map(|&row| values[row * columns..(row + 1) * columns].iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use firebox_core::Solo;

    use super::*;

    #[test]
    fn classes_and_numbers_are_taken_out() {
        let points = Points::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2).unwrap();
        let none = Instances::classes(points.clone()).unwrap_err();
        assert_eq!(none.to_string(), "the rows have no classes to learn");
        let one = Instances::classes(points.clone().with_labels(vec![3, 3, 3]).unwrap()).unwrap();
        assert_eq!(one.check().unwrap_err().to_string(), "all rows are of one class, 3");
        let found = Instances::classes(points.clone().with_labels(vec![7, -1, 7]).unwrap()).unwrap();
        assert_eq!(found.targets, Targets::Classes(vec![1, 0, 1], Classes::Numbers(vec![-1, 7])));
        found.check().unwrap();
        let twice = Instances { names: vec!["x".into(), "x".into()], ..found };
        assert_eq!(twice.check().unwrap_err().to_string(), "several columns are called \"x\"");

        let found = Instances::numbers(points.clone(), "C1").unwrap();
        assert_eq!((found.values, found.names), (vec![2.0, 4.0, 6.0], vec!["C2".to_string()]));
        assert_eq!(found.targets, Targets::Numbers(vec![1.0, 3.0, 5.0], "C1".into()));
        assert_eq!(Instances::numbers(points.clone(), "2").unwrap().values, [1.0, 3.0, 5.0]);
        for column in ["0", "3", "x"] {
            assert!(Instances::numbers(points.clone(), column).is_err());
        }
    }

    #[test]
    fn parts_are_all_rows_once() {
        let parts = Parts::draw(101, 0.2, 0.1, 4).unwrap();
        assert_eq!((parts.test.len(), parts.validation.len(), parts.training.len()), (20, 8, 73));
        let mut all = [parts.training.clone(), parts.validation.clone(), parts.test.clone()].concat();
        all.sort_unstable();
        assert_eq!(all, (0..101).collect::<Vec<_>>());
        assert_eq!(Parts::draw(101, 0.2, 0.1, 4).unwrap(), parts);
        assert_ne!(Parts::draw(101, 0.2, 0.1, 5).unwrap(), parts);
        assert!(Parts::draw(2, 0.6, 0.5, 0).is_err());
    }

    #[test]
    fn scaling_goes_back() {
        let values = vec![1.0, 5.0, 3.0, 5.0, 100.0, 7.0];
        let names = ["a".to_string(), "b".to_string()];
        let scaling = Scaling::of(&values, &names, &[0, 1], &Solo).unwrap();
        assert_eq!((scaling.mean.clone(), scaling.deviation.clone()), (vec![2.0, 5.0], vec![1.0, 1.0]));
        let mut scaled = values.clone();
        scaling.apply(&mut scaled);
        assert_eq!(scaled[..4], [-1.0, 0.0, 1.0, 0.0]);
        scaling.revert(&mut scaled);
        assert_eq!(scaled, values);
    }

    /// Four numbers times `scale`, scaled, and how.
    fn scaled(scale: f64) -> Result<(Vec<f64>, Scaling)> {
        let mut values: Vec<f64> = [1.0, 3.0, 2.0, 6.0].map(|x| x * scale).to_vec();
        let scaling = Scaling::of(&values, &["a".to_string()], &[0, 1, 2, 3], &Solo)?;
        scaling.apply(&mut values);
        Ok((values, scaling))
    }

    #[test]
    fn no_square_overflows_or_underflows() {
        let (ordinary, of) = scaled(1.0).unwrap();
        assert_eq!(of.mean, [3.0]);
        for exponent in [-1020, -600, 600, 1020] {
            let scale = 2f64.powi(exponent);
            let (values, scaling) = scaled(scale).unwrap();
            assert_eq!((values, scaling.deviation[0]), (ordinary.clone(), of.deviation[0] * scale), "2^{exponent}");
        }
        for scale in [1e-300, 1e-170, 1e170, 1e300] {
            let (values, scaling) = scaled(scale).unwrap();
            assert!(values.iter().zip(&ordinary).all(|(a, b)| (a - b).abs() < 1e-14), "{scale:e}: {values:?}");
            assert!((scaling.deviation[0] / scale - of.deviation[0]).abs() < 1e-14);
        }
        let both = Scaling::of(&[1e308, -1e308], &["a".to_string()], &[0, 1], &Solo).unwrap();
        assert_eq!((both.mean[0], both.deviation[0]), (0.0, 1e308));
        let says = |values: &[f64]| {
            let rows: Vec<usize> = (0..values.len()).collect();
            Scaling::of(values, &["a".to_string()], &rows, &Solo).unwrap_err().to_string()
        };
        assert!(says(&[5e-324, 0.0, 1e-323]).starts_with("column a: the numbers are so small"));
        assert!(says(&[1.7e308, 1.7e308, 1.7e308, -1.7e308]).starts_with("column a: the numbers are so large"));
        let constant = Scaling::of(&[1e-170; 3], &["a".to_string()], &[0, 1, 2], &Solo).unwrap();
        assert_eq!((constant.mean[0], constant.deviation[0]), (1e-170, 1.0));
    }
}
