//! `firebox bench pde`: errors and times of the automatic mode for the problems of a public suite, and classical ones.

use std::time::Instant;

use clap::{ArgMatches, Args, Command};
use firebox_backends::{Device, bench::score::ScoreRow, plugin::Scoreboard, with_context};
use firebox_core::{Error, Result, Session, command::parse};

use super::super::in_f64;
use crate::{
    config::AdaptiveConfig,
    model::adaptive::{AdaptiveSolution, AdaptiveSolver},
    problem::definition::Problem,
};

const NOTE: &str = "\
Examples:
  firebox bench pde
  firebox bench pde burgers1d wave1d --format json
  firebox bench pde --target-error 1e-3 --time-limit 20

The first 22 problems are those of PINNacle (Z. Hao et al., 2023); the others are classical. The error is the relative L2 error \
against an exact solution, or one by another method, and the estimate is the run's own. Each problem is one of \
`firebox rbf --problem NAME`, with the same result.";

/// Name of the command.
const NAME: &str = "pde";

/// Problems of the suite, in its order, and of the literature: a name, and a note or the reason why it is not solved.
const CASES: [(&str, Case); 26] = [
    ("burgers1d", Case::Solved("")),
    ("burgers2d", Case::Missing("its initial values are a file of the suite")),
    ("poisson2d-c", Case::Solved("")),
    ("poisson2d-cg", Case::Solved(NO_REFERENCE)),
    ("poisson3d-cg", Case::Solved(NO_REFERENCE)),
    ("poisson2d-ms", Case::Missing("its coefficients are a file of the suite")),
    ("heat2d-vc", Case::Missing("its coefficients are a file of the suite")),
    ("heat2d-ms", Case::Solved("")),
    ("heat2d-cg", Case::Solved(NO_REFERENCE)),
    ("heat2d-lt", Case::Missing("100 units of time take more than the work of a run")),
    ("ns2d-c", Case::Solved("against a stream function in polynomials")),
    ("ns2d-cg", Case::Solved(NO_REFERENCE)),
    ("ns2d-lt", Case::Missing("systems have no slabs of time")),
    ("wave1d", Case::Solved("")),
    ("wave2d-cg", Case::Missing("its coefficients are a file of the suite")),
    ("wave2d-ms", Case::Missing("the suite's exact solution does not satisfy its equation")),
    ("ks", Case::Missing("systems have no slabs of time, and equations no fourth derivatives")),
    ("gs", Case::Missing("systems have no slabs of time")),
    ("poisson-nd", Case::Solved("in five dimensions")),
    ("heat-nd", Case::Solved("in four dimensions and time; the suite has five")),
    ("poisson-inverse", Case::Solved("the source is that of the exact u and a, which the suite's is not")),
    ("heat-inverse", Case::Solved("")),
    ("kovasznay", Case::Solved("")),
    ("bratu", Case::Solved("")),
    ("allen-cahn", Case::Solved("")),
    ("plate", Case::Solved("")),
];

const NO_REFERENCE: &str = "no reference yet";

/// How far a problem is supported.
#[derive(Clone, Copy)]
enum Case {
    /// A built-in problem, with a note.
    Solved(&'static str),
    /// Why it is not.
    Missing(&'static str),
}

/// The scoreboard of partial differential equations.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PdeScoreboard;

#[derive(Debug, Args)]
struct PdeArgs {
    /// Problems; all by default
    #[arg(value_name = "CASE")]
    cases: Vec<String>,
    /// Relative L2 error at which the estimate ends a run [default: that of the automatic mode]
    #[arg(long, value_name = "E")]
    target_error: Option<f64>,
    /// Most seconds of each run
    #[arg(long, value_name = "S", default_value_t = 300.0)]
    time_limit: f64,
}

impl Scoreboard for PdeScoreboard {
    fn command(&self) -> Command {
        let about = "Errors and times of partial differential equations of a public suite";
        PdeArgs::augment_args(Command::new(NAME).about(about).after_long_help(NOTE))
    }

    fn run(&self, args: &ArgMatches, device: &Device, session: &Session, row: &mut dyn FnMut(ScoreRow)) -> Result<()> {
        let args: PdeArgs = parse(args)?;
        let names = || CASES.iter().map(|(name, _)| *name);
        if let Some(unknown) = args.cases.iter().find(|case| !names().any(|name| name == **case)) {
            let help = format!("choose {}", names().collect::<Vec<_>>().join(", "));
            return Err(Error::input(format!("there is no case '{unknown}'"), help));
        }
        let base = AdaptiveConfig::new();
        let target = args.target_error.unwrap_or(base.target_error);
        let config = base.with_target_error(target).with_time_limit(Some(args.time_limit));
        config.validate()?;
        let is_selected = |name: &str| args.cases.is_empty() || args.cases.iter().any(|case| case == name);
        for (name, case) in CASES.iter().filter(|(name, _)| is_selected(name)) {
            row(match case {
                Case::Missing(reason) => {
                    ScoreRow { case: (*name).into(), note: Some((*reason).into()), ..ScoreRow::default() }
                }
                Case::Solved(note) => solved(name, note, &config, device, session)?,
            });
        }
        Ok(())
    }
}

/// The row of a run; one with the reason if it fails.
fn solved(name: &str, note: &str, config: &AdaptiveConfig, device: &Device, session: &Session) -> Result<ScoreRow> {
    let row = ScoreRow { case: name.into(), ..ScoreRow::default() };
    let solver: AdaptiveSolver = config.init(Problem::named(name)?)?;
    let session = &in_f64(device, session);
    let start = Instant::now();
    let run: Result<AdaptiveSolution> = with_context!(device, session, |context| solver.fit_with(context));
    let seconds = Some(start.elapsed().as_secs_f64());
    match run {
        Err(Error::Cancelled) => Err(Error::Cancelled),
        Err(error) => Ok(ScoreRow { seconds, note: Some(error.to_string()), ..row }),
        Ok(solution) => Ok(ScoreRow {
            error: solution.accuracy.map(|it| it.relative_l2),
            estimate: Some(solution.estimate()),
            resolved: Some(solution.is_resolved()),
            seconds,
            neurons: Some(solution.neurons()),
            note: Some(note).filter(|note| !note.is_empty()).map(Into::into),
            ..row
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_problem_of_a_case_exists() {
        for (name, case) in CASES {
            let is_built_in = Problem::NAMES.contains(&name);
            assert_eq!(is_built_in, matches!(case, Case::Solved(_)), "{name}");
        }
    }

    #[test]
    fn solutions_without_a_reference_say_so() {
        for (name, case) in CASES {
            let Case::Solved(note) = case else { continue };
            let has_reference = Problem::named(name).unwrap().exact(&[]).unwrap().is_some();
            assert_eq!(has_reference, note != NO_REFERENCE, "{name}");
        }
    }
}
