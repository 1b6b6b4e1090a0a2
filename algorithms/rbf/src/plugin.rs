//! `firebox rbf`: arguments to [`RbfConfig`](crate::RbfConfig), networks to tables, pictures, files and the report's
//! result.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command};
use firebox_core::{
    Algorithm, Context, Error, Outcome, Plugin, Result,
    data::Points,
    kernels::{Growth, Kernel},
    plugin::{Bench, Conformance, Document, paths},
    report::InputSize,
};
use serde_json::{Map, Value, json};

use crate::{
    NetworkFormat, Problem, RbfOps, ShapeSolver, Trained,
    args::RbfArgs,
    bench::{RbfBench, growth, kernels},
    field::{self, Field, Values},
    pictures,
    vtk::{self, VtkFormat},
};

/// The command `rbf`.
#[derive(Debug, Clone, Copy, Default)]
pub struct RbfPlugin;

impl<B: RbfOps> Plugin<B> for RbfPlugin {
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

    fn inputs(&self, args: &ArgMatches) -> Vec<PathBuf> {
        let problem = args.get_one::<String>("problem").map(PathBuf::from);
        let file = problem.filter(|problem| problem.extension().is_some());
        paths(args, &["evaluate"]).into_iter().chain(file).collect()
    }

    fn can_share(&self, _args: &ArgMatches) -> Result<()> {
        Ok(())
    }

    fn files(&self, args: &ArgMatches) -> Vec<PathBuf> {
        paths(args, &["evaluate_output"])
    }

    fn documents(&self, args: &ArgMatches) -> Vec<PathBuf> {
        paths(args, &["network", "vtk"])
    }

    fn checkpoints(&self, args: &ArgMatches) -> Vec<PathBuf> {
        paths(args, &["checkpoint"])
    }

    fn pictures(&self, args: &ArgMatches) -> Vec<PathBuf> {
        paths(args, &["error_plot", "centres_plot", "convergence"])
    }

    fn run(&self, args: &ArgMatches, context: &Context<B>) -> Result<Outcome> {
        let args = RbfArgs::parse(args)?;
        let trainer = args.config().init()?.with_checkpoints(args.checkpoints()?);
        let network = args.network.as_deref().map(NetworkFormat::of).transpose()?;
        let vtk = args.vtk.as_deref().map(VtkFormat::of).transpose()?;
        let problem = args.problem()?;
        let dims = problem.dims();
        let side = args.grid.unwrap_or(Field::usual(dims));
        let field = Field::new(&problem, side)?;
        if args.error_plot.is_some() && field.exact.is_none() {
            let what = "--error-plot needs the exact solution, which this problem does not have";
            return Err(Error::input(what, "leave it out, or give the problem its key exact"));
        }
        let points = args.evaluated(dims)?;
        let exact = points.as_ref().map(|points| field::exact_at(&problem, &points.values)).transpose()?.flatten();
        let trained = Algorithm::<B>::run(&trainer, problem.clone(), context)?;
        let evaluated =
            points.map(|points| Values::new(&trained.network, &points.values, exact).map(|it| (points, it)));
        let writing = Writing { args: &args, problem: &problem, field, trained: &trained };
        writing.all(network, vtk, evaluated.transpose()?)
    }

    fn bench(&self) -> Option<&dyn Bench<B>> {
        Some(&RbfBench)
    }

    fn kernels(&self) -> Vec<Kernel<B>> {
        kernels()
    }

    fn growth(&self) -> Vec<Growth<B>> {
        growth()
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

/// What there is to write of a training.
struct Writing<'a> {
    args: &'a RbfArgs,
    problem: &'a Problem,
    field: Field,
    trained: &'a Trained,
}

impl Writing<'_> {
    fn all(
        self,
        network: Option<NetworkFormat>,
        vtk: Option<VtkFormat>,
        evaluated: Option<(Points, Values)>,
    ) -> Result<Outcome> {
        let Self { args, problem, ref field, trained } = self;
        let values = Values::new(&trained.network, &field.points, field.exact.clone())?;
        let mut drawn = Vec::new();
        if let Some(path) = &args.error_plot {
            drawn.extend(pictures::error(problem, field, &values).map(|picture| (path.clone(), picture)));
        }
        if let Some(path) = &args.centres_plot {
            drawn.push((path.clone(), pictures::neurons(problem, trained)?));
        }
        if let Some(path) = &args.convergence {
            drawn.push((path.clone(), pictures::residuals(problem, trained)));
        }
        let extra = args.evaluate_output.iter().zip(evaluated);
        let extra = extra.map(|(path, (points, it))| Ok((path.clone(), it.table(&points.values, points.columns)?)));
        let (inside, boundary) = trained.points;
        let mut outcome = Outcome {
            config: self.config(),
            input: InputSize { rows: inside + boundary, columns: field.dims },
            timings: trained.timings.clone(),
            peak_device_bytes: trained.peak_device_bytes,
            result: self.result(),
            table: values.table(&field.points, field.dims)?,
            picture: Some(pictures::solution(problem, field, &values, trained)),
            extra: extra.collect::<Result<_>>()?,
            pictures: drawn,
            documents: Vec::new(),
            summary: self.summary(),
        };
        if let (Some(path), Some(format)) = (&args.network, network) {
            let network = trained.network.clone();
            outcome.documents.push((path.clone(), Document::new(move |out| network.write(format, out))));
        }
        if let (Some(path), Some(format)) = (&args.vtk, vtk) {
            let field = self.field;
            outcome.documents.push((path.clone(), Document::new(move |out| vtk::write(format, &field, &values, out))));
        }
        Ok(outcome)
    }

    fn config(&self) -> Value {
        let mut config = serde_json::to_value(&self.trained.config).unwrap_or(Value::Null);
        config["problem"] = self.args.problem.clone().into();
        config["width"] = self.trained.ratio.into();
        config["grid"] = self.field.side.into();
        config["checkpoint_every"] = self.args.checkpoint_every.into();
        config
    }

    fn result(&self) -> Map<String, Value> {
        let trained = self.trained;
        let mut result = Map::new();
        let mut put = |key: &str, value: Value| result.insert(key.into(), value);
        put("relative_l2", json!(trained.accuracy.map(|it| it.relative_l2)));
        put("max_error", json!(trained.accuracy.map(|it| it.max_error)));
        put("residual_interior", trained.residual_interior.into());
        put("residual_boundary", trained.residual_boundary.into());
        put("neurons", trained.network.len().into());
        put("points", trained.points.0.into());
        put("boundary_points", trained.points.1.into());
        put("cycles", trained.cycles.into());
        put("condition", trained.condition.map_or(Value::Null, number));
        put("rank", json!(trained.rank));
        put("truncated", trained.truncated.into());
        put("solver", self.solver().into());
        put("gradient_steps", json!(trained.descend.map(|way| way.to_string())));
        put("conjugate_gradients", json!(trained.conjugate.map(|way| way.to_string())));
        put("stop", json!(trained.stop));
        put("precision", trained.precision.into());
        put("falls", json!(trained.falls));
        put("accepted", json!(trained.accepted));
        put("iterations", json!(trained.iterations));
        put("evaluations", json!(trained.evaluations));
        if trained.stale_state {
            put("stale_state", true.into());
        }
        result
    }

    fn solver(&self) -> String {
        let weights = self.trained.weights;
        match self.trained.shape {
            ShapeSolver::None => weights.to_string(),
            ShapeSolver::Gd => format!("{weights} + gd"),
            ShapeSolver::Lm => format!("{weights} + lm"),
        }
    }

    fn summary(&self) -> String {
        let trained = self.trained;
        let errors = trained.accuracy.map_or_else(
            || "the exact solution is not known".into(),
            |it| format!("relative L2 error {:.3e}, largest error {:.3e}", it.relative_l2, it.max_error),
        );
        let condition = trained.condition.map_or_else(String::new, |it| format!(", condition {it:.1e}"));
        let rank = trained.rank.map_or_else(String::new, |rank| format!(", rank {rank} of {}", trained.network.len()));
        format!(
            "{errors}\nresidual {:.3e} inside, {:.3e} on the boundary, {} neurons, {} cycles (stop: {}; {} in {}, width {:.3} \
             spacings{condition}{rank})",
            trained.residual_interior,
            trained.residual_boundary,
            trained.network.len(),
            trained.cycles,
            trained.stop,
            self.solver(),
            trained.precision,
            trained.ratio,
        )
    }
}

/// A number, or the word for one that JSON has none for.
fn number(value: f64) -> Value {
    if value.is_finite() { value.into() } else { "infinite".into() }
}
