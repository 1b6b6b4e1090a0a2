//! `firebox bench ocnn`: tables 1 and 2 and figure 4 of the paper, run again.

mod growth;
mod kernels;

use burn::tensor::{Tensor, TensorPrimitive, ops::FloatTensor};
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use firebox_backends::bench::{Rows, at_least_one, median};
use firebox_core::{
    Algorithm, Context, Error, Result,
    data::Points,
    plugin::{Bench, BenchRow},
    random::Random,
    tensor::floats,
};
use serde_json::{Map, Value};

use self::kernels::{COUNTS, fits, network};
use crate::{AutoConfig, AutoInput, Matvec, OcnnConfig, OcnnOps, paper};

pub(crate) use self::{growth::growth, kernels::kernels};

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

impl<B: OcnnOps> Bench<B> for OcnnBench {
    fn command(&self) -> Command {
        let about = "The OCNN paper's tables 1 and 2 and figure 4, measured here, beside the paper's figures";
        BenchArgs::augment_args(Command::new("ocnn").about(about))
    }

    fn run(&self, args: &ArgMatches, context: &Context<B>, row: &mut dyn FnMut(BenchRow)) -> Result<()> {
        let args = BenchArgs::from_arg_matches(args).map_err(|error| Error::input(error.to_string(), "see --help"))?;
        at_least_one(&[("repeats", args.repeats)])?;
        if let Some(few) = args.points.iter().find(|&&n| n < 3) {
            let reason = "a network needs at least 3 points".into();
            return Err(Error::Config { field: "points", value: few.to_string(), reason });
        }
        let wanted = |n: usize| args.points.is_empty() || args.points.contains(&n);
        let parts = if args.parts.is_empty() { Part::value_variants() } else { &args.parts };
        let mut rows = Rows::new(&*context.observer, row);
        for part in parts {
            let bench = Measure { context, repeats: args.repeats };
            match part {
                Part::Table1 => bench.table_1(&wanted, &mut rows)?,
                Part::Table2 => bench.table_2(&wanted, &mut rows)?,
                Part::Figure4 => bench.figure_4(&wanted, &mut rows)?,
                Part::Auto => bench.automatic(&args.points, &mut rows)?,
            }
        }
        rows.end(&args.points)
    }
}

struct Measure<'a, B: OcnnOps> {
    context: &'a Context<B>,
    repeats: usize,
}

impl<B: OcnnOps> Measure<'_, B> {
    fn time(&self, work: impl FnMut() -> Result<()>) -> Result<f64> {
        median(self.context, self.repeats, work)
    }

    /// The paper's points: uniform in [−100, 100]².
    fn points(&self, n: usize) -> Tensor<B, 2> {
        let mut random = Random::new(self.context.seed, 1);
        let values: Vec<f64> = (0..2 * n).map(|_| random.uniform(-100.0, 100.0)).collect();
        floats(values, [n, 2], &self.context.device)
    }

    fn row(&self, table: &str, case: &str, size: Vec<usize>, ms: f64, paper_ms: Option<f64>) -> BenchRow {
        let (table, case) = (table.into(), case.into());
        BenchRow { table, case, size, ms, repeats: self.repeats, paper_ms, details: Map::new() }
    }

    fn table_1(&self, wanted: &dyn Fn(usize) -> bool, rows: &mut Rows<'_>) -> Result<()> {
        for &(n, [y, x, single]) in paper::TABLE_1.iter().filter(|(n, _)| wanted(*n)) {
            let ways = [
                (Matvec::YThreads, Some(y)),
                (Matvec::XThreads, Some(x)),
                (Matvec::ThreadPerNeuron, Some(single)),
                (Matvec::Auto, None),
            ];
            for (matvec, paper_ms) in ways {
                // A backend without units to share work among has one way only.
                let Ok(name) = B::ocnn_strategy(&self.context.device, matvec, n, 2) else { continue };
                // `Auto` may be one of the paper's.
                if paper_ms.is_none() && ["x-threads", "thread-per-neuron"].contains(&name) {
                    continue;
                }
                rows.add(self.way(n, matvec, name, paper_ms))?;
            }
        }
        Ok(())
    }

    fn way(&self, n: usize, matvec: Matvec, name: &str, paper_ms: Option<f64>) -> Result<BenchRow> {
        const STEPS: usize = 5000;
        const CALL: usize = 100;
        fits(n, CALL, None, self.context)?;
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

    fn table_2(&self, wanted: &dyn Fn(usize) -> bool, rows: &mut Rows<'_>) -> Result<()> {
        for &(n, cpu, ways) in paper::TABLE_2.iter().filter(|(n, _, _)| wanted(*n)) {
            rows.add(self.whole_run(n, cpu, ways))?;
        }
        Ok(())
    }

    fn whole_run(&self, n: usize, cpu: f64, ways: [f64; 3]) -> Result<BenchRow> {
        let points = self.points(n);
        let ocnn = OcnnConfig::new(0.7).init()?;
        let mut last = None;
        let ms = self.time(|| {
            last = Some(ocnn.run(points.clone(), self.context)?);
            Ok(())
        })?;
        // The fairest of the paper's figures is the best of its three ways.
        let best = ways.into_iter().fold(f64::INFINITY, f64::min);
        let mut measured = self.row("table 2", "whole run", vec![n, 1000], ms, Some(best * 1e3));
        for (way, seconds) in
            ["thread_per_neuron", "x_threads", "y_threads", "cpu"].iter().zip([ways.as_slice(), &[cpu]].concat())
        {
            measured.details.insert(format!("paper_{way}_ms"), Value::from(seconds * 1e3));
        }
        if let Some(clusters) = last {
            measured.details.insert("clusters".into(), clusters.count().into());
            measured.details.insert("strategy".into(), clusters.strategy.into());
            measured.details.insert("peak_device_bytes".into(), clusters.peak_device_bytes.into());
            measured.details.insert("phases".into(), Value::Object(clusters.timings.phases));
        }
        Ok(measured)
    }

    fn figure_4(&self, wanted: &dyn Fn(usize) -> bool, rows: &mut Rows<'_>) -> Result<()> {
        for n in paper::FIGURE_4_POINTS.into_iter().filter(|&n| wanted(n)) {
            for period in paper::FIGURE_4_PERIODS {
                rows.add(self.synchronisation(n, period))?;
            }
        }
        Ok(())
    }

    fn synchronisation(&self, n: usize, period: usize) -> Result<BenchRow> {
        const STEPS: usize = 1024;
        fits(n, period, Some(COUNTS), self.context)?;
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

    fn automatic(&self, sizes: &[usize], rows: &mut Rows<'_>) -> Result<()> {
        let sizes = if sizes.is_empty() { &[1000, 10_000, 100_000][..] } else { sizes };
        let auto = AutoConfig::new().init()?;
        for (&n, d) in sizes.iter().flat_map(|n| [(n, 2), (n, 16)]) {
            let mut random = Random::new(self.context.seed, 3);
            let points = AutoInput::Points(Points::new((0..d * n).map(|_| random.unit()).collect(), d)?);
            let mut found = None;
            let ms = self.time(|| {
                found = Some(auto.cluster(&points, self.context)?);
                Ok(())
            })?;
            let mut row = self.row("automatic", "from points to clusters", vec![n, d], ms, None);
            if let Some(found) = found {
                row.details.insert("clusters".into(), found.count().into());
                row.details.insert("peak_device_bytes".into(), found.peak_device_bytes.into());
                row.details.insert("phases".into(), Value::Object(found.timings.phases));
            }
            rows.add(Ok(row))?;
        }
        Ok(())
    }
}

fn last<B: OcnnOps>(trajectory: FloatTensor<B>) -> FloatTensor<B> {
    let trajectory = Tensor::<B, 2>::from_primitive(TensorPrimitive::Float(trajectory));
    let [rows, n] = trajectory.dims();
    trajectory.slice([rows - 1..rows, 0..n]).reshape([n]).into_primitive().tensor()
}
