//! Coefficients to find, and measured values, in problem files.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use firebox_core::{
    Result,
    data::{ReadOptions, read},
};
use serde::Deserialize;
use toml::Spanned;

use super::source::{Source, Written};
use crate::problem::unknown::{Measurements, Unknown};

/// Names with the values from which the iteration starts.
pub(super) type Starts = BTreeMap<Spanned<String>, Written>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DataFile {
    /// A table of coordinates and values.
    file: Spanned<PathBuf>,
    /// The unknown, which is also the name of its column.
    of: Option<Spanned<String>>,
    noise: Option<Written>,
}

/// The names in the order of the file.
pub(super) fn in_order(starts: &Starts) -> Vec<(&Spanned<String>, &Written)> {
    let mut all: Vec<_> = starts.iter().collect();
    all.sort_by_key(|(name, _)| name.span().start);
    all
}

/// The name of a function, and the coordinates on which it depends if these are named, as in `a(x, y)`.
pub(super) fn signature(text: &str) -> (&str, Option<Vec<&str>>) {
    let parts = text.split_once('(').and_then(|(name, rest)| Some((name, rest.trim_end().strip_suffix(')')?)));
    parts.map_or((text, None), |(name, all)| (name.trim(), Some(all.split(',').map(str::trim).collect())))
}

impl Source<'_> {
    /// The coordinates on which a function does not depend.
    fn constant_along(&self, at: &Spanned<String>) -> Result<Vec<usize>> {
        let (names, Some(own)) = (&self.variables.coordinates, signature(at.get_ref()).1) else {
            return Ok(Vec::new());
        };
        if let Some(other) = own.iter().find(|name| !names.iter().any(|known| known == *name)) {
            let what = format!("'{other}' in {} is not a coordinate", at.get_ref());
            return Err(self.error(at, what, &format!("name some of {}", names.join(", "))));
        }
        Ok((0..names.len()).filter(|&axis| !own.contains(&names[axis].as_str())).collect())
    }

    /// The unknowns: the solutions, whose names are read, `fields` and `parameters`.
    pub(super) fn all_unknowns(&self, fields: &Starts, parameters: &Starts) -> Result<Vec<Unknown>> {
        let solutions = &self.variables.unknowns[..self.variables.solutions];
        let mut all: Vec<Unknown> = solutions.iter().map(|name| name.as_str().into()).collect();
        for (name, start) in in_order(fields) {
            let axes = self.constant_along(name)?;
            all.push(Unknown::field_constant_along(signature(name.get_ref()).0, &axes, self.function(start)?));
        }
        for (name, start) in in_order(parameters) {
            all.push(Unknown::parameter(name.get_ref(), self.number(start)?));
        }
        Ok(all)
    }

    /// The values of a file, which has columns of the coordinates and of the unknown.
    pub(super) fn measurements(&self, at: &Spanned<DataFile>) -> Result<Measurements> {
        let DataFile { file, of, noise } = at.get_ref();
        let functions = self.variables.functions();
        let unknown = match of {
            None if self.variables.solutions == 1 => 0,
            None => {
                let help =
                    format!("name the unknown, one of {}, as in of = \"{}\"", functions.join(", "), functions[0]);
                return Err(self.error(at, "[[data]] has no key 'of'", &help));
            }
            Some(of) => functions.iter().position(|name| name == of.get_ref()).ok_or_else(|| {
                let help = format!("give one of {}", functions.join(", "));
                self.error(of, format!("of = '{}' is not a function", of.get_ref()), &help)
            })?,
        };
        let noise = noise.as_ref().map(|text| self.number(text)).transpose()?;
        let Some(folder) = self.file.as_ref().and_then(|file| file.parent()) else {
            let help = "read the problem from a file, beside which the data are, or add them by with_measurements";
            return Err(self.error(file, "data need a problem in a file", help));
        };
        let path = folder.join(file.get_ref());
        let table = read(&path, &ReadOptions::default())?;
        let names = self.variables.coordinates.iter().chain([&functions[unknown]]);
        let column = |name: &String| table.names.iter().position(|other| other == name);
        let columns = names.clone().map(column).collect::<Option<Vec<usize>>>().ok_or_else(|| {
            let wanted: Vec<&str> = names.clone().map(String::as_str).collect();
            let what = format!("{} has the columns {}", path.display(), table.names.join(", "));
            self.error(file, what, &format!("its first line names {}", wanted.join(", ")))
        })?;
        let (mut points, mut values) = (Vec::new(), Vec::new());
        for row in table.values.chunks_exact(table.names.len()) {
            points.extend(columns[..columns.len() - 1].iter().map(|&column| row[column]));
            values.push(row[columns[columns.len() - 1]]);
        }
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into());
        Ok(Measurements { name, unknown, points: Arc::from(points), values: Arc::from(values), noise })
    }
}
