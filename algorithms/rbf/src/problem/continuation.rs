//! Easier problems, from whose solutions the iteration of a nonlinear one starts.

use firebox_core::{Error, Result};

use super::definition::Problem;

impl Problem {
    /// Solves problems in turn, from an easier one to one that is close to this, each from the solution before; the iteration of this
    /// problem starts from the last. Each is solved to a relative error of 1e-2, or the target error if that is larger, with at most a
    /// tenth of the work. Their names are those in notices.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] for a linear problem, for slabs of time, and for problems with other unknowns, coordinates, bounds or regions,
    /// or a continuation of their own.
    pub fn with_continuation(mut self, earlier: Vec<(String, Self)>) -> Result<Self> {
        if self.is_linear() {
            let what = "continuation is for nonlinear equations";
            return Err(Error::input(what, "remove it: an equation that is linear needs no start"));
        }
        if self.time_slabs().is_some() {
            let what = "continuation and slabs of time exclude each other";
            return Err(Error::input(what, "leave out continuation: a slab starts from the one before"));
        }
        let is_other = |other: &Self| {
            let names = other.unknowns() != self.unknowns() || other.coordinates() != self.coordinates();
            let regions = other.regions().count() != self.regions().count();
            names
                || regions
                || other.solutions() != self.solutions()
                || other.domain().bounds() != self.domain().bounds()
        };
        if let Some((name, _)) = earlier.iter().find(|(_, other)| is_other(other)) {
            let what =
                format!("the problem {name} has other unknowns, coordinates, bounds or regions than {}", self.name());
            return Err(Error::input(what, "give all the same"));
        }
        let is_divided = |other: &Self| other.time_slabs().is_some() || !other.continuation().is_empty();
        if let Some((name, _)) = earlier.iter().find(|(_, other)| is_divided(other)) {
            let what = format!("the problem {name} has slabs of time or a continuation of its own");
            return Err(Error::input(what, "leave them out"));
        }
        self.set_continuation(earlier);
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRONT: &str = "equation = { residual = 'u*u_x - nu*u_xx' }\ndims = 1\n\
        domain = { type = 'box', low = [0], high = [1] }\nboundary = [{ condition = 'dirichlet', value = '1 - 2*x' }]\n";

    #[test]
    fn each_value_makes_a_problem_of_its_own() {
        let text = format!("{FRONT}continuation = {{ nu = ['1/2', 0.1, 'pi/100'] }}");
        let problem = Problem::parse(&text).unwrap();
        let names: Vec<&str> = problem.continuation().iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["nu = 1/2", "nu = 0.1"]);
        let text = |problem: &Problem| format!("{:?}", problem.terms(0, &[0.5]).unwrap().0);
        let [first, second] = [0, 1].map(|k| text(&problem.continuation()[k].1));
        assert!(first != second && second != text(&problem));
    }

    #[test]
    fn wrong_continuations_are_refused() {
        for (continuation, expected) in [
            ("{ nu = [0.1] }", "line 5, column 18: continuation has 1 values of nu"),
            ("{ nu = [1, 0.1], k = [1, 2] }", "continuation has 2 constants"),
            ("{}", "continuation has 0 constants"),
            ("{ nu = [1, 'x'] }", "line 5, column 27: 'x' is not the same everywhere"),
            ("{ u = [1, 2] }", "the name 'u' is taken"),
            ("{ nu = [1, 2] }\nconstants = { nu = 1 }", "nu is in constants and in continuation"),
            ("{ mu = [1, 2] }\nconstants = { nu = 1 }", "line 5, column 18: nothing contains mu"),
        ] {
            let error = Problem::parse(&format!("{FRONT}continuation = {continuation}")).unwrap_err().to_string();
            assert!(error.contains(expected), "{continuation}: {error}");
        }
        let linear = FRONT.replacen("u*u_x", "u_x", 1);
        let error = Problem::parse(&format!("{linear}continuation = {{ nu = [1, 2] }}")).unwrap_err().to_string();
        assert!(error.contains("continuation is for nonlinear equations"), "{error}");
        let heat = "coordinates = ['x', 't']\nequation = { residual = 'u_t - k*u*u_xx' }\ntime = { slabs = 2 }\n\
            domain = { type = 'box', low = [0, 0], high = [1, 1] }\n\
            boundary = [{ on = 't=high', condition = 'none' }, { condition = 'dirichlet', value = 1 }]\n";
        let error = Problem::parse(&format!("{heat}continuation = {{ k = [1, 2] }}")).unwrap_err().to_string();
        assert!(error.contains("continuation and slabs of time exclude each other"), "{error}");
        let one = |k: &str, high: &str| {
            let text = FRONT.replace("nu", k).replace("high = [1]", &format!("high = [{high}]"));
            Problem::parse(&text).unwrap()
        };
        let continued = |earlier: Problem| one("0.1", "1").with_continuation(vec![("first".into(), earlier)]);
        let error = continued(one("1", "2")).unwrap_err().to_string();
        assert!(error.contains("the problem first has other unknowns, coordinates, bounds or regions"), "{error}");
        let error = continued(continued(one("1", "1")).unwrap()).unwrap_err().to_string();
        assert!(error.contains("the problem first has slabs of time or a continuation"), "{error}");
    }
}
