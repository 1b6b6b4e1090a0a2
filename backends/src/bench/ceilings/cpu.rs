//! Ceilings of the CPU: SIMD loops on all threads.

use std::hint::black_box;

use burn::tensor::Element;
use burn_ndarray::{FloatNdArrayElement, IntNdArrayElement, NdArray, NdArrayTensor, QuantElement, SharedArray};
use firebox_core::{Context, Result};
use rayon::prelude::*;

use super::{Ceilings, Probe, elements};
use crate::{
    DeviceLimits,
    bench::{LowerBound, cache},
    cpu::{Isa, Loop, Real, SimdLevel, dot},
};

/// Number of independent chains per task, which stay in registers.
const LANES: usize = 64;
/// Length of each chain.
const STEPS: usize = 1 << 14;
/// Number of elements that a thread copies or reads at a time.
const CHUNK: usize = 1 << 16;

impl<E, I, Q> Ceilings for NdArray<E, I, Q>
where
    E: FloatNdArrayElement,
    I: IntNdArrayElement,
    Q: QuantElement,
    NdArrayTensor: From<SharedArray<E>> + From<SharedArray<I>>,
{
    fn probes(context: &Context<Self>) -> Result<Vec<Probe>> {
        let size = size_of::<E>();
        let count = elements(&Self::limits(&context.device), cache::cpu(), context.memory_limit, size);
        Ok(if size == 8 { probes::<f64>(count) } else { probes::<f32>(count) })
    }
}

fn probes<E: Real + Element>(count: usize) -> Vec<Probe> {
    let bytes = (count * size_of::<E>()) as f64;
    let source = vec![E::ONE; count];
    let mut target = source.clone();
    let read = source.clone();
    let level = SimdLevel::best();
    // AVX-512 has the registers for twice the lanes, which hide the latency of multiply–adds.
    let wide = level.name() == "avx512" && size_of::<E>() == 4;
    let memory = |bytes| LowerBound { bytes, ..LowerBound::default() };
    let tasks = 8 * rayon::current_num_threads();
    let steps = (tasks * STEPS * LANES) as f64;
    let chains = |name, lower_bound: fn(f64) -> LowerBound, amount: f64, run: fn(SimdLevel, E) -> E| {
        let call = move || {
            let total: f64 = (0..tasks).into_par_iter().map(|_| run(level, E::ONE).into()).sum();
            black_box(total);
        };
        Probe::new(name, tasks * LANES, lower_bound(amount), call)
    };
    let flops = |flops| LowerBound { flops, ..LowerBound::default() };
    let multiply_add = if wide {
        chains("multiply-add", flops, 4.0 * steps, |level, x| level.run(MultiplyAdd::<E, { 2 * LANES }>(x)))
    } else {
        chains("multiply-add", flops, 2.0 * steps, |level, x| level.run(MultiplyAdd::<E, LANES>(x)))
    };
    let copy = move || {
        let chunks = target.par_chunks_mut(CHUNK).zip(source.par_chunks(CHUNK));
        chunks.for_each(|(target, source)| target.copy_from_slice(source));
        black_box(&target);
    };
    let sum = move || {
        let total: f64 = read.par_chunks(CHUNK).map(|chunk| level.run(Sum(chunk)).into()).sum();
        black_box(total);
    };
    vec![
        Probe::new("copy", count, memory(2.0 * bytes), copy),
        Probe::new("read", count, memory(bytes), sum),
        multiply_add,
        chains("exp", |exps| LowerBound { exps, ..LowerBound::default() }, steps, |level, x| level.run(Exp(x))),
        chains("rsqrt", |roots| LowerBound { roots, ..LowerBound::default() }, steps, |level, x| level.run(Root(x))),
    ]
}

/// Σ x².
struct Sum<'a, E>(&'a [E]);

impl<E: Real> Loop for Sum<'_, E> {
    type Output = E;

    #[inline(always)]
    fn run<I: Isa>(self) -> E {
        dot::<E, I>(self.0, self.0)
    }
}

/// x ← ½·x + ½, in `L` lanes.
struct MultiplyAdd<E, const L: usize>(E);

impl<E: Real, const L: usize> Loop for MultiplyAdd<E, L> {
    type Output = E;

    #[inline(always)]
    fn run<I: Isa>(self) -> E {
        let half = black_box(E::from_f64(0.5));
        chain::<E, L>(self.0, |lanes| lanes.map(|x| E::fma::<I>(x, half, half)))
    }
}

/// x ← 2^−x.
struct Exp<E>(E);

impl<E: Real> Loop for Exp<E> {
    type Output = E;

    #[inline(always)]
    fn run<I: Isa>(self) -> E {
        chain::<E, LANES>(self.0, |lanes| lanes.map(|x| E::exp2_negative::<I>(-x)))
    }
}

/// x ← 1/√x.
struct Root<E>(E);

impl<E: Real> Loop for Root<E> {
    type Output = E;

    #[inline(always)]
    fn run<I: Isa>(self) -> E {
        chain::<E, LANES>(self.0, |mut lanes| {
            for sixteen in lanes.as_chunks_mut::<16>().0 {
                *sixteen = E::recip_sqrts::<I>(*sixteen);
            }
            lanes
        })
    }
}

/// Returns one of `L` equal lanes after `STEPS` steps from x.
#[inline(always)]
fn chain<E: Real, const L: usize>(x: E, step: impl Fn([E; L]) -> [E; L]) -> E {
    // Hides from the compiler that all lanes are equal.
    let mut lanes: [E; L] = black_box([x; L]);
    for _ in 0..STEPS {
        lanes = step(lanes);
    }
    black_box(lanes)[0]
}
