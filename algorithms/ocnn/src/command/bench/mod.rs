//! `firebox bench ocnn`: tables 1 and 2 and figure 4 of the paper, and the quality of clusters.

mod kernels;
mod published;
mod quality;
mod structureless;

use burn::tensor::{Tensor, TensorMetadata, ops::FloatTensor};
use clap::{ArgMatches, Args, Command, ValueEnum};
use firebox_backends::{
    Device,
    bench::{BenchRow, Growth, Kernel, Rows, at_least_one, median},
    plugin::Bench,
    with_context,
};
use firebox_core::{
    Context, Error, Result, Session,
    command::parse,
    data::Points,
    random::Random,
    tensor::{floats, reshape, slice},
};
use serde_json::{Map, Value};

use self::kernels::{COUNTS, check_memory, kernels, network};
use crate::{config::PaperConfig, model::Ocnn, ops::OcnnOps, types::Matvec};

/// The bench of the OCNN.
#[derive(Debug, Clone, Copy, Default)]
pub struct OcnnBench;

/// The measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Table 1: 5000 steps, by how the work is shared
    Table1,
    /// Table 2: a whole run of 1000 steps
    Table2,
    /// Figure 4: the synchronisation stage against the period
    Figure4,
    /// Automatic clustering, from points to clusters, in 2-D and in 16-D
    Auto,
}

#[derive(Debug, Args)]
struct BenchArgs {
    /// What to measure; everything by default
    #[arg(value_enum)]
    parts: Vec<Part>,
    /// Only these numbers of points
    #[arg(long, value_name = "N", value_delimiter = ',')]
    points: Vec<usize>,
    /// How often each figure is measured; the median is given
    #[arg(long, value_name = "R", default_value_t = 3)]
    repeats: usize,
}

impl Bench for OcnnBench {
    fn command(&self) -> Command {
        let about = "The OCNN paper's tables 1 and 2 and figure 4, measured here, beside the paper's figures";
        BenchArgs::augment_args(Command::new("ocnn").about(about))
            .subcommand_precedence_over_arg(true)
            .subcommands([quality::command(), structureless::command()])
    }

    fn run(&self, args: &ArgMatches, device: &Device, session: &Session, row: &mut dyn FnMut(BenchRow)) -> Result<()> {
        match args.subcommand() {
            Some((quality::NAME, args)) => return quality::run(args, device, session, row),
            Some((structureless::NAME, args)) => return structureless::run(args, device, session, row),
            _ => {}
        }
        let args: BenchArgs = parse(args)?;
        at_least_one(&[("repeats", args.repeats)])?;
        if let Some(count) = args.points.iter().find(|&&n| n < 3) {
            let reason = "a network needs at least 3 points".into();
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

/// Uniform random points in the unit cube.
fn uniform_points(n: usize, d: usize, seed: u64) -> Result<Points> {
    let mut random = Random::new(seed, 3);
    Points::new((0..d * n).map(|_| random.unit()).collect(), d)
}

/// The cases of `firebox bench cost`.
fn growth<B: OcnnOps>(context: &Context<B>) -> Vec<Growth> {
    vec![
        Growth::new("ocnn, automatic, 2-D", context, |n, context: &Context<B>| {
            let (points, context) = (uniform_points(n, 2, context.seed)?, context.clone());
            Ok(move || Ok(Ocnn::default().fit_with(points, &context)?.clustering().peak_device_bytes))
        }),
        Growth::new("ocnn, 100 steps, 2-D", context, |n, context: &Context<B>| {
            let (points, context) = (uniform_points(n, 2, context.seed)?, context.clone());
            Ok(move || {
                let ocnn = PaperConfig::new(0.7).with_steps(100).init()?;
                Ok(ocnn.fit_with(points, &context)?.peak_device_bytes)
            })
        }),
    ]
}

fn measure<B: OcnnOps>(args: &BenchArgs, parts: &[Part], context: &Context<B>, rows: &mut Rows<'_>) -> Result<()> {
    let bench = Measure { context, args };
    parts.iter().try_for_each(|part| match part {
        Part::Table1 => bench.table_1(rows),
        Part::Table2 => bench.table_2(rows),
        Part::Figure4 => bench.figure_4(rows),
        Part::Auto => bench.automatic(rows),
    })
}

struct Measure<'a, B: OcnnOps> {
    context: &'a Context<B>,
    args: &'a BenchArgs,
}

impl<B: OcnnOps> Measure<'_, B> {
    fn is_selected(&self, n: usize) -> bool {
        self.args.points.is_empty() || self.args.points.contains(&n)
    }

    fn time(&self, work: impl FnMut() -> Result<()>) -> Result<f64> {
        median(self.context, self.args.repeats, work)
    }

    /// The paper's points: uniform in [−100, 100]².
    fn points(&self, n: usize) -> Tensor<B, 2> {
        let mut random = Random::new(self.context.seed, 1);
        let values: Vec<f64> = (0..2 * n).map(|_| random.uniform(-100.0, 100.0)).collect();
        floats(values, [n, 2], &self.context.device)
    }

    fn row(&self, table: &str, case: &str, size: Vec<usize>, ms: f64, paper_ms: Option<f64>) -> BenchRow {
        let (table, case) = (table.into(), case.into());
        BenchRow { table, case, size, ms, repeats: self.args.repeats, paper_ms, note: None, details: Map::new() }
    }

    fn table_1(&self, rows: &mut Rows<'_>) -> Result<()> {
        for &(n, [y, x, single]) in published::TABLE_1.iter().filter(|(n, _)| self.is_selected(*n)) {
            let variants = [
                (Matvec::YThreads, Some(y)),
                (Matvec::XThreads, Some(x)),
                (Matvec::ThreadPerNeuron, Some(single)),
                (Matvec::Auto, None),
            ];
            for (matvec, paper_ms) in variants {
                // Backends without GPU units have one variant only.
                let Ok(name) = B::ocnn_strategy(&self.context.device, matvec, n, 2) else { continue };
                // `Auto` may coincide with one of the paper's variants.
                if paper_ms.is_none() && ["x-threads", "thread-per-neuron"].contains(&name) {
                    continue;
                }
                rows.add(self.variant(n, matvec, name, paper_ms))?;
            }
        }
        Ok(())
    }

    fn variant(&self, n: usize, matvec: Matvec, name: &str, paper_ms: Option<f64>) -> Result<BenchRow> {
        const STEPS: usize = 5000;
        const CALL: usize = 100;
        check_memory(n, CALL, None, self.context)?;
        let (network, state) = network(n, false, self.context);
        let ms = self.time(|| {
            let mut state = state.clone();
            for _ in 0..STEPS / CALL {
                state = last::<B>(B::ocnn_steps(&network, state, CALL, matvec));
            }
            Ok(())
        })?;
        Ok(self.row("table 1", name, vec![n, STEPS], ms, paper_ms))
    }

    fn table_2(&self, rows: &mut Rows<'_>) -> Result<()> {
        for &(n, cpu, variants) in published::TABLE_2.iter().filter(|(n, _, _)| self.is_selected(*n)) {
            rows.add(self.whole_run(n, cpu, variants))?;
        }
        Ok(())
    }

    fn whole_run(&self, n: usize, cpu: f64, variants: [f64; 3]) -> Result<BenchRow> {
        let points = self.points(n);
        let ocnn = PaperConfig::new(0.7).init()?;
        let mut last = None;
        let ms = self.time(|| {
            last = Some(ocnn.fit_with(points.clone(), self.context)?);
            Ok(())
        })?;
        // Compared with the best of the paper's three variants.
        let best = variants.into_iter().fold(f64::INFINITY, f64::min);
        let mut measured = self.row("table 2", "whole run", vec![n, 1000], ms, Some(best * 1e3));
        for (variant, seconds) in
            ["thread_per_neuron", "x_threads", "y_threads", "cpu"].iter().zip([variants.as_slice(), &[cpu]].concat())
        {
            measured.details.insert(format!("paper_{variant}_ms"), Value::from(seconds * 1e3));
        }
        if let Some(clusters) = last {
            measured.details.insert("clusters".into(), clusters.count().into());
            measured.details.insert("strategy".into(), clusters.strategy.to_string().into());
            measured.details.insert("peak_device_bytes".into(), clusters.peak_device_bytes.into());
            measured.details.insert("phases".into(), Value::Object(clusters.timings.phases));
        }
        Ok(measured)
    }

    fn figure_4(&self, rows: &mut Rows<'_>) -> Result<()> {
        for n in published::FIGURE_4_POINTS.into_iter().filter(|&n| self.is_selected(n)) {
            for period in published::FIGURE_4_PERIODS {
                rows.add(self.synchronisation(n, period))?;
            }
        }
        Ok(())
    }

    fn synchronisation(&self, n: usize, period: usize) -> Result<BenchRow> {
        const STEPS: usize = 1024;
        check_memory(n, period, Some(COUNTS), self.context)?;
        let (network, state) = network(n, false, self.context);
        let trajectory = B::ocnn_steps(&network, state, period, Matvec::Auto);
        let mut counts = None;
        let ms = self.time(|| {
            for _ in 0..STEPS / period {
                let bits = B::ocnn_increase_bits(trajectory.clone());
                counts = Some(B::ocnn_phase_sync(bits, period, counts.take()));
            }
            Ok(())
        })?;
        Ok(self.row("figure 4", "phase synchronisation", vec![n, period, STEPS], ms, None))
    }

    fn automatic(&self, rows: &mut Rows<'_>) -> Result<()> {
        let sizes = if self.args.points.is_empty() { &[1000, 10_000, 100_000][..] } else { &self.args.points };
        let ocnn = Ocnn::default();
        for (&n, d) in sizes.iter().flat_map(|n| [(n, 2), (n, 16)]) {
            let points = uniform_points(n, d, self.context.seed)?;
            let mut fitted = None;
            let ms = self.time(|| {
                fitted = Some(ocnn.fit_with(points.clone(), self.context)?);
                Ok(())
            })?;
            let mut row = self.row("automatic", "from points to clusters", vec![n, d], ms, None);
            if let Some(clustering) = fitted.map(|fitted| fitted.into_clustering()) {
                row.details.insert("clusters".into(), clustering.count().into());
                row.details.insert("peak_device_bytes".into(), clustering.peak_device_bytes.into());
                row.details.insert("phases".into(), Value::Object(clustering.timings.phases));
            }
            rows.add(Ok(row))?;
        }
        Ok(())
    }
}

fn last<B: OcnnOps>(trajectory: FloatTensor<B>) -> FloatTensor<B> {
    let [rows, n] = trajectory.shape().dims();
    reshape::<B>(slice::<B, 2>(trajectory, [rows - 1..rows, 0..n]), [n].into())
}
