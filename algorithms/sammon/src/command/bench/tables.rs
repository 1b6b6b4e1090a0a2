//! `firebox bench sammon`: the paper's tables run again.

use std::time::Instant;

use clap::{ArgMatches, Args, Command, ValueEnum};
use firebox_backends::{
    Device,
    bench::{BenchRow, Growth, Kernel, Rows, at_least_one, median},
    plugin::Bench,
    with_context,
};
use firebox_core::{Context, Error, Result, Session, command::parse, tensor::primitive};
use serde_json::{Map, Value, json};

use super::{
    cases::{growth, kernels},
    paper,
};
use crate::{
    config::{Memory, SammonConfig, Solver, Start, Step},
    model::sammon::Sammon,
    ops::SammonOps,
    solve::{initialization, memory_plan::Plan, nondimensional::Prepared},
    types::{Data, Metric, Variant},
};

/// The bench of Sammon mapping.
#[derive(Debug, Clone, Copy, Default)]
pub struct SammonBench;

/// A table of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Table 1: 5 iterations, by how the work is shared
    Table1,
    /// Table 2: the same beside the paper's CPU
    Table2,
    /// Table 3: the error before and after
    Table3,
}

#[derive(Debug, Args)]
struct BenchArgs {
    /// What to measure; everything by default
    #[arg(value_enum)]
    parts: Vec<Part>,
    /// Only these numbers of points
    #[arg(long, value_name = "N", value_delimiter = ',')]
    points: Vec<usize>,
    /// No more points than this
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    max_points: usize,
    /// How often each figure is measured; the median is given
    #[arg(long, value_name = "R", default_value_t = 3)]
    repeats: usize,
}

impl Bench for SammonBench {
    fn command(&self) -> Command {
        let about = "The Sammon mapping paper's tables 1 to 3, measured here, beside the paper's figures";
        BenchArgs::augment_args(Command::new("sammon").about(about))
    }

    fn run(&self, args: &ArgMatches, device: &Device, session: &Session, row: &mut dyn FnMut(BenchRow)) -> Result<()> {
        let args: BenchArgs = parse(args)?;
        at_least_one(&[("repeats", args.repeats)])?;
        if let Some(count) = args.points.iter().find(|&&n| n < 3) {
            let reason = "a mapping needs at least 3 points".into();
            return Err(Error::Config { field: "points", value: count.to_string(), reason });
        }
        let parts = if args.parts.is_empty() { Part::value_variants() } else { &args.parts };
        let mut rows = Rows::new(&*session.observer, row);
        with_context!(device, session, |context| measure(&args, parts, context, &mut rows))?;
        rows.end(&args.points)
    }

    fn kernels(&self, device: &Device, session: &Session) -> Vec<Kernel> {
        with_context!(device, session, |context| kernels(context))
    }

    fn growth(&self, device: &Device, session: &Session) -> Vec<Growth> {
        with_context!(device, session, |context| growth(context))
    }
}

fn measure<B: SammonOps>(args: &BenchArgs, parts: &[Part], context: &Context<B>, rows: &mut Rows<'_>) -> Result<()> {
    let bench = Measure { context, args };
    for part in parts {
        let listed = |n: usize| args.points.is_empty() || args.points.contains(&n);
        for row in paper::TABLE_1.iter().filter(|row| row.points <= args.max_points && listed(row.points)) {
            match part {
                Part::Table1 => bench.table_1(row, rows)?,
                Part::Table2 => rows.add(bench.table_2(row))?,
                Part::Table3 => rows.add(bench.table_3(row))?,
            }
        }
    }
    Ok(())
}

struct Measure<'a, B: SammonOps> {
    context: &'a Context<B>,
    args: &'a BenchArgs,
}

/// The paper's run: 5 steps of its μ from the first three coordinates.
fn papers_run(n: usize, variant: Variant, units: u32) -> Result<Sammon> {
    SammonConfig::new(paper::TARGET)
        .with_solver(Solver::Gd)
        .with_step(Step::Mu(paper::mu(n)))
        .with_start(Start::First)
        .with_rescale(false)
        .with_iterations(paper::ITERATIONS)
        .with_tolerance(0.0)
        .with_variant(variant)
        .with_units(units)
        .with_memory(if variant == Variant::Auto { Memory::Auto } else { Memory::Recomputed })
        .with_quality(false)
        .init()
}

impl<B: SammonOps> Measure<'_, B> {
    fn row(&self, table: &str, case: String, points: usize, ms: f64, paper_ms: Option<f64>) -> BenchRow {
        let size = vec![points, paper::SOURCE, paper::TARGET];
        BenchRow {
            table: table.into(),
            case,
            size,
            ms,
            repeats: self.args.repeats,
            paper_ms,
            note: None,
            details: Map::new(),
        }
    }

    /// Milliseconds of 5 iterations and of what they need on the device: points, distances if they are cached, steps.
    fn five_iterations(&self, n: usize, variant: Variant, units: u32) -> Result<(f64, &'static str, Memory)> {
        let name = B::sammon_strategy(&self.context.device, variant)?;
        let sammon = papers_run(n, variant, units)?;
        let data = Data::Features(paper::points(n, paper::SOURCE, self.context.seed)?);
        let prepared = Prepared::new(data, Metric::Euclidean, false)?;
        let plan = Plan::new(sammon.config(), sammon.config().memory, &prepared, paper::TARGET, self.context)?;
        let start = initialization::first(&prepared, paper::TARGET)?;
        let ms = median(self.context, self.args.repeats, || {
            let problem = plan.problem(&prepared, 1.0, self.context)?;
            let y = primitive::<B, 2>(start.clone(), [paper::TARGET, n], &self.context.device);
            let rates = primitive::<B, 1>(vec![paper::mu(n) / prepared.unit; n], [n], &self.context.device);
            let _ = B::sammon_steps(&problem, y, rates, paper::ITERATIONS, variant);
            Ok(())
        })?;
        Ok((ms, name, plan.mode))
    }

    fn table_1(&self, row: &paper::Row, rows: &mut Rows<'_>) -> Result<()> {
        for variant in Variant::ALL {
            // Backends without GPU units have one variant only.
            if B::sammon_strategy(&self.context.device, variant).is_err() {
                continue;
            }
            // Only the paper's variants on a GPU have a block size.
            let gpu = B::limits(&self.context.device).largest_buffer.is_some();
            let blocks = if variant == Variant::Auto || !gpu { &paper::BLOCKS[..1] } else { &paper::BLOCKS };
            for &block in blocks {
                rows.add(self.variant(row, variant, block, gpu))?;
            }
        }
        Ok(())
    }

    fn variant(&self, row: &paper::Row, variant: Variant, block: u32, gpu: bool) -> Result<BenchRow> {
        let (ms, name, mode) = self.five_iterations(row.points, variant, block)?;
        let auto = variant == Variant::Auto;
        let paper_ms = (auto || variant == row.variant && block == row.block).then_some(row.gpu);
        let mut measured = self.row("table 1", format!("{variant}, {mode}"), row.points, ms, paper_ms);
        let mut detail = |key: &str, value: Value| measured.details.insert(key.into(), value);
        detail("shared", name.into());
        if !auto && gpu {
            detail("block", block.into());
        }
        detail("paper_cpu_1_ms", row.cpu_1.into());
        detail("paper_cpu_16_ms", row.cpu_16.into());
        detail("paper_variant", row.variant.to_string().into());
        detail("paper_block", row.block.into());
        Ok(measured)
    }

    fn table_2(&self, row: &paper::Row) -> Result<BenchRow> {
        let (ms, _, mode) = self.five_iterations(row.points, Variant::Auto, paper::BLOCKS[0])?;
        let case = format!("beside one CPU thread, {mode}");
        let mut measured = self.row("table 2", case, row.points, ms, Some(row.cpu_1));
        measured.details.insert("paper_gpu_ms".into(), row.gpu.into());
        measured.details.insert("paper_speedup".into(), (row.cpu_1 / row.gpu).into());
        Ok(measured)
    }

    /// A whole run, host work included; the error is the paper's at 100 000 points and close to it at fewer.
    fn table_3(&self, row: &paper::Row) -> Result<BenchRow> {
        let n = row.points;
        let sammon = papers_run(n, Variant::Auto, paper::BLOCKS[0])?;
        let points = paper::points(n, paper::SOURCE, self.context.seed)?;
        let start = Instant::now();
        let map = sammon.fit_with(points, self.context)?;
        let ms = start.elapsed().as_secs_f64() * 1e3;
        let case = format!("E {:.6} to {:.6}", map.stress_start, map.stress);
        let mut measured = self.row("table 3", case, n, ms, Some(row.gpu));
        measured.repeats = 1;
        let mut detail = |key: &str, value: Value| measured.details.insert(key.into(), value);
        detail("stress_start", map.stress_start.into());
        detail("stress", map.stress.into());
        if n == 100_000 {
            detail("paper_stress", json!(paper::TABLE_3));
        }
        detail("memory_mode", json!(map.memory_mode));
        detail("phases", Value::Object(map.timings.phases));
        Ok(measured)
    }
}
