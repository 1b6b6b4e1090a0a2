//! The perceptron's hot loops, each by itself.

use burn::tensor::{Element, Tensor};
use firebox_backends::limits::{Buffer, admit};
use firebox_core::{
    Context, Error, Result,
    kernels::{Kernel, Least, Prepared},
    random::Random,
    tensor::floats,
};

use crate::{
    mlp::MlpConfig,
    ops::{Matmul, PerceptronOps, Sigmoid},
    tensor_ops::primitive,
};

/// What `firebox bench kernels` measures of the perceptron.
pub(crate) fn kernels<B: PerceptronOps>() -> Vec<Kernel<B>> {
    const SMALL: [usize; 4] = [256, 784, 128, 10];
    const LARGE: [usize; 5] = [8192, 784, 4096, 4096, 10];
    let forward = |way, tf32| {
        Kernel::new("mlp forward", &[SMALL], move |size, context| forward(size, way, tf32, context)).large(&[LARGE])
    };
    let sigmoid = |in_place| {
        Kernel::new("sigmoid elementwise", &[[1 << 24]], move |size, context| sigmoid(size[0], in_place, context))
            .large(&[[1 << 28]])
    };
    vec![
        forward(Matmul::Auto, false),
        forward(Matmul::Tensor, true).variant("tf32"),
        sigmoid(false),
        sigmoid(true).variant("in place"),
    ]
}

/// Refuses what the device, or `--memory-limit`, cannot hold.
pub(super) fn fits<B: PerceptronOps>(what: &str, count: u128, context: &Context<B>) -> Result<()> {
    let plan = [Buffer::new(what, count, size_of::<B::FloatElem>())];
    admit(context, &plan, "take a smaller size, or a device with more memory").map(drop)
}

/// Uniform in ±`reach`: a short row of random numbers, again and again, since drawing them would take longer.
pub(super) fn numbers<B: PerceptronOps>(rows: usize, columns: usize, reach: f64, context: &Context<B>) -> Tensor<B, 2> {
    let mut random = Random::new(context.seed, 1);
    let some = columns.min(1 << 20);
    let row = (0..some).map(|_| random.uniform(-reach, reach)).collect();
    let row = floats::<B, 2>(row, [1, some], &context.device);
    let again = columns.div_ceil(some);
    let row = if again > 1 { row.repeat_dim(1, again).slice([0..1, 0..columns]) } else { row };
    if rows == 1 { row } else { row.repeat_dim(0, rows) }
}

fn sigmoid<B: PerceptronOps>(count: usize, in_place: bool, context: &Context<B>) -> Result<Option<Prepared>> {
    fits("numbers and their sigmoids", 2 * count as u128, context)?;
    let sigmoid = Sigmoid { location: 0.5, slope: 2.0, ..Sigmoid::default() };
    let mut values = Some(primitive(numbers::<B>(1, count, 4.0, context)));
    let bytes = (count * size_of::<B::FloatElem>()) as f64;
    // A difference, a product, a sum and a quotient.
    let least = Least { bytes: 2.0 * bytes, flops: 4.0 * count as f64, exps: count as f64, ..Least::default() };
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

/// The forward pass of a network of `size[1..]` with `size[0]` rows; none if the device cannot multiply so.
fn forward<B: PerceptronOps>(
    size: &[usize],
    way: Matmul,
    tf32: bool,
    context: &Context<B>,
) -> Result<Option<Prepared>> {
    let [batch, widths @ ..] = size else { return Ok(None) };
    let [inputs, hidden @ .., outputs] = widths else { return Ok(None) };
    let largest = widths.windows(2).max_by_key(|pair| pair[0] * pair[1]).unwrap_or(&[1, 1]);
    let dtype = B::FloatElem::dtype();
    let of = [*batch, largest[0], largest[1]];
    let (found, name) = match B::perceptron_strategy(&context.device, dtype, of, way, tf32) {
        Err(Error::Config { .. }) if way != Matmul::Auto => return Ok(None),
        found => found?,
    };
    let config =
        MlpConfig::new(*inputs, hidden.to_vec(), *outputs).with_bias(false).with_squash_outputs(true).with_matmul(way);
    let wide: u128 = widths.iter().map(|&it| it as u128).sum();
    let parts = if found == Matmul::Split { 4 } else { 1 };
    fits("a network and its layers' results", parts * (config.parameters() + *batch as u128 * wide), context)?;
    let network = config.init::<B>(&context.device)?.laid_by_columns();
    let x = numbers::<B>(*batch, *inputs, 1.0, context);
    let (rows, parameters) = (*batch as f64, config.parameters() as f64);
    let bytes = (parameters + rows * (inputs + outputs) as f64) * size_of::<B::FloatElem>() as f64;
    // Tensor cores may do the products, at a rate that no ceiling here tells.
    let products = 2.0 * rows * parameters;
    let scalar = matches!(found, Matmul::Tile | Matmul::Simt) || B::limits(&context.device).largest_buffer.is_none();
    let (flops, products) = if scalar { (products, 0.0) } else { (0.0, products) };
    let exps = rows * widths[1..].iter().sum::<usize>() as f64;
    let least = Least { bytes, flops, exps, products, ..Least::default() };
    let call = move || drop(network.forward(x.clone()));
    Ok(Some(Prepared::new(bytes, least, call).detail("matmul", name)))
}
