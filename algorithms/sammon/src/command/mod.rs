//! `firebox sammon`: arguments to a [`SammonConfig`](crate::SammonConfig), embeddings to tables, plots and the report's result.

mod args;
mod bench;
mod predict;
mod report;

use clap::{ArgMatches, Args, Command};
use firebox_backends::{Device, Plugin, plugin::Bench, with_context};
use firebox_core::{
    Context, Result, Session,
    command::{Conformance, Document, NameOrFile, Outcome, PredictArgs, parse, with_short_help},
    data::{Kept, Points, Schema, Table},
    plot::Plot,
    report::{entries, schema},
};
use serde_json::{Value, json};

use self::{
    args::{Kind, SammonArgs, read_distances},
    bench::SammonBench,
};
use crate::{
    model::{
        map::{SammonMap, axis_names},
        sammon::SammonInput,
    },
    ops::SammonOps,
    solve::fitted::SammonModel,
};

const EXAMPLES: &str = "\
Examples:
  firebox sammon points.csv --label label -o map.csv --plot map.png --shepard shepard.png
  firebox sammon points.csv --drop label --standardise standard --dims 3 --keep all -o map.csv
  firebox sammon points.csv --label label --model map.fbx
  firebox predict points.csv --model map.fbx -o new.csv";

/// Options of the short help.
const COMMON: [&str; 8] = ["label", "drop", "missing", "standardise", "metric", "dims", "model", "shepard"];

/// The command `sammon`.
#[derive(Debug, Clone, Copy, Default)]
pub struct SammonPlugin;

impl Plugin for SammonPlugin {
    fn command(&self) -> Command {
        with_short_help(SammonArgs::augment_args(Command::new("sammon")), &COMMON)
            .about("Maps points to few dimensions, keeping their distances")
            .long_about(
                "Maps points to 2, 3 or more dimensions so that their distances stay as they are, small ones above all \
                 (Sammon 1969). Writes each point's place in columns y1, y2, …, its class if it is known, and on \
                 request its part of the stress.",
            )
            .after_long_help(EXAMPLES)
    }

    fn run(&self, args: &ArgMatches, device: &Device, session: &Session) -> Result<Outcome> {
        let args: SammonArgs = parse(args)?;
        with_context!(device, session, |context| run(&args, context))
    }

    fn predict(&self, args: &PredictArgs, device: &Device, session: &Session) -> Result<Outcome> {
        predict::run(args, device, session)
    }

    fn can_share(&self, _args: &ArgMatches) -> Result<()> {
        Ok(())
    }

    fn bench(&self) -> Option<&dyn Bench> {
        Some(&SammonBench)
    }

    fn schemas(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("sammon", schema::<report::SammonResult>("firebox sammon")),
            ("predict, sammon", schema::<predict::PredictResult>("firebox predict with a model of sammon")),
        ]
    }

    fn conformance(&self) -> Conformance {
        let args = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        Conformance {
            good: args("{csv} --label label --dims 2 --max-iterations 50"),
            bad: vec![
                ("dims", args("--dims 0")),
                ("power", args("--power -1")),
                ("step", args("--learning-rate alpha:1")),
                ("restarts", args("--restarts 20000")),
                ("iterations", args("--max-iterations 0")),
                ("tolerance", args("--tolerance -1")),
                ("time_limit", args("--time-limit 0")),
                ("memory", args("--memory cached-f16")),
                ("variant", args("--variant rows-full --memory sampled")),
                ("units", args("--units 48")),
                ("solver", args("--memory sampled --solver gd")),
                ("epochs", args("--epochs 0")),
                ("block", args("--block 0")),
                ("checkpoint_every", args("--checkpoint-every 0")),
            ],
        }
    }
}

fn run<B: SammonOps>(args: &SammonArgs, context: &Context<B>) -> Result<Outcome> {
    let sammon = args.config().init()?.with_checkpoints(args.states.checkpoints()?);
    let observer = &*context.observer;
    let (data, start, prepared) = args.read(observer)?;
    let precomputed = args.metric == Kind::Precomputed;
    let new = match &args.predict {
        Some(path) if precomputed => Some((path, read_distances(&args.input, path, data.points())?, Kept::default())),
        Some(path) => {
            let (new, kept) = args.input.read_more(path, &prepared.schema, None, observer)?;
            Some((path, new, kept))
        }
        None => None,
    };
    if matches!(args.metric, Kind::Euclidean | Kind::Manhattan) {
        prepared.points.unlike_scales().into_iter().for_each(|notice| observer.notice(&notice));
    }
    let input = SammonInput::<B>::from(data).starting_at(start);
    let map = sammon.fit_with(input, context).map_err(|error| error.in_file(&args.input.input))?;
    let placed = match new {
        Some((path, new, kept)) => {
            Some(kept.beside(predict::placed(map.model(), &new, context).map_err(|error| error.in_file(path))?)?)
        }
        None => None,
    };
    let model = match &args.model {
        Some(path) => {
            let schema = if precomputed { Schema::default() } else { prepared.schema };
            let bytes = SammonModel { schema, ..map.model().clone() }.to_bytes()?;
            Some((path.clone(), Document::new(move |out| out.write_all(&bytes))))
        }
        None => None,
    };
    let outcome = outcome(args, prepared.points, &prepared.kept, map, placed)?;
    Ok(Outcome { table: prepared.kept.beside(outcome.table)?, documents: model.into_iter().collect(), ..outcome })
}

fn outcome<B: SammonOps>(
    args: &SammonArgs,
    points: Points,
    kept: &Kept,
    map: SammonMap<B>,
    placed: Option<Table>,
) -> Result<Outcome> {
    let dims = map.config().dims;
    let labels = points.labels.clone();
    let mut table = Table::float_matrix(axis_names(dims), map.coordinates.clone())?;
    if let Some(labels) = &labels {
        table = table.beside(Table::words("label", labels.clone(), points.label_names.clone().unwrap_or_default()))?;
    }
    if let Some(stress) = map.point_stress.clone().filter(|_| map.config().point_stress) {
        table = table.beside(Table::floats("stress", stress))?;
    }
    let tables = args.predict_output.clone().into_iter().zip(placed).collect();
    let mut settings = serde_json::to_value(map.config()).unwrap_or(Value::Null);
    if args.metric == Kind::Precomputed {
        settings["metric"] = "precomputed".into();
    }
    if let NameOrFile::File(path) = &args.start {
        settings["start"] = path.display().to_string().into();
    }
    settings["missing"] = json!(args.preparation.missing);
    settings["standardise"] = json!(args.preparation.standardise);
    settings["checkpoint_every"] = args.states.checkpoint_every.into();
    let input = points.size();
    let page = match &args.html.page.html {
        Some(path) => {
            // Distances are no columns of the points.
            let has_columns = args.metric != Kind::Precomputed;
            let table = args.html.table((&points, kept), args.preparation, has_columns)?;
            Some((path.clone(), map.page(table).map(|page| page.of_input(&args.input.name()))))
        }
        None => None,
    };
    let mut drawn = Points::new(map.coordinates.clone(), dims)?;
    drawn.names = axis_names(dims);
    (drawn.labels, drawn.label_names) = (labels, points.label_names);
    Ok(Outcome {
        config: settings,
        input,
        result: entries(&report::result(&map)),
        summary: report::summary(&map),
        plots: report::plots(&map, args.shepard.as_ref(), args.convergence.as_ref()),
        page,
        documents: Vec::new(),
        table,
        plot: Some(Plot::scatter(format!("Sammon mapping, E = {:.6}", map.stress), drawn)),
        tables,
        peak_device_bytes: map.peak_device_bytes,
        timings: map.timings,
        unresolved: false,
    })
}
