//! `firebox predict` from the model of a map.

use firebox_backends::{Device, with_context};
use firebox_core::{
    Context, Error, Result, Session,
    command::{Outcome, PredictArgs},
    data::{Kept, Points, Table},
    report::{Stopwatch, entries},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::args::read_distances;
use crate::{model::map::axis_names, ops::SammonOps, solve::fitted::SammonModel};

/// Result of `firebox predict` with a model of sammon.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct PredictResult {
    /// Number of dimensions of the map.
    dims: usize,
}

/// Places the new rows.
pub(super) fn run(args: &PredictArgs, device: &Device, session: &Session) -> Result<Outcome> {
    let mut watch = Stopwatch::default();
    let (model, rows) = (SammonModel::load(&args.model)?, args.rows());
    let (new, kept) = match model.distances() {
        Some(_) if args.label.is_some() => {
            let what = "the model is a map of distances, and rows of distances have no `label`";
            return Err(Error::input(what, "leave it out"));
        }
        Some(points) => (read_distances(&rows, &args.input, points)?, Kept::default()),
        None => rows.read_new(&model.schema, &*session.observer)?,
    };
    watch.lap("data_s");
    let placed = with_context!(device, session, |context| placed(&model, &new, context));
    let table = kept.beside(placed.map_err(|error| error.in_file(&args.input))?)?;
    watch.lap("prediction_s");
    let summary = format!("{} rows placed in the map of {} dimensions", new.rows, model.dims());
    Ok(args.outcome(new.size(), &watch, entries(&PredictResult { dims: model.dims() }), table, summary))
}

/// The places of new points, or of rows of distances.
pub(super) fn placed<B: SammonOps>(model: &SammonModel, new: &Points, context: &Context<B>) -> Result<Table> {
    let places = match model.distances() {
        Some(_) => model.transform_distances(&new.values, context),
        None => model.transform_with(new, context),
    };
    Table::float_matrix(axis_names(model.dims()), places?)
}
