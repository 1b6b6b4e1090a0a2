//! Instances and their targets, on the host.

use std::ops::Range;

use burn::tensor::{Int, Tensor, backend::Backend};
use firebox_core::{
    Communicator, Error, Result,
    data::Points,
    error::Place,
    tensor::{failed, read_floats},
};
use serde::{Deserialize, Serialize};

/// Classes of a model, in the order of its outputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Classes {
    /// Whole numbers, ascending.
    Numbers(Vec<i64>),
    /// Words, in order of first occurrence.
    Names(Vec<String>),
}

impl Classes {
    /// Number of classes.
    pub fn len(&self) -> usize {
        match self {
            Self::Numbers(of) => of.len(),
            Self::Names(of) => of.len(),
        }
    }

    /// Returns true if there are no classes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Name of a class; empty beyond the last.
    pub fn name(&self, class: usize) -> String {
        match self {
            Self::Numbers(of) => of.get(class).map(i64::to_string),
            Self::Names(of) => of.get(class).cloned(),
        }
        .unwrap_or_default()
    }

    /// Names of all classes.
    pub fn names(&self) -> impl Iterator<Item = String> {
        (0..self.len()).map(|class| self.name(class))
    }

    /// Number of a class below [`len`](Self::len): the number that is its name, else its index.
    pub(crate) fn number(&self, class: usize) -> i64 {
        match self {
            Self::Numbers(of) => of[class],
            Self::Names(_) => class as i64,
        }
    }
}

/// Target of each instance.
#[derive(Debug, Clone, PartialEq)]
pub enum Targets {
    /// Indices of classes, and the classes.
    Classes(Vec<usize>, Classes),
    /// Numbers `[n, t]`, row by row, and the names of their t columns.
    Numbers(Vec<f64>, Vec<String>),
}

impl Targets {
    /// Outputs of a network for these targets: one per class, or one per number.
    pub(crate) fn outputs(&self) -> usize {
        match self {
            Self::Classes(_, classes) => classes.len(),
            Self::Numbers(_, names) => names.len(),
        }
    }
}

/// Instances with targets: rows of `names.len()` numbers. Ranks that share a training hold consecutive rows in the order
/// of the ranks.
#[derive(Debug, Clone, PartialEq)]
pub struct Instances {
    /// Row-major values.
    pub values: Vec<f64>,
    /// Names of the columns.
    pub names: Vec<String>,
    /// One target per row, or one row of numbers.
    pub targets: Targets,
}

/// Maximum number of classes, bounding the confusion matrix.
const MAX_CLASSES: usize = 4096;

impl Instances {
    /// Instances `[n, k]` of classes `[n]`, which are any whole numbers; n ≥ 1.
    ///
    /// # Errors
    /// [`Error::Input`] if the numbers of rows differ, or if a number is not finite.
    pub fn classes<B: Backend>(x: Tensor<B, 2>, y: Tensor<B, 1, Int>) -> Result<Self> {
        let points = points(x, y.dims()[0])?;
        let device = B::name(&y.device());
        let labels = y.try_into_data().map_err(|error| failed(device, "reading the classes", error))?;
        Self::from_labels(points.with_labels(labels.iter::<i64>().collect())?)
    }

    /// Instances `[n, k]` of numbers `[n]`; n ≥ 1.
    ///
    /// # Errors
    /// [`Error::Input`] if the numbers of rows differ, or if a number is not finite.
    pub fn numbers<B: Backend>(x: Tensor<B, 2>, y: Tensor<B, 1>) -> Result<Self> {
        Self::with_numbers(x, y, vec!["y".into()])
    }

    /// Instances `[n, k]` of t numbers each, `[n, t]`, which are called y1, y2 and so on; n and t ≥ 1.
    ///
    /// # Errors
    /// As [`numbers`](Self::numbers).
    pub fn several_numbers<B: Backend>(x: Tensor<B, 2>, y: Tensor<B, 2>) -> Result<Self> {
        let names = (1..=y.dims()[1]).map(|at| format!("y{at}")).collect();
        Self::with_numbers(x, y, names)
    }

    /// Instances `[n, k]` with the numbers `[n, t]` of these t names, or `[n]` of one.
    fn with_numbers<B: Backend, const D: usize>(x: Tensor<B, 2>, y: Tensor<B, D>, names: Vec<String>) -> Result<Self> {
        let (rows, columns) = (y.dims()[0], names.len());
        let points = points(x, rows)?;
        // Some devices cannot read an empty tensor.
        let numbers = if rows * columns == 0 { Vec::new() } else { read_floats(y, "reading the targets")? };
        if let Some(at) = numbers.iter().position(|number| !number.is_finite()) {
            let what = format!("the target {} is not a finite number", numbers[at]);
            return Err(Error::input_at(Place::default().row(at / columns + 1), what, "leave the row out"));
        }
        Ok(Self { values: points.values, names: points.names, targets: Targets::Numbers(numbers, names) })
    }

    /// Instances with the labels of `points` as classes.
    ///
    /// # Errors
    /// [`Error::Input`] if there are no labels.
    pub fn from_labels(points: Points) -> Result<Self> {
        let Some(labels) = points.labels else {
            let help = "name the column with `label`, or a file of classes with `labels`";
            return Err(Error::input("the rows have no classes to learn", help));
        };
        let (codes, classes) = match points.label_names {
            Some(names) => {
                (labels.into_iter().filter_map(|label| label.try_into().ok()).collect(), Classes::Names(names))
            }
            None => {
                let mut of = labels.clone();
                of.sort_unstable();
                of.dedup();
                (labels.iter().filter_map(|label| of.binary_search(label).ok()).collect(), Classes::Numbers(of))
            }
        };
        Ok(Self { values: points.values, names: points.names, targets: Targets::Classes(codes, classes) })
    }

    /// Instances with one column of `points` as the target, given by name or by number from 1.
    ///
    /// # Errors
    /// [`Error::Input`] if the column does not exist, or is the only one.
    pub fn from_column(points: Points, column: &str) -> Result<Self> {
        Self::from_columns(points, &[column])
    }

    /// Instances with several columns of `points` as targets, each given by name or by number from 1.
    ///
    /// # Errors
    /// [`Error::Input`] if a column does not exist or is given twice, or if no column is left.
    pub fn from_columns(points: Points, columns: &[&str]) -> Result<Self> {
        let mut targets = Vec::new();
        for column in columns {
            let by_number = || column.parse::<usize>().ok().and_then(|at| at.checked_sub(1));
            let at = points.names.iter().position(|name| name == column).or_else(by_number);
            let Some(at) = at.filter(|at| *at < points.columns) else {
                let what = format!("there is no column {column:?} to learn");
                return Err(Error::input(what, "give the column's name, or its number from 1"));
            };
            if targets.contains(&at) {
                return Err(Error::input(format!("the target {column:?} is given twice"), "give it once"));
            }
            targets.push(at);
        }
        Self::from_targets(points, targets)
    }

    /// The rows of a regression whose targets are the columns at these indices.
    ///
    /// # Errors
    /// [`Error::Input`] if there is no other column.
    pub(crate) fn from_targets(points: Points, targets: Vec<usize>) -> Result<Self> {
        let inputs: Vec<usize> = (0..points.columns).filter(|at| !targets.contains(at)).collect();
        if inputs.is_empty() {
            let what = if targets.len() == 1 { "the only column is the target" } else { "all columns are targets" };
            return Err(Error::input(what, "give at least one more column"));
        }
        let names = |of: &[usize]| of.iter().map(|&at| points.names[at].clone()).collect();
        let values = |of: &[usize]| points.iter().flat_map(|row| of.iter().map(|&at| row[at])).collect();
        let numbers = Targets::Numbers(values(&targets), names(&targets));
        Ok(Self { values: values(&inputs), names: names(&inputs), targets: numbers })
    }

    /// Replaces numbered classes by those of all ranks, of which the rows of one rank may cover some. Named classes are
    /// already equal on all ranks, each of which reads whole tables of names.
    pub fn with_classes_of_all(mut self, ranks: &dyn Communicator) -> Self {
        // A rank with more fails in `check`, which ends all ranks.
        if let Targets::Classes(codes, Classes::Numbers(own)) = &mut self.targets
            && own.len() <= MAX_CLASSES
        {
            let mut all = ranks.all_gather(own);
            all.sort_unstable();
            all.dedup();
            codes.iter_mut().for_each(|code| *code = all.partition_point(|class| *class < own[*code]));
            *own = all;
        }
        self
    }

    /// Checks that a network can be trained.
    ///
    /// # Errors
    /// [`Error::Input`] if values or targets are missing, for one class, for too many classes, or for columns of equal
    /// names, by which a model identifies its columns.
    pub fn check(&self) -> Result<()> {
        let targets = if let Targets::Numbers(_, names) = &self.targets { names.as_slice() } else { &[] };
        for names in [&self.names, targets] {
            let mut names: Vec<&String> = names.iter().collect();
            names.sort_unstable();
            if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(duplicate_column(pair[0]));
            }
        }
        self.check_targets()?;
        match &self.targets {
            Targets::Classes(_, classes) if classes.len() < 2 => {
                let what = format!("all rows are of one class, {}", classes.name(0));
                Err(Error::input(what, "give rows of at least two classes"))
            }
            Targets::Classes(_, classes) if classes.len() > MAX_CLASSES => {
                let what = format!("the rows have {} classes, more than {MAX_CLASSES}", classes.len());
                Err(Error::input(what, "name the column of the classes; to learn a number, give `task = regression`"))
            }
            _ => Ok(()),
        }
    }

    /// Fails unless there is one target per row, and a class for each code.
    pub(crate) fn check_targets(&self) -> Result<()> {
        let targets = match &self.targets {
            Targets::Classes(codes, classes) => codes.iter().filter(|code| **code < classes.len()).count(),
            Targets::Numbers(numbers, names) => numbers.len() / names.len().max(1),
        };
        let is_whole = match &self.targets {
            Targets::Classes(..) => true,
            Targets::Numbers(numbers, names) => numbers.len() == targets * names.len() && !names.is_empty(),
        };
        if !is_whole || self.values.len() != targets * self.names.len() {
            let [values, columns] = [self.values.len(), self.names.len()];
            let what = format!("{values} numbers in {columns} columns do not match {targets} targets");
            return Err(Error::input(what, "give one number per row and column, and one target per row"));
        }
        if let Targets::Numbers(numbers, names) = &self.targets
            && let Some(at) = numbers.iter().position(|number| number.is_nan())
        {
            let place = Place::default().column(names[at % names.len()].as_str());
            return Err(Error::input_at(place, "a row has no number to learn", "fill it in, or leave the row out"));
        }
        Ok(())
    }

    /// Range of these rows among those of all ranks, and the total number of rows.
    pub(crate) fn global_range(&self, ranks: &dyn Communicator) -> (Range<usize>, usize) {
        let counts = ranks.all_gather(&[self.rows() as u64]);
        let before: u64 = counts.iter().take(ranks.rank()).sum();
        let start = before as usize;
        (start..start + self.rows(), counts.iter().sum::<u64>() as usize)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.values.len() / self.names.len().max(1)
    }

    /// Leaves out the rows with a missing number, NaN, among their values or targets. Returns for each row whether it is kept.
    pub(crate) fn retain_complete(&mut self) -> Vec<bool> {
        let (columns, rows) = (self.names.len().max(1), self.rows());
        let is_known = |values: &[f64]| values.iter().all(|value| !value.is_nan());
        let complete = |row: &usize| {
            let target = match &self.targets {
                Targets::Numbers(numbers, names) => &numbers[row * names.len()..(row + 1) * names.len()],
                Targets::Classes(..) => &[],
            };
            is_known(&self.values[row * columns..(row + 1) * columns]) && is_known(target)
        };
        let kept: Vec<bool> = (0..rows).map(|row| complete(&row)).collect();
        if kept.contains(&false) {
            *self = self.select(&(0..rows).filter(|&row| kept[row]).collect::<Vec<_>>());
        }
        kept
    }

    /// Copies these rows.
    pub(crate) fn select(&self, rows: &[usize]) -> Self {
        let columns = self.names.len();
        let values = rows.iter().flat_map(|&row| self.values[row * columns..(row + 1) * columns].iter().copied());
        let targets = match &self.targets {
            Targets::Classes(codes, classes) => {
                Targets::Classes(rows.iter().map(|&row| codes[row]).collect(), classes.clone())
            }
            Targets::Numbers(numbers, names) => {
                let of_row = |row: &usize| numbers[row * names.len()..(row + 1) * names.len()].iter().copied();
                Targets::Numbers(rows.iter().flat_map(of_row).collect(), names.clone())
            }
        };
        Self { values: values.collect(), names: self.names.clone(), targets }
    }
}

/// Reads instances `[n, k]` of `targets` targets.
fn points<B: Backend>(x: Tensor<B, 2>, targets: usize) -> Result<Points> {
    let [rows, columns] = x.dims();
    if rows != targets {
        let what = format!("there are {targets} targets for {rows} rows");
        return Err(Error::input(what, "give one target for each row"));
    }
    // Some devices cannot read an empty tensor.
    let values = if rows * columns == 0 { Vec::new() } else { read_floats(x, "reading the rows")? };
    Points::new(values, columns)
}

/// Error of several columns with one name.
pub(crate) fn duplicate_column(name: &str) -> Error {
    let what = format!("several columns are called {name:?}");
    Error::input(what, "give each column a unique name, by which the model finds it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incomplete_rows_are_left_out() {
        let nan = f64::NAN;
        let mut points = Points::new(vec![0.0; 8], 2).unwrap();
        points.values = vec![1.0, nan, nan, 2.0, 3.0, 4.0, 5.0, 6.0];
        let numbers = Instances::from_column(points.clone(), "C2").unwrap();
        assert_eq!(numbers.check().unwrap_err().to_string(), "column C2: a row has no number to learn");
        let mut complete = numbers.clone();
        let kept = [false, false, true, true];
        assert_eq!((complete.retain_complete().as_slice(), complete.values.as_slice()), (&kept[..], &[3.0, 5.0][..]));
        assert_eq!(complete.targets, Targets::Numbers(vec![4.0, 6.0], vec!["C2".into()]));
        assert_eq!(complete.retain_complete(), [true, true]);
        let mut classes = Instances::from_labels(points.with_labels(vec![1, 2, 1, 2]).unwrap()).unwrap();
        classes.check().unwrap();
        assert_eq!((classes.retain_complete().as_slice(), classes.values.len()), (&kept[..], 4));
        assert_eq!(classes.targets, Targets::Classes(vec![0, 1], Classes::Numbers(vec![1, 2])));
    }

    #[test]
    fn targets_are_split_from_points() {
        let points = Points::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2).unwrap();
        let none = Instances::from_labels(points.clone()).unwrap_err();
        assert_eq!(none.to_string(), "the rows have no classes to learn");
        let one = Instances::from_labels(points.clone().with_labels(vec![3, 3, 3]).unwrap()).unwrap();
        assert_eq!(one.check().unwrap_err().to_string(), "all rows are of one class, 3");
        let instances = Instances::from_labels(points.clone().with_labels(vec![7, -1, 7]).unwrap()).unwrap();
        assert_eq!(instances.targets, Targets::Classes(vec![1, 0, 1], Classes::Numbers(vec![-1, 7])));
        instances.check().unwrap();
        let twice = Instances { names: vec!["x".into(), "x".into()], ..instances };
        assert_eq!(twice.check().unwrap_err().to_string(), "several columns are called \"x\"");

        let instances = Instances::from_column(points.clone(), "C1").unwrap();
        assert_eq!((instances.values, instances.names), (vec![2.0, 4.0, 6.0], vec!["C2".to_string()]));
        assert_eq!(instances.targets, Targets::Numbers(vec![1.0, 3.0, 5.0], vec!["C1".into()]));
        assert_eq!(Instances::from_column(points.clone(), "2").unwrap().values, [1.0, 3.0, 5.0]);
        for column in ["0", "3", "x"] {
            assert!(Instances::from_column(points.clone(), column).is_err());
        }
        let wide = Points::new((1..=8).map(f64::from).collect(), 4).unwrap();
        let several = Instances::from_columns(wide.clone(), &["4", "C1"]).unwrap();
        let names = |of: [&str; 2]| of.map(String::from).to_vec();
        assert_eq!((several.values.clone(), several.names.clone()), (vec![2.0, 3.0, 6.0, 7.0], names(["C2", "C3"])));
        assert_eq!(several.targets, Targets::Numbers(vec![4.0, 1.0, 8.0, 5.0], names(["C4", "C1"])));
        several.check().unwrap();
        assert_eq!(several.select(&[1]).targets, Targets::Numbers(vec![8.0, 5.0], names(["C4", "C1"])));
        let refused = |columns: &[&str]| Instances::from_columns(wide.clone(), columns).unwrap_err().to_string();
        assert_eq!(refused(&["C1", "1"]), "the target \"1\" is given twice");
        assert_eq!(refused(&["1", "2", "3", "4"]), "all columns are targets");
        assert_eq!(refused(&["1", ""]), "there is no column \"\" to learn");
        let odd = Instances { targets: Targets::Numbers(vec![1.0; 3], names(["a", "b"])), ..several };
        assert!(odd.check().is_err());
    }
}
