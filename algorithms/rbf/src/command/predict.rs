//! `firebox predict` from the network of a solution.

use firebox_core::{
    Result, Session,
    command::{Outcome, PredictArgs},
    data::{Schema, Table},
    report::{Stopwatch, entries},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::solve::network::RbfNetwork;

/// Result of `firebox predict` with a model of rbf.
#[derive(Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct PredictResult {
    /// Number of neurons of the network.
    neurons: usize,
}

/// Evaluates the network at the new points, on the host in f64.
pub(super) fn run(args: &PredictArgs, session: &Session) -> Result<Outcome> {
    let mut watch = Stopwatch::default();
    let network = RbfNetwork::load(&args.model)?;
    let mut schema = Schema::unnamed(network.dims())?;
    if !network.names().is_empty() {
        schema.names = network.names().to_vec();
    }
    let (points, kept) = args.rows().read_new(&schema, &*session.observer)?;
    watch.lap("data_s");
    let values = network.evaluate(&points.values);
    watch.lap("prediction_s");
    let size = points.size();
    let table = Table::float_matrix(points.names, points.values)?.beside(Table::floats("u", values))?;
    session.observer.notice("points outside the problem's domain are not marked: a model does not have the domain");
    let summary = format!("u at {} points", size.rows);
    Ok(args.outcome(size, &watch, entries(&PredictResult { neurons: network.len() }), kept.beside(table)?, summary))
}
