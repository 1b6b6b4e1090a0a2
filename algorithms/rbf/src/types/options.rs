//! Named options of a training.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// The solver for the weights.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Weights {
    /// qr up to 4096 neurons; beyond, lsqr with --precision f64, else cg
    #[default]
    Auto,
    /// The paper's conjugate gradients on the device, in its precision; f32 ends at errors of 1e-2 to 1e-3
    Cg,
    /// Least squares by QR, always in f64 and on the host
    Qr,
    /// Least squares by preconditioned LSQR, products on the device; needs --precision f64
    Lsqr,
}

impl fmt::Display for Weights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The solver for centres and widths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum ShapeSolver {
    /// They stay as they start
    #[default]
    None,
    /// The paper's gradient steps, on the device
    Gd,
    /// Levenberg-Marquardt with the weights eliminated (variable projection), always in f64 and on the host; with qr
    Lm,
}

/// The initial width a of all neurons.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Width {
    /// 0.7 spacings of the centres for [`ShapeSolver::Lm`], 3 for [`Weights::Cg`], else 8.
    #[default]
    Default,
    /// Searched by the residual at held-out points.
    Auto,
    /// In spacings of the centres.
    Spacings(f64),
}

impl fmt::Display for Width {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Auto => f.write_str("auto"),
            Self::Spacings(ratio) => write!(f, "{ratio}"),
        }
    }
}

impl FromStr for Width {
    type Err = String;

    /// Reads `default`, `auto` or a number.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "default" => Ok(Self::Default),
            "auto" => Ok(Self::Auto),
            number => {
                number.parse().map(Self::Spacings).map_err(|_| format!("'{number}' is neither auto nor a number"))
            }
        }
    }
}

/// How control points are spread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Sampling {
    /// Each point uniform and independent of the others
    #[default]
    Uniform,
    /// Owen-scrambled Sobol points inside, one random point in each of equal stretches of the boundary
    Sobol,
}

/// When control points are drawn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "command", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum Redraw {
    /// Every cycle with cg, else once
    #[default]
    Auto,
    /// Every cycle
    Cycle,
    /// Once
    Never,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_read_as_they_are_written() {
        for width in [Width::Default, Width::Auto, Width::Spacings(2.5)] {
            assert_eq!(width.to_string().parse::<Width>().unwrap(), width);
        }
        assert!("wide".parse::<Width>().is_err());
    }
}
