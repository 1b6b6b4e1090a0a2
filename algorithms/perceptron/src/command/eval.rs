//! `firebox perceptron eval`.

use firebox_backends::{Device, with_context};
use firebox_core::{
    Result, Session, Share,
    command::Outcome,
    report::{InputSize, Stopwatch},
};
use serde_json::Map;

use crate::{
    command::{args::ModelArgs, input::instances, loaded::Loaded},
    model::score::Score,
    solve::{data::instances::Targets, fitted::Model},
};

pub(super) fn run(args: &ModelArgs, device: &Device, session: &Session) -> Result<Outcome> {
    let mut watch = Stopwatch::default();
    let model = Model::load(&args.model)?;
    let instances = instances(&args.input, model.task(), Share::WHOLE)?;
    let (rows, columns) = (instances.rows(), instances.names.len());
    let loaded = Loaded::new(model, args.product, rows, device, session)?;
    let values = loaded.model.columns_of(&instances.names, &instances.values);
    let values = values.map_err(|error| error.in_file(&args.input.input))?;
    watch.lap("data_s");
    let score = score(&loaded.model, values, &instances.targets, device, session)?;
    watch.lap("prediction_s");
    let mut result = Map::new();
    score.report(&mut result);
    let summary = format!("{} on {rows} rows, {}", score.summary(), loaded.matmul);
    let plot = Some(score.plot(&format!("{rows} rows")));
    let input = InputSize { rows, columns };
    Ok(Outcome { plot, ..loaded.outcome(args, input, &watch, result, score.table()?, summary) })
}

/// The score of a model on unscaled row-major `values` of its columns.
pub(super) fn score(
    model: &Model,
    values: Vec<f64>,
    targets: &Targets,
    device: &Device,
    session: &Session,
) -> Result<Score> {
    with_context!(device, session, |context| model.score(values, targets, context))
}
