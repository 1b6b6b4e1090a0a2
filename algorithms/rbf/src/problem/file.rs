//! Problems in TOML files.

mod names;

use std::{
    collections::BTreeMap,
    fmt,
    path::{Path, PathBuf},
};

use firebox_core::{Error, Result, error::Place};
use serde::{Deserialize, Deserializer, de};
use toml::Spanned;

use super::{
    condition::{BoundaryRule, Condition},
    definition::Problem,
    domain::Domain,
    equation::{Derivative, Equation},
    expression::Expression,
    function::Function,
    predicate::Predicate,
    token::Variables,
};

/// An expression: text, or a plain number.
#[derive(Debug)]
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an expression in quotes, or a number")
            }

            fn visit_str<E>(self, text: &str) -> std::result::Result<Text, E> {
                Ok(Text(text.into()))
            }

            fn visit_f64<E>(self, value: f64) -> std::result::Result<Text, E> {
                Ok(Text(value.to_string()))
            }

            fn visit_i64<E>(self, value: i64) -> std::result::Result<Text, E> {
                Ok(Text(value.to_string()))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

type Written = Spanned<Text>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProblemFile {
    name: Option<String>,
    dims: Option<Spanned<usize>>,
    coordinates: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(default)]
    constants: BTreeMap<Spanned<String>, Written>,
    domain: Spanned<DomainFile>,
    equation: EquationFile,
    boundary: Spanned<Vec<Spanned<BoundaryFile>>>,
    exact: Option<Written>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DomainFile {
    r#type: Spanned<String>,
    name: Option<String>,
    low: Option<Vec<Written>>,
    high: Option<Vec<Written>>,
    centre: Option<Vec<Written>>,
    radius: Option<Written>,
    corners: Option<Vec<Vec<Written>>>,
    parts: Option<Vec<Spanned<DomainFile>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EquationFile {
    laplacian: Option<Written>,
    gradient: Option<Spanned<Vec<Written>>>,
    value: Option<Written>,
    #[serde(default)]
    terms: BTreeMap<Spanned<String>, Written>,
    rhs: Option<Written>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BoundaryFile {
    condition: Spanned<String>,
    on: Option<Spanned<String>>,
    r#where: Option<Written>,
    value: Option<Written>,
    normal: Option<Written>,
    coefficient: Option<Written>,
    direction: Option<Spanned<Vec<Written>>>,
    rate: Option<Written>,
}

/// Boundary conditions and their keys.
const CONDITIONS: [(&str, &[&str]); 6] = [
    ("dirichlet", &["value"]),
    ("neumann", &["value"]),
    ("robin", &["normal", "coefficient", "value"]),
    ("oblique", &["direction", "coefficient", "value"]),
    ("initial", &["value", "rate"]),
    ("none", &[]),
];

/// The text of a file, for positions of errors.
struct Source<'a> {
    text: &'a str,
    file: Option<PathBuf>,
    variables: Variables,
}

/// A problem from `text`, called `name` unless the text has a name. Errors found while the problem is solved name
/// `file`.
fn parse(text: &str, name: &str, file: Option<&Path>) -> Result<Problem> {
    let mut source = Source { text, file: file.map(Path::to_path_buf), variables: Variables::default() };
    let file: ProblemFile = toml::from_str(text).map_err(|error| {
        let place = error.span().map_or_else(Place::default, |span| source.place(span.start));
        let what = error.message().trim_end().replace('`', "\"").replace('\n', "; ");
        Error::input_at(place, what, "examples/problems/heated-plate.toml shows what a problem can have")
    })?;
    source.variables.coordinates = source.coordinates(&file)?;
    source.read_constants(&file.constants)?;
    let domain = source.domain(&file.domain)?;
    if domain.dims() != source.dims() {
        let what = format!("the domain has {} dimensions, the problem {}", domain.dims(), source.dims());
        let help = "set dims or coordinates at the top of the file, and as many numbers for each point";
        return Err(source.error(&file.domain, what, help));
    }
    let equation = source.equation(&file.equation)?;
    let exact = file.exact.as_ref().map(|exact| source.function(exact)).transpose()?;
    let rules = file.boundary.get_ref().iter().map(|rule| source.rule(rule, exact.as_ref()));
    let rules: Vec<BoundaryRule> = rules.collect::<Result<_>>()?;
    Problem::new(file.name.as_deref().unwrap_or(name), domain, equation, rules, exact)
        .map(|problem| problem.with_coordinates(&source.variables.coordinates))
        .map_err(|error| source.locate(error, file.boundary.span().start))
}

impl Source<'_> {
    fn place(&self, at: usize) -> Place {
        let before = self.text.get(..at).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
        Place::default().line(line).column(column.to_string())
    }

    fn error<T>(&self, near: &Spanned<T>, what: impl Into<String>, help: &str) -> Error {
        Error::input_at(self.place(near.span().start), what, help)
    }

    /// Adds this position to an error that has none.
    fn locate(&self, error: Error, at: usize) -> Error {
        match error {
            Error::Input { what, place, help } if place == Place::default() => {
                Error::Input { what, place: self.place(at), help }
            }
            other => other,
        }
    }

    /// Maps the column of an error in an expression to the file.
    fn in_expression(&self, text: &Written, error: Error) -> Error {
        let Error::Input { what, place, help } = error else { return error };
        let span = text.span();
        let column = place.column.and_then(|column| column.parse::<usize>().ok());
        let raw = self.text.get(span.clone()).unwrap_or_default();
        let inside = column.map_or(0, |column| byte_offset(raw, column - 1));
        Error::Input { what, place: self.place((span.start + inside).min(span.end.saturating_sub(1))), help }
    }

    fn expression(&self, text: &Written) -> Result<Expression> {
        Expression::with(&text.get_ref().0, &self.variables).map_err(|error| self.in_expression(text, error))
    }

    fn function(&self, text: &Written) -> Result<Function> {
        let place = Place { file: self.file.clone(), ..self.place(text.span().start) };
        Ok(Function::of(self.expression(text)?.at_place(place)))
    }

    fn function_or(&self, text: &Option<Written>, constant: f64) -> Result<Function> {
        text.as_ref().map_or(Ok(Function::Constant(constant)), |text| self.function(text))
    }

    /// A constant, which may be an expression such as `pi/2`.
    fn number(&self, text: &Written) -> Result<f64> {
        let expression = self.expression(text)?;
        expression.constant().ok_or_else(|| {
            let what = format!("'{}' is not the same everywhere", expression.text());
            self.error(text, what, "give a number, as 1 or pi/2")
        })
    }

    fn numbers(&self, all: &[Written]) -> Result<Vec<f64>> {
        all.iter().map(|text| self.number(text)).collect()
    }

    fn domain(&self, at: &Spanned<DomainFile>) -> Result<Domain> {
        let file = at.get_ref();
        let given = [
            ("low", file.low.is_some()),
            ("high", file.high.is_some()),
            ("centre", file.centre.is_some()),
            ("radius", file.radius.is_some()),
            ("corners", file.corners.is_some()),
            ("parts", file.parts.is_some()),
        ];
        let kind = file.r#type.get_ref().as_str();
        let required: &[&str] = match kind {
            "box" => &["low", "high"],
            "disc" | "ball" => &["centre", "radius"],
            "polygon" => &["corners"],
            "union" | "intersection" | "difference" => &["parts"],
            _ => {
                let help = "choose box, disc, ball, polygon, union, intersection or difference";
                return Err(self.error(&file.r#type, format!("there is no domain of type '{kind}'"), help));
            }
        };
        if let Some((key, present)) = given.iter().find(|(key, present)| *present != required.contains(key)) {
            let what =
                format!("a domain of type '{kind}' {} '{key}'", if *present { "has no key" } else { "needs the key" });
            return Err(self.error(at, what, &format!("give it {}", required.join(" and "))));
        }
        let list = |list: &Option<Vec<Written>>| self.numbers(list.as_deref().unwrap_or_default());
        let domain = match kind {
            "box" => Domain::cuboid(list(&file.low)?, list(&file.high)?),
            "polygon" => self.corners(at).and_then(Domain::polygon),
            "disc" | "ball" => {
                let radius = file.radius.as_ref().map_or(Ok(f64::NAN), |radius| self.number(radius))?;
                Domain::ball(list(&file.centre)?, radius)
            }
            _ => {
                let parts = file.parts.iter().flatten().map(|part| self.domain(part)).collect::<Result<Vec<_>>>()?;
                match kind {
                    "union" => Domain::union(parts),
                    "intersection" => Domain::intersection(parts),
                    _ => Domain::difference(parts),
                }
            }
        };
        let domain = domain.map_err(|error| self.locate(error, at.span().start))?;
        Ok(match &file.name {
            Some(name) => domain.named(name),
            None => domain,
        })
    }

    fn corners(&self, at: &Spanned<DomainFile>) -> Result<Vec<[f64; 2]>> {
        let corner = |corner: &Vec<Written>| {
            <[f64; 2]>::try_from(self.numbers(corner)?).map_err(|numbers| {
                let what = format!("a polygon's corner has {} coordinates", numbers.len());
                self.error(at, what, "give 2, as [0.5, 1]")
            })
        };
        at.get_ref().corners.iter().flatten().map(corner).collect()
    }

    fn equation(&self, file: &EquationFile) -> Result<Equation> {
        let mut equation = Equation::new(self.function_or(&file.rhs, 0.0)?);
        if let Some(text) = &file.laplacian {
            equation = equation.with(Derivative::Laplacian, self.function(text)?);
        }
        if let Some(all) = &file.gradient {
            for (axis, factor) in self.each_dimension(all, "the gradient")?.into_iter().enumerate() {
                equation = equation.with(Derivative::First(axis), factor);
            }
        }
        if let Some(text) = &file.value {
            equation = equation.with(Derivative::Value, self.function(text)?);
        }
        for (key, text) in &file.terms {
            let derivative = self.derivative(key)?;
            if equation.terms.iter().any(|(other, _)| other.is(derivative)) {
                let what = format!("the term '{}' is there already", key.get_ref());
                return Err(self.error(key, what, "add the coefficients of both"));
            }
            equation = equation.with(derivative, self.function(text)?);
        }
        Ok(equation)
    }

    /// Functions, one per dimension.
    fn each_dimension(&self, all: &Spanned<Vec<Written>>, what: &str) -> Result<Vec<Function>> {
        let (count, dims) = (all.get_ref().len(), self.dims());
        if count != dims {
            let what = format!("{what} has {count} coefficients");
            return Err(self.error(all, what, &format!("give {dims}, one a dimension")));
        }
        all.get_ref().iter().map(|text| self.function(text)).collect()
    }

    fn rule(&self, at: &Spanned<BoundaryFile>, exact: Option<&Function>) -> Result<BoundaryRule> {
        let file = at.get_ref();
        let kind = file.condition.get_ref().as_str();
        let span = |text: &Option<Written>| text.as_ref().map(|text| text.span().start);
        let given = [
            ("value", span(&file.value)),
            ("normal", span(&file.normal)),
            ("coefficient", span(&file.coefficient)),
            ("direction", file.direction.as_ref().map(|all| all.span().start)),
            ("rate", span(&file.rate)),
        ];
        let Some((_, keys)) = CONDITIONS.iter().find(|(name, _)| *name == kind) else {
            let names: Vec<&str> = CONDITIONS.iter().map(|(name, _)| *name).collect();
            let what = format!("there is no boundary condition '{kind}'");
            return Err(self.error(&file.condition, what, &format!("choose one of {}", names.join(", "))));
        };
        let foreign = given.iter().find_map(|(key, start)| start.filter(|_| !keys.contains(key)).map(|at| (key, at)));
        if let Some((key, start)) = foreign {
            let what = format!("a condition '{kind}' has no key '{key}'");
            let help = match keys.len() {
                0 => "remove it".into(),
                _ => format!("remove it; a condition '{kind}' has {}", keys.join(", ")),
            };
            return Err(Error::input_at(self.place(start), what, help));
        }
        let missing = |key: &str| {
            let what = format!("the condition '{kind}' has no {key}");
            self.error(at, what, &format!("give it the key {key}"))
        };
        let required = |text: &Option<Written>, key: &str| match text {
            Some(text) => self.function(text),
            None => Err(missing(key)),
        };
        let exact_or_value = || match (&file.value, exact) {
            (None, Some(exact)) => Ok(exact.clone()),
            _ => required(&file.value, "value"),
        };
        let condition = match kind {
            "dirichlet" => Condition::Dirichlet { value: exact_or_value()? },
            "neumann" => Condition::Neumann { value: required(&file.value, "value")? },
            "robin" => Condition::Robin {
                normal: self.function_or(&file.normal, 1.0)?,
                coefficient: required(&file.coefficient, "coefficient")?,
                value: required(&file.value, "value")?,
            },
            "oblique" => Condition::Oblique {
                direction: match &file.direction {
                    Some(all) => self.each_dimension(all, "the direction")?,
                    None => return Err(missing("direction")),
                },
                coefficient: self.function_or(&file.coefficient, 0.0)?,
                value: required(&file.value, "value")?,
            },
            "initial" => Condition::Initial { value: exact_or_value()?, rate: required(&file.rate, "rate")? },
            _ => Condition::Free,
        };
        let when = file.r#where.as_ref().map(|text| {
            Predicate::with(&text.get_ref().0, &self.variables).map_err(|error| self.in_expression(text, error))
        });
        let on = file.on.as_ref().map(|on| self.face(on.get_ref()));
        Ok(BoundaryRule { on, when: when.transpose()?, condition })
    }
}

/// Byte offset in `raw` of character number `count` of the TOML value: a basic, literal or multi-line string, or a
/// number.
fn byte_offset(raw: &str, count: usize) -> usize {
    let Some(quote) = raw.chars().next().filter(|quote| matches!(quote, '"' | '\'')) else { return 0 };
    let mut at = 1;
    if raw.starts_with(&String::from(quote).repeat(3)) {
        // TOML ignores a line break right after the opening quotes.
        let rest = &raw[3..];
        at = 3 + if rest.starts_with("\r\n") { 2 } else { usize::from(rest.starts_with('\n')) };
    }
    for _ in 0..count {
        let mut rest = raw[at..].chars();
        let Some(first) = rest.next() else { break };
        at += first.len_utf8();
        if quote == '"' && first == '\\' {
            at += match rest.next() {
                Some('x') => 3,
                Some('u') => 5,
                Some('U') => 9,
                Some(other) => other.len_utf8(),
                None => 0,
            };
            // A file may end within an escape.
            at = (at..raw.len()).find(|&at| raw.is_char_boundary(at)).unwrap_or(raw.len());
        }
    }
    at
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
        let stem = path.file_stem().map_or_else(|| "problem".into(), |stem| stem.to_string_lossy());
        parse(&text, &stem, Some(path)).map_err(|error| error.in_file(path))
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
        parse(text, "problem", None)
    }
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
