//! `firebox bench ocnn quality`: clusters with default settings against reference labels.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use clap::{ArgMatches, Args, Command};
use firebox_backends::{
    Device,
    bench::{BenchRow, Rows, at_least_one},
    with_context,
};
use firebox_core::{
    Context, Error, Result, Session,
    command::parse,
    data::{Points, read_bytes},
    metrics::adjusted_rand_index,
};
use serde_json::json;

use crate::{model::Ocnn, ops::OcnnOps};

pub(super) const NAME: &str = "quality";

/// Largest number of reference labellings of a set.
const MAX_LABELLINGS: usize = 10;

#[derive(Debug, Args)]
struct QualityArgs {
    /// Folder of sets, or of folders of sets: NAME.data and NAME.labels0, NAME.labels1, ..., all of them plain or .gz
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Runs of each set, from successive seeds
    #[arg(long, value_name = "S", default_value_t = 5)]
    seeds: usize,
    /// Leaves out sets of more points
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    max_points: usize,
}

/// Points with one or more reference labellings, whose label 0 is noise.
struct Set {
    name: String,
    points: Points,
    labellings: Vec<Vec<i64>>,
}

/// Results of the runs of a set.
struct Quality {
    /// Mean adjusted Rand index with the best labelling.
    ari: f64,
    /// Mean adjusted Rand index of pairs of runs.
    agreement: f64,
    /// Number of runs with a notice that the number of clusters is uncertain.
    uncertain: usize,
    /// Number of clusters of each run.
    clusters: Vec<usize>,
    /// Milliseconds a run.
    ms: f64,
}

pub(super) fn command() -> Command {
    let about = "Clusters with default settings against reference labels, as adjusted Rand index";
    QualityArgs::augment_args(Command::new(NAME).about(about))
}

pub(super) fn run(args: &ArgMatches, device: &Device, session: &Session, row: &mut dyn FnMut(BenchRow)) -> Result<()> {
    let args: QualityArgs = parse(args)?;
    at_least_one(&[("seeds", args.seeds)])?;
    let sets = sets(&args.folder)?;
    let mut rows = Rows::new(&*session.observer, row);
    with_context!(device, session, |context| measure(&args, &sets, context, &mut rows))?;
    rows.end(&[])
}

fn measure<B: OcnnOps>(args: &QualityArgs, paths: &[PathBuf], context: &Context<B>, rows: &mut Rows<'_>) -> Result<()> {
    let (mut all, mut times) = (Vec::new(), 0.0);
    for path in paths {
        let set = read_set(path)?;
        if set.points.rows > args.max_points {
            let what = format!("{}: left out, {} points are more than `max-points`", set.name, set.points.rows);
            context.observer.notice(&what);
            continue;
        }
        let quality = quality(&set, args.seeds, context)?;
        rows.add(Ok(row(&set.name, vec![set.points.rows, set.points.columns], args.seeds, &quality)))?;
        times += quality.ms;
        all.push(quality);
    }
    if all.is_empty() {
        return Ok(());
    }
    let mean = |of: fn(&Quality) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
    let mean = Quality {
        ari: mean(|it| it.ari),
        agreement: mean(|it| it.agreement),
        uncertain: all.iter().map(|it| it.uncertain).sum(),
        clusters: Vec::new(),
        ms: times,
    };
    rows.add(Ok(row("mean of all sets, time of all", vec![all.len()], args.seeds, &mean)))
}

fn row(case: &str, size: Vec<usize>, seeds: usize, quality: &Quality) -> BenchRow {
    let Quality { ari, agreement, uncertain, clusters, ms } = quality;
    let details = json!({ "ari": ari, "agreement": agreement, "uncertain": uncertain, "clusters": clusters });
    let counts: Vec<String> = clusters.iter().map(ToString::to_string).collect();
    let note = format!("ARI {ari:.3}, seeds agree {agreement:.3}, {uncertain} uncertain  {}", counts.join(" "));
    BenchRow {
        table: NAME.into(),
        case: case.into(),
        size,
        ms: *ms,
        repeats: seeds,
        paper_ms: None,
        note: Some(note.trim_end().into()),
        details: details.as_object().cloned().unwrap_or_default(),
    }
}

fn quality<B: OcnnOps>(set: &Set, seeds: usize, context: &Context<B>) -> Result<Quality> {
    let (ocnn, mut context) = (Ocnn::default(), context.clone());
    let (first, start) = (context.seed, Instant::now());
    let (mut runs, mut clusters, mut uncertain) = (Vec::new(), Vec::new(), 0);
    for seed in 0..seeds as u64 {
        context.session.seed = first.wrapping_add(seed);
        let clustering = ocnn.fit_with(set.points.clone(), &context)?.into_clustering();
        uncertain += usize::from(clustering.halves_differ());
        clusters.push(clustering.count());
        runs.push(clustering.labels);
    }
    let ms = start.elapsed().as_secs_f64() * 1e3 / seeds as f64;
    let mut best = f64::NEG_INFINITY;
    for truth in &set.labellings {
        let known: Vec<usize> = (0..truth.len()).filter(|&i| truth[i] != 0).collect();
        let pick = |labels: &[i64]| known.iter().map(|&i| labels[i]).collect::<Vec<_>>();
        let scores = runs.iter().map(|run| adjusted_rand_index(&pick(truth), &pick(run)));
        let sum: f64 = scores.collect::<Result<Vec<_>>>()?.iter().sum();
        best = best.max(sum / seeds as f64);
    }
    let (mut agreement, mut pairs) = (0.0, 0);
    for (k, run) in runs.iter().enumerate() {
        for other in &runs[..k] {
            agreement += adjusted_rand_index(run, other)?;
            pairs += 1;
        }
    }
    let agreement = if pairs == 0 { 1.0 } else { agreement / f64::from(pairs) };
    Ok(Quality { ari: best, agreement, uncertain, clusters, ms })
}

/// The files of points in a folder and in its folders, in order of their names.
fn sets(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![(folder.to_path_buf(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(|error| unreadable(&folder, &error))? {
            let path = entry.map_err(|error| unreadable(&folder, &error))?.path();
            if path.is_dir() && depth == 0 {
                folders.push((path, 1));
            } else if path.file_name().and_then(|name| name.to_str()).is_some_and(is_points) {
                found.push(path);
            }
        }
    }
    found.sort();
    if found.is_empty() {
        let what = format!("{} has no files NAME.data or NAME.data.gz", folder.display());
        return Err(Error::input(what, "give a folder of sets, each with NAME.labels0 beside it"));
    }
    Ok(found)
}

fn is_points(name: &str) -> bool {
    name.strip_suffix(".gz").unwrap_or(name).ends_with(".data")
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    Error::input(format!("cannot read {}: {error}", path.display()), "give a folder of sets that can be read")
}

/// Reads the numbers of a file of whitespace-separated rows, and the number of columns.
fn read_numbers(path: &Path) -> Result<(Vec<f64>, usize)> {
    let bytes = read_bytes(path)?;
    let text = String::from_utf8_lossy(&bytes);
    let (mut values, mut columns) = (Vec::new(), 0);
    for (line, row) in text.lines().enumerate().filter(|(_, row)| !row.trim().is_empty() && !row.starts_with('#')) {
        let before = values.len();
        for word in row.split_whitespace() {
            let what = || format!("{}, line {}: `{word}` is not a number", path.display(), line + 1);
            values.push(word.parse().map_err(|_| Error::input(what(), "give rows of numbers between spaces"))?);
        }
        let found = values.len() - before;
        if columns != 0 && found != columns {
            let what = format!("{}, line {}: {found} numbers where rows have {columns}", path.display(), line + 1);
            return Err(Error::input(what, "give rows of equal length"));
        }
        columns = found;
    }
    Ok((values, columns))
}

fn read_set(path: &Path) -> Result<Set> {
    let text = path.to_string_lossy();
    let stem = text.strip_suffix(".gz").unwrap_or(&text);
    let stem = stem.strip_suffix(".data").unwrap_or(stem);
    let (values, columns) = read_numbers(path)?;
    let points = Points::new(values, columns)?;
    let mut labellings = Vec::new();
    for k in 0..MAX_LABELLINGS {
        let names = [format!("{stem}.labels{k}"), format!("{stem}.labels{k}.gz")];
        let Some(path) = names.iter().map(Path::new).find(|path| path.exists()) else { break };
        let labels: Vec<i64> = read_numbers(path)?.0.into_iter().map(|label| label as i64).collect();
        if labels.len() != points.rows {
            let what = format!("{} has {} labels for {} points", path.display(), labels.len(), points.rows);
            return Err(Error::input(what, "give a label for each row"));
        }
        labellings.push(labels);
    }
    if labellings.is_empty() {
        let what = format!("{} has no labels beside it", path.display());
        return Err(Error::input(what, format!("give {stem}.labels0 or {stem}.labels0.gz")));
    }
    let name: Vec<_> = Path::new(stem).iter().rev().take(2).map(|part| part.to_string_lossy()).collect();
    Ok(Set { name: name.into_iter().rev().collect::<Vec<_>>().join("/"), points, labellings })
}
