//! Built-in problems.

mod closures;
mod references;
mod texts;

use firebox_core::{Error, Result};

use super::definition::Problem;

#[cfg(test)]
pub(super) use closures::tests::check;

impl Problem {
    /// Names of the built-in problems.
    pub const NAMES: [&'static str; 25] = [
        "poisson-sine",
        "poisson-disc",
        "l-shape",
        "peak",
        "boundary-layer",
        "helmholtz",
        "wave-front",
        "poisson-cube",
        "bratu",
        "burgers1d",
        "allen-cahn",
        "kovasznay",
        "plate",
        "poisson2d-c",
        "poisson2d-cg",
        "poisson3d-cg",
        "poisson-nd",
        "heat2d-ms",
        "heat2d-cg",
        "heat-nd",
        "ns2d-c",
        "ns2d-cg",
        "wave1d",
        "poisson-inverse",
        "heat-inverse",
    ];

    /// The built-in problem `name`.
    ///
    /// ```
    /// let problem = firebox_rbf::Problem::named("poisson-disc")?;
    /// assert_eq!(problem.exact(&[0.0, 0.0])?, Some(vec![1.0]));
    /// # Ok::<(), firebox_core::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Input`] for another name.
    pub fn named(name: &str) -> Result<Self> {
        let found = closures::named(name)?.map_or_else(|| texts::named(name), |problem| Ok(Some(problem)))?;
        found.ok_or_else(|| {
            let help = format!("choose {}, or a path that ends in .toml", Self::NAMES.join(", "));
            Error::input(format!("there is no problem '{name}'"), help)
        })
    }
}
