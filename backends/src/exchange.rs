//! What ranks tell each other of numbers on their devices: from device to device where these reach each other
//! ([`Context::peers`]), else through their hosts.

use std::{
    net::{Ipv4Addr, TcpListener},
    ops::Range,
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::Duration,
};

use burn::tensor::{Element, Tensor, TensorData, TensorPrimitive};
use firebox_core::{
    Context, Error, Result,
    tensor::{self, floats, read, widened},
};

use crate::Limited;

/// Numbers that devices are tried with: no power of two, and different on each rank.
const TRIED: usize = 5;
/// What they are waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// The devices of all ranks, if these tell each other by themselves, which the first call tries; every rank has to ask.
/// Fails if they do not, and nothing else will do.
pub fn peers<B: Limited>(context: &Context<B>) -> Result<Option<&[u16]>> {
    let peers = context.peers.as_ref().filter(|_| B::reaches() && context.communicator.size() > 1);
    let Some(peers) = peers else { return Ok(None) };
    if peers.meet(|| meet(peers.devices(), context)) {
        return Ok(Some(peers.devices()));
    }
    let what = "the devices of these processes do not tell each other anything by themselves";
    if peers.required() {
        return Err(Error::Run {
            device: B::limits(&context.device).device,
            phase: "exchange".into(),
            what: what.into(),
        });
    }
    context.observer.notice(&format!("{what}: they do through their hosts"));
    Ok(None)
}

/// Whether a sum over the devices is what it should be, on all. CubeCL tells nobody of what fails on the way.
fn meet<B: Limited>(devices: &[u16], context: &Context<B>) -> bool {
    let ranks = &*context.communicator;
    let port = ranks.first(if ranks.rank() == 0 { free_port() } else { 0 });
    let tried = port > 0 && {
        crate::device::meet_at(port);
        let (done, waiting) = mpsc::channel::<()>();
        let (all, observer) = (context.communicator.clone(), context.observer.clone());
        thread::spawn(move || {
            // Of a failure of one the others may never hear.
            if waiting.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                observer.notice("the devices of these processes do not find each other: set FIREBOX_EXCHANGE=hosts");
                all.abort(1);
            }
        });
        let size = ranks.size();
        let number = |k: usize, of: usize| (k + 1) as f64 * of as f64;
        let own = (0..TRIED).map(|k| number(k, ranks.rank() + 1)).collect::<Vec<f64>>();
        let sum = read(among(floats::<B, 1>(own, [TRIED], &context.device), devices), "exchange");
        drop(done);
        sum.is_ok_and(|sum| widened(&sum) == (0..TRIED).map(|k| number(k, size * (size + 1) / 2)).collect::<Vec<_>>())
    };
    !ranks.all_gather(&[u8::from(tried)]).contains(&0)
}

/// A port of this machine that nobody listens at; 0 if there is none.
fn free_port() -> u16 {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|it| it.local_addr()).map_or(0, |at| at.port())
}

/// The sum of what the ranks have `[n]`, on the device of each: added up by the devices in their own floats, the same bits
/// on all, or by the hosts in f64.
pub fn all_sum<B: Limited>(own: Tensor<B, 1>, context: &Context<B>, phase: &str) -> Result<Tensor<B, 1>> {
    if context.communicator.size() == 1 {
        return Ok(own);
    }
    if let Some(peers) = peers(context)? {
        return Ok(among(own, peers));
    }
    let sum = added(read(own, phase)?, context)?;
    Ok(Tensor::from_data(sum, (&context.device, B::FloatElem::dtype())))
}

/// [`all_sum`], on each host.
pub fn read_sum<B: Limited>(own: Tensor<B, 1>, context: &Context<B>, phase: &str) -> Result<TensorData> {
    match peers(context)? {
        Some(peers) => read(among(own, peers), phase),
        None => added(read(own, phase)?, context),
    }
}

/// A vector `[n]` of the ranks' parts, on the device of each. `own` are the numbers `of` it; a rank without any has no
/// tensor, since not every device holds an empty one.
pub fn all_gather<B: Limited>(
    own: Option<Tensor<B, 1>>,
    (of, n): (Range<usize>, usize),
    context: &Context<B>,
    phase: &str,
) -> Result<Tensor<B, 1>> {
    let Some(peers) = peers(context)? else {
        return tensor::all_gather(own, &context.device, &*context.communicator, phase);
    };
    // Zeros where the numbers of others are: sums with them are exact.
    let zeros = Tensor::<B, 1>::zeros([n], (&context.device, B::FloatElem::dtype()));
    let whole = match own {
        Some(own) => zeros.slice_assign(std::array::from_ref(&of).clone(), own),
        None => zeros,
    };
    Ok(among(whole, peers))
}

fn among<B: Limited>(own: Tensor<B, 1>, peers: &[u16]) -> Tensor<B, 1> {
    Tensor::from_primitive(TensorPrimitive::Float(B::sum_among(own.into_primitive().tensor(), peers)))
}

fn added<B: Limited>(mut data: TensorData, context: &Context<B>) -> Result<TensorData> {
    tensor::all_sum(&mut data, &*context.communicator)?;
    Ok(data)
}
