//! The roles of the columns of a table: labels, weights, coordinates, targets of a regression, columns to keep beside the
//! answer, and dropped ones.

use crate::data::schema::Categorical;
use crate::error::{Error, Place, Result, shown};

/// The value of `keep` for all columns.
const ALL: &str = "all";

/// Treatment of missing numbers: `nan`, `NA`, `N/A`, `null`, `none`, `?` and, in text, nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MissingNumbers {
    /// An error.
    #[default]
    Refused,
    /// An error whose advice is the option `missing`.
    Advised,
    /// NaN.
    Accepted,
    /// NaN, as are infinite numbers.
    OrInfinite,
}

impl MissingNumbers {
    pub(super) fn are_accepted(self) -> bool {
        matches!(self, Self::Accepted | Self::OrInfinite)
    }
}

/// The requested roles of the columns of one table.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Columns<'a> {
    /// The column of the labels, by name or else by number from 1.
    pub(crate) label: Option<&'a str>,
    /// The column of the points' weights, likewise.
    pub(crate) weight: Option<&'a str>,
    /// The columns of the coordinates, see [`select`].
    pub(crate) columns: Option<&'a str>,
    /// Columns that are no coordinates.
    pub(crate) drop: Option<&'a str>,
    /// Columns of numbers to learn, which are the last coordinates.
    pub(crate) targets: Option<&'a str>,
    /// Columns to keep beside the answer, in the same form, or `all`.
    pub(crate) keep: Option<&'a str>,
    /// The names of the coordinates of an earlier table, which this one has too; it may lack labels and weights.
    pub(crate) like: Option<&'a [String]>,
    /// True if `label`, `columns` and `drop` describe this table, not the earlier one.
    pub(crate) own: bool,
    /// Treatment of columns of text; an error if `None`.
    pub(crate) categorical: Option<Categorical>,
    pub(crate) missing: MissingNumbers,
}

/// The indices of columns by role.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Roles {
    pub(super) label: Option<usize>,
    pub(super) weight: Option<usize>,
    /// The coordinates in order, without those two.
    pub(super) coordinates: Vec<usize>,
    /// Number of targets, the last coordinates.
    pub(super) targets: usize,
    /// Columns to keep beside the answer.
    pub(super) kept: Vec<usize>,
    /// Columns without a role by request.
    pub(super) dropped: Vec<usize>,
    /// True if the coordinates were named.
    pub(super) chosen: bool,
}

impl Columns<'_> {
    /// Assigns the columns called `names`. Those for which `is_data` holds are coordinates, unless they have another role or
    /// the coordinates are named.
    pub(super) fn find(self, names: &[String], is_data: &dyn Fn(usize) -> bool) -> Result<Roles> {
        let kept = match self.keep {
            Some(ALL) if !names.iter().any(|name| name == ALL) => (0..names.len()).collect(),
            Some(text) => select(names, text, "keep")?,
            None => Vec::new(),
        };
        let wanted = [self.label, self.weight];
        let found = [0, 1].map(|role| wanted[role].map(|column| find(names, column, ["labels", "weights"][role])));
        if let Some(like) = self.like {
            if self.own && (self.label.is_some() || self.columns.is_some() || self.drop.is_some()) {
                return self.find_own(like, names, is_data).map(|roles| Roles { kept, ..roles });
            }
            let found = found.map(|index| index.and_then(Result::ok));
            return self.find_like(like, names, is_data, found).map(|roles| Roles { kept, ..roles });
        }
        let targets = self.targets.map(|text| select(names, text, "learn")).transpose()?.unwrap_or_default();
        let [label, weight] = found.map(Option::transpose);
        let (label, weight) = (label?, weight?);
        if let Some(both) = label.filter(|_| label == weight) {
            let place = Place::default().column(names[both].as_str());
            return Err(Error::input_at(
                place,
                "both the labels and the weights are taken from this column",
                listed(names),
            ));
        }
        let chosen = self.columns.map(|text| select(names, text, "take as a coordinate")).transpose()?;
        let dropped = self.drop.map(|text| select(names, text, "leave out")).transpose()?.unwrap_or_default();
        let is_chosen = chosen.is_some();
        let all = chosen.unwrap_or_else(|| (0..names.len()).filter(|&at| is_data(at)).collect());
        let other = |at: &usize| [label, weight].contains(&Some(*at)) || dropped.contains(at) || targets.contains(at);
        let coordinates = all.into_iter().filter(|at| !other(at)).chain(targets.iter().copied()).collect();
        Ok(Roles { label, weight, coordinates, targets: targets.len(), kept, dropped, chosen: is_chosen })
    }

    /// Assigns the columns of a table with the coordinates `like`, of which `label`, `columns` and `drop` are columns: those of
    /// `columns` in their order; else by their names as in [`Self::find_like`]; else those that are left, in order.
    fn find_own(self, like: &[String], names: &[String], is_data: &dyn Fn(usize) -> bool) -> Result<Roles> {
        let own = Self { like: None, ..self }.find(names, is_data)?;
        let one_hot = self.categorical == Some(Categorical::OneHot);
        if one_hot && self.columns.is_some() {
            return Err(Error::input("columns of text are found by their names, not by `columns`", "leave it out"));
        }
        if self.columns.is_none() && (one_hot || are_found_by_name(like, names)) {
            let found = Self { label: None, ..self }.find_like(like, names, is_data, [None; 2])?;
            let needed = |at: &&usize| own.dropped.contains(at) || own.label == Some(**at);
            return match found.coordinates.iter().find(needed) {
                Some(&at) => {
                    let place = Place::default().column(names[at].as_str());
                    Err(Error::input_at(place, "the column is a coordinate of the fit", "leave out `drop` and `label`"))
                }
                None => Ok(Roles { label: own.label, dropped: own.dropped, ..found }),
            };
        }
        if own.coordinates.len() != like.len() {
            let (left, expected) = (own.coordinates.len(), like.len());
            let what = format!("{left} of the columns are left as coordinates; the fit has {expected}");
            return Err(Error::input(what, "choose them with `columns`, or leave others out with `drop` or `label`"));
        }
        Ok(own)
    }

    /// Assigns the columns of a table with the coordinates `like`: by their names if both tables have names, or if this one
    /// has names and all of these are among them, or if columns of text are coordinates; else by the roles of the earlier
    /// table or, if the number of columns does not suit them, in order.
    fn find_like(
        self,
        like: &[String],
        names: &[String],
        is_data: &dyn Fn(usize) -> bool,
        found: [Option<usize>; 2],
    ) -> Result<Roles> {
        let wanted = [self.label, self.weight];
        if are_found_by_name(like, names) || self.categorical == Some(Categorical::OneHot) {
            let by_name = |role: usize| found[role].filter(|&at| wanted[role] == Some(names[at].as_str()));
            // A name is no number here.
            let exact = |name: &String| if names.contains(name) { names } else { &[] };
            let coordinates = like.iter().map(|name| match name.split_once('=') {
                Some((column, _)) if self.categorical == Some(Categorical::OneHot) && !names.contains(name) => {
                    let what = format!(
                        "there is no column {} of text, nor {}, to take a coordinate from",
                        shown(column),
                        shown(name)
                    );
                    Err(Error::input(what, listed(&[])))
                }
                _ => find(exact(name), name, "coordinates"),
            });
            let mut coordinates = coordinates.collect::<Result<Vec<_>>>()?;
            let targets = self.targets.map(|text| select(names, text, "learn")).transpose()?.unwrap_or_default();
            coordinates.extend(&targets);
            let [label, weight] = [0, 1].map(|role| by_name(role).filter(|at| !coordinates.contains(at)));
            return Ok(Roles { label, weight, coordinates, targets: targets.len(), chosen: true, ..Roles::default() });
        }
        let same = Self { like: None, ..self }.find(names, is_data);
        match same {
            Ok(same) if same.coordinates.len() == like.len() + same.targets => return Ok(same),
            // The order of columns in a table without names is not known.
            Err(error) if self.columns.is_some() => return Err(error),
            _ => {}
        }
        let mut found = found;
        // A column of both roles has moved: the role by its name stands.
        if let [Some(label), Some(weight)] = found
            && label == weight
        {
            found = [0, 1].map(|role| found[role].filter(|_| wanted[role] == Some(names[label].as_str())));
        }
        let data: Vec<usize> = (0..names.len()).filter(|&at| is_data(at)).collect();
        let [label, weight] = present(found, wanted, names, is_data, data.len().checked_sub(like.len()));
        let coordinates = data.into_iter().filter(|&at| Some(at) != label && Some(at) != weight).collect();
        Ok(Roles { label, weight, coordinates, ..Roles::default() })
    }
}

/// True if the coordinates `like` are to be found by their names among `names`: if both tables have names, or if this one has
/// names other than `C1`, `C2`, … in this order and all of these are among them.
fn are_found_by_name(like: &[String], names: &[String]) -> bool {
    let default = names.iter().enumerate().all(|(at, name)| *name == format!("C{}", at + 1));
    are_names(like) && are_names(names) || !default && like.iter().all(|name| names.contains(name))
}

/// True unless all names are the default ones, `C1`, `C2`, ….
pub(crate) fn are_names(names: &[String]) -> bool {
    let default = |name: &String| name.strip_prefix('C').is_some_and(|number| number.parse::<usize>().is_ok());
    !names.iter().all(default)
}

/// The columns of `found` that a table with `beyond` columns of data beside its coordinates has. If one of those `wanted`
/// is absent, the other is identified by its name alone, since its number may have changed.
fn present(
    mut found: [Option<usize>; 2],
    wanted: [Option<&str>; 2],
    names: &[String],
    is_data: &dyn Fn(usize) -> bool,
    beyond: Option<usize>,
) -> [Option<usize>; 2] {
    let expected = (0..2).filter(|&role| wanted[role].is_some() && found[role].is_none_or(is_data)).count();
    if beyond != Some(expected) {
        for (index, wanted) in found.iter_mut().zip(wanted) {
            *index = index.filter(|&at| !is_data(at) || wanted == Some(names[at].as_str()));
        }
    }
    let taken = found.iter().flatten().filter(|&&at| is_data(at)).count();
    if beyond == Some(taken) { found } else { found.map(|index| index.filter(|&at| !is_data(at))) }
}

/// The index of the column of this role that is named `wanted`, or else has that number from 1.
fn find(names: &[String], wanted: &str, role: &str) -> Result<usize> {
    match index(names, wanted) {
        Ok(Some(at)) => Ok(at),
        Ok(None) => {
            Err(Error::input(format!("there is no column {} to take the {role} from", shown(wanted)), listed(names)))
        }
        Err(error) => Err(error),
    }
}

/// The index of the column that is named `wanted`, or else has that number from 1. Fails if several have the name.
fn index(names: &[String], wanted: &str) -> Result<Option<usize>> {
    let mut named = (0..names.len()).filter(|&at| names[at] == wanted);
    match (named.next(), named.next()) {
        (Some(at), None) => Ok(Some(at)),
        (Some(_), Some(_)) => Err(Error::input(format!("several columns are called {}", shown(wanted)), listed(names))),
        (None, _) => {
            let number = wanted.trim().parse::<usize>().ok().filter(|number| (1..=names.len()).contains(number));
            Ok(number.map(|number| number - 1))
        }
    }
}

/// The indices of columns listed in `text`, separated by commas, each once: a name, or else a number from 1 or a range of
/// numbers such as `3-7`. A name that contains commas is recognised if it is the whole text. Fails on other entries, with
/// the `purpose` that they were listed for.
fn select(names: &[String], text: &str, purpose: &str) -> Result<Vec<usize>> {
    if let Some(at) = index(names, text)? {
        return Ok(vec![at]);
    }
    let mut selected = Vec::new();
    for entry in text.split(',').map(str::trim) {
        let range = match index(names, entry)? {
            Some(at) => Some(at..=at),
            None => entry.split_once('-').and_then(|(first, last)| {
                let [first, last] = [first, last].map(|number| number.trim().parse::<usize>().ok());
                let (first, last) = (first?, last?);
                (1 <= first && first <= last && last <= names.len()).then(|| first - 1..=last - 1)
            }),
        };
        let Some(range) = range else {
            return Err(Error::input(format!("there is no column {} to {purpose}", shown(entry)), listed(names)));
        };
        selected.extend(range.filter(|at| !selected.contains(at)).collect::<Vec<_>>());
    }
    Ok(selected)
}

/// Advice that lists the names of at most 20 columns.
fn listed(names: &[String]) -> String {
    const MAX: usize = 20;
    if names.is_empty() {
        return "give the same columns, with the same names".into();
    }
    let more = match names.len().saturating_sub(MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let names_shown = names[..names.len().min(MAX)].join(", ");
    format!("name one of the columns {names_shown}{more}, or give its number from 1 to {}", names.len())
}

#[cfg(test)]
mod tests;
