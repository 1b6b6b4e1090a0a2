//! `firebox bench rbf`: the paper's table run again, solutions by QR, and a large cycle.

mod kernels;
mod paper;
mod pde;

use std::time::Instant;

use clap::{ArgMatches, Args, Command, ValueEnum};
use firebox_backends::{
    Device,
    bench::{BenchRow, Growth, Kernel, Rows, at_least_one, median},
    plugin::{Bench, Scoreboard},
    with_context,
};
use firebox_core::{Context, Error, Result, Session, command::parse};
use serde_json::Map;

use self::{
    kernels::{Operands, kernels, system},
    pde::PdeScoreboard,
};
use crate::{
    config::RbfConfig,
    model::solution::RbfSolution,
    ops::RbfOps,
    problem::{definition::Problem, grid::Grid},
    solve::qr::fit,
    types::{ShapeSolver, Weights},
};

/// Control points in the smallest row of the table.
const SMALLEST: usize = 224;

/// The bench of RBF networks.
#[derive(Debug, Clone, Copy, Default)]
pub struct RbfBench;

/// A part of the bench.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The paper's table: step 3, step 4 and the whole training at 224 and 524 points
    Table,
    /// Solutions for the weights by QR, on the host
    Solves,
    /// A cycle of the paper's loop that stores no matrix; 4 000 000 points with --max-points 4000000
    Large,
}

#[derive(Debug, Args)]
struct BenchArgs {
    /// What to measure; everything by default
    #[arg(value_enum)]
    parts: Vec<Part>,
    /// No more points than this
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    max_points: usize,
    /// Gradient steps in the paper's step 3, which does not say how many
    #[arg(long, value_name = "S", default_value_t = 2)]
    steps: usize,
    /// Iterations in the paper's step 4, likewise
    #[arg(long, value_name = "I", default_value_t = 30)]
    iterations: usize,
    /// Cycles of the whole training, likewise
    #[arg(long, value_name = "C", default_value_t = 200)]
    cycles: usize,
    /// How often each figure is measured; the median is given
    #[arg(long, value_name = "R", default_value_t = 5)]
    repeats: usize,
}

impl Bench for RbfBench {
    fn command(&self) -> Command {
        let about = "The RBF network paper's table, measured here, beside the paper's figures";
        BenchArgs::augment_args(Command::new("rbf").about(about))
    }

    fn run(&self, args: &ArgMatches, device: &Device, session: &Session, row: &mut dyn FnMut(BenchRow)) -> Result<()> {
        let args: BenchArgs = parse(args)?;
        let counts = [("steps", args.steps), ("iterations", args.iterations), ("cycles", args.cycles)];
        at_least_one(&counts)?;
        at_least_one(&[("repeats", args.repeats)])?;
        if args.max_points < SMALLEST {
            let reason = format!("the smallest row has {SMALLEST} points");
            return Err(Error::Config { field: "max_points", value: args.max_points.to_string(), reason });
        }
        let parts = if args.parts.is_empty() { Part::value_variants() } else { &args.parts };
        let mut rows = Rows::new(&*session.observer, row);
        with_context!(device, session, |context| measure(&args, parts, context, &mut rows))?;
        rows.end(&[args.max_points])
    }

    fn kernels(&self, device: &Device, session: &Session) -> Vec<Kernel> {
        with_context!(device, session, |context| kernels(context))
    }

    fn growth(&self, device: &Device, session: &Session) -> Vec<Growth> {
        with_context!(device, session, |context| growth(context))
    }

    fn scoreboard(&self) -> Option<&dyn Scoreboard> {
        Some(&PdeScoreboard)
    }
}

/// The loop of the paper with `points` control points inside and `boundary_points` on the boundary.
fn paper_loop(neurons: usize, points: usize, boundary_points: usize) -> RbfConfig {
    RbfConfig::new()
        .with_neurons(neurons)
        .with_points(Some(points))
        .with_boundary_points(Some(boundary_points))
        .with_weights(Weights::Cg)
        .with_shape(ShapeSolver::Gd)
}

/// Solves the paper's problem.
fn solve<B: RbfOps>(config: &RbfConfig, context: &Context<B>) -> Result<RbfSolution<B>> {
    config.init(Problem::named("poisson-sine")?)?.fit_with(context)
}

/// The cases of `firebox bench cost`: a training cycle, by number of control points.
fn growth<B: RbfOps>(context: &Context<B>) -> Vec<Growth> {
    vec![Growth::new("rbf, a cycle, 256 neurons", context, |n, context: &Context<B>| {
        let boundary = (n / 100).max(4);
        let config = paper_loop(256, n.saturating_sub(boundary).max(1), boundary).with_cycles(Some(1));
        config.validate()?;
        let context = context.clone();
        Ok(move || Ok(solve(&config, &context)?.peak_device_bytes))
    })]
}

fn measure<B: RbfOps>(args: &BenchArgs, parts: &[Part], context: &Context<B>, rows: &mut Rows<'_>) -> Result<()> {
    let bench = Measure { context, args };
    parts.iter().try_for_each(|part| match part {
        Part::Table => bench.table(rows),
        Part::Solves => bench.solves(rows),
        Part::Large => bench.large(rows),
    })
}

struct Measure<'a, B: RbfOps> {
    context: &'a Context<B>,
    args: &'a BenchArgs,
}

impl<B: RbfOps> Measure<'_, B> {
    fn is_selected(&self, points: usize) -> bool {
        points <= self.args.max_points
    }

    fn time(&self, work: impl FnMut() -> Result<()>) -> Result<f64> {
        median(self.context, self.args.repeats, work)
    }

    fn row(&self, table: &str, case: &str, size: [usize; 2], ms: f64, paper_ms: Option<f64>) -> BenchRow {
        let (table, case, repeats) = (table.into(), case.into(), self.args.repeats);
        BenchRow { table, case, size: size.into(), ms, repeats, paper_ms, note: None, details: Map::new() }
    }

    fn table(&self, rows: &mut Rows<'_>) -> Result<()> {
        let BenchArgs { steps, iterations, .. } = *self.args;
        for published in paper::TABLE.iter().filter(|published| self.is_selected(published.points)) {
            rows.add(self.phase(published, &format!("step 3, {steps} steps"), published.step_3, |operands| {
                let Operands { aim, shape, weights } = operands;
                let _ = B::rbf_descend(aim, shape.clone(), weights.clone(), [1e-4; 2], steps);
            }))?;
            rows.add(self.phase(published, &format!("step 4, {iterations} iterations"), paper::STEP_4, |operands| {
                let Operands { aim, shape, weights } = operands;
                let _ = B::rbf_conjugate(aim, shape, weights.clone(), iterations);
            }))?;
            rows.add(self.whole(published))?;
        }
        Ok(())
    }

    /// A phase of the paper's loop beside its published milliseconds: GPU, Pentium 4, Core 2 Quad.
    fn phase(
        &self,
        published: &paper::Row,
        case: &str,
        [gpu, cpu_1, cpu_2]: [f64; 3],
        work: impl Fn(&Operands<B>),
    ) -> Result<BenchRow> {
        let inside = published.points - paper::BOUNDARY;
        let operands = Operands::new(inside, paper::BOUNDARY, paper::NEURONS, false, self.context)?;
        let ms = self.time(|| {
            work(&operands);
            Ok(())
        })?;
        let mut row = self.row("table", case, [published.points, paper::NEURONS], ms, Some(gpu));
        row.details.insert("paper_cpu_1_ms".into(), cpu_1.into());
        row.details.insert("paper_cpu_2_ms".into(), cpu_2.into());
        Ok(row)
    }

    /// The paper's loop from end to end, points drawn on the host included.
    fn whole(&self, published: &paper::Row) -> Result<BenchRow> {
        let BenchArgs { steps, iterations, cycles, repeats, .. } = *self.args;
        let config = paper_loop(paper::NEURONS, published.points - paper::BOUNDARY, paper::BOUNDARY)
            .with_steps(Some(steps))
            .with_iterations(Some(iterations))
            .with_cycles(Some(cycles));
        let (ms, solution) = self.solved(&config, repeats)?;
        let case = format!("whole training, {cycles} cycles");
        let mut row = self.row("table", &case, [published.points, paper::NEURONS], ms, None);
        row.details.insert("relative_l2".into(), solution.accuracy.map(|it| it.relative_l2).into());
        row.details.insert("paper_speedup_over_cpu_1".into(), published.speedups[0].into());
        row.details.insert("paper_speedup_over_cpu_2".into(), published.speedups[1].into());
        Ok(row)
    }

    /// Solutions for the weights of the paper's problem in f64, from given control points and neurons.
    fn solves(&self, rows: &mut Rows<'_>) -> Result<()> {
        // SciPy's dense least squares take 2.1 and 14 ms.
        for (neurons, inside, around, scipy) in [(64, 448, 76, 2.1), (196, 900, 140, 14.0)] {
            if !self.is_selected(inside + around) {
                continue;
            }
            let (problem, system, _) = system(inside, around, self.context.seed)?;
            let grid = Grid::new(problem.domain(), neurons, 0.35)?;
            let widths = vec![8.0 * grid.spacing; grid.len()];
            let ms = self.time(|| fit(&system, &grid.centres, &widths, None).map(drop))?;
            let mut row = self.row("solves", "weights by QR", [inside + around, neurons], ms, None);
            row.details.insert("scipy_ms".into(), scipy.into());
            rows.add(Ok(row))?;
        }
        Ok(())
    }

    /// Two gradient steps and 30 CG iterations, points drawn on the host included, and the memory planned for them.
    fn large(&self, rows: &mut Rows<'_>) -> Result<()> {
        for (points, neurons) in [(100_000, 256), (4_000_000, 4096)].into_iter().filter(|size| self.is_selected(size.0))
        {
            let config = paper_loop(neurons, points - points / 1000, points / 1000).with_cycles(Some(1));
            rows.add(self.solved(&config, 1).map(|(ms, solution)| {
                let mut row = self.row("large", "a cycle of 2 steps and 30 iterations", [points, neurons], ms, None);
                row.repeats = 1;
                row.details.insert("planned_bytes".into(), solution.peak_device_bytes.into());
                row.details.insert("conjugate_gradients".into(), solution.conjugate.map(|way| way.to_string()).into());
                row
            }))?;
        }
        Ok(())
    }

    /// Median milliseconds of `repeats` trainings for the paper's problem after a warm-up, and the last result.
    fn solved(&self, config: &RbfConfig, repeats: usize) -> Result<(f64, RbfSolution<B>)> {
        let mut times = Vec::new();
        let mut run = || {
            let start = Instant::now();
            let solution = solve(config, self.context)?;
            times.push(start.elapsed().as_secs_f64() * 1e3);
            Ok::<_, Error>(solution)
        };
        let mut last = run()?;
        for _ in 0..repeats {
            last = run()?;
        }
        times.remove(0);
        times.sort_by(f64::total_cmp);
        Ok((times[times.len() / 2], last))
    }
}
