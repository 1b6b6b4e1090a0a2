//! Problems in TOML files.

mod conditions;
mod domains;
mod equations;
mod measured;
mod names;
mod source;

use std::{collections::BTreeMap, path::Path};

use firebox_core::{Error, Result, error::Place};
use serde::Deserialize;
use toml::Spanned;

use self::{
    conditions::BoundaryFile,
    domains::DomainFile,
    equations::{EquationsFile, RegionFile},
    measured::{DataFile, Starts, in_order, signature},
    source::{Functions, Source, Written},
};
use super::{
    boundary::pieces,
    condition::{BoundaryRule, hidden},
    definition::{Problem, check_counts},
    function::Function,
    time::TimeSlabs,
    token::Variables,
};

/// Constants by name.
type Constants = BTreeMap<Spanned<String>, Written>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProblemFile {
    name: Option<String>,
    dims: Option<Spanned<usize>>,
    coordinates: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(default)]
    constants: Constants,
    /// A further constant with values from an easier problem to this one.
    continuation: Option<Spanned<BTreeMap<Spanned<String>, Vec<Written>>>>,
    domain: Spanned<DomainFile>,
    /// Names of the solutions.
    unknowns: Option<Spanned<Vec<Spanned<String>>>>,
    equation: Spanned<EquationsFile>,
    /// The start of the iteration for nonlinear equations.
    initial: Option<Spanned<Functions>>,
    boundary: Option<Spanned<Vec<Spanned<BoundaryFile>>>>,
    #[serde(default)]
    region: Vec<Spanned<RegionFile>>,
    exact: Option<Spanned<Functions>>,
    time: Option<Spanned<TimeFile>>,
    /// Functions to find, as `a` or with the coordinates on which they depend as `a(x, y)`, with their starts.
    #[serde(default)]
    fields: Starts,
    /// Numbers to find, with their starts.
    #[serde(default)]
    parameters: Starts,
    #[serde(default)]
    data: Vec<Spanned<DataFile>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TimeFile {
    coordinate: Option<Spanned<String>>,
    /// A number, or `auto`.
    slabs: Spanned<toml::Value>,
}

/// A problem from `text`, called `name` unless the text has a name, with the functions in code of `given`. Errors found
/// while the problem is solved name `file`.
fn parse(text: &str, name: &str, file: Option<&Path>, given: &[Function]) -> Result<Problem> {
    let source = || Source { text, file: file.map(Path::to_path_buf), variables: Variables::default(), given };
    let file: ProblemFile = toml::from_str(text).map_err(|error| {
        let place = error.span().map_or_else(Place::default, |span| source().place(span.start));
        let what = error.message().trim_end().replace('`', "\"").replace('\n', "; ");
        Error::input_at(place, what, "examples/problems/heated-plate.toml shows what a problem can have")
    })?;
    let Some(continuation) = &file.continuation else { return problem(&file, &file.constants, name, source()) };
    let of = source();
    let Some((constant, values)) =
        continuation.get_ref().first_key_value().filter(|_| continuation.get_ref().len() == 1)
    else {
        let what = format!("continuation has {} constants", continuation.get_ref().len());
        return Err(of.error(continuation, what, "give one, with its values, as nu = [1, 0.1, 0.01]"));
    };
    if values.len() < 2 {
        let what = format!("continuation has {} values of {}", values.len(), constant.get_ref());
        return Err(of.error(constant, what, "give values from that of an easier problem to that of this one"));
    }
    if file.constants.contains_key(constant) {
        let what = format!("{} is in constants and in continuation", constant.get_ref());
        return Err(of.error(constant, what, "give its value as the last of continuation only"));
    }
    // Once as the constant of continuation, and at least once in the problem.
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    if text.split(|c| !is_part(c)).filter(|word| word == constant.get_ref()).count() < 2 {
        let what = format!("nothing contains {}, the constant of continuation", constant.get_ref());
        return Err(of.error(constant, what, "write it in the equation"));
    }
    let step = |value: &Written| {
        let mut constants = file.constants.clone();
        constants.insert(constant.clone(), value.clone());
        problem(&file, &constants, name, source())
    };
    let mut steps = values.iter().map(step).collect::<Result<Vec<_>>>()?;
    let Some(last) = steps.pop() else { return Err(of.error(constant, "continuation has no value", "give some")) };
    let names = values.iter().map(|value| Ok(format!("{} = {}", constant.get_ref(), of.written(value)?)));
    let names = names.collect::<Result<Vec<_>>>()?;
    last.with_continuation(names.into_iter().zip(steps).collect())
        .map_err(|error| of.locate(error, continuation.span().start))
}

/// The problem of a file, with other constants than those of the file.
fn problem(file: &ProblemFile, constants: &Constants, name: &str, mut source: Source<'_>) -> Result<Problem> {
    source.variables.unknowns = source.unknowns(file.unknowns.as_ref())?;
    source.variables.solutions = source.variables.unknowns.len();
    let fields = in_order(&file.fields).into_iter().map(|(name, _)| (name, signature(name.get_ref()).0));
    let parameters = in_order(&file.parameters).into_iter().map(|(name, _)| (name, name.get_ref().as_str()));
    for (name, own) in fields.chain(parameters) {
        let own = Spanned::new(name.span(), own.to_owned());
        source.check_unknown(&own, &source.variables.unknowns)?;
        source.variables.unknowns.push(own.into_inner());
    }
    source.variables.parameters = file.parameters.len();
    source.variables.coordinates = source.coordinates(file.dims.as_ref(), file.coordinates.as_ref())?;
    if let Some(name) = source.variables.coordinates.iter().find(|it| source.variables.is_of_unknown(it)) {
        let start = file.unknowns.as_ref().map(|names| names.span().start);
        let start = start.or_else(|| file.fields.keys().chain(file.parameters.keys()).map(|it| it.span().start).min());
        let what = format!("an unknown has the name of the coordinate '{name}'");
        let help = "give the coordinates other names by coordinates, or the unknown";
        return Err(Error::input_at(source.place(start.unwrap_or(0)), what, help));
    }
    source.read_constants(constants)?;
    let domain = source.domain(&file.domain)?;
    if domain.dims() != source.dims() {
        let what = format!("the domain has {} dimensions, the problem {}", domain.dims(), source.dims());
        let help = "set dims or coordinates at the top of the file, and as many numbers for each point";
        return Err(source.error(&file.domain, what, help));
    }
    let equations = source.equations(&file.equation)?;
    let exact = file.exact.as_ref().map(|exact| source.functions(exact)).transpose()?.unwrap_or_default();
    let unknowns = source.all_unknowns(&file.fields, &file.parameters)?;
    let boundary = match &file.boundary {
        Some(boundary) => boundary,
        // With coefficients, measured values may determine u without boundary conditions.
        None if !file.data.is_empty() && unknowns.len() > source.variables.solutions => {
            &Spanned::new(file.equation.span(), Vec::new())
        }
        None => {
            let help = "examples/problems/heated-plate.toml shows what a problem can have";
            return Err(source.error(&file.equation, "missing field \"boundary\"", help));
        }
    };
    check_counts(&unknowns, &equations, &[]).map_err(|error| source.locate(error, file.equation.span().start))?;
    let rules = boundary.get_ref().iter().map(|rule| source.rules(rule, &exact));
    let rules: Vec<Vec<BoundaryRule>> = rules.collect::<Result<_>>()?;
    if let Some((index, first)) = hidden(&rules, &pieces(&domain)) {
        let line = source.line(boundary.get_ref()[first].span().start);
        let what = format!("this boundary condition never applies: the one in line {line} holds wherever it could");
        let help = "place it before that one, or remove it; u and ∂u/∂t at the initial time are one condition, 'initial', with \
                    value and rate";
        return Err(source.error(&boundary.get_ref()[index], what, help));
    }
    let problem =
        Problem::of_system(file.name.as_deref().unwrap_or(name), domain, unknowns, equations, rules.concat(), exact)
            .map(|problem| problem.with_coordinates(&source.variables.coordinates))
            .map_err(|error| source.locate(error, boundary.span().start))?;
    let regions = file.region.iter().zip(1..).map(|(region, number)| source.region(region.get_ref(), number));
    let first = file.region.first().map_or(0, |first| first.span().start);
    let problem = problem.with_regions(regions.collect::<Result<_>>()?).map_err(|error| source.locate(error, first))?;
    let initial = source.initial(file.initial.as_ref(), problem.is_linear())?;
    let problem = match initial {
        Some(initial) => problem.with_initial(initial),
        None => problem,
    };
    let add = |problem: Problem, data: &Spanned<DataFile>| {
        let added = problem.with_measurements(source.measurements(data)?);
        added.map_err(|error| source.locate(error, data.span().start))
    };
    let problem = file.data.iter().try_fold(problem, add)?;
    let Some(time) = &file.time else { return Ok(problem) };
    let slabs = source.time_slabs(time.get_ref(), &problem)?;
    problem.with_time_slabs(slabs).map_err(|error| source.locate(error, time.span().start))
}

impl Source<'_> {
    /// The start of the iteration.
    fn initial(&self, text: Option<&Spanned<Functions>>, is_linear: bool) -> Result<Option<Vec<Function>>> {
        let Some(text) = text else { return Ok(None) };
        let functions = self.functions(text)?;
        if is_linear {
            let help = "remove it: an equation that is linear needs no start";
            return Err(self.error(text, "initial is for nonlinear equations", help));
        }
        Ok(Some(functions))
    }

    fn time_slabs(&self, file: &TimeFile, problem: &Problem) -> Result<TimeSlabs> {
        let names = &self.variables.coordinates;
        let axis = match &file.coordinate {
            None => problem.time_axis().unwrap_or(names.len() - 1),
            Some(name) => names.iter().position(|other| other == name.get_ref()).ok_or_else(|| {
                let what = format!("'{}' is not a coordinate", name.get_ref());
                self.error(name, what, &format!("name the one that is time, of {}", names.join(", ")))
            })?,
        };
        let value = file.slabs.get_ref();
        let count = match value.as_integer().map(usize::try_from) {
            Some(Ok(count)) => Some(count),
            _ if value.as_str() == Some("auto") => None,
            _ => return Err(self.error(&file.slabs, format!("slabs = {value}"), "give a number or \"auto\"")),
        };
        Ok(TimeSlabs { axis, count })
    }
}

impl Problem {
    /// Reads a problem from a TOML file; `examples/problems/heated-plate.toml` documents the format.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if the file cannot be read; [`Error::Input`] with file, line, column and advice.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|source| Error::Io { action: "read", path: path.into(), source })?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let what = format!("byte {} is not UTF-8", error.utf8_error().valid_up_to() + 1);
            Error::input(what, "save the file as UTF-8 text").in_file(path)
        })?;
        Self::parse_file(&text, path)
    }

    /// [`read`](Self::read) of a file whose content is `text`. Only the tables that it names are read.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn parse_file(text: &str, path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let stem = path.file_stem().map_or_else(|| "problem".into(), |stem| stem.to_string_lossy());
        parse(text, &stem, Some(path), &[]).map_err(|error| error.in_file(path))
    }

    /// Parses a problem from the text of a TOML file, without access to files; its default name is `problem`.
    ///
    /// ```
    /// let text = "
    /// equation = { laplacian = 1, rhs = 'sin(x)*sin(y)' }
    /// boundary = [{ condition = 'dirichlet', value = 0 }]
    /// [domain]
    /// type = 'box'
    /// low = [0, 0]
    /// high = ['pi', 'pi']";
    /// assert_eq!(firebox_rbf::Problem::parse(text)?.dims(), 2);
    /// # Ok::<(), firebox_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Input`] with line, column and advice.
    pub fn parse(text: &str) -> Result<Self> {
        Self::parse_with(text, &[])
    }

    /// [`parse`](Self::parse) with functions in code: `{ function = k }` in place of an expression is `functions[k]`.
    ///
    /// ```
    /// use firebox_rbf::{Function, Problem};
    /// let text = "
    /// equation = { laplacian = 1, rhs = { function = 0 } }
    /// boundary = [{ condition = 'dirichlet', value = 0 }]
    /// domain = { type = 'box', low = [0, 0], high = [1, 1] }";
    /// let problem = Problem::parse_with(text, &[Function::given(|p| p[0] * p[1])])?;
    /// # Ok::<(), firebox_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse), and for an index without a function.
    pub fn parse_with(text: &str, functions: &[Function]) -> Result<Self> {
        parse(text, "problem", None, functions)
    }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
