//! Placement of close points around the one that they were mapped with.

use std::sync::Arc;

use burn_ndarray::NdArray;
use firebox_core::{
    Context, Observer, Result, Session,
    data::{Distances, Points},
};

use crate::{
    config::SammonConfig,
    solve::{
        close::CloseGroups,
        nondimensional::{Prepared, PreparedSource},
    },
    types::{Data, Metric},
};

/// Forwards requests to cancel, and nothing else: the map of a group is a detail of the run.
struct Quiet(Arc<dyn Observer>);

impl Observer for Quiet {
    fn cancelled(&self) -> bool {
        self.0.cancelled()
    }
}

/// Embedding of all points `[dims, n]` from that of the groups `x` `[m, g]`: the first point of a group keeps its place,
/// and the others are at the places that a map of the group alone, in f64, has relative to it.
pub(super) fn set_apart(
    config: &SammonConfig,
    prepared: &Prepared,
    close: &CloseGroups,
    x: &[f64],
    session: &Session,
) -> Result<Vec<f64>> {
    let (n, g, dims) = (prepared.len(), close.groups.len(), config.dims);
    let mut all = vec![0.0; dims * n];
    let observer = Arc::new(Quiet(session.observer.clone()));
    let context = Context::<NdArray<f64>>::new(Default::default()).observer(observer);
    for (at, group) in close.groups.iter().enumerate() {
        let own = local_map(config, prepared, group, &context)?;
        for (&point, place) in group.iter().zip(own.chunks(dims)) {
            for k in 0..dims {
                all[k * n + point] = x.get(k * g + at).copied().unwrap_or_default() + (place[k] - own[k]);
            }
        }
    }
    Ok(all)
}

/// Map of a group alone, row-major, in the unit of `prepared`.
fn local_map(
    config: &SammonConfig,
    prepared: &Prepared,
    group: &[usize],
    context: &Context<NdArray<f64>>,
) -> Result<Vec<f64>> {
    let dims = config.dims;
    if let [_] = group {
        return Ok(vec![0.0; dims]);
    }
    let data = match &prepared.subset(group).source {
        PreparedSource::Features { values, d, metric: Metric::Euclidean | Metric::Manhattan, .. } => {
            Data::Features(Points::new(values.clone(), *d)?)
        }
        _ => {
            let pairs = group.iter().flat_map(|&i| group.iter().map(move |&j| prepared.delta(i, j))).collect();
            Data::Distances(Distances::new(pairs, group.len(), group.len())?)
        }
    };
    let metric = match &prepared.source {
        PreparedSource::Features { metric, .. } => *metric,
        PreparedSource::Distances(_) => Metric::Euclidean,
    };
    let config = SammonConfig::new(dims).with_metric(metric).with_power(config.power).with_quality(false);
    Ok(config.init()?.fit_data(data, None, context)?.coordinates)
}
