//! `firebox bench pde`: errors and times of the automatic mode for the problems of a public suite, and classical ones.

use std::time::Instant;

use clap::{ArgMatches, Args, Command};
use firebox_backends::{
    Device,
    bench::score::{Outcome, ScoreRow},
    plugin::Scoreboard,
    with_context,
};
use firebox_core::{Error, Precision, Result, Session, command::parse};

use super::super::precision::in_f64;
use crate::{config::AdaptiveConfig, model::adaptive::AdaptiveSolution, problem::definition::Problem};

const NOTE: &str = "\
Examples:
  firebox bench pde
  firebox bench pde burgers1d wave1d --format json
  firebox bench pde --target-error 1e-3 --time-limit 20

The first 22 problems are those of PINNacle (Z. Hao et al., 2023); the others are classical. The error is the relative L2 error \
against an exact solution, or one by another method, and the estimate is the run's own. Without options each run is that of \
`firebox rbf --problem NAME`.";

/// Name of the command.
const NAME: &str = "pde";

/// Note of problems whose coefficients the suite has in files.
const COEFFICIENTS: &str = "with random coefficients of ours; the suite's are a file";

/// Problems of the suite, in its order, and of the literature: a name, and a note or the reason why it is not solved.
const CASES: [(&str, Case); 27] = [
    ("burgers1d", Case::Solved(None)),
    ("burgers2d", Case::Solved(Some("with random initial values of ours; the suite's are a file"))),
    ("poisson2d-c", Case::Solved(None)),
    ("poisson2d-cg", Case::Solved(None)),
    ("poisson3d-cg", Case::Solved(None)),
    ("poisson2d-ms", Case::Solved(Some(COEFFICIENTS))),
    ("heat2d-vc", Case::Solved(Some(COEFFICIENTS))),
    ("heat2d-ms", Case::Solved(None)),
    ("heat2d-cg", Case::Solved(None)),
    ("heat2d-lt", Case::Unsupported("its first slab of time was not solved within 100 s")),
    ("ns2d-c", Case::Solved(None)),
    ("ns2d-cg", Case::Solved(None)),
    ("ns2d-lt", Case::Solved(None)),
    ("wave1d", Case::Solved(None)),
    ("wave2d-cg", Case::Solved(Some(COEFFICIENTS))),
    ("wave2d-ms", Case::Unsupported("the suite's exact solution does not satisfy its equation")),
    ("ks", Case::Solved(Some("periodic, with an equation for u_xx; the suite has no boundary conditions"))),
    ("gs", Case::Solved(Some("with no flux through the boundary, of which the suite says nothing"))),
    ("poisson-nd", Case::Solved(Some("in five dimensions"))),
    ("heat-nd", Case::Solved(Some("in four dimensions and time; the suite has five"))),
    ("poisson-inverse", Case::Solved(Some("with the source of the exact u and a, which the suite's is not"))),
    ("heat-inverse", Case::Solved(None)),
    ("kovasznay", Case::Solved(None)),
    ("bratu", Case::Solved(None)),
    ("allen-cahn", Case::Solved(None)),
    ("schrodinger", Case::Solved(None)),
    ("plate", Case::Solved(None)),
];

/// A solved problem with a note, or the reason why it is not solved.
#[derive(Clone, Copy)]
enum Case {
    Solved(Option<&'static str>),
    Unsupported(&'static str),
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
    /// Time limit of each run in seconds [default: none]
    #[arg(long, value_name = "S")]
    time_limit: Option<f64>,
}

impl PdeArgs {
    /// The options of a run as on the command line.
    fn options(&self) -> String {
        let given = [("--target-error", self.target_error), ("--time-limit", self.time_limit)];
        let given = given.iter().filter_map(|(name, value)| Some(format!("{name} {}", (*value)?)));
        given.collect::<Vec<_>>().join(" ")
    }
}

impl Scoreboard for PdeScoreboard {
    fn command(&self) -> Command {
        let about = "Errors and times of partial differential equations of a public suite";
        PdeArgs::augment_args(Command::new(NAME).about(about).after_long_help(NOTE))
    }

    fn precision(&self) -> Precision {
        Precision::F64
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
        let config = base.with_target_error(target).with_time_limit(args.time_limit);
        config.validate()?;
        let is_selected = |name: &str| args.cases.is_empty() || args.cases.iter().any(|case| case == name);
        for (name, case) in CASES.iter().filter(|(name, _)| is_selected(name)) {
            let empty = ScoreRow {
                case: (*name).into(),
                options: args.options(),
                outcome: Outcome::Unsupported,
                error: None,
                estimate: None,
                seconds: None,
                neurons: None,
                note: None,
            };
            row(match case {
                Case::Unsupported(reason) => ScoreRow { options: String::new(), note: Some((*reason).into()), ..empty },
                Case::Solved(note) => solved(empty, *note, &config, device, session)?,
            });
        }
        Ok(())
    }
}

/// The row of a run; one with the message if it fails.
fn solved(
    row: ScoreRow,
    note: Option<&str>,
    config: &AdaptiveConfig,
    device: &Device,
    session: &Session,
) -> Result<ScoreRow> {
    let session = &in_f64(device, session);
    let start = Instant::now();
    let run = || -> Result<AdaptiveSolution> {
        let solver = config.init(Problem::named(&row.case)?)?;
        with_context!(device, session, |context| solver.fit_with(context))
    };
    let (run, seconds) = (run(), Some(start.elapsed().as_secs_f64()));
    match run {
        Err(Error::Cancelled) => Err(Error::Cancelled),
        Err(error) => Ok(ScoreRow { outcome: Outcome::Failed, seconds, note: Some(error.to_string()), ..row }),
        Ok(solution) => {
            let error = solution.accuracy.map(|it| it.relative_l2);
            let missing = error.is_none().then_some("no reference");
            let notes: Vec<&str> = note.into_iter().chain(missing).collect();
            Ok(ScoreRow {
                outcome: if solution.is_resolved() { Outcome::Resolved } else { Outcome::Missed },
                error,
                estimate: Some(solution.estimate()),
                seconds,
                neurons: Some(solution.neurons()),
                note: Some(notes.join("; ")).filter(|notes| !notes.is_empty()),
                ..row
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_solved_case_is_a_built_in_problem() {
        for (name, case) in CASES {
            let is_built_in = Problem::NAMES.contains(&name);
            assert_eq!(is_built_in, matches!(case, Case::Solved(_)), "{name}");
        }
    }

    #[test]
    fn given_options_are_those_of_the_command_line() {
        let args = |target_error, time_limit| PdeArgs { cases: Vec::new(), target_error, time_limit };
        assert_eq!(args(None, None).options(), "");
        assert_eq!(args(Some(1e-3), Some(20.0)).options(), "--target-error 0.001 --time-limit 20");
    }
}
