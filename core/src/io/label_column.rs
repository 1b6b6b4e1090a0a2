//! The column of a table that holds the labels.

use crate::error::{Error, Result, shown};

/// The column of the labels, as the user names it.
#[derive(Debug, Clone, Copy)]
pub(super) struct LabelColumn<'a> {
    /// Its name, or else its number from 1.
    column: &'a str,
    /// The number of coordinates beside it, if the table may lack the column.
    coordinates: Option<usize>,
}

impl<'a> LabelColumn<'a> {
    /// A column that must be present.
    pub(super) fn required(column: &'a str) -> Self {
        Self { column, coordinates: None }
    }

    /// A column that is present only in tables of `coordinates + 1` columns.
    pub(super) fn optional(column: &'a str, coordinates: usize) -> Self {
        Self { column, coordinates: Some(coordinates) }
    }

    /// Its index among the columns called `names`, of which `numeric` hold coordinates or the labels.
    pub(super) fn find(self, names: &[String], numeric: usize) -> Result<Option<usize>> {
        match self.coordinates {
            None => column(names, self.column).map(Some),
            Some(coordinates) => Ok(column(names, self.column).ok().filter(|_| numeric == coordinates + 1)),
        }
    }
}

/// The index of the column named `wanted`, or else numbered so from 1.
fn column(names: &[String], wanted: &str) -> Result<usize> {
    let mut named = names.iter().enumerate().filter(|(_, name)| *name == wanted).map(|(at, _)| at);
    let help = listed(names);
    match (named.next(), named.next()) {
        (Some(at), None) => Ok(at),
        (Some(_), Some(_)) => Err(Error::input(format!("several columns are called {}", shown(wanted)), help)),
        (None, _) => match wanted.trim().parse::<usize>() {
            Ok(number) if (1..=names.len()).contains(&number) => Ok(number - 1),
            _ => Err(Error::input(format!("there is no column {} to take the labels from", shown(wanted)), help)),
        },
    }
}

/// Help that lists the columns' names, 20 at most.
fn listed(names: &[String]) -> String {
    const MOST: usize = 20;
    let shown: Vec<&str> = names.iter().take(MOST).map(String::as_str).collect();
    let more = match names.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("name one of the columns {}{more}, or give its number from 1 to {}", shown.join(", "), names.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        ["x", "2", "class", "class"].map(String::from).to_vec()
    }

    #[test]
    fn a_column_is_found_by_name_then_by_number() {
        assert_eq!(column(&names(), "x").unwrap(), 0);
        assert_eq!(column(&names(), "2").unwrap(), 1);
        assert_eq!(column(&names(), "3").unwrap(), 2);
        let error = column(&names(), "species").unwrap_err();
        assert_eq!(error.to_string(), "there is no column \"species\" to take the labels from");
        let help = error.help().unwrap();
        assert_eq!(help, "name one of the columns x, 2, class, class, or give its number from 1 to 4");
        assert!(column(&names(), "0").is_err());
        assert!(column(&names(), "5").is_err());
        assert_eq!(column(&names(), "class").unwrap_err().to_string(), "several columns are called \"class\"");
        let many: Vec<String> = (0..30).map(|i| format!("p{i}")).collect();
        assert!(listed(&many).contains("p19 and 10 more"));
    }
}
