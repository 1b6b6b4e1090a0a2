//! `firebox bench ocnn structureless`: separation and evidence of structure in points without structure, and the share of
//! such sets that are split. The tables of `solve/auto/chance.rs` are its output with seed 0; other seeds check them.

use std::{f64::consts::TAU, fmt, time::Instant};

use clap::{ArgMatches, Args, Command};
use firebox_backends::{
    Device,
    bench::{BenchRow, Rows, at_least_one},
    with_context,
};
use firebox_core::{Context, Error, Result, Session, command::parse, data::Points, quantile::quantile, random::Random};
use serde_json::json;

use crate::{
    config::OcnnConfig,
    ops::OcnnOps,
    solve::auto::{dimension::FEW_POINTS, edges::CANDIDATES},
};

pub(super) const NAME: &str = "structureless";

/// Fewest points of a set.
const FEWEST: usize = 20;

#[derive(Debug, Args)]
struct StructurelessArgs {
    /// Numbers of points
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "100,200,400,1000,3000,10000")]
    points: Vec<usize>,
    /// Dimensions of uniform and Gaussian sets
    #[arg(long, value_name = "D", value_delimiter = ',', num_args = 0.., default_value = "1,2,3,4,8,16")]
    dimensions: Vec<usize>,
    /// Lengths of bands and rings, in units of their width
    #[arg(long, value_name = "A", value_delimiter = ',', num_args = 0.., default_value = "3,10,30")]
    aspects: Vec<usize>,
    /// Sets of each kind
    #[arg(long, value_name = "S", default_value_t = 20)]
    sets: usize,
}

/// A distribution without clusters.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Uniform(usize),
    Gaussian(usize),
    /// A rectangle, uniformly filled.
    Band(usize),
    /// An annulus, uniformly filled; its length is the mean circumference.
    Ring(usize),
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform(d) => write!(f, "uniform, {d}-D"),
            Self::Gaussian(d) => write!(f, "Gaussian, {d}-D"),
            Self::Band(aspect) => write!(f, "band, aspect {aspect}"),
            Self::Ring(aspect) => write!(f, "ring, aspect {aspect}"),
        }
    }
}

impl Kind {
    fn dimension(self) -> usize {
        match self {
            Self::Uniform(d) | Self::Gaussian(d) => d,
            Self::Band(_) | Self::Ring(_) => 2,
        }
    }

    fn draw(self, n: usize, random: &mut Random) -> Result<Points> {
        let values: Vec<f64> = match self {
            Self::Uniform(d) => (0..n * d).map(|_| random.unit()).collect(),
            Self::Gaussian(d) => (0..n * d).map(|_| random.normal()).collect(),
            Self::Band(aspect) => (0..n).flat_map(|_| [aspect as f64 * random.unit(), random.unit()]).collect(),
            Self::Ring(aspect) => {
                let middle = aspect as f64 / TAU;
                let (inner, outer) = ((middle - 0.5).max(0.0), middle + 0.5);
                let point = |_| {
                    let radius = random.uniform(inner * inner, outer * outer).sqrt();
                    let (sin, cos) = (TAU * random.unit()).sin_cos();
                    [radius * cos, radius * sin]
                };
                (0..n).flat_map(point).collect()
            }
        };
        Points::new(values, self.dimension())
    }
}

pub(super) fn command() -> Command {
    let about = "Points without structure: quantiles of separation and evidence, and the share that is split";
    StructurelessArgs::augment_args(Command::new(NAME).about(about))
}

pub(super) fn run(args: &ArgMatches, device: &Device, session: &Session, row: &mut dyn FnMut(BenchRow)) -> Result<()> {
    let args: StructurelessArgs = parse(args)?;
    at_least_one(&[("sets", args.sets)])?;
    let sizes = args.dimensions.iter().map(|&d| ("dimensions", d)).chain(args.aspects.iter().map(|&a| ("aspects", a)));
    at_least_one(&sizes.collect::<Vec<_>>())?;
    if let Some(few) = args.points.iter().find(|&&n| n < FEWEST) {
        let reason = format!("must be at least {FEWEST}");
        return Err(Error::Config { field: "points", value: few.to_string(), reason });
    }
    let mut rows = Rows::new(&*session.observer, row);
    with_context!(device, session, |context| measure(&args, context, &mut rows))?;
    rows.end(&args.points)
}

fn measure<B: OcnnOps>(args: &StructurelessArgs, context: &Context<B>, rows: &mut Rows<'_>) -> Result<()> {
    let config = OcnnConfig::new();
    let kinds = args.dimensions.iter().flat_map(|&d| [Kind::Uniform(d), Kind::Gaussian(d)]);
    let long = args.aspects.iter().flat_map(|&aspect| [Kind::Band(aspect), Kind::Ring(aspect)]);
    for kind in kinds.chain(long) {
        for &n in &args.points {
            rows.add(case(kind, n, &config, "", args.sets, context))?;
            // The graphs that few points in more dimensions have.
            if matches!(kind, Kind::Uniform(2) | Kind::Gaussian(2)) && n < FEW_POINTS {
                let config = config.clone().with_neighbours(Some(CANDIDATES));
                rows.add(case(kind, n, &config, &format!(", {CANDIDATES} neighbours"), args.sets, context))?;
            }
        }
    }
    Ok(())
}

/// The sets of one kind and number of points.
fn case<B: OcnnOps>(
    kind: Kind,
    n: usize,
    config: &OcnnConfig,
    suffix: &str,
    sets: usize,
    context: &Context<B>,
) -> Result<BenchRow> {
    let ocnn = config.init()?;
    let (mut separations, mut evidence, mut split, start) = (Vec::new(), Vec::new(), 0, Instant::now());
    for set in 0..sets as u64 {
        context.go_on()?;
        let points = kind.draw(n, &mut Random::new(context.seed, set))?;
        let fitted = ocnn.fit_with(points, context)?;
        let largest = fitted.clustering().steps.iter().map(|step| step.separation).fold(0.0, f64::max);
        separations.push(largest);
        evidence.push(fitted.clustering().evidence);
        split += usize::from(fitted.count() > 1);
    }
    separations.sort_by(f64::total_cmp);
    evidence.sort_by(f64::total_cmp);
    let separation = quantile(&separations, 0.5);
    let [median, high] = [0.5, 0.95].map(|share| quantile(&evidence, share));
    let share = split as f64 / sets as f64;
    let details =
        json!({ "sets": sets, "separation": separation, "median": median, "quantile_95": high, "split": share });
    Ok(BenchRow {
        table: "chance".into(),
        case: format!("{kind}{suffix}"),
        size: vec![n, kind.dimension()],
        ms: start.elapsed().as_secs_f64() * 1e3 / sets as f64,
        repeats: sets,
        paper_ms: None,
        note: Some(format!(
            "separation {separation:.2}; evidence {median:.2}, 95 % {high:.2}; split {:.0} %",
            100.0 * share
        )),
        details: details.as_object().cloned().unwrap_or_default(),
    })
}
