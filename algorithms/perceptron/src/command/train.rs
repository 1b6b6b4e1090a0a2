//! `firebox perceptron train`.

use firebox_backends::{Device, with_context};
use firebox_core::{
    Error, Result, Session,
    command::{Document, Outcome},
    report::{InputSize, entries},
};
use serde_json::{Value, json};

use super::apply::score;
use super::args::TrainArgs;
use super::input::instances;
use super::report::{NetworkFigures, PartSizes, TrainResult, curves, history};
use crate::config::InputScale;
use crate::model::page::{Examined, page};
use crate::model::{Given, Score, Training, train};
use crate::solve::{Model, Stop, local_rows};

pub(super) fn run(args: &TrainArgs, device: &Device, session: &Session) -> Result<Outcome> {
    let config = args.config()?;
    config.validate()?;
    let checkpoints = args.states.checkpoints()?;
    let ranks = &*session.communicator;
    let treatment = (config.task, config.missing);
    let (instances, mut source) = instances(&args.input, treatment, None, ranks, &*session.observer, &args.page)?;
    let instances = instances.with_classes_of_all(ranks);
    instances.check().map_err(|error| error.in_file(&args.input.input))?;
    if args.model.is_none() {
        session.observer.notice("the trained network is discarded after its test: give a file for it with --model");
    }
    let (model, training) =
        with_context!(device, session, |context| train(&config, &instances, Given::default(), &checkpoints, context))?;
    let stopped = || {
        write_best_network(args, &model, &training, session)?;
        Err(Error::Cancelled)
    };
    if training.stop == Stop::Request {
        return stopped();
    }
    let (own, rows) = instances.global_range(ranks);
    let selected = local_rows(scored_rows(&training), &own);
    let rows_scored = instances.select(&selected);
    let shown = args.page.html.is_some().then(|| rows_scored.values.clone());
    let scored = match score(&model, rows_scored.values, &rows_scored.targets, device, session) {
        Err(Error::Cancelled) => return stopped(),
        scored => scored?,
    };
    let page = args.page.html.clone().map(|path| {
        let numbers = source.numbers(instances.rows());
        let mut is_selected = vec![false; numbers.len()];
        selected.iter().for_each(|&row| is_selected[row] = true);
        source.kept.retain(&is_selected);
        let examined = Examined {
            model: &model,
            scored: &scored,
            values: shown.unwrap_or_default(),
            numbers: selected.iter().map(|&row| numbers[row]).collect(),
            kept: &source.kept,
            label: source.label.as_deref(),
            rows: rows_name(&training),
            training: Some(&training),
        };
        (path, page(examined, ranks).map(|page| page.of_input(&args.input.name())))
    });
    let size = InputSize { rows, columns: instances.names.len() };
    Ok(Outcome { page, ..outcome(args, size, &model, &training, &scored.score)? })
}

/// Name of [`scored_rows`].
fn rows_name(training: &Training) -> &'static str {
    if training.parts.test.is_empty() { "training rows" } else { "test rows" }
}

/// The rows of the reported figures: those of the test part, or of the training part if there is no test part.
fn scored_rows(Training { parts, .. }: &Training) -> &[usize] {
    if parts.test.is_empty() { &parts.training } else { &parts.test }
}

/// Writes the best network of an interrupted training, its only output.
fn write_best_network(args: &TrainArgs, model: &Model, training: &Training, session: &Session) -> Result<()> {
    if let Some(path) = args.model.as_ref().filter(|_| training.best > 0 && session.communicator.rank() == 0) {
        model.save(path)?;
        session.observer.notice(&format!("the network of epoch {} is in {}", training.best, path.display()));
    }
    // Under MPI, a rank that exits before the file is written may terminate the writing rank.
    session.communicator.broadcast(Vec::new());
    Ok(())
}

fn outcome(args: &TrainArgs, input: InputSize, model: &Model, training: &Training, score: &Score) -> Result<Outcome> {
    let config = &training.config;
    let parameters = model.network.parameters();
    let rows = [&training.parts.training, &training.parts.validation, &training.parts.test].map(Vec::len);
    let result = TrainResult {
        figures: score.figures(),
        epochs: training.history.len(),
        best_epoch: training.best,
        stop: training.stop,
        stale_state: training.stale_state,
        network: NetworkFigures { parameters: parameters as u64, matmul: training.matmul.to_string() },
        rows: PartSizes { training: rows[0], validation: rows[1], test: rows[2] },
    };

    let mut settings = serde_json::to_value(config).unwrap_or(Value::Null);
    settings["slope"] = config.sigmoid.slope.into();
    settings["location"] = config.sigmoid.location.into();
    settings["sigmoid"] = json!(config.sigmoid.sign);
    settings["checkpoint_every"] = args.states.checkpoint_every.into();
    let mut documents = Vec::new();
    if let Some(path) = &args.model {
        let bytes = model.to_bytes()?;
        documents.push((path.clone(), Document::new(move |out| out.write_all(&bytes))));
    }
    let title = format!("{} {}", scored_rows(training).len(), rows_name(training));
    let summary = format!(
        "{} on {title}\n{} of {} epochs (stop: {}; the model is of epoch {}), {} rows to learn from in batches of \
         {}, {} scale, weight decay {:.2e}, {parameters} parameters, {}",
        score.summary(),
        training.history.len(),
        config.epochs,
        training.stop,
        training.best,
        rows[0],
        config.batch_rows(),
        match config.standardise {
            Some(InputScale::None) => "no",
            Some(InputScale::Robust) => "robust",
            Some(InputScale::Common) => "common",
            Some(InputScale::Standard) | None => "standard",
        },
        config.weight_decay.unwrap_or_default(),
        training.matmul,
    );
    Ok(Outcome {
        config: settings,
        input,
        timings: training.timings.clone(),
        peak_device_bytes: training.peak_device_bytes,
        result: entries(&result),
        table: history(&training.history)?,
        plot: Some(curves(&training.history, training.best)),
        tables: Vec::new(),
        plots: args.confusion.iter().map(|path| (path.clone(), score.plot(&title))).collect(),
        page: None,
        documents,
        summary,
        unresolved: false,
    })
}
