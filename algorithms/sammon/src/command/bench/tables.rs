//! `firebox bench sammon`: the paper's tables run again.

use std::time::Instant;

use clap::{ArgMatches, Args, Command, ValueEnum};
use firebox_backends::{
    Device,
    bench::{BenchRow, Growth, Kernel, Rows, at_least_one, median},
    plugin::Bench,
    with_context,
};
use firebox_core::{Algorithm, Context, Error, Result, Session, command::parse, tensor::primitive};
use serde_json::{Map, Value, json};

use super::{growth::growth, kernels::kernels, paper};
use crate::{
    config::{Memory, SammonConfig, Solver, Start, Step},
    model::{embedding::Embedding, sammon::Sammon},
    ops::SammonOps,
    solve::{initialization, memory_plan::Plan, nondimensional::Prepared},
    types::{Data, Metric, SammonInput, Variant},
};

/// The bench of Sammon mapping.
#[derive(Debug, Clone, Copy, Default)]
pub struct SammonBench;

/// What to measure.
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
    parts.iter().try_for_each(|part| match part {
        Part::Table1 => bench.table_1(rows),
        Part::Table2 => bench.table_2(rows),
        Part::Table3 => bench.table_3(rows),
    })
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
    fn is_selected(&self, n: usize) -> bool {
        n <= self.args.max_points && (self.args.points.is_empty() || self.args.points.contains(&n))
    }

    fn time(&self, work: impl FnMut() -> Result<()>) -> Result<f64> {
        median(self.context, self.args.repeats, work)
    }

    fn row(&self, table: &str, case: &str, size: Vec<usize>, ms: f64, paper_ms: Option<f64>) -> BenchRow {
        let (table, case) = (table.into(), case.into());
        BenchRow { table, case, size, ms, repeats: self.args.repeats, paper_ms, details: Map::new() }
    }

    /// Milliseconds of 5 iterations and of what they need on the device: points, distances if they are cached, steps.
    fn five_iterations(&self, n: usize, variant: Variant, units: u32) -> Result<(f64, &'static str, Memory)> {
        let name = B::sammon_strategy(&self.context.device, variant)?;
        let sammon = papers_run(n, variant, units)?;
        let data = Data::Features(paper::points(n, paper::SOURCE, self.context.seed)?);
        let prepared = Prepared::new(data, Metric::Euclidean, false)?;
        let plan = Plan::new(sammon.config(), sammon.config().memory, &prepared, paper::TARGET, self.context)?;
        let start = initialization::first(&prepared, paper::TARGET)?;
        let ms = self.time(|| {
            let problem = plan.problem(&prepared, 1.0, self.context)?;
            let y = primitive::<B, 2>(start.clone(), [paper::TARGET, n], &self.context.device);
            let rates = primitive::<B, 1>(vec![paper::mu(n) / prepared.unit; n], [n], &self.context.device);
            let _ = B::sammon_steps(&problem, y, rates, paper::ITERATIONS, variant);
            Ok(())
        })?;
        Ok((ms, name, plan.mode))
    }

    fn table_1(&self, rows: &mut Rows<'_>) -> Result<()> {
        for row in paper::TABLE_1.iter().filter(|row| self.is_selected(row.points)) {
            for variant in Variant::value_variants() {
                // Backends without GPU units have one variant only.
                if B::sammon_strategy(&self.context.device, *variant).is_err() {
                    continue;
                }
                // Only the paper's variants on a GPU have a block size.
                let gpu = B::limits(&self.context.device).largest_buffer.is_some();
                let blocks = if *variant == Variant::Auto || !gpu { &paper::BLOCKS[..1] } else { &paper::BLOCKS };
                for &block in blocks {
                    rows.add(self.variant(row, *variant, block, gpu))?;
                }
            }
        }
        Ok(())
    }

    fn variant(&self, row: &paper::Row, variant: Variant, block: u32, gpu: bool) -> Result<BenchRow> {
        let (ms, name, mode) = self.five_iterations(row.points, variant, block)?;
        let auto = variant == Variant::Auto;
        let paper_ms = (auto || variant == row.variant && block == row.block).then_some(row.gpu);
        let size = vec![row.points, paper::SOURCE, paper::TARGET];
        let mut measured = self.row("table 1", &format!("{variant}, {mode}"), size, ms, paper_ms);
        measured.details.insert("shared".into(), name.into());
        if !auto && gpu {
            measured.details.insert("block".into(), block.into());
        }
        measured.details.insert("paper_cpu_1_ms".into(), row.cpu_1.into());
        measured.details.insert("paper_cpu_16_ms".into(), row.cpu_16.into());
        measured.details.insert("paper_variant".into(), row.variant.to_string().into());
        measured.details.insert("paper_block".into(), row.block.into());
        Ok(measured)
    }

    fn table_2(&self, rows: &mut Rows<'_>) -> Result<()> {
        for row in paper::TABLE_1.iter().filter(|row| self.is_selected(row.points)) {
            rows.add(self.five_iterations(row.points, Variant::Auto, paper::BLOCKS[0]).map(|(ms, _, mode)| {
                let size = vec![row.points, paper::SOURCE, paper::TARGET];
                let case = format!("beside one CPU thread, {mode}");
                let mut measured = self.row("table 2", &case, size, ms, Some(row.cpu_1));
                measured.details.insert("paper_gpu_ms".into(), row.gpu.into());
                measured.details.insert("paper_speedup".into(), (row.cpu_1 / row.gpu).into());
                measured
            }))?;
        }
        Ok(())
    }

    fn table_3(&self, rows: &mut Rows<'_>) -> Result<()> {
        for row in paper::TABLE_1.iter().filter(|row| self.is_selected(row.points)) {
            rows.add(self.whole_run(row))?;
        }
        Ok(())
    }

    /// A whole run, host work included; the error is the paper's at 100 000 points and close to it at fewer.
    fn whole_run(&self, row: &paper::Row) -> Result<BenchRow> {
        let n = row.points;
        let sammon = papers_run(n, Variant::Auto, paper::BLOCKS[0])?;
        let input = SammonInput::from(paper::points(n, paper::SOURCE, self.context.seed)?);
        let start = Instant::now();
        let map: Embedding<B> = sammon.run(input, self.context)?;
        let ms = start.elapsed().as_secs_f64() * 1e3;
        let case = format!("E {:.6} to {:.6}", map.stress_start, map.stress);
        let mut measured = self.row("table 3", &case, vec![n, paper::SOURCE, paper::TARGET], ms, Some(row.gpu));
        measured.repeats = 1;
        measured.details.insert("stress_start".into(), map.stress_start.into());
        measured.details.insert("stress".into(), map.stress.into());
        if n == 100_000 {
            measured.details.insert("paper_stress".into(), json!(paper::TABLE_3));
        }
        measured.details.insert("memory_mode".into(), json!(map.memory_mode));
        measured.details.insert("phases".into(), Value::Object(map.timings.phases));
        Ok(measured)
    }
}
