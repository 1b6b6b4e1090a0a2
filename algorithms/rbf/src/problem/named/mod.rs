//! Built-in problems.

mod closures;
mod random_fields;
mod references;
mod texts;

use firebox_core::{Error, Result};

use self::texts::TEXTS;
use super::definition::Problem;

#[cfg(test)]
pub(super) use closures::tests::check;

impl Problem {
    /// Names of the built-in problems.
    pub const NAMES: [&'static str; closures::NAMES.len() + TEXTS.len()] = {
        let mut names = [""; closures::NAMES.len() + TEXTS.len()];
        let mut k = 0;
        while k < names.len() {
            names[k] = if k < closures::NAMES.len() { closures::NAMES[k] } else { TEXTS[k - closures::NAMES.len()].0 };
            k += 1;
        }
        names
    };

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
