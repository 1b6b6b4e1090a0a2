//! A step of the network and the strengths C, by the paper's three parallelisations.
//!
//! - `ThreadPerNeuron`: a unit per neuron; f(x), and coordinates in few dimensions, are staged in shared memory.
//! - `YThreads`: units of different rows of a cube share a neuron and add by shared-memory atomics in a varying order,
//!   so the last bits of the result vary; without such atomics, in order.
//! - `XThreads`: the 32 units of a row (a plane, where planes reduce in hardware) share 1, 2 or 4 neurons and reduce in
//!   logarithmically many steps, without atomics.
//!
//! For many neurons, `Auto` takes the last of these and skips tiles out of [`reach`].
//!
//! Exponentials are fast ones (`FastMath`): `__expf` on CUDA, within 2 + 1.16·|x| units in the last place, an error of
//! e^−|x| below 4e-7 of the largest weight.

pub(crate) mod launch;
mod plan;
mod reach;
mod thread_per_neuron;
mod x_threads;
mod y_threads;
