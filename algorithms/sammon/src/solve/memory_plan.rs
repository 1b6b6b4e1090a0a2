//! Choice of the memory mode, admission of its buffers, and upload of the problem.

use burn::tensor::{DType, FloatDType, ops::FloatTensor};
use firebox_backends::limits::{Buffer, admit};
use firebox_core::{
    Context, Error, Result,
    tensor::{cast, primitive, slice},
};

use super::{
    nondimensional::{Prepared, PreparedSource},
    vector::transposed,
};
use crate::{
    config::{Memory, SammonConfig},
    ops::SammonOps,
    types::{MEASURES, Metric, Problem, Source, Variant, pair_blocks, rows},
};

/// Number of points above which `auto` uses block sampling.
const SAMPLED_FROM: usize = 100_000;
/// Maximum elements of a buffer, which kernels index with 32 bits.
const MAX_ELEMENTS: u64 = 1 << 31;
/// Number of dimensions from which dot products are faster than differences.
const GRAM_FROM: usize = 17;

/// Memory mode of a run, and the memory it takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    /// Never [`Memory::Auto`].
    pub(crate) mode: Memory,
    /// Rows per cached block.
    rows: usize,
    /// Units per cube in the paper's variants.
    units: u32,
    /// Peak of live device buffers in bytes.
    pub(crate) bytes: u64,
}

fn memory_error(value: Memory, reason: &str) -> Error {
    Error::Config { field: "memory", value: value.to_string(), reason: reason.into() }
}

impl Plan {
    /// Chooses the memory mode and admits its buffers.
    ///
    /// # Errors
    /// If the requested mode is not supported for this input or device, or does not fit into memory.
    pub(crate) fn new<B: SammonOps>(
        config: &SammonConfig,
        requested: Memory,
        prepared: &Prepared,
        m: usize,
        context: &Context<B>,
    ) -> Result<Self> {
        let n = prepared.len();
        let (ranks, own) = (&*context.communicator, rows(context.communicator.share(), n));
        let float = size_of::<B::FloatElem>();
        let (d, matrix) = match &prepared.source {
            PreparedSource::Features { d, .. } => (*d, false),
            PreparedSource::Distances(_) => (0, true),
        };
        let wide = n as u128;
        // Multiplicities, rates or fractions, two embeddings, forces and the stresses of a batch. Further runs relax maps in
        // one more dimension.
        let m = m + usize::from(config.further_runs(n) > 0);
        let mut base = vec![
            Buffer::new("points", d as u128 * wide, float),
            Buffer::new("embeddings and forces", (3 * m as u128 + 20) * wide, float),
        ];
        if config.variant.rows() {
            base.push(Buffer::new("points in rows", d as u128 * wide, float));
        }
        let cached = |size: usize| -> Result<Self> {
            let most =
                B::limits(&context.device).largest_buffer.map_or(MAX_ELEMENTS, |bytes| bytes / size.max(float) as u64);
            let rows = (most.min(MAX_ELEMENTS) / n as u64).min(n as u64) as usize;
            if rows == 0 {
                let help = "use `memory = recomputed`, or fewer points";
                admit(context, &[Buffer::new("a row of 1/δ", wide, size)], help)?;
            }
            let mut plan = base.clone();
            let rows = rows.max(1);
            for first in own.clone().step_by(rows) {
                plan.push(Buffer::new("1/δ", rows.min(own.end - first) as u128 * wide, size));
            }
            if size < float {
                plan.push(Buffer::new("a block before it is halved", rows as u128 * wide, float));
            }
            let help = "use `memory = recomputed`, which keeps no distances, or `memory = sampled`; or fewer points";
            let help = if matrix { "take fewer points, or a device with more memory" } else { help };
            Ok(Self {
                mode: if size < float { Memory::CachedF16 } else { Memory::Cached },
                rows,
                units: config.units,
                bytes: admit(context, &plan, help)?,
            })
        };
        let without = |mode| -> Result<Self> {
            let mut plan = base.clone();
            if mode == Memory::Sampled {
                plan.push(Buffer::new("points in an epoch's order", d as u128 * wide, float));
            } else if let Some(largest) = B::limits(&context.device).largest_buffer {
                let parts = |count: usize| pair_blocks(n, count, float, largest, ranks.size()).1;
                // Blocks of pairs are distributed by their index, so ranks must agree on their number.
                let own = [m + 1, MEASURES].map(|count| parts(count) as u64);
                if ranks.all_gather(&own).chunks(own.len()).any(|other| other != own) {
                    return Err(Error::Device {
                        backend: B::limits(&context.device).device,
                        what: "the ranks' devices differ in their largest buffer".into(),
                        help: "share the run among devices of one kind, or use `memory = cached`".into(),
                    });
                }
                let sums = |count: usize| (parts(count) * count) as u128 * wide;
                plan.push(Buffer::new("sums of blocks of pairs", sums(m + 1).max(sums(MEASURES)), float));
            }
            let bytes = admit(context, &plan, "take fewer points, or a device with more memory")?;
            Ok(Self { mode, rows: 0, units: config.units, bytes })
        };
        if matrix && matches!(requested, Memory::Recomputed | Memory::Sampled) {
            return Err(memory_error(
                requested,
                "precomputed distances have no points to compute them from; leave it at auto",
            ));
        }
        match requested {
            Memory::Cached => cached(float),
            Memory::CachedF16 => {
                if !B::supports_dtype(&context.device, DType::F16) || float > 4 {
                    return Err(memory_error(requested, "is for f32 on a GPU that has f16; use cached or recomputed"));
                }
                cached(2)
            }
            Memory::Recomputed => without(Memory::Recomputed),
            Memory::Sampled => without(Memory::Sampled),
            Memory::Auto if matrix => cached(float),
            Memory::Auto if n > SAMPLED_FROM && config.variant == Variant::Auto && config.is_plain() => {
                let text = format!("{n} points use block sampling (`memory = recomputed` takes all pairs)");
                context.observer.notice(&text);
                without(Memory::Sampled)
            }
            Memory::Auto => {
                // All ranks must use the same mode, for their shares to form one whole.
                let kept = cached(float);
                let mut failures = [f64::from(u8::from(kept.is_err()))];
                ranks.all_sum(&mut failures);
                kept.ok().filter(|_| failures == [0.0]).map_or_else(|| without(Memory::Recomputed), Ok)
            }
        }
    }

    /// Uploads the problem to the device.
    pub(crate) fn problem<B: SammonOps>(
        &self,
        prepared: &Prepared,
        power: f64,
        context: &Context<B>,
    ) -> Result<Problem<B>> {
        let (n, share) = (prepared.len(), context.communicator.share());
        let (own, device) = (rows(share, n), &context.device);
        let multiplicity = primitive::<B, 1>(prepared.counts.clone(), [n], device);
        let source = match &prepared.source {
            PreparedSource::Features { values, d, metric, .. } => {
                let points = columns::<B>(values, *d, device);
                if matches!(self.mode, Memory::Cached | Memory::CachedF16) {
                    let block = |first: usize| {
                        let rows = slice::<B, 2>(points.clone(), [0..*d, first..(first + self.rows).min(own.end)]);
                        self.stored::<B>(B::sammon_inverse(rows, points.clone(), Some(first), *metric))
                    };
                    Source::Inverse(own.clone().step_by(self.rows).map(block).collect())
                } else {
                    Source::Features { points, metric: *metric, gram: *d >= GRAM_FROM && *metric != Metric::Manhattan }
                }
            }
            PreparedSource::Distances(values) => {
                let inverse = |delta: &f64| if *delta > 0.0 { 1.0 / delta } else { 0.0 };
                let block = |rows: &[f64]| {
                    let height = rows.len() / n;
                    self.stored::<B>(primitive::<B, 2>(rows.iter().map(inverse).collect(), [height, n], device))
                };
                Source::Inverse(values[own.start * n..own.end * n].chunks(self.rows * n).map(block).collect())
            }
        };
        B::finish(device, "the source distances")?;
        Ok(Problem { source, multiplicity, power, units: self.units, share })
    }

    /// Casts a block to the precision in which it is stored.
    fn stored<B: SammonOps>(&self, block: FloatTensor<B>) -> FloatTensor<B> {
        match self.mode {
            Memory::CachedF16 => cast::<B>(block, FloatDType::F16),
            _ => block,
        }
    }
}

/// Uploads row-major `[n, d]` as `[d, n]`.
pub(crate) fn columns<B: SammonOps>(values: &[f64], d: usize, device: &B::Device) -> FloatTensor<B> {
    let n = values.len() / d.max(1);
    primitive::<B, 2>(transposed(values, d), [d, n], device)
}
