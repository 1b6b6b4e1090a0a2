//! A piece of work for one plugin, on its way to the backend that does it.

use std::sync::Arc;

use burn::tensor::backend::Backend;
use clap::ArgMatches;
use firebox_backends::bench::{
    ceilings::Ceilings,
    cost::{self, CostRow, Range},
    kernels::{self, Choice, KernelRow},
};
use firebox_core::{
    Communicator, Context, Error, Observer, Outcome, Peers, Plugin, Precision, Result, Sharers, plugin::BenchRow,
};

use crate::{Registry, args::Compute};

/// A piece of work for one plugin, a run or a benchmark, or for all of them. [`Program::dispatch`](crate::Program::dispatch) takes it to
/// the device's backend.
pub struct Job<'a> {
    pub(crate) plugin: &'a str,
    pub(crate) args: &'a ArgMatches,
    pub(crate) compute: &'a Compute,
    pub(crate) observer: Arc<dyn Observer>,
    pub(crate) communicator: Arc<dyn Communicator>,
    /// Ranks that share its memories.
    pub(crate) sharers: Sharers,
    pub(crate) peers: Option<Arc<Peers>>,
    pub(crate) work: Work<'a>,
}

/// What is to be done.
pub(crate) enum Work<'a> {
    Run,
    /// Each row is handed on as soon as it is measured.
    Bench(&'a mut dyn FnMut(BenchRow)),
    /// Likewise, of the hot loops of all plugins.
    Kernels(Choice, &'a mut dyn FnMut(KernelRow)),
    /// Likewise, of whole runs of the plugins with these names, all if there are none.
    Cost(Vec<String>, Range, &'a mut dyn FnMut(CostRow)),
}

impl Job<'_> {
    /// The precision that was asked for.
    pub fn precision(&self) -> Precision {
        self.compute.precision
    }

    /// Does it on `B`; a run has an outcome, a benchmark has none.
    pub fn run<B: Ceilings>(self, registry: &impl Registry<B>, device: &B::Device) -> Result<Option<Outcome>> {
        let mut context = Context::<B>::new(device.clone()).seed(self.compute.seed).observer(self.observer);
        context = context.communicator(self.communicator);
        context.memory_limit = self.compute.memory_limit;
        context.sharers = self.sharers;
        context.peers = self.peers;
        let plugin = || find(registry.plugins(), self.plugin);
        match self.work {
            // Stops loops that take no context, in every algorithm.
            Work::Run => {
                let plugin = plugin()?;
                context.watched(|| plugin.run(self.args, &context))?.map(Some)
            }
            Work::Bench(row) => match plugin()?.bench() {
                Some(bench) => bench.run(self.args, &context, row).map(|()| None),
                None => Err(Error::input(format!("{} has no benchmark", self.plugin), "")),
            },
            Work::Kernels(choice, row) => {
                let all: Vec<_> = registry.plugins().iter().map(|it| (name(&**it), it.kernels())).collect();
                kernels::measure(&all, &choice, &context, row).map(|()| None)
            }
            Work::Cost(names, range, row) => {
                let mut all: Vec<_> = registry.plugins().iter().map(|it| (name(&**it), it.growth())).collect();
                all.retain(|(name, _)| names.is_empty() || names.contains(name));
                cost::measure(&all, &range, &context, row).map(|()| None)
            }
        }
    }
}

/// What a plugin's command is called.
fn name<B: Backend>(plugin: &dyn Plugin<B>) -> String {
    plugin.command().get_name().to_owned()
}

/// The plugin whose command is called `name`.
pub(crate) fn find<B: Backend>(plugins: Vec<Box<dyn Plugin<B>>>, name: &str) -> Result<Box<dyn Plugin<B>>> {
    let found = plugins.into_iter().find(|plugin| plugin.command().get_name() == name);
    found.ok_or_else(|| Error::input(format!("there is no algorithm '{name}'"), "--help lists them"))
}
