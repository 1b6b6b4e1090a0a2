//! Names in problem files: coordinates, constants, derivatives and faces.

use std::collections::BTreeMap;

use firebox_core::{Error, Result};
use toml::Spanned;

use super::source::{Source, Written};
use crate::{
    problem::{equation::Argument, primitive::axis_name, token::Variables},
    types::MAX_DIMS,
};

/// Returns `true` for letters, digits and _ that begin with a letter.
fn is_name(text: &str) -> bool {
    text.starts_with(char::is_alphabetic) && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

impl Source<'_> {
    /// The names of the coordinates: those given, or as many of x, y, z, x4, x5 as the file has dimensions.
    pub(super) fn coordinates(
        &self,
        dims: Option<&Spanned<usize>>,
        names: Option<&Spanned<Vec<Spanned<String>>>>,
    ) -> Result<Vec<String>> {
        const COUNT: std::ops::RangeInclusive<usize> = 1..=MAX_DIMS;
        if let Some(dims) = dims.filter(|dims| !COUNT.contains(dims.get_ref())) {
            return Err(self.error(dims, format!("dims = {}", dims.get_ref()), "give 1 to 5"));
        }
        let Some(names) = names else {
            let dims = dims.map_or(2, |dims| *dims.get_ref());
            return Ok((0..dims).map(axis_name).collect());
        };
        let count = names.get_ref().len();
        if !COUNT.contains(&count) {
            return Err(self.error(names, format!("there are {count} coordinates"), "give 1 to 5"));
        }
        if let Some(dims) = dims.filter(|dims| *dims.get_ref() != count) {
            let what = format!("dims = {}, and there are {count} coordinates", dims.get_ref());
            return Err(self.error(dims, what, "leave dims out"));
        }
        let mut found: Vec<String> = Vec::new();
        for name in names.get_ref() {
            self.check_name(name, &found)?;
            found.push(name.get_ref().clone());
        }
        // u_xx is one derivative: no coordinate beside x may be called xx.
        let mut read: Vec<(String, [usize; 2])> = (0..count).map(|i| (found[i].clone(), [i, count])).collect();
        for [i, j] in (0..count).flat_map(|i| (0..count).map(move |j| [i, j])) {
            let (text, axes) = (format!("{}{}", found[i], found[j]), [i.min(j), i.max(j)]);
            if read.iter().any(|(other, by)| *other == text && *by != axes) {
                let what = format!("with these coordinates 'u_{text}' reads as more than one derivative");
                return Err(self.error(names, what, "give other names"));
            }
            read.push((text, axes));
        }
        Ok(found)
    }

    /// Fails unless a coordinate or constant has a name of letters, digits and _ that is not taken.
    fn check_name(&self, name: &Spanned<String>, others: &[String]) -> Result<()> {
        let text = name.get_ref();
        let what = if !is_name(text) {
            format!("'{text}' is not a name")
        } else if self.variables.is_of_unknown(text) || Variables::is_reserved(text) || others.contains(text) {
            format!("the name '{text}' is taken")
        } else {
            return Ok(());
        };
        let u = self.variables.unknown_names();
        let help = format!("give letters, digits and _, other than {u}, pi, e, functions and names in use");
        Err(self.error(name, what, &help))
    }

    /// Reads constants, which may contain each other.
    pub(super) fn read_constants(&mut self, constants: &BTreeMap<Spanned<String>, Written>) -> Result<()> {
        let mut names = self.variables.coordinates.clone();
        for name in constants.keys() {
            self.check_name(name, &names)?;
            names.push(name.get_ref().clone());
        }
        let mut open: Vec<_> = constants.iter().collect();
        while !open.is_empty() {
            let (mut left, mut first) = (Vec::new(), None);
            let count = open.len();
            for (name, text) in open {
                match self.number(text) {
                    Ok(value) if !value.is_finite() => {
                        let what = format!("the constant '{}' is {value}", name.get_ref());
                        return Err(self.error(text, what, "give a finite number"));
                    }
                    Ok(value) => self.variables.constants.push((name.get_ref().clone(), value)),
                    Err(error) => {
                        first.get_or_insert(error);
                        left.push((name, text));
                    }
                }
            }
            if let Some(error) = first.filter(|_| left.len() == count) {
                return Err(error);
            }
            open = left;
        }
        Ok(())
    }

    /// The names of the unknowns, of which there is one, u, by default.
    pub(super) fn unknowns(&self, names: Option<&Spanned<Vec<Spanned<String>>>>) -> Result<Vec<String>> {
        let Some(names) = names else { return Ok(self.variables.unknowns.clone()) };
        let mut found: Vec<String> = Vec::new();
        for name in names.get_ref() {
            self.check_unknown(name, &found)?;
            found.push(name.get_ref().clone());
        }
        if found.is_empty() {
            return Err(self.error(names, "there is no unknown", "give one, as unknowns = [\"u\"]"));
        }
        Ok(found)
    }

    /// Fails unless an unknown has a name that differs from those of `others` and of their derivatives.
    pub(super) fn check_unknown(&self, name: &Spanned<String>, others: &[String]) -> Result<()> {
        let text = name.get_ref();
        if !is_name(text) {
            return Err(self.error(name, format!("'{text}' is not a name"), "give letters, digits and _"));
        }
        let is_derivative =
            |one: &str, of: &str| one.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
        let clashes = |other: &String| is_derivative(text, other) || is_derivative(other, text);
        if Variables::is_reserved(text) || others.iter().any(clashes) {
            let what = format!("the name '{text}' is taken");
            let help = "give one other than pi, e, functions, other unknowns and names of their derivatives";
            return Err(self.error(name, what, help));
        }
        Ok(())
    }

    /// The derivative of a term's key: `u`, or `u_` and the names of one or two coordinates.
    pub(super) fn derivative(&self, key: &Spanned<String>) -> Result<Argument> {
        self.variables.derivative(key.get_ref()).ok_or_else(|| self.no_derivative(key))
    }

    /// The error of a term's key that is no derivative, with the kind of equation that it may belong to.
    fn no_derivative(&self, key: &Spanned<String>) -> Error {
        let (u, text) = (self.variables.unknown_names(), key.get_ref());
        let terms = format!("the terms are {}", self.variables.derivative_names());
        let (reason, help) = if text.contains(['*', '^', '/', '+', '-', '(']) {
            let help =
                "a term is a derivative of u with its coefficient as value; give a formula that is 0 as residual";
            ("is not a derivative, and this equation may not be linear".into(), format!("{help}; {terms}"))
        } else if let Some(order) = self.variables.order(text).filter(|order| *order > 2) {
            (format!("is a derivative of order {order}, and equations are of at most second order"), terms)
        } else if !self.variables.is_of_unknown(text) {
            (format!("is not a derivative of {u}"), format!("{terms}; unknowns = [\"u\", \"v\"] names several"))
        } else {
            let coordinates = "others are named by coordinates = [\"x\", \"t\"] at the top of the file";
            ("is not a derivative of at most second order".into(), format!("{terms}; {coordinates}"))
        };
        self.error(key, format!("'{text}' {reason}"), &help)
    }

    /// The name of a face for [`Piece`](super::boundary::Piece), of one by the name of its coordinate.
    pub(super) fn face(&self, on: &str) -> String {
        let (shape, face) = on.rsplit_once('.').map_or(("", on), |(shape, face)| (shape, face));
        let by_coordinate = face.split_once('=').and_then(|(name, end)| {
            let axis = self.variables.coordinates.iter().position(|other| other == name.trim())?;
            Some(format!("{}={}", axis_name(axis), end.trim()))
        });
        let dot = if shape.is_empty() { "" } else { "." };
        by_coordinate.map_or_else(|| on.into(), |face| format!("{shape}{dot}{face}"))
    }
}
