//! `firebox rbf`: arguments to [`RbfConfig`](crate::RbfConfig), networks to tables, plots, files and the report's result.

mod args;
mod bench;
mod plots;
mod report;

use clap::{ArgMatches, Args, Command};
use firebox_backends::{Device, Plugin, plugin::Bench, with_context};
use firebox_core::{
    Error, Result, Session,
    command::{Conformance, Document, Outcome, parse},
    data::Points,
    report::InputSize,
};
use serde_json::Value;

use self::{args::RbfArgs, bench::RbfBench};
use crate::{
    io::{
        serialization::NetworkFormat,
        solution_grid::{self, Field, Values},
        vtk::{self, VtkFormat},
    },
    model::solution::{RbfSolution, Solution},
    problem::definition::Problem,
};

/// The command `rbf`.
#[derive(Debug, Clone, Copy, Default)]
pub struct RbfPlugin;

impl Plugin for RbfPlugin {
    fn command(&self) -> Command {
        RbfArgs::augment_args(Command::new("rbf"))
            .about("Solves partial differential equations without a mesh")
            .long_about(
                "Solves a linear partial differential equation of second order in two or three dimensions without a \
                 mesh: a network of Gaussians is trained to fulfil the equation at points inside and the boundary \
                 conditions at points on the boundary. Writes the solution on a grid in columns x, y (z), u and, if \
                 the exact solution is known, exact and error.\n\n\
                 In f32 (--weights cg) errors end at 1e-2 to 1e-3; --weights qr, the default, solves in f64 on the \
                 host and reaches 1e-6 with 64 neurons, 1e-8 with 196.",
            )
    }

    fn can_share(&self, _args: &ArgMatches) -> Result<()> {
        Ok(())
    }

    fn run(&self, args: &ArgMatches, device: &Device, session: &Session) -> Result<Outcome> {
        let args: RbfArgs = parse(args)?;
        args.config.validate()?;
        let checkpoints = args.states.checkpoints()?;
        let network = args.network.as_deref().map(NetworkFormat::of).transpose()?;
        let vtk = args.vtk.as_deref().map(VtkFormat::of).transpose()?;
        let solver = args.config.init(args.problem()?)?.with_checkpoints(checkpoints);
        let (problem, dims) = (solver.problem(), solver.problem().dims());
        let field = Field::new(problem, args.grid.unwrap_or(Field::default_side(dims)))?;
        if args.error_plot.is_some() && field.exact.is_none() {
            let what = "`error_plot` needs the exact solution, which this problem does not have";
            return Err(Error::input(what, "leave it out, or add the key exact to the problem"));
        }
        let points = args.evaluation_points(dims)?;
        let exact =
            points.as_ref().map(|points| solution_grid::exact_at(problem, &points.values)).transpose()?.flatten();
        let solution = with_context!(device, session, |context| solver.fit_with(context).map(RbfSolution::into_host))?;
        let evaluated =
            points.map(|points| Values::new(&solution.network, &points.values, exact).map(|it| (points, it)));
        let outputs = Outputs { args: &args, problem, field, solution: &solution };
        outputs.outcome(network, vtk, evaluated.transpose()?)
    }

    fn bench(&self) -> Option<&dyn Bench> {
        Some(&RbfBench)
    }

    fn conformance(&self) -> Conformance {
        let args = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        let small = "--problem poisson-sine --neurons 16 --points 100 --boundary-points 24 --weights cg --shape gd";
        Conformance {
            good: args(&format!("{small} --cycles 5 --grid 11")),
            bad: vec![
                ("neurons", args("--neurons 0")),
                ("points", args("--points 0")),
                ("boundary_points", args("--boundary-points 0")),
                ("penalty", args("--penalty -1")),
                ("weights", args("--weights lsqr")),
                ("shape", args("--shape lm")),
                ("width", args("--width -2")),
                ("reach", args("--reach -1")),
                ("cycles", args("--cycles 0")),
                ("steps", args("--steps 0")),
                ("rate", args("--rate 0")),
                ("iterations", args("--iterations 0")),
                ("tolerance", args("--tolerance -1")),
                ("time_limit", args("--time-limit 0")),
                ("truncation", args("--truncation 2")),
                ("grid", args("--grid 1")),
                ("checkpoint_every", args("--checkpoint-every 0")),
            ],
        }
    }
}

/// A solution and the outputs that the arguments request.
struct Outputs<'a> {
    args: &'a RbfArgs,
    problem: &'a Problem,
    field: Field,
    solution: &'a Solution,
}

impl Outputs<'_> {
    fn outcome(
        self,
        network: Option<NetworkFormat>,
        vtk: Option<VtkFormat>,
        evaluated: Option<(Points, Values)>,
    ) -> Result<Outcome> {
        let Self { args, problem, ref field, solution } = self;
        let values = Values::new(&solution.network, &field.points, field.exact.clone())?;
        let mut plots = Vec::new();
        if let Some(path) = &args.error_plot {
            plots.extend(plots::error(problem, field, &values).map(|plot| (path.clone(), plot)));
        }
        if let Some(path) = &args.centres_plot {
            plots.push((path.clone(), plots::neurons(problem, solution)?));
        }
        if let Some(path) = &args.convergence {
            plots.push((path.clone(), plots::residuals(problem, solution)));
        }
        let tables = args.evaluate_output.iter().zip(evaluated);
        let tables = tables.map(|(path, (points, it))| Ok((path.clone(), it.table(&points.values, points.columns)?)));
        let (inside, boundary) = solution.points;
        let mut outcome = Outcome {
            config: self.config(),
            input: InputSize { rows: inside + boundary, columns: field.dims },
            timings: solution.timings.clone(),
            peak_device_bytes: solution.peak_device_bytes,
            result: report::result(solution),
            table: values.table(&field.points, field.dims)?,
            plot: Some(plots::solution(problem, field, &values, solution)),
            tables: tables.collect::<Result<_>>()?,
            plots,
            documents: Vec::new(),
            summary: report::summary(solution),
        };
        if let (Some(path), Some(format)) = (&args.network, network) {
            let network = solution.network.clone();
            outcome.documents.push((path.clone(), Document::new(move |out| network.write(format, out))));
        }
        if let (Some(path), Some(format)) = (&args.vtk, vtk) {
            let field = self.field;
            outcome.documents.push((path.clone(), Document::new(move |out| vtk::write(format, &field, &values, out))));
        }
        Ok(outcome)
    }

    fn config(&self) -> Value {
        let mut config = serde_json::to_value(&self.solution.config).unwrap_or(Value::Null);
        config["problem"] = self.args.problem_text().into();
        config["width"] = self.solution.ratio.into();
        config["grid"] = self.field.side.into();
        config["checkpoint_every"] = self.args.states.checkpoint_every.into();
        config
    }
}
