//! Ceilings of a GPU: small kernels that copy, read, or compute in registers.

#![allow(missing_docs)] // `#[cube]` generates items without documentation.

use burn::tensor::Tensor;
use burn_cubecl::{BoolElement, CubeBackend, CubeRuntime, FloatElement, IntElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_core::{
    Context, Result,
    tensor::{into_primitive, primitive},
};

use super::{Ceilings, Probe, elements};
use crate::{
    DeviceLimits,
    bench::{LowerBound, cache},
    kernel::launch,
};

/// Vector width of loads and stores.
const WIDTH: usize = 4;
/// Maximum number of units per cube.
const UNITS: u32 = 256;
/// Number of units that compute.
const THREADS: usize = 1 << 20;
/// Number of independent chains per unit.
const CHAINS: u32 = 8;
/// Length of each chain.
const STEPS: u32 = 64;

#[cube(launch_unchecked, address_type = "dynamic")]
fn copy_kernel<F: Float + CubeElement, N: Size>(
    source: &Array<Vector<F, N>>,
    target: &mut Array<Vector<F, N>>,
    count: usize,
) {
    let at = CUBE_POS * CUBE_DIM as usize + UNIT_POS as usize;
    if at < count {
        target[at] = source[at];
    }
}

/// Each unit sums every `threads`-th vector.
#[cube(launch_unchecked, address_type = "dynamic")]
fn read_kernel<F: Float + CubeElement, N: Size>(
    source: &Array<Vector<F, N>>,
    sums: &mut Array<Vector<F, N>>,
    threads: usize,
    count: usize,
) {
    let first = CUBE_POS * CUBE_DIM as usize + UNIT_POS as usize;
    if first < threads {
        let mut sum = Vector::<F, N>::new(F::new(0.0));
        for at in range_stepped(first, count, threads) {
            sum += source[at];
        }
        sums[first] = sum;
    }
}

/// Operation that is repeated in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Chain {
    MultiplyAdd,
    Exp,
    Root,
}

#[cube(launch_unchecked, fast_math = FastMath::all() - FastMath::NotNaN - FastMath::NotInf)]
fn chain_kernel<F: Float + CubeElement>(out: &mut Array<F>, half: F, count: usize, #[comptime] chain: Chain) {
    let at = CUBE_POS * CUBE_DIM as usize + UNIT_POS as usize;
    if at < count {
        let mut x = Array::<F>::new(comptime!(CHAINS as usize));
        #[unroll]
        for k in 0..CHAINS {
            x[k as usize] = half + F::cast_from(k);
        }
        for _ in 0..STEPS {
            #[unroll]
            for k in 0..CHAINS {
                let value = x[k as usize];
                x[k as usize] = match comptime!(chain) {
                    Chain::MultiplyAdd => fma(value, half, half),
                    Chain::Exp => (F::new(0.0) - value).exp(),
                    Chain::Root => value.inverse_sqrt(),
                };
            }
        }
        let mut sum = F::new(0.0);
        #[unroll]
        for k in 0..CHAINS {
            sum += x[k as usize];
        }
        out[at] = sum;
    }
}

impl<R, F, I, BT> Ceilings for CubeBackend<R, F, I, BT>
where
    R: CubeRuntime,
    F: FloatElement,
    I: IntElement,
    BT: BoolElement,
{
    fn cache(device: &R::Device) -> f64 {
        cache::gpu::<R>(device)
    }

    fn probes(context: &Context<Self>) -> Result<Vec<Probe>> {
        let size = size_of::<F>();
        let limits = Self::limits(&context.device);
        let count = elements(&limits, Self::cache(&context.device), context.memory_limit, size);
        let ones = into_primitive(Tensor::<Self, 1>::ones([count], (&context.device, F::dtype())));
        let empty = |count: usize| launch::output(&ones, [count], F::dtype());
        let bytes = (count * size) as f64;
        let memory = |bytes| LowerBound { bytes, ..LowerBound::default() };
        let sums = empty(THREADS.min(count / WIDTH) * WIDTH);
        let outputs = primitive::<Self, 1>(vec![0.0; THREADS], [THREADS], &context.device);
        let chain = |name, lower_bound: fn(f64) -> LowerBound, each: f64, chain| {
            let out = outputs.clone();
            let amount = each * THREADS as f64 * f64::from(CHAINS * STEPS);
            Probe::new(name, THREADS, lower_bound(amount), move || compute::<R, F>(&out, chain))
        };
        let (source, target) = (ones.clone(), empty(count));
        Ok(vec![
            Probe::new("copy", count, memory(2.0 * bytes), move || copy::<R, F>(&source, &target)),
            Probe::new("read", count, memory(bytes), move || read::<R, F>(&ones, &sums)),
            chain("multiply-add", |flops| LowerBound { flops, ..LowerBound::default() }, 2.0, Chain::MultiplyAdd),
            chain("exp", |exps| LowerBound { exps, ..LowerBound::default() }, 1.0, Chain::Exp),
            chain("rsqrt", |roots| LowerBound { roots, ..LowerBound::default() }, 1.0, Chain::Root),
        ])
    }
}

/// Launch shape of `threads` units.
fn grid<R: Runtime>(client: &ComputeClient<R>, threads: usize) -> (CubeCount, CubeDim) {
    let units = launch::units_within(client, UNITS);
    (launch::cubes_for(client, threads, units), CubeDim::new_1d(units))
}

fn copy<R: CubeRuntime, F: FloatElement>(source: &CubeTensor<R>, target: &CubeTensor<R>) {
    let count = source.meta.num_elements() / WIDTH;
    let (cubes, units) = grid(&source.client, count);
    // SAFETY: the kernel checks its index against the number of vectors, which is that of both arrays.
    unsafe {
        copy_kernel::launch_unchecked::<F, R>(
            &source.client,
            cubes,
            units,
            launch::address(&[source, target]),
            WIDTH,
            source.clone().into_array_arg(),
            target.clone().into_array_arg(),
            count,
        );
    }
}

fn read<R: CubeRuntime, F: FloatElement>(source: &CubeTensor<R>, sums: &CubeTensor<R>) {
    let count = source.meta.num_elements() / WIDTH;
    let threads = sums.meta.num_elements() / WIDTH;
    let (cubes, units) = grid(&source.client, threads);
    // SAFETY: the kernel checks its index against the number of sums, and reads below the number of vectors.
    unsafe {
        read_kernel::launch_unchecked::<F, R>(
            &source.client,
            cubes,
            units,
            launch::address(&[source, sums]),
            WIDTH,
            source.clone().into_array_arg(),
            sums.clone().into_array_arg(),
            threads,
            count,
        );
    }
}

fn compute<R: CubeRuntime, F: FloatElement>(out: &CubeTensor<R>, chain: Chain) {
    let count = out.meta.num_elements();
    let (cubes, units) = grid(&out.client, count);
    // SAFETY: the kernel checks its index against the number of outputs.
    unsafe {
        chain_kernel::launch_unchecked::<F, R>(
            &out.client,
            cubes,
            units,
            out.clone().into_array_arg(),
            F::from_elem(0.5),
            count,
            chain,
        );
    }
}
