//! `firebox rbf`: arguments to [`RbfConfig`](crate::RbfConfig), networks to tables, plots, files and the report's result.

mod adaptive;
mod args;
mod bench;
mod plots;
mod precision;
mod predict;
mod report;

use clap::{ArgMatches, Args, Command};
use firebox_backends::{Device, Plugin, plugin::Bench, with_context};
use firebox_core::{
    Error, Result, Session,
    command::{Conformance, Document, Outcome, PredictArgs, parse, with_short_help},
    data::Points,
    html::Page,
    plot::Plot,
    report::{InputSize, Timings, entries, schema},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use self::{
    args::{Mode, RbfArgs},
    bench::RbfBench,
    precision::in_f64,
};
use crate::{
    config::AdaptiveConfig,
    io::{
        serialization::NetworkFormat,
        solution_grid::{self, Field, Solutions},
        vtk::{self, VtkFormat},
        vtk_series,
    },
    model::{
        adaptive::{AdaptiveSolution, AdaptiveSolver},
        convergence,
        solution::{RbfSolution, Solution},
        solver::RbfSolver,
    },
    problem::definition::Problem,
    solve::{accuracy::Accuracy, piecewise::PiecewiseNetwork},
};

const EXAMPLES: &str = "\
Examples:
  firebox rbf --problem poisson-sine -o solution.csv --plot solution.png --html solution.html
  firebox rbf --problem helmholtz --target-error 1e-6 --error-plot error.png --report run.json
  firebox rbf --problem poisson-sine --mode paper --neurons 196 -o paper.csv";

/// Options of the short help.
const COMMON: [&str; 9] =
    ["problem", "mode", "grid", "network", "vtk", "error_plot", "target_error", "max_neurons", "accept_unresolved"];

/// The command `rbf`.
#[derive(Debug, Clone, Copy, Default)]
pub struct RbfPlugin;

impl Plugin for RbfPlugin {
    fn command(&self) -> Command {
        with_short_help(RbfArgs::augment_args(Command::new("rbf")), &COMMON)
            .about("Solves partial differential equations without a mesh")
            .long_about(
                "Solves a partial differential equation of second order, linear or not, or a system of them, in one to five dimensions \
                 without a mesh: a network of Gaussians is trained to fulfil the equation at points inside and the boundary \
                 conditions at points on the boundary. Writes the solution on a grid in columns of the coordinates, u and, if \
                 the exact solution is known, exact and error; of a system a column for each unknown, and with its name exact and error.\n\n\
                 No other option than the problem is needed: --mode auto, the default, grows the network where conditions \
                 that were held out are violated, in f64 on the host and, if it is large, on a CUDA device, until the \
                 estimate of its error is at most --target-error. If it does not get there, the first line of the summary \
                 says so, and the exit code is 3.\n\n\
                 --mode paper has a given number of neurons of one width, for linear equations in two or three dimensions \
                 with the second derivatives of the laplacian only. In f32 (--weights cg) errors end at 1e-2 to \
                 1e-3; --weights qr, the default, solves in f64 on the host and reaches 1e-6 with 64 neurons on a \
                 smooth problem, 1e-8 with 196.",
            )
            .after_long_help(EXAMPLES)
    }

    fn can_share(&self, args: &ArgMatches) -> Result<()> {
        let args: RbfArgs = parse(args)?;
        match args.mode {
            Mode::Paper => Ok(()),
            Mode::Auto => {
                let what = "`mode = auto` decomposes its matrix in a single process";
                Err(Error::input(what, "run it without mpirun, or give `mode = paper`"))
            }
        }
    }

    fn can_animate(&self, args: &ArgMatches) -> Result<()> {
        check_time(&parse::<RbfArgs>(args)?.problem()?, "an animation", "name the plot .svg or .png")
    }

    fn run(&self, args: &ArgMatches, device: &Device, session: &Session) -> Result<Outcome> {
        let (matches, args): (_, RbfArgs) = (args, parse(args)?);
        args.check_mode(matches)?;
        let network = args.network.as_deref().map(NetworkFormat::of).transpose()?;
        let vtk = args.vtk.as_deref().map(VtkFormat::of).transpose()?;
        let solver = match args.mode {
            Mode::Paper => {
                args.config.validate()?;
                let checkpoints = args.states.checkpoints()?;
                Solver::Paper(Box::new(args.config.init(args.problem()?)?.with_checkpoints(checkpoints)))
            }
            Mode::Auto => {
                let config = args.adaptive(matches)?;
                config.validate()?;
                Solver::Auto(Box::new(config.init(args.problem()?)?))
            }
        };
        let problem = solver.problem();
        let dims = problem.dims();
        if let Some(format) = vtk {
            check_vtk(problem, format)?;
        }
        if network.is_some() && problem.time_slabs().is_some() {
            let what = "`network` is a single network, and this problem has one in each slab of time";
            return Err(Error::input(what, "leave it out; `vtk` and `evaluate` have the solution at all times"));
        }
        let regions = problem.regions().count();
        if network.is_some() && regions > 1 {
            let what = format!("`network` is a single network, and this problem has one in each of {regions} regions");
            return Err(Error::input(what, "leave it out; `vtk` and `evaluate` have the solution in all regions"));
        }
        if problem.unknowns().len() > 1 {
            check_system(problem, &args)?;
        }
        let field = Field::new(problem, args.grid.unwrap_or(Field::default_side(dims)))?;
        if args.error_plot.is_some() && field.exact.is_none() {
            let what = "`error_plot` needs the exact solution, which this problem does not have";
            return Err(Error::input(what, "leave it out, or add the key exact to the problem"));
        }
        let points = args.evaluation_points(dims)?;
        let exact =
            points.as_ref().map(|points| solution_grid::exact_at(problem, &points.values)).transpose()?.flatten();
        let solved = match &solver {
            Solver::Paper(solver) => {
                let fit =
                    with_context!(device, session, |context| solver.fit_with(context).map(RbfSolution::into_host));
                Solved::paper(problem, &fit?, &args, session.seed)
            }
            Solver::Auto(solver) => {
                let session = &in_f64(device, session);
                let solution = with_context!(device, session, |context| solver.fit_with(context))?;
                Solved::auto(problem, &solution, solver.config(), &args)
            }
        };
        let evaluated = points.map(|points| {
            let mut values =
                Solutions::new(problem.function_names(), &solved.networks, &points.values, exact.as_ref())?;
            let blank = values.blank_outside(problem, &points.values);
            if blank > 0 {
                let text = format!(
                    "{blank} of the {} points to evaluate are outside the domain, or where u jumps: u is NaN there",
                    points.rows
                );
                session.observer.notice(&text);
            }
            Ok::<_, Error>((points, values))
        });
        if args.convergence.is_some() && solved.convergence.is_none() {
            let text = "the run had one cycle, which has no course; nothing was written for `convergence`";
            session.observer.notice(text);
        }
        let outputs = Outputs { args: &args, problem, field, solved };
        outputs.outcome(network, vtk, evaluated.transpose()?)
    }

    fn predict(&self, args: &PredictArgs, _device: &Device, session: &Session) -> Result<Outcome> {
        predict::run(args, session)
    }

    fn bench(&self) -> Option<&dyn Bench> {
        Some(&RbfBench)
    }

    fn schemas(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("rbf", schema::<RbfResult>("firebox rbf")),
            ("predict, rbf", schema::<predict::PredictResult>("firebox predict with a model of rbf")),
        ]
    }

    fn conformance(&self) -> Conformance {
        let args = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        let small = "--mode paper --problem poisson-sine --neurons 16 --points 100 --boundary-points 24 --weights cg --shape gd";
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
                ("rate", args("--learning-rate 0")),
                ("iterations", args("--max-iterations 0")),
                ("tolerance", args("--tolerance -1")),
                ("time_limit", args("--time-limit 0")),
                ("truncation", args("--truncation 2")),
                ("grid", args("--grid 1")),
                ("checkpoint_every", args("--checkpoint-every 0")),
            ],
        }
    }
}

/// Fails for outputs that have one unknown only.
fn check_system(problem: &Problem, args: &RbfArgs) -> Result<()> {
    let several = problem.function_names().len() > 1;
    let given = [("network", several && args.network.is_some()), ("html", args.page.html.is_some())];
    let Some((option, _)) = given.into_iter().find(|(_, is_given)| *is_given) else { return Ok(()) };
    let names = problem.unknowns().join(", ");
    let what = format!("`{option}` has one unknown, and this problem has {names}");
    Err(Error::input(what, "leave it out; `output`, `vtk` and `evaluate` have all unknowns"))
}

/// Fails if a problem's solution has too many dimensions for a VTK file, or no time for a series.
fn check_vtk(problem: &Problem, format: VtkFormat) -> Result<()> {
    let dims = problem.dims();
    if format == VtkFormat::Series {
        check_time(problem, "`vtk`, a series over time,", "name the file .vtk or .vtu")?;
    }
    let space = if format == VtkFormat::Series { dims - 1 } else { dims };
    if space > 3 {
        let kind = if format == VtkFormat::Series { " of space" } else { "" };
        let what = format!("`vtk` has at most three dimensions{kind}, and this problem has {space}");
        let series =
            if space == 4 && problem.time_axis().is_some() { "name it .pvd for a series over time, or " } else { "" };
        let help = format!("{series}leave it out; `output` has the solution in any number of dimensions");
        return Err(Error::input(what, help));
    }
    Ok(())
}

/// Fails if a problem has no time, or nothing but time.
fn check_time(problem: &Problem, output: &str, instead: &str) -> Result<()> {
    if problem.dims() > 1 && problem.time_axis().is_some() {
        return Ok(());
    }
    let names = problem.coordinates().join(", ");
    let what = format!("{output} needs time among several coordinates, and this problem has {names}");
    let rename = if problem.dims() > 1 { "call the coordinate that is time t, or " } else { "" };
    Err(Error::input(what, format!("{rename}{instead}")))
}

/// A solver of either mode.
enum Solver {
    Paper(Box<RbfSolver>),
    Auto(Box<AdaptiveSolver>),
}

impl Solver {
    fn problem(&self) -> &Problem {
        match self {
            Self::Paper(solver) => solver.problem(),
            Self::Auto(solver) => solver.problem(),
        }
    }
}

/// The report's result in either mode.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum RbfResult {
    Auto(Box<adaptive::AutoResult>),
    Paper(Box<report::PaperResult>),
}

/// A solution of either mode as the outputs show it.
struct Solved {
    /// The solution of each unknown.
    networks: Vec<PiecewiseNetwork>,
    accuracy: Option<Accuracy>,
    config: Value,
    rows: usize,
    timings: Timings,
    peak_device_bytes: u64,
    result: Map<String, Value>,
    summary: String,
    unresolved: bool,
    /// Absent for a single cycle, which has no course.
    convergence: Option<Plot>,
    /// The interactive report, if it is requested.
    page: Option<Result<Page>>,
}

impl Solved {
    fn paper(problem: &Problem, solution: &Solution, args: &RbfArgs, seed: u64) -> Self {
        let mut config = serde_json::to_value(&solution.config).unwrap_or(Value::Null);
        config["width"] = solution.ratio.into();
        config["checkpoint_every"] = args.states.checkpoint_every.into();
        Self {
            networks: vec![solution.network.clone().into()],
            accuracy: solution.accuracy,
            config,
            rows: solution.points.0 + solution.points.1,
            timings: solution.timings.clone(),
            peak_device_bytes: solution.peak_device_bytes,
            result: entries(&RbfResult::Paper(Box::new(report::result(solution)))),
            summary: report::summary(solution),
            unresolved: false,
            convergence: convergence::residuals(problem, solution),
            page: args.page.html.as_ref().map(|_| Ok(solution.page(problem, seed)?.of_input(&args.problem_text()))),
        }
    }

    fn auto(problem: &Problem, solution: &AdaptiveSolution, config: &AdaptiveConfig, args: &RbfArgs) -> Self {
        Self {
            networks: solution.networks.clone(),
            accuracy: solution.accuracy,
            config: adaptive::config(config, &args.states),
            rows: solution.level().map_or(0, |level| level.conditions),
            timings: solution.timings.clone(),
            peak_device_bytes: solution.peak_device_bytes,
            result: entries(&RbfResult::Auto(Box::new(adaptive::result(problem, solution)))),
            summary: adaptive::summary(problem, solution, config),
            unresolved: !solution.is_resolved() && !args.adaptive.accept_unresolved,
            convergence: Some(convergence::growth(problem, &solution.levels)),
            page: args.page.html.as_ref().map(|_| Ok(solution.page(problem, config)?.of_input(&args.problem_text()))),
        }
    }
}

/// A solution and the outputs that the arguments request.
struct Outputs<'a> {
    args: &'a RbfArgs,
    problem: &'a Problem,
    field: Field,
    solved: Solved,
}

impl Outputs<'_> {
    fn outcome(
        self,
        network: Option<NetworkFormat>,
        vtk: Option<VtkFormat>,
        evaluated: Option<(Points, Solutions)>,
    ) -> Result<Outcome> {
        let Self { args, problem, field, solved } = self;
        let values = Solutions::new(problem.function_names(), &solved.networks, &field.points, field.exact.as_ref())?;
        let page = args.page.html.clone().zip(solved.page);
        let mut plots = Vec::new();
        if let Some(path) = &args.error_plot {
            plots.extend(plots::error(problem, &field, &values).map(|plot| (path.clone(), plot)));
        }
        if let Some(path) = &args.centres_plot {
            plots.push((path.clone(), plots::neurons(problem, &solved.networks[..problem.function_names().len()])?));
        }
        if let Some(path) = &args.convergence {
            plots.extend(solved.convergence.map(|plot| (path.clone(), plot)));
        }
        let tables = args.evaluate_output.iter().zip(evaluated);
        let tables =
            tables.map(|(path, (points, it))| Ok((path.clone(), it.table(&points.values, problem.coordinates())?)));
        let mut config = solved.config;
        config["problem"] = args.problem_text().into();
        config["grid"] = field.side.into();
        let mut outcome = Outcome {
            config,
            input: InputSize { rows: solved.rows, columns: field.dims },
            timings: solved.timings,
            peak_device_bytes: solved.peak_device_bytes,
            result: solved.result,
            table: values.table(&field.points, problem.coordinates())?,
            plot: Some(plots::solution(problem, &field, &values, solved.accuracy)),
            tables: tables.collect::<Result<_>>()?,
            plots,
            page,
            documents: Vec::new(),
            summary: solved.summary,
            unresolved: solved.unresolved,
        };
        if let (Some(path), Some(format)) = (&args.network, network)
            && let [network] = solved.networks[0].networks()
        {
            let network = network.clone().named(problem.coordinates().to_vec())?;
            outcome.documents.push((path.clone(), Document::new(move |out| network.write(format, out))));
        }
        if let (Some(path), Some(format)) = (&args.vtk, vtk) {
            match problem.time_axis().filter(|_| format == VtkFormat::Series) {
                Some(axis) => {
                    let files = vtk_series::files(path, field, values, axis).into_iter();
                    outcome.documents.extend(files.map(|(path, document)| (path.into(), document)));
                }
                None => {
                    let document = Document::new(move |out| vtk::write(format, &field, &values, out));
                    outcome.documents.push((path.clone(), document));
                }
            }
        }
        Ok(outcome)
    }
}
