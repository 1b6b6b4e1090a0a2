//! Strategy and memory plan of a run on a device.

use std::fmt;

use firebox_backends::limits::{Buffer, admit};
use firebox_core::{Context, Error, Result};

use super::{neurons::Neurons, sync_accumulator::LINK_ROWS};
use crate::{
    config::{Linking, PaperConfig, Sync, Weights},
    ops::OcnnOps,
    types::{Matvec, rows},
};

/// Largest dimension in which recomputing a weight is faster than reading it.
const RECOMPUTE_DIMENSIONS: usize = 8;

/// Strategy and memory plan of a run on a device.
pub(crate) struct ExecutionPlan {
    pub(crate) matvec: Matvec,
    /// Steps recorded together.
    pub(crate) period: usize,
    /// Largest sum of live buffers.
    pub(crate) bytes: u64,
    pub(crate) strategy: Strategy,
}

/// Strategy of a run: the source of the weights, the kernel of the steps, and the method for components.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strategy {
    /// The weights J are stored; else they are recomputed in every step.
    pub stored_weights: bool,
    /// The kernel of the steps, see [`ocnn_strategy`](OcnnOps::ocnn_strategy).
    pub kernel: &'static str,
    /// Method that finds components among the links; breadth-first if S is kept.
    pub linking: Linking,
    /// S is kept, and the links are read from its rows.
    pub keep_sync: bool,
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weights = if self.stored_weights { "stored weights" } else { "weights on the fly" };
        let linking = match self.linking {
            _ if self.keep_sync => "breadth-first over S",
            Linking::UnionFind => "union-find",
            Linking::BreadthFirst => "breadth-first",
        };
        write!(f, "{weights}, {}, {linking}", self.kernel)
    }
}

impl ExecutionPlan {
    /// Plans a run on the context's device.
    ///
    /// # Errors
    /// If memory does not suffice, or the device does not support [`PaperConfig::matvec`].
    pub(crate) fn new<B: OcnnOps>(config: &PaperConfig, neurons: &Neurons, context: &Context<B>) -> Result<Self> {
        let (n, d) = (neurons.len() as u128, neurons.d as u128);
        let float = size_of::<B::FloatElem>();
        // Signs of 32 steps fill a word. Without S all words are kept, so periods must fill theirs.
        let whole_words = config.sync == Sync::Phase && !config.keep_sync;
        let period = if whole_words { config.period.next_multiple_of(32) } else { config.period };
        let period = period.min(config.steps.max(config.transient));
        let records = (config.steps as u128).div_ceil(period as u128);

        let mut plan = vec![
            Buffer::new("points, strengths", (d + 3) * n, float),
            // For tiles of 64 neurons; an overestimate on backends without tiles.
            Buffer::new("tiles within reach of each other", n.div_ceil(64) * n.div_ceil(2048), 4),
            Buffer::new("a period's outputs", (period as u128 + 2) * 2 * n, float),
        ];
        match (config.sync, config.keep_sync) {
            (_, true) => plan.push(Buffer::new("the synchronisation matrix S", n * n, 4)),
            // The parts are concatenated at the end, when both are live.
            (Sync::Phase, false) => {
                let words = records * period.div_ceil(32) as u128;
                plan.extend([0, 1].map(|_| Buffer::new("signs of all steps", words * n, 4)));
            }
            (Sync::Fragmentary, false) => {
                plan.extend([0, 1].map(|_| Buffer::new("outputs of all steps", records * period as u128 * n, float)));
            }
        }
        plan.push(match config.linking {
            _ if config.keep_sync => Buffer::new("rows of S", 2 * n.min(LINK_ROWS as u128) * n, 4),
            Linking::UnionFind => Buffer::new("components", 2 * n, 4),
            Linking::BreadthFirst => Buffer::new("rows of links", LINK_ROWS as u128 * n.div_ceil(32), 4),
        });
        let ranks = &*context.communicator;
        let own = rows(ranks.share(), neurons.len()).len();
        let matrix = Buffer::new("the weights J", own as u128 * n, float);
        let with_matrix: Vec<Buffer> = plan.iter().cloned().chain([matrix]).collect();

        let help = if config.keep_sync {
            "leave out S (no `keep_sync`), take fewer points, or a device with more memory"
        } else {
            "use `weights = on-the-fly`, fewer `steps`, fewer points, or a device with more memory"
        };
        let (stored, bytes) = match config.weights {
            Weights::OnTheFly => (false, admit(context, &plan, help)?),
            Weights::Stored => (true, admit(context, &with_matrix, help)?),
            Weights::Auto if neurons.d <= RECOMPUTE_DIMENSIONS => (false, admit(context, &plan, help)?),
            Weights::Auto => match admit(context, &with_matrix, help) {
                // All ranks store their rows, or none does.
                fits if ranks.all_gather(&[u8::from(fits.is_ok())]).contains(&0) => {
                    (false, admit(context, &plan, help)?)
                }
                fits => (true, fits?),
            },
        };
        let matvec = match config.matvec {
            // A rank's rows of J contain no whole columns, and only X-threads read along rows.
            Matvec::Auto if stored && ranks.size() > 1 => {
                let along_rows = B::ocnn_strategy(&context.device, Matvec::XThreads, neurons.len(), 0);
                along_rows.map_or(Matvec::Auto, |_| Matvec::XThreads)
            }
            Matvec::ThreadPerNeuron | Matvec::YThreads if stored && ranks.size() > 1 => {
                let reason = "ranks share stored weights by rows, which only x-threads read; use these, or \
                              `weights = on-the-fly`";
                let value = config.matvec.to_string();
                return Err(Error::Config { field: "matvec", value, reason: reason.into() });
            }
            chosen => chosen,
        };
        let d = if stored { 0 } else { neurons.d };
        let kernel = B::ocnn_strategy(&context.device, matvec, neurons.len(), d)?;
        let linking = if config.keep_sync { Linking::BreadthFirst } else { config.linking };
        let strategy = Strategy { stored_weights: stored, kernel, linking, keep_sync: config.keep_sync };
        Ok(Self { matvec, period, bytes, strategy })
    }
}
