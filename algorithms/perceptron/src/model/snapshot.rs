//! Transfer of training between device and host.

use std::vec::IntoIter;

use burn::{
    module::{AutodiffModule, Module, ModuleVisitor, Param},
    optim::{Optimizer as _, adaptor::OptimizerAdaptor, record::AdaptorRecord},
    tensor::{Element, Tensor},
};
use burn_autodiff::Autodiff;
use firebox_core::{
    Result,
    tensor::{floats, read_floats},
};

use super::mlp::Mlp;
use crate::config::MlpConfig;
use crate::io::Snapshot;
use crate::ops::PerceptronOps;
use crate::solve::{Moments, State};

/// Phase named by errors.
const READING: &str = "reading the state";

/// Burn's optimiser for [`Mlp`].
pub(super) type Adaptor<O, B> = OptimizerAdaptor<O, Mlp<Autodiff<B>>, Autodiff<B>>;

/// States of the optimiser by parameter.
type Records<O, B> = <Adaptor<O, B> as burn::optim::Optimizer<Mlp<Autodiff<B>>, Autodiff<B>>>::Record;

/// Training on its device.
pub(super) struct TrainingState<B: PerceptronOps, O: Moments<B>> {
    pub(super) state: State,
    pub(super) network: Mlp<Autodiff<B>>,
    pub(super) best_network: Mlp<B>,
    pub(super) optimizer: Adaptor<O, B>,
}

/// Reads training from its device.
pub(super) fn capture<B: PerceptronOps, O: Moments<B>>(
    state: &State,
    network: &Mlp<Autodiff<B>>,
    best: &Mlp<B>,
    optimizer: &Adaptor<O, B>,
    device: &B::Device,
) -> Result<Snapshot> {
    let (values, best) = (network.valid().to_host(READING)?, best.to_host(READING)?);
    let mut reader = Reader::<B, O> { records: optimizer.to_record(), moments: Vec::new(), device };
    network.visit(&mut reader);
    let moments = reader.moments.into_iter().collect::<Result<_>>()?;
    Ok(Snapshot { state: state.clone(), network: values, best, moments })
}

/// Reads the moments of every parameter, weights before the bias.
struct Reader<'a, B: PerceptronOps, O: Moments<B>> {
    records: Records<O, B>,
    moments: Vec<Result<Vec<Vec<f64>>>>,
    device: &'a B::Device,
}

impl<B: PerceptronOps, O: Moments<B>> ModuleVisitor<Autodiff<B>> for Reader<'_, B, O> {
    fn visit_float<const D: usize>(&mut self, of: &Param<Tensor<Autodiff<B>, D>>) {
        let record = self.records.remove(&of.id).map(AdaptorRecord::into_state::<D>);
        let zeros = || Tensor::zeros(of.shape(), (self.device, B::FloatElem::dtype()));
        let moments = record.map_or_else(Vec::new, |state| O::to_moments(state, zeros));
        self.moments.push(moments.into_iter().map(|moment| read_floats(moment, READING)).collect());
    }
}

/// Loads training to a device, after `steps` steps.
pub(super) fn load<B: PerceptronOps, O: Moments<B>>(
    snapshot: Snapshot,
    steps: usize,
    config: &MlpConfig,
    optimizer: Adaptor<O, B>,
    device: &B::Device,
) -> TrainingState<B, O> {
    let network: Mlp<Autodiff<B>> = config.with_values(snapshot.network, device);
    let moments = snapshot.moments.into_iter();
    let mut writer = Writer::<B, O> { records: optimizer.to_record(), moments, steps, device };
    network.visit(&mut writer);
    let optimizer = optimizer.load_record(writer.records);
    let best_network = config.with_values(snapshot.best, device);
    TrainingState { state: snapshot.state, network, best_network, optimizer }
}

/// Restores the moments of every parameter, in the order of [`Reader`].
struct Writer<'a, B: PerceptronOps, O: Moments<B>> {
    records: Records<O, B>,
    moments: IntoIter<Vec<Vec<f64>>>,
    steps: usize,
    device: &'a B::Device,
}

impl<B: PerceptronOps, O: Moments<B>> ModuleVisitor<Autodiff<B>> for Writer<'_, B, O> {
    fn visit_float<const D: usize>(&mut self, of: &Param<Tensor<Autodiff<B>, D>>) {
        let moments = self.moments.next().unwrap_or_default().into_iter();
        let moments = moments.map(|values| floats::<B, D>(values, of.dims(), self.device)).collect();
        if let Some(state) = O::from_moments(moments, self.steps) {
            self.records.insert(of.id, AdaptorRecord::from_state::<D>(state));
        }
    }
}
