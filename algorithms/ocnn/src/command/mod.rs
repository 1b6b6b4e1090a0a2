//! `firebox ocnn`: arguments to configurations, clusters to tables, plots and the report's result.

mod args;
mod bench;
mod plots;
mod predict;
mod report;

use clap::{ArgMatches, Args, Command};
use firebox_backends::{Device, Plugin, plugin::Bench, with_context};
use firebox_core::{
    Context, Error, Observer, Result, Session,
    command::{Conformance, InputFile, Outcome, PredictArgs, PreparedPoints, parse, with_short_help},
    data::{Kept, Table, read_sparse},
    report::schema,
};
use serde_json::Value;

use self::{
    args::{Mode, OcnnArgs},
    bench::OcnnBench,
};
use crate::{
    model::{Clustering, Ocnn, OcnnInput, PaperOcnn},
    ops::OcnnOps,
    solve::auto::{HostInput, OcnnModel},
};

/// Help of the input.
const INPUT: &str = "Points, one a row: .csv, .tsv, .txt, .dat, .data, .npy, .parquet, .arrow or .lrn, also in .gz or .zst; \
                     .npz has the sparse rows of SciPy's save_npz, for --metric cosine; - reads CSV from standard \
                     input";

const EXAMPLES: &str = "\
Examples:
  firebox ocnn points.csv --label label -o clusters.csv --plot clusters.png
  firebox ocnn points.csv --drop label --standardise standard --keep all --dendrogram tree.svg
  firebox ocnn points.csv --label label --clusters 4 --memberships shares.csv --report run.json
  firebox ocnn points.csv --label label -o clusters.csv --html clusters.html
  firebox ocnn points.csv --label label --model clusters.fbx
  firebox predict points.csv --model clusters.fbx";

/// Options of the short help.
const COMMON: [&str; 8] = ["label", "drop", "missing", "standardise", "metric", "clusters", "model", "dendrogram"];

/// The command `ocnn`.
#[derive(Debug, Clone, Copy, Default)]
pub struct OcnnPlugin;

impl Plugin for OcnnPlugin {
    fn command(&self) -> Command {
        // Set after the arguments, since the doc comment of a flattened struct would replace the description.
        with_short_help(OcnnArgs::augment_args(Command::new("ocnn")), &COMMON)
            .mut_arg("input", |input| input.help(INPUT))
            .about("Clusters points by the synchronisation of a chaotic neural network")
            .long_about(
                "Clusters points with an oscillatory chaotic neural network: a neuron a point, coupled by closeness. \
                 Points that belong together come to oscillate together, and clusters are read from the dynamics, \
                 without their number being given. Writes each point's cluster, from 0; -1 is noise.",
            )
            .after_long_help(EXAMPLES)
    }

    fn run(&self, matches: &ArgMatches, device: &Device, session: &Session) -> Result<Outcome> {
        let args: OcnnArgs = parse(matches)?;
        args.check(matches)?;
        match args.mode {
            Mode::Auto => automatic(&args, device, session),
            Mode::Paper => {
                let ocnn = args.paper()?.init()?;
                let points = args.input.read_prepared(args.preparation, None, &*session.observer)?;
                with_context!(device, session, |context| paper(&args, &ocnn, points, context))
            }
        }
    }

    fn predict(&self, args: &PredictArgs, device: &Device, session: &Session) -> Result<Outcome> {
        predict::run(args, device, session)
    }

    fn can_plot(&self, args: &ArgMatches) -> Result<()> {
        let args: OcnnArgs = parse(args)?;
        if args.mode == Mode::Paper || args.has_coordinates() {
            return Ok(());
        }
        let what = "`plot` needs coordinates, which sparse rows, distances and graphs do not have";
        Err(Error::input(what, "leave it out; `dendrogram`, `condensed_tree` and `plateau` can be drawn"))
    }

    fn can_share(&self, _args: &ArgMatches) -> Result<()> {
        Ok(())
    }

    fn bench(&self) -> Option<&dyn Bench> {
        Some(&OcnnBench)
    }

    fn schemas(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("ocnn", schema::<report::OcnnResult>("firebox ocnn")),
            ("predict, ocnn", schema::<predict::PredictResult>("firebox predict with a model of ocnn")),
        ]
    }

    fn conformance(&self) -> Conformance {
        let args = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        Conformance {
            good: args("{csv} --label label"),
            bad: vec![
                ("threshold", args("--threshold 2")),
                ("clusters", args("--clusters 0")),
                ("clusters", args("--clusters 1000")),
                ("neighbours", args("--neighbours 0")),
                ("neighbours", args("--neighbours 60")),
                ("steps", args("--steps 7")),
                ("transient", args("--transient 4294967296")),
                ("seeds", args("--seeds 0")),
                ("min_size", args("--min-size 0")),
                ("min_size", args("--min-size 1000")),
            ],
        }
    }
}

/// Runs `firebox ocnn --mode paper`.
fn paper<B: OcnnOps>(
    args: &OcnnArgs,
    ocnn: &PaperOcnn,
    input: PreparedPoints,
    context: &Context<B>,
) -> Result<Outcome> {
    let clusters = ocnn.fit_with(input.points.clone(), context)?;
    let outcome = report::paper(args, ocnn.config(), input.points, clusters)?;
    Ok(Outcome { table: input.kept.beside(outcome.table)?, ..outcome })
}

/// Runs `firebox ocnn --mode auto`.
fn automatic(args: &OcnnArgs, device: &Device, session: &Session) -> Result<Outcome> {
    let ocnn = args.auto().init()?;
    let observer = &*session.observer;
    let (input, prepared) = args.read(observer)?;
    let new = args.auto.predict.as_ref().map(|file| new_points(args, file, &prepared, observer).map(|new| (file, new)));
    let new = new.transpose()?;
    let PreparedPoints { points, weights, kept, schema } = prepared;
    let (new, new_kept) = new.map_or((None, Kept::default()), |(file, (new, kept))| (Some((file, new)), kept));
    if let Some((file, new)) = &new {
        ocnn.check_new(new, points.columns).map_err(|error| error.in_file(file))?;
    }
    let (clustering, mut model, predicted) = with_context!(device, session, |context| cluster(
        &args.input.input,
        &ocnn,
        input,
        weights.clone(),
        new,
        context
    ))?;
    let predicted = predicted.map(|labels| new_kept.beside(Table::ints("cluster", labels))).transpose()?;
    if !model.is_sparse() {
        model.schema = schema;
    }
    let outcome =
        report::automatic(args, ocnn.config(), points, weights.as_deref(), &kept, (clustering, model), predicted)?;
    Ok(Outcome { table: kept.beside(outcome.table)?, ..outcome })
}

/// Clusters the input, and predicts the clusters of the new points.
fn cluster<B: OcnnOps>(
    file: &InputFile,
    ocnn: &Ocnn,
    input: HostInput,
    weights: Option<Vec<u32>>,
    new: Option<(&InputFile, HostInput)>,
    context: &Context<B>,
) -> Result<(Clustering, OcnnModel, Option<Vec<i64>>)> {
    let input = OcnnInput::from(input);
    let input = weights.into_iter().fold(input, OcnnInput::with_weights);
    let fitted = ocnn.fit_with(input, context).map_err(|error| error.in_file(file))?;
    let predicted = new.map(|(file, new)| fitted.predict_with(new, context).map_err(|error| error.in_file(file)));
    let predicted = predicted.transpose()?;
    let (clustering, model) = fitted.into_parts();
    Ok((clustering, model, predicted))
}

/// Reads the points to be predicted, which have the columns of the input, and the columns to keep.
fn new_points(
    args: &OcnnArgs,
    file: &InputFile,
    like: &PreparedPoints,
    observer: &dyn Observer,
) -> Result<(HostInput, Kept)> {
    if args.input.is_sparse() {
        return read_sparse(file).map(|rows| (HostInput::Sparse(rows), Kept::default()));
    }
    if !args.has_coordinates() {
        let what = "distances cannot take new points";
        return Err(Error::input(what, "cluster points, or leave out `predict`"));
    }
    let weight = args.auto.point_weights.as_deref();
    let (new, kept) = args.input.read_more(file, &like.schema, weight, observer)?;
    Ok((HostInput::Points(new), kept))
}

#[cfg(test)]
mod tests;
