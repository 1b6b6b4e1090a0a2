//! Benchmark cases: the hot loops, and a training epoch by number of rows.

use burn::tensor::{Element, ops::FloatTensor};
use firebox_backends::{
    bench::{Growth, Kernel, LowerBound, Prepared},
    limits::{Buffer, admit},
};
use firebox_core::{
    Context, Error, Result,
    checkpoint::Checkpoints,
    random::Random,
    tensor::{primitive, repeat, slice},
};

use crate::config::{MlpConfig, TrainConfig};
use crate::model::{Given, train};
use crate::ops::PerceptronOps;
use crate::solve::{Classes, Instances, Targets};
use crate::types::{Activation, Matmul, Sigmoid};

/// The cases of `firebox bench kernels`.
pub(super) fn kernels<B: PerceptronOps>(context: &Context<B>) -> Vec<Kernel> {
    const SMALL: [usize; 4] = [256, 784, 128, 10];
    const LARGE: [usize; 5] = [8192, 784, 4096, 4096, 10];
    let forward = |requested, tf32| {
        Kernel::new("mlp forward", &[SMALL], context, move |size, context| forward(size, requested, tf32, context))
            .large(&[LARGE])
    };
    let sigmoid = |in_place| {
        Kernel::new("sigmoid elementwise", &[[1 << 24]], context, move |size, context| {
            sigmoid(size[0], in_place, context)
        })
        .large(&[[1 << 28]])
    };
    vec![
        forward(Matmul::Auto, false),
        forward(Matmul::Tensor, true).variant("tf32"),
        sigmoid(false),
        sigmoid(true).variant("in place"),
    ]
}

/// Fails if `count` numbers do not fit on the device, or in `memory_limit`.
pub(super) fn check_memory<B: PerceptronOps>(what: &str, count: u128, context: &Context<B>) -> Result<()> {
    let plan = [Buffer::new(what, count, size_of::<B::FloatElem>())];
    admit(context, &plan, "take a smaller size, or a device with more memory").map(drop)
}

/// Numbers uniform in ±`reach`. A short random row is repeated, since drawing all numbers would take long.
pub(super) fn numbers<B: PerceptronOps>(
    rows: usize,
    columns: usize,
    reach: f64,
    context: &Context<B>,
) -> FloatTensor<B> {
    let mut random = Random::new(context.seed, 1);
    let period = columns.min(1 << 20);
    let row = (0..period).map(|_| random.uniform(-reach, reach)).collect();
    let row = primitive::<B, 2>(row, [1, period], &context.device);
    let repeated = |row, dim, times| if times > 1 { repeat::<B>(row, dim, times) } else { row };
    let row = repeated(row, 1, columns.div_ceil(period));
    let row = if !columns.is_multiple_of(period) { slice::<B, 2>(row, [0..1, 0..columns]) } else { row };
    repeated(row, 0, rows)
}

fn sigmoid<B: PerceptronOps>(count: usize, in_place: bool, context: &Context<B>) -> Result<Option<Prepared>> {
    check_memory("numbers and their sigmoids", 2 * count as u128, context)?;
    let sigmoid = Sigmoid { location: 0.5, slope: 2.0, ..Sigmoid::default() };
    let mut values = Some(numbers::<B>(1, count, 4.0, context));
    let bytes = (count * size_of::<B::FloatElem>()) as f64;
    // A difference, a product, a sum and a quotient.
    let least =
        LowerBound { bytes: 2.0 * bytes, flops: 4.0 * count as f64, exps: count as f64, ..LowerBound::default() };
    Ok(Some(Prepared::new(if in_place { bytes } else { 2.0 * bytes }, least, move || {
        if let Some(x) = values.take() {
            values = Some(if in_place {
                B::perceptron_sigmoid(x, sigmoid, true)
            } else {
                drop(B::perceptron_sigmoid(x.clone(), sigmoid, false));
                x
            });
        }
    })))
}

/// The forward pass of a network of `size[1..]` with `size[0]` rows; `None` if the device lacks the product.
fn forward<B: PerceptronOps>(
    size: &[usize],
    requested: Matmul,
    tf32: bool,
    context: &Context<B>,
) -> Result<Option<Prepared>> {
    let [batch, widths @ ..] = size else { return Ok(None) };
    let [inputs, hidden @ .., outputs] = widths else { return Ok(None) };
    let largest = widths.windows(2).max_by_key(|pair| pair[0] * pair[1]).unwrap_or(&[1, 1]);
    let dtype = B::FloatElem::dtype();
    let largest = [*batch, largest[0], largest[1]];
    let (method, kernel) = match B::perceptron_strategy(&context.device, dtype, largest, requested, tf32) {
        Err(Error::Config { .. }) if requested != Matmul::Auto => return Ok(None),
        method => method?,
    };
    let config = MlpConfig::new(*inputs, hidden.to_vec(), *outputs)
        .with_activation(Activation::Sigmoid)
        .with_bias(false)
        .with_squash_outputs(true)
        .with_matmul(requested);
    let wide: u128 = widths.iter().map(|&it| it as u128).sum();
    let parts = if method == Matmul::Split { 4 } else { 1 };
    check_memory("a network and its layers' results", parts * (config.parameters() + *batch as u128 * wide), context)?;
    let network = config.for_prediction::<B>(&config.initial_layers()?, &context.device);
    let x = numbers::<B>(*batch, *inputs, 1.0, context);
    let (rows, parameters) = (*batch as f64, config.parameters() as f64);
    let bytes = (parameters + rows * (inputs + outputs) as f64) * size_of::<B::FloatElem>() as f64;
    // Products on tensor cores count apart from scalar operations, whose ceiling does not bound them.
    let products = 2.0 * rows * parameters;
    let scalar = matches!(method, Matmul::Tile | Matmul::Simt) || B::limits(&context.device).largest_buffer.is_none();
    let (flops, products) = if scalar { (products, 0.0) } else { (0.0, products) };
    let exps = rows * widths[1..].iter().sum::<usize>() as f64;
    let least = LowerBound { bytes, flops, exps, products, ..LowerBound::default() };
    let call = move || drop(network.forward(x.clone()));
    Ok(Some(Prepared::new(bytes, least, call).detail("matmul", kernel.to_string())))
}

/// The case of `firebox bench cost`.
pub(super) fn growth<B: PerceptronOps>(context: &Context<B>) -> Vec<Growth> {
    const COLUMNS: usize = 64;
    const CLASSES: usize = 10;
    vec![Growth::new("perceptron, an epoch, 64-128-10", context, |n, context: &Context<B>| {
        let mut random = Random::new(context.seed, 1);
        let instances = Instances {
            values: (0..n * COLUMNS).map(|_| random.unit()).collect(),
            names: (0..COLUMNS).map(|column| format!("x{column}")).collect(),
            targets: Targets::Classes(
                (0..n).map(|row| row % CLASSES).collect(),
                Classes::Numbers((0..CLASSES as i64).collect()),
            ),
        };
        let context = context.clone();
        Ok(move || {
            let config = TrainConfig::new().with_hidden(vec![128]).with_activation(Some(Activation::Sigmoid));
            let config = config.with_batch(Some(64)).with_epochs(1);
            Ok(train(&config, &instances, Given::default(), &Checkpoints::default(), &context)?.1.peak_device_bytes)
        })
    })]
}
