//! `firebox predict` from the network of a solution.

use firebox_core::{
    Result, Session,
    command::{Outcome, PredictArgs},
    data::{Schema, Table},
    report::Stopwatch,
};
use serde_json::Map;

use crate::solve::network::RbfNetwork;

/// Evaluates the network at the new points, on the host in f64.
pub(super) fn run(args: &PredictArgs, session: &Session) -> Result<Outcome> {
    let mut watch = Stopwatch::default();
    let network = RbfNetwork::load(&args.model)?;
    let schema = Schema::unnamed(network.dims())?;
    let (points, kept) = args.rows().read_more(&args.input, &schema, None, &*session.observer)?;
    watch.lap("data_s");
    let values = network.evaluate(&points.values);
    watch.lap("prediction_s");
    let size = points.size();
    let table = Table::float_matrix(points.names, points.values)?.beside(Table::floats("u", values))?;
    let summary = format!("u at {} points, by a network that does not know the domain", size.rows);
    Ok(args.outcome(size, &watch, Map::new(), kept.beside(table)?, summary))
}
