//! Instances and their targets.

use std::ops::Range;

use firebox_core::{Communicator, Error, Result, data::Points};
use serde::{Deserialize, Serialize};

/// Names of classes.
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

    /// Whether the list is empty.
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
}

/// Target of each instance.
#[derive(Debug, Clone, PartialEq)]
pub enum Targets {
    /// Class codes from 0, and the names of the classes.
    Classes(Vec<usize>, Classes),
    /// Numbers, and the name of their column.
    Numbers(Vec<f64>, String),
}

impl Targets {
    /// Outputs of a network for these targets: one per class, or one number.
    pub(crate) fn outputs(&self) -> usize {
        match self {
            Self::Classes(_, classes) => classes.len(),
            Self::Numbers(..) => 1,
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
    /// One target per row.
    pub targets: Targets,
}

/// Maximum number of classes, bounding the confusion matrix.
const MAX_CLASSES: usize = 4096;

impl Instances {
    /// Instances with their labels as classes. Fails if the points have no labels.
    pub fn classes(points: Points) -> Result<Self> {
        let Some(labels) = points.labels else {
            let help = "name the column with `label`, or a file of classes with `labels`";
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

    /// Instances with one column, given by name or by number from 1, as the target.
    pub fn numbers(points: Points, column: &str) -> Result<Self> {
        let missing = || {
            let what = format!("there is no column {column:?} to learn");
            Error::input(what, "give the column's name, or its number from 1")
        };
        let by_number = || column.parse::<usize>().ok().and_then(|at| at.checked_sub(1));
        let at = points.names.iter().position(|name| name == column).or_else(by_number);
        let at = at.filter(|at| *at < points.columns).ok_or_else(missing)?;
        if points.columns == 1 {
            return Err(Error::input("the only column is the target", "give at least one more column"));
        }
        let numbers = points.iter().map(|row| row[at]).collect();
        let is_input = |k: &usize| k % points.columns != at;
        let values = (0..points.values.len()).filter(is_input).map(|k| points.values[k]).collect();
        let mut names = points.names;
        let name = names.remove(at);
        Ok(Self { values, names, targets: Targets::Numbers(numbers, name) })
    }

    /// Recodes the targets by the classes of all ranks, of which the rows of one rank may cover some. Named classes are
    /// already equal on all ranks, each of which reads whole tables of names.
    pub fn of_all(mut self, ranks: &dyn Communicator) -> Self {
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

    /// Fails if a network cannot be trained: for one class, for too many classes, or for columns of equal names, by which a
    /// model identifies its columns.
    pub fn check(&self) -> Result<()> {
        let mut names: Vec<&String> = self.names.iter().collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(duplicate_column(pair[0]));
        }
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

    /// Range of these rows among those of all ranks, and the total number of rows.
    pub fn place(&self, ranks: &dyn Communicator) -> (Range<usize>, usize) {
        let counts = ranks.all_gather(&[self.rows() as u64]);
        let before: u64 = counts.iter().take(ranks.rank()).sum();
        let start = before as usize;
        (start..start + self.rows(), counts.iter().sum::<u64>() as usize)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.values.len() / self.names.len().max(1)
    }
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
    fn targets_are_split_from_points() {
        let points = Points::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2).unwrap();
        let none = Instances::classes(points.clone()).unwrap_err();
        assert_eq!(none.to_string(), "the rows have no classes to learn");
        let one = Instances::classes(points.clone().with_labels(vec![3, 3, 3]).unwrap()).unwrap();
        assert_eq!(one.check().unwrap_err().to_string(), "all rows are of one class, 3");
        let instances = Instances::classes(points.clone().with_labels(vec![7, -1, 7]).unwrap()).unwrap();
        assert_eq!(instances.targets, Targets::Classes(vec![1, 0, 1], Classes::Numbers(vec![-1, 7])));
        instances.check().unwrap();
        let twice = Instances { names: vec!["x".into(), "x".into()], ..instances };
        assert_eq!(twice.check().unwrap_err().to_string(), "several columns are called \"x\"");

        let instances = Instances::numbers(points.clone(), "C1").unwrap();
        assert_eq!((instances.values, instances.names), (vec![2.0, 4.0, 6.0], vec!["C2".to_string()]));
        assert_eq!(instances.targets, Targets::Numbers(vec![1.0, 3.0, 5.0], "C1".into()));
        assert_eq!(Instances::numbers(points.clone(), "2").unwrap().values, [1.0, 3.0, 5.0]);
        for column in ["0", "3", "x"] {
            assert!(Instances::numbers(points.clone(), column).is_err());
        }
    }
}
