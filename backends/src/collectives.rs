//! Collective operations on device tensors: by direct transfers between the ranks' devices where these are available
//! ([`Session::peers`](firebox_core::Session::peers)), through the hosts otherwise.

use std::{
    net::{Ipv4Addr, TcpListener},
    ops::Range,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use burn::tensor::{Slice, TensorData, ops::FloatTensor};
use firebox_core::{
    Context, Error, Result,
    tensor::{self, float_data, primitive, widened},
};

use crate::DeviceLimits;

/// Elements of the all-reduce that tests the connection: not a power of two, and different on each rank.
const TEST_COUNT: usize = 5;
/// Time limit of the test.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);

/// Returns the CUDA ordinals of the devices of all ranks if direct transfers between them work. The first call tests
/// this and is collective.
///
/// # Errors
/// [`Error::Run`] if direct transfers fail and are [required](firebox_core::Peers::required).
pub fn peers<B: DeviceLimits>(context: &Context<B>) -> Result<Option<&[u16]>> {
    let peers = context.peers.as_ref().filter(|_| B::supports_p2p() && context.communicator.size() > 1);
    let Some(peers) = peers else { return Ok(None) };
    if peers.connect(|| connect(peers.devices(), context)) {
        return Ok(Some(peers.devices()));
    }
    let what = "direct transfers between the devices of these processes do not work";
    if peers.required() {
        return Err(Error::Run {
            device: B::limits(&context.device).device,
            phase: "exchange".into(),
            what: what.into(),
        });
    }
    context.observer.notice(&format!("{what}: transfers go through the hosts"));
    Ok(None)
}

/// Returns whether an all-reduce over the devices gives the right sum on every rank. CubeCL does not report failures of
/// collectives.
fn connect<B: DeviceLimits>(devices: &[u16], context: &Context<B>) -> bool {
    let ranks = &*context.communicator;
    let port = ranks.broadcast_value(if ranks.rank() == 0 { free_port() } else { 0 });
    let correct = port > 0 && {
        #[cfg(feature = "cuda")]
        crate::device::cuda::set_rendezvous_port(port);
        let (done, waiting) = mpsc::channel::<()>();
        let (communicator, observer) = (context.communicator.clone(), context.observer.clone());
        thread::spawn(move || {
            // If one rank fails, the others would wait for ever.
            if waiting.recv_timeout(CONNECT_TIMEOUT) == Err(RecvTimeoutError::Timeout) {
                observer.notice("the devices of these processes cannot connect: set FIREBOX_EXCHANGE=hosts");
                communicator.abort(1);
            }
        });
        let size = ranks.size();
        let values = |factor: usize| (1..=TEST_COUNT).map(|k| k as f64 * factor as f64).collect::<Vec<f64>>();
        let local = primitive::<B, 1>(values(ranks.rank() + 1), [TEST_COUNT], &context.device);
        let sum = float_data::<B>(B::all_reduce_sum(local, devices), "exchange");
        drop(done);
        sum.is_ok_and(|sum| widened(&sum) == values(size * (size + 1) / 2))
    };
    !ranks.all_gather(&[u8::from(correct)]).contains(&0)
}

/// Returns an unused local port, or 0 if the system assigns none.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    listener.and_then(|listener| listener.local_addr()).map_or(0, |address| address.port())
}

/// All-reduce (sum) of the ranks' vectors `[n]`; the result is on each rank's device, with the same bits on all ranks.
/// Devices add in their float type, hosts in f64.
///
/// # Errors
/// [`Error::Run`] with `phase` if a device failed.
pub fn all_sum<B: DeviceLimits>(local: FloatTensor<B>, context: &Context<B>, phase: &str) -> Result<FloatTensor<B>> {
    if context.communicator.size() == 1 {
        return Ok(local);
    }
    if let Some(peers) = peers(context)? {
        return Ok(B::all_reduce_sum(local, peers));
    }
    let sum = host_sum(float_data::<B>(local, phase)?, context)?;
    Ok(tensor::from_data::<B>(sum, &context.device))
}

/// [`all_sum`] whose result is on each rank's host.
///
/// # Errors
/// [`Error::Run`] with `phase` if a device failed.
pub fn all_sum_to_host<B: DeviceLimits>(
    local: FloatTensor<B>,
    context: &Context<B>,
    phase: &str,
) -> Result<TensorData> {
    match peers(context)? {
        Some(peers) => float_data::<B>(B::all_reduce_sum(local, peers), phase),
        None => host_sum(float_data::<B>(local, phase)?, context),
    }
}

/// Concatenates the ranks' parts into a vector `[n]` on each rank's device. `local` holds the elements `range`; a rank
/// without a part passes `None`, since not every device supports empty tensors.
///
/// # Errors
/// [`Error::Run`] with `phase` if a device failed.
pub fn all_gather<B: DeviceLimits>(
    local: Option<FloatTensor<B>>,
    (range, n): (Range<usize>, usize),
    context: &Context<B>,
    phase: &str,
) -> Result<FloatTensor<B>> {
    let Some(peers) = peers(context)? else {
        return tensor::all_gather::<B>(local, &context.device, &*context.communicator, phase);
    };
    // An all-reduce of parts padded with zeros is exact.
    let zeros = tensor::zeros::<B>([n].into(), &context.device);
    let padded = match local {
        Some(local) => tensor::slice_assign::<B>(zeros, &[Slice::from(range)], local),
        None => zeros,
    };
    Ok(B::all_reduce_sum(padded, peers))
}

/// All-reduce (sum) of the ranks' values through the hosts.
fn host_sum<B: DeviceLimits>(mut data: TensorData, context: &Context<B>) -> Result<TensorData> {
    tensor::all_sum(&mut data, &*context.communicator)?;
    Ok(data)
}
