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
            let coordinates = like.iter().map(|name| find(exact(name), name, "coordinates"));
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
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        text.split(' ').map(String::from).collect()
    }

    /// The indices of the labels and the weights.
    fn two(columns: Columns<'_>, names: &[String], is_data: &dyn Fn(usize) -> bool) -> Result<[Option<usize>; 2]> {
        columns.find(names, is_data).map(|roles| [roles.label, roles.weight])
    }

    #[test]
    fn a_column_is_found_by_name_then_by_number() {
        let names = names("x 2 class class");
        for (wanted, expected) in [
            ("x", Ok(0)),
            ("2", Ok(1)),
            ("3", Ok(2)),
            ("0", Err("there is no column \"0\" to take the labels from")),
            ("5", Err("there is no column \"5\" to take the labels from")),
            ("species", Err("there is no column \"species\" to take the labels from")),
            ("class", Err("several columns are called \"class\"")),
        ] {
            let found = find(&names, wanted, "labels").map_err(|error| error.to_string());
            assert_eq!(found, expected.map_err(String::from));
        }
        let both = |label, weight| Columns { label: Some(label), weight: Some(weight), ..Columns::default() };
        assert_eq!(two(both("x", "3"), &names, &|_| true).unwrap(), [Some(0), Some(2)]);
        let error = two(both("x", "1"), &names, &|_| true).unwrap_err().to_string();
        assert_eq!(error, "column x: both the labels and the weights are taken from this column");
        let error = two(both("x", "w"), &names, &|_| true).unwrap_err().to_string();
        assert_eq!(error, "there is no column \"w\" to take the weights from");
        let help = find(&names, "species", "labels").unwrap_err().help().unwrap();
        assert_eq!(help, "name one of the columns x, 2, class, class, or give its number from 1 to 4");
        let many: Vec<String> = (0..30).map(|i| format!("p{i}")).collect();
        assert!(listed(&many).contains("p19 and 10 more"));
    }

    #[test]
    fn columns_are_selected_by_names_numbers_and_ranges() {
        let names = names("id x y z class 5-9");
        let all = |columns, drop| {
            let roles = Columns { label: Some("class"), columns, drop, ..Columns::default() };
            roles.find(&names, &|at| at != 5).map(|roles| roles.coordinates).map_err(|error| error.to_string())
        };
        for (columns, drop, expected) in [
            (None, None, vec![0, 1, 2, 3]),
            (Some("y,x"), None, vec![2, 1]),
            (Some("2-4"), None, vec![1, 2, 3]),
            (Some(" 4 , 1-3,x"), None, vec![3, 0, 1, 2]),
            (Some("1-6"), None, vec![0, 1, 2, 3, 5]),
            (Some("5-9"), None, vec![5]),
            (None, Some("id"), vec![1, 2, 3]),
            (None, Some("1-2,class"), vec![2, 3]),
            (Some("1-3"), Some("id"), vec![1, 2]),
            (Some("class"), None, vec![]),
        ] {
            assert_eq!(all(columns, drop), Ok(expected), "{columns:?} {drop:?}");
        }
        for (columns, entry) in [("x,", ""), ("x,u", "u"), ("0-2", "0-2"), ("3-2", "3-2"), ("2-7", "2-7"), ("-", "-")] {
            let expected = format!("there is no column {} to take as a coordinate", shown(entry));
            assert_eq!(all(Some(columns), None), Err(expected));
        }
        assert_eq!(all(None, Some("u")), Err("there is no column \"u\" to leave out".into()));
        let comma = ["a,b", "a", "b"].map(String::from);
        assert_eq!(select(&comma, "a,b", "").unwrap(), [0]);
        assert_eq!(select(&comma, "a, b", "").unwrap(), [1, 2]);
    }

    #[test]
    fn one_of_two_columns_is_identified_by_its_name() {
        let like = names("C1 C2");
        for (label, weight, columns, expected) in [
            ("class", "w", "x y class w", [Some(2), Some(3)]),
            ("class", "w", "w x y", [None, Some(0)]),
            ("class", "w", "x class y", [Some(1), None]),
            ("class", "w", "x y", [None, None]),
            ("class", "w", "x w", [None, None]),
            ("1", "4", "class x y w", [Some(0), Some(3)]),
            ("1", "4", "x y w", [None, None]),
            ("1", "2", "w x y", [None, None]),
            ("3", "w", "x w y", [None, Some(1)]),
        ] {
            let columns = names(columns);
            let roles = Columns { label: Some(label), weight: Some(weight), like: Some(&like), ..Columns::default() };
            assert_eq!(two(roles, &columns, &|_| true).unwrap(), expected, "{label} {weight} {columns:?}");
        }
        // A column that is never a coordinate is always identified.
        let roles = Columns { label: Some("4"), weight: Some("1"), like: Some(&like), ..Columns::default() };
        assert_eq!(two(roles, &names("w x y class"), &|at| at < 3).unwrap(), [Some(3), Some(0)]);
    }

    #[test]
    fn options_of_a_further_table_are_not_ignored() {
        let like = names("x y");
        let own = Columns { like: Some(&like), own: true, ..Columns::default() };
        let coordinates = |columns: Columns<'_>, header: &str| {
            columns.find(&names(header), &|_| true).map(|roles| roles.coordinates).map_err(|error| error.to_string())
        };
        let left = |count: usize| Err(format!("{count} of the columns are left as coordinates; the fit has 2"));
        let columns = |columns| Columns { columns: Some(columns), ..own };
        let drop = |drop| Columns { drop: Some(drop), ..own };
        let label = |label| Columns { label: Some(label), ..own };
        assert_eq!(coordinates(columns("3,1"), "C1 C2 C3"), Ok(vec![2, 0]));
        assert_eq!(coordinates(columns("Y,X"), "X Y"), Ok(vec![1, 0]));
        assert_eq!(coordinates(columns("1"), "C1 C2"), left(1));
        assert_eq!(coordinates(drop("2"), "C1 C2 C3"), Ok(vec![0, 2]));
        assert_eq!(coordinates(drop("2"), "C1 C2"), left(1));
        assert_eq!(coordinates(label("1"), "C1 C2 C3"), Ok(vec![1, 2]));
        assert_eq!(coordinates(label("kind"), "y kind x"), Ok(vec![2, 0]));
        for (columns, header, expected) in [
            (label("9"), "C1 C2", "there is no column \"9\" to take the labels from"),
            (drop("9"), "x y", "there is no column \"9\" to leave out"),
            (columns("9"), "x y", "there is no column \"9\" to take as a coordinate"),
            (drop("x"), "x y", "column x: the column is a coordinate of the fit"),
            (label("y"), "x y", "column y: the column is a coordinate of the fit"),
        ] {
            assert_eq!(coordinates(columns, header), Err(expected.to_string()), "{header}");
        }
    }

    #[test]
    fn coordinates_of_an_earlier_table_are_found_by_name() {
        let like = names("x y");
        let roles = Columns { label: Some("class"), drop: Some("id"), like: Some(&like), ..Columns::default() };
        let found = roles.find(&names("class y extra x"), &|_| true).unwrap();
        let expected = Roles { label: Some(0), coordinates: vec![3, 1], chosen: true, ..Roles::default() };
        assert_eq!(found, expected);
        let kept = |keep, names: &[String]| Columns { keep, ..roles }.find(names, &|_| true).map(|roles| roles.kept);
        assert_eq!(kept(Some("all"), &names("class y x")).unwrap(), [0, 1, 2]);
        assert_eq!(kept(Some("all"), &names("class y x all")).unwrap(), [3]);
        assert_eq!(kept(Some("3,y"), &names("class y x")).unwrap(), [2, 1]);
        let error = kept(Some("id"), &names("class y x")).unwrap_err().to_string();
        assert_eq!(error, "there is no column \"id\" to keep");
        let error = roles.find(&names("x class"), &|_| true).unwrap_err().to_string();
        assert_eq!(error, "there is no column \"y\" to take the coordinates from");
        // A header may have default names beside others.
        let default = names("C1 C2");
        let roles = Columns { like: Some(&default), ..Columns::default() };
        assert_eq!(roles.find(&names("label C2 C1"), &|_| true).unwrap().coordinates, [2, 1]);
        assert_eq!(roles.find(&names("C2 C1"), &|_| true).unwrap().coordinates, [1, 0]);
        // Without names the roles of the earlier table hold, if the number of columns suits them.
        let roles = Columns { drop: Some("1"), label: Some("2"), like: Some(&like), ..Columns::default() };
        assert_eq!(roles.find(&names("C1 C2 C3 C4"), &|_| true).unwrap().coordinates, [2, 3]);
        assert_eq!(roles.find(&names("C1 C2"), &|_| true).unwrap().coordinates, [0, 1]);
    }
}
