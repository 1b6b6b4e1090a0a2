//! Transfer of training between device and host.

use burn::{
    module::AutodiffModule,
    optim::{
        Optimizer as _,
        adaptor::OptimizerAdaptor,
        record::{AdaptorRecord, AdaptorRecordV1},
    },
    tensor::{Tensor, backend::Backend},
};
use burn_autodiff::Autodiff;
use firebox_core::{
    Result,
    tensor::{floats, read_floats},
};

use crate::{
    config::MlpConfig,
    io::checkpoint::Snapshot,
    model::mlp::Mlp,
    ops::PerceptronOps,
    solve::{optimizer::Moments, state::State},
};

/// Phase named by errors.
const READING: &str = "reading the state";

/// Burn's optimiser for [`Mlp`].
pub(crate) type Adaptor<O, B> = OptimizerAdaptor<O, Mlp<Autodiff<B>>, Autodiff<B>>;

/// Training on its device.
pub(crate) struct TrainingState<B: PerceptronOps, O: Moments<B>> {
    pub state: State,
    pub network: Mlp<Autodiff<B>>,
    pub best_network: Mlp<B>,
    pub optimizer: Adaptor<O, B>,
}

/// Reads training from its device.
pub(crate) fn capture<B, O>(
    state: &State,
    network: &Mlp<Autodiff<B>>,
    best: &Mlp<B>,
    optimizer: &Adaptor<O, B>,
    device: &B::Device,
) -> Result<Snapshot>
where
    B: PerceptronOps,
    O: Moments<B>,
{
    let (values, best) = (network.valid().to_host(READING)?, best.to_host(READING)?);
    let mut records = optimizer.to_record();
    let mut moments = Vec::new();
    for layer in &network.layers {
        moments.push(match records.remove(&layer.weights.id) {
            Some(AdaptorRecord::V1(AdaptorRecordV1::Rank2(of))) => {
                read_all(O::to_moments(of, layer.weights.dims(), device))?
            }
            _ => Vec::new(),
        });
        let Some(bias) = &layer.bias else { continue };
        moments.push(match records.remove(&bias.id) {
            Some(AdaptorRecord::V1(AdaptorRecordV1::Rank1(of))) => read_all(O::to_moments(of, bias.dims(), device))?,
            _ => Vec::new(),
        });
    }
    Ok(Snapshot { state: state.clone(), network: values, best, moments })
}

fn read_all<B: Backend, const D: usize>(tensors: Vec<Tensor<B, D>>) -> Result<Vec<Vec<f64>>> {
    tensors.into_iter().map(|tensor| read_floats(tensor, READING)).collect()
}

/// Loads training to a device, after `steps` steps.
pub(crate) fn load<B: PerceptronOps, O: Moments<B>>(
    snapshot: Snapshot,
    steps: usize,
    config: &MlpConfig,
    optimizer: Adaptor<O, B>,
    device: &B::Device,
) -> TrainingState<B, O> {
    let network: Mlp<Autodiff<B>> = config.with_values(snapshot.network, device);
    let mut moments = snapshot.moments.into_iter();
    let mut records = optimizer.to_record();
    for layer in &network.layers {
        let mut next = || moments.next().unwrap_or_default().into_iter();
        let of = next().map(|it| floats::<B, 2>(it, layer.weights.dims(), device)).collect();
        if let Some(state) = O::from_moments(of, steps) {
            records.insert(layer.weights.id, AdaptorRecord::V1(AdaptorRecordV1::Rank2(state)));
        }
        let Some(bias) = &layer.bias else { continue };
        let of = next().map(|it| floats::<B, 1>(it, bias.dims(), device)).collect();
        if let Some(state) = O::from_moments(of, steps) {
            records.insert(bias.id, AdaptorRecord::V1(AdaptorRecordV1::Rank1(state)));
        }
    }
    let best_network = config.with_values(snapshot.best, device);
    TrainingState { state: snapshot.state, network, best_network, optimizer: optimizer.load_record(records) }
}
