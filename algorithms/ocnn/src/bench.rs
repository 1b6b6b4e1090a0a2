//! `firebox bench ocnn`: tables 1 and 2 and figure 4 of the paper, run again, and single steps.

use std::time::Instant;

use burn::tensor::{DType, Int, Tensor, TensorPrimitive};
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use firebox_core::{
    Algorithm, Context, Error, Result,
    plugin::{Bench, BenchRow},
    random::Random,
    tensor::{floats, primitive},
};
use serde_json::{Map, Value};

use crate::{Matvec, Network, OcnnConfig, OcnnOps, paper};

/// The bench of the OCNN.
#[derive(Debug, Clone, Copy, Default)]
pub struct OcnnBench;

/// What to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Table 1: 5000 steps, by how the work is shared
    Table1,
    /// Table 2: a whole run of 1000 steps
    Table2,
    /// Figure 4: the synchronisation stage against the period
    Figure4,
    /// One step, stored and on the fly, and the synchronisation of a period
    Steps,
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

impl<B: OcnnOps> Bench<B> for OcnnBench {
    fn command(&self) -> Command {
        let about = "The OCNN paper's tables 1 and 2 and figure 4, measured here, beside the paper's figures";
        BenchArgs::augment_args(Command::new("ocnn").about(about))
    }

    fn run(&self, args: &ArgMatches, context: &Context<B>, row: &mut dyn FnMut(BenchRow)) -> Result<()> {
        let args = BenchArgs::from_arg_matches(args).map_err(|error| Error::input(error.to_string(), "see --help"))?;
        if args.repeats == 0 {
            let reason = "must be at least 1".into();
            return Err(Error::Config { field: "repeats", value: "0".into(), reason });
        }
        let wanted = |n: usize| args.points.is_empty() || args.points.contains(&n);
        let parts = if args.parts.is_empty() { Part::value_variants() } else { &args.parts };
        for part in parts {
            let bench = Measure { context, repeats: args.repeats };
            match part {
                Part::Table1 => bench.table_1(&wanted, row)?,
                Part::Table2 => bench.table_2(&wanted, row)?,
                Part::Figure4 => bench.figure_4(&wanted, row)?,
                Part::Steps => bench.steps(&args.points, row)?,
            }
        }
        Ok(())
    }
}

struct Measure<'a, B: OcnnOps> {
    context: &'a Context<B>,
    repeats: usize,
}

impl<B: OcnnOps> Measure<'_, B> {
    /// Median milliseconds of `work`, each time to the end of what it put on the device; one warm-up before.
    fn time(&self, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
        let mut times = Vec::with_capacity(self.repeats);
        for repeat in 0..=self.repeats {
            if self.context.observer.cancelled() {
                return Err(Error::Cancelled);
            }
            B::finish(&self.context.device, "bench")?;
            let start = Instant::now();
            work()?;
            B::finish(&self.context.device, "bench")?;
            if repeat > 0 {
                times.push(start.elapsed().as_secs_f64() * 1e3);
            }
        }
        times.sort_by(f64::total_cmp);
        Ok(times[times.len() / 2])
    }

    /// The paper's points: uniform in [−100, 100]².
    fn points(&self, n: usize) -> Tensor<B, 2> {
        let mut random = Random::new(self.context.seed, 1);
        let values: Vec<f64> = (0..2 * n).map(|_| random.uniform(-100.0, 100.0)).collect();
        floats(values, [n, 2], &self.context.device)
    }

    /// A network of uniform points with the spacing's scale, and a state.
    fn network(&self, n: usize, stored: bool) -> (Network<B>, burn::tensor::ops::FloatTensor<B>) {
        let mut random = Random::new(self.context.seed, 2);
        // Points of [−100, 100]² in units of a√2, with a = 200/√n, the mean spacing.
        let half = 100.0 / (200.0 / (n as f64).sqrt() * std::f64::consts::SQRT_2);
        let points =
            primitive::<B, _>((0..2 * n).map(|_| random.uniform(-half, half)).collect(), [2, n], &self.context.device);
        let multiplicity = primitive::<B, _>(vec![1.0; n], [n], &self.context.device);
        let strengths = B::ocnn_strengths(points.clone(), multiplicity.clone(), false);
        let strengths = Tensor::<B, 1>::from_primitive(TensorPrimitive::Float(strengths));
        let inverse_strength = strengths.recip().into_primitive().tensor();
        let weights = stored.then(|| B::ocnn_weights(points.clone(), multiplicity.clone(), false));
        let state = primitive::<B, _>((0..n).map(|_| random.uniform(-1.0, 1.0)).collect(), [n], &self.context.device);
        (Network { points, weights, multiplicity, inverse_strength, self_coupling: false }, state)
    }

    fn row(&self, table: &str, case: &str, size: Vec<usize>, ms: f64, paper_ms: Option<f64>) -> BenchRow {
        let (table, case) = (table.into(), case.into());
        BenchRow { table, case, size, ms, repeats: self.repeats, paper_ms, details: Map::new() }
    }

    fn table_1(&self, wanted: &dyn Fn(usize) -> bool, row: &mut dyn FnMut(BenchRow)) -> Result<()> {
        const STEPS: usize = 5000;
        for &(n, [y, x, single]) in paper::TABLE_1.iter().filter(|(n, _)| wanted(*n)) {
            let (network, state) = self.network(n, false);
            let ways = [
                (Matvec::YThreads, Some(y)),
                (Matvec::XThreads, Some(x)),
                (Matvec::ThreadPerNeuron, Some(single)),
                (Matvec::Auto, None),
            ];
            for (matvec, paper_ms) in ways {
                // A backend without units to share work among has one way only.
                let Ok((matvec, name)) = B::ocnn_strategy(&self.context.device, matvec) else { continue };
                if paper_ms.is_none() && matvec != Matvec::Auto {
                    continue;
                }
                let ms = self.time(|| {
                    let mut state = state.clone();
                    for _ in 0..STEPS / 100 {
                        state = last::<B>(B::ocnn_steps(&network, state, 100, matvec));
                    }
                    Ok(())
                })?;
                row(self.row("table 1", name, vec![n, STEPS], ms, paper_ms));
            }
        }
        Ok(())
    }

    fn table_2(&self, wanted: &dyn Fn(usize) -> bool, row: &mut dyn FnMut(BenchRow)) -> Result<()> {
        for &(n, cpu, [single, _, _]) in paper::TABLE_2.iter().filter(|(n, _, _)| wanted(*n)) {
            let points = self.points(n);
            let ocnn = OcnnConfig::new(0.7).init()?;
            let mut last = None;
            let ms = self.time(|| {
                last = Some(ocnn.run(points.clone(), self.context)?);
                Ok(())
            })?;
            let mut measured = self.row("table 2", "whole run", vec![n, 1000], ms, Some(single * 1e3));
            measured.details.insert("paper_cpu_ms".into(), Value::from(cpu * 1e3));
            if let Some(clusters) = last {
                measured.details.insert("clusters".into(), clusters.count().into());
                measured.details.insert("strategy".into(), clusters.strategy.into());
                measured.details.insert("peak_device_bytes".into(), clusters.peak_device_bytes.into());
                measured.details.insert("phases".into(), Value::Object(clusters.timings.phases));
            }
            row(measured);
        }
        Ok(())
    }

    fn figure_4(&self, wanted: &dyn Fn(usize) -> bool, row: &mut dyn FnMut(BenchRow)) -> Result<()> {
        const STEPS: usize = 1024;
        for n in paper::FIGURE_4_POINTS.into_iter().filter(|&n| wanted(n)) {
            for period in paper::FIGURE_4_PERIODS {
                let (network, state) = self.network(n, false);
                let trajectory = B::ocnn_steps(&network, state, period, Matvec::Auto);
                let zeros = || Tensor::<B, 2, Int>::zeros([n, n], (&self.context.device, DType::I32)).into_primitive();
                let mut counts = Some(zeros());
                let ms = self.time(|| {
                    for _ in 0..STEPS / period {
                        let bits = B::ocnn_increase_bits(trajectory.clone());
                        counts = counts.take().map(|counts| B::ocnn_phase_sync(bits, period, counts));
                    }
                    Ok(())
                })?;
                row(self.row("figure 4", "phase synchronisation", vec![n, period, STEPS], ms, None));
            }
        }
        Ok(())
    }

    fn steps(&self, sizes: &[usize], row: &mut dyn FnMut(BenchRow)) -> Result<()> {
        let sizes = if sizes.is_empty() { &[1000, 4000, 16_000][..] } else { sizes };
        for &n in sizes {
            // Enough steps that reading the clock does not show.
            let steps = (4_000_000 / n).clamp(8, 512);
            for (stored, case) in [(true, "ocnn step, stored J"), (false, "ocnn step, on the fly")] {
                let limits = B::limits(&self.context.device);
                let bytes = (n * n * size_of::<B::FloatElem>()) as u64;
                if stored
                    && (limits.largest_buffer.is_some_and(|most| bytes > most)
                        || limits.free.is_some_and(|free| bytes > free))
                {
                    continue;
                }
                let (network, state) = self.network(n, stored);
                let ms = self.time(|| {
                    let _ = B::ocnn_steps(&network, state.clone(), steps, Matvec::Auto);
                    Ok(())
                })?;
                row(self.row("steps", case, vec![n, 1], ms / steps as f64, None));
            }
            let (network, state) = self.network(n, false);
            let trajectory = B::ocnn_steps(&network, state, 1024, Matvec::Auto);
            let bits = B::ocnn_increase_bits(trajectory.clone());
            let outputs = Tensor::<B, 2>::from_primitive(TensorPrimitive::Float(trajectory)).slice([1..65, 0..n]);
            let outputs = outputs.into_primitive().tensor();
            let ms = self.time(|| {
                let _ = B::ocnn_phase_components(bits.clone(), 1024, 716);
                Ok(())
            })?;
            row(self.row("steps", "ocnn phase components, 1024 steps", vec![n, 1024], ms, None));
            let bytes = (n * n * 4) as u64;
            if B::limits(&self.context.device).largest_buffer.is_some_and(|most| bytes > most) {
                continue;
            }
            let zeros = Tensor::<B, 2, Int>::zeros([n, n], (&self.context.device, DType::I32)).into_primitive();
            let mut counts = Some(zeros);
            let ms = self.time(|| {
                counts = counts.take().map(|counts| B::ocnn_phase_sync(bits.clone(), 1024, counts));
                Ok(())
            })?;
            row(self.row("steps", "ocnn phase sync, 1024 steps", vec![n, 1024], ms, None));
            let ms = self.time(|| {
                counts = counts.take().map(|counts| B::ocnn_fragmentary_sync(outputs.clone(), 0.01, counts));
                Ok(())
            })?;
            row(self.row("steps", "ocnn fragmentary sync, 64 steps", vec![n, 64], ms, None));
        }
        Ok(())
    }
}

fn last<B: OcnnOps>(trajectory: burn::tensor::ops::FloatTensor<B>) -> burn::tensor::ops::FloatTensor<B> {
    let trajectory = Tensor::<B, 2>::from_primitive(TensorPrimitive::Float(trajectory));
    let [rows, n] = trajectory.dims();
    trajectory.slice([rows - 1..rows, 0..n]).reshape([n]).into_primitive().tensor()
}
