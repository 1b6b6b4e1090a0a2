//! `firebox predict` from the model of a clustering.

use firebox_backends::{Device, with_context};
use firebox_core::{
    Context, Error, Result, Session,
    command::{Outcome, PredictArgs},
    data::{Kept, Table},
    report::{Stopwatch, entries},
};
use schemars::JsonSchema;
use serde::Serialize;

use super::plots::clusters;
use crate::{
    model::OcnnInput,
    ops::OcnnOps,
    solve::auto::{HostInput, OcnnModel},
};

/// Result of `firebox predict` with a model of ocnn.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct PredictResult {
    /// Number of clusters of the model.
    clusters: usize,
    /// Number of new rows that are noise.
    noise: usize,
}

/// Predicts the clusters of the new rows.
pub(super) fn run(args: &PredictArgs, device: &Device, session: &Session) -> Result<Outcome> {
    let mut watch = Stopwatch::default();
    let (model, rows) = (OcnnModel::load(&args.model)?, args.rows());
    let (new, size, kept) = match (model.is_sparse(), rows.is_sparse()) {
        (true, true) => {
            let (new, _) = rows.read_sparse()?;
            let size = new.size();
            (HostInput::Sparse(new), size, Kept::default())
        }
        (false, false) => {
            let (new, kept) = rows.read_new(&model.schema, &*session.observer)?;
            let size = new.size();
            (HostInput::Points(new), size, kept)
        }
        (true, false) => {
            let what = "the model is of sparse rows, and the new ones are a table";
            return Err(Error::input(what, "give sparse rows, in .npz").in_file(&args.input));
        }
        (false, true) => {
            let what = "the model is of points, and the new rows are sparse";
            return Err(Error::input(what, "give a table with the columns of the fit").in_file(&args.input));
        }
    };
    watch.lap("data_s");
    let labels = with_context!(device, session, |context| predict(&model, new, context));
    let labels = labels.map_err(|error| error.in_file(&args.input))?;
    watch.lap("prediction_s");
    let noise = labels.iter().filter(|label| **label < 0).count();
    let count = model.count();
    let result = entries(&PredictResult { clusters: count, noise });
    let summary = format!("{} rows in {count} {} of the model, {noise} noise", size.rows, clusters(count));
    let table = kept.beside(Table::ints("cluster", labels))?;
    Ok(args.outcome(size, &watch, result, table, summary))
}

/// [`OcnnModel::predict_with`] on a backend.
fn predict<B: OcnnOps>(model: &OcnnModel, new: HostInput, context: &Context<B>) -> Result<Vec<i64>> {
    model.predict_with(OcnnInput::from(new), context)
}
