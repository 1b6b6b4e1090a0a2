//! `firebox perceptron train`.

use firebox_backends::{Device, with_context};
use firebox_core::{
    Error, Result, Session, atomic,
    checkpoint::Checkpoints,
    command::{Document, Outcome},
    report::InputSize,
};
use serde_json::{Map, Value, json};

use crate::{
    command::{
        args::TrainArgs,
        eval::score,
        input::{instances, select_targets},
        plots::curves,
        report::history,
    },
    config::TrainConfig,
    model::{
        score::Score,
        train::{Trained, train},
    },
    solve::{
        data::{
            instances::Instances,
            parts::{gather, local_rows},
        },
        state::Stop,
    },
};

pub(super) fn run(args: &TrainArgs, device: &Device, session: &Session) -> Result<Outcome> {
    let config = args.config()?;
    config.validate()?;
    let checkpoints = args.states.checkpoints()?;
    let ranks = &*session.communicator;
    let instances = instances(&args.input, config.task, ranks.share())?.of_all(ranks);
    instances.check().map_err(|error| error.in_file(&args.input.input))?;
    let trained = fit(&config, &instances, &checkpoints, device, session)?;
    if trained.stop == Stop::Request {
        write_best_network(args, &trained, session)?;
        return Err(Error::Cancelled);
    }
    let scored = scored_rows(&trained);
    let (own, rows) = instances.place(ranks);
    let local = local_rows(scored, &own);
    let values = gather(&instances.values, instances.names.len(), &local);
    let score = match score(&trained.model, values, &select_targets(&instances.targets, &local), device, session) {
        Err(Error::Cancelled) => {
            write_best_network(args, &trained, session)?;
            return Err(Error::Cancelled);
        }
        score => score?,
    };
    outcome(args, &config, InputSize { rows, columns: instances.names.len() }, &trained, &score)
}

fn fit(
    config: &TrainConfig,
    instances: &Instances,
    checkpoints: &Checkpoints,
    device: &Device,
    session: &Session,
) -> Result<Trained> {
    with_context!(device, session, |context| train(config, instances, checkpoints, context))
}

/// The rows of the reported figures: those of the test part, or of the training part if there is no test part.
fn scored_rows(trained: &Trained) -> &[usize] {
    let parts = &trained.parts;
    if parts.test.is_empty() { &parts.training } else { &parts.test }
}

/// Writes the best network of an interrupted training, its only output.
fn write_best_network(args: &TrainArgs, trained: &Trained, session: &Session) -> Result<()> {
    if let Some(path) = args.model.as_ref().filter(|_| trained.best > 0 && session.communicator.rank() == 0) {
        let bytes = trained.model.to_bytes()?;
        atomic::write(path, |out| out.write_all(&bytes))?;
        session.observer.notice(&format!("the network of epoch {} is in {}", trained.best, path.display()));
    }
    // Under MPI, a rank that exits before the file is written may terminate the writing rank.
    session.communicator.broadcast(Vec::new());
    Ok(())
}

fn outcome(
    args: &TrainArgs,
    config: &TrainConfig,
    input: InputSize,
    trained: &Trained,
    score: &Score,
) -> Result<Outcome> {
    let parameters = trained.model.network.parameters();
    let rows = [&trained.parts.training, &trained.parts.validation, &trained.parts.test].map(Vec::len);
    let mut result = Map::new();
    score.report(&mut result);
    result.insert("epochs".into(), trained.history.len().into());
    result.insert("best_epoch".into(), trained.best.into());
    result.insert("stop".into(), json!(trained.stop));
    if trained.stale_state {
        result.insert("stale_state".into(), true.into());
    }
    result.insert("parameters".into(), json!(parameters as u64));
    result.insert("matmul".into(), trained.matmul.into());
    result.insert("rows".into(), json!({"training": rows[0], "validation": rows[1], "test": rows[2]}));

    let mut settings = serde_json::to_value(config).unwrap_or(Value::Null);
    settings["slope"] = config.sigmoid.slope.into();
    settings["location"] = config.sigmoid.location.into();
    settings["sigmoid"] = json!(config.sigmoid.sign);
    settings["checkpoint_every"] = args.states.checkpoint_every.into();
    let mut documents = Vec::new();
    if let Some(path) = &args.model {
        let bytes = trained.model.to_bytes()?;
        documents.push((path.clone(), Document::new(move |out| out.write_all(&bytes))));
    }
    let on = if rows[2] > 0 { "test rows" } else { "rows it learnt from" };
    let title = format!("{} {on}", scored_rows(trained).len());
    let summary = format!(
        "{} on {title}\n{} of {} epochs (stop: {}; the model is of epoch {}), {} rows to learn from, {parameters} \
         parameters, {}",
        score.summary(),
        trained.history.len(),
        config.epochs,
        trained.stop,
        trained.best,
        rows[0],
        trained.matmul,
    );
    Ok(Outcome {
        config: settings,
        input,
        timings: trained.timings.clone(),
        peak_device_bytes: trained.peak_device_bytes,
        result,
        table: history(&trained.history)?,
        plot: Some(curves(&trained.history, trained.best)),
        tables: Vec::new(),
        plots: args.confusion.iter().map(|path| (path.clone(), score.plot(&title))).collect(),
        documents,
        summary,
    })
}
