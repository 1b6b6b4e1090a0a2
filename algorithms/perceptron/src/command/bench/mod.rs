//! `firebox bench perceptron`: square products by every method, and the cases of `firebox bench kernels` and
//! `firebox bench cost`.

mod cases;

use burn::tensor::Element;
use clap::{ArgMatches, Args, Command};
use firebox_backends::{
    Device,
    bench::{BenchRow, Growth, Kernel, Rows, at_least_one, median},
    plugin::Bench,
    with_context,
};
use firebox_core::{Context, Result, Session, command::parse};

use self::cases::{check_memory, growth, kernels, numbers};
use crate::ops::PerceptronOps;
use crate::types::{Matmul, MatmulKernel, Sigmoid};

/// The bench of the perceptron.
#[derive(Debug, Clone, Copy, Default)]
pub struct PerceptronBench;

#[derive(Debug, Args)]
struct BenchArgs {
    /// Sides of the products' matrices; 256, 1024 and 4096 by default
    #[arg(long, value_name = "N", value_delimiter = ',')]
    sides: Vec<usize>,
    /// Only these ways to multiply; all that the device has by default
    #[arg(long, value_enum, value_delimiter = ',')]
    matmul: Vec<Matmul>,
    /// Let products round f32 to TF32 too
    #[arg(long)]
    allow_tf32: bool,
    /// How often each figure is measured; the median is given
    #[arg(long, value_name = "R", default_value_t = 5)]
    repeats: usize,
}

impl Bench for PerceptronBench {
    fn command(&self) -> Command {
        let about = "The perceptron's square products with the sigmoid, by every way to multiply that the device has";
        BenchArgs::augment_args(Command::new("perceptron").about(about))
    }

    fn run(&self, args: &ArgMatches, device: &Device, session: &Session, row: &mut dyn FnMut(BenchRow)) -> Result<()> {
        let args: BenchArgs = parse(args)?;
        at_least_one(&[("repeats", args.repeats)])?;
        args.sides.iter().try_for_each(|&side| at_least_one(&[("sides", side)]))?;
        with_context!(device, session, |context| products(&args, context, row))
    }

    fn kernels(&self, device: &Device, session: &Session) -> Vec<Kernel> {
        with_context!(device, session, |context| kernels(context))
    }

    fn growth(&self, device: &Device, session: &Session) -> Vec<Growth> {
        with_context!(device, session, |context| growth(context))
    }
}

fn products<B: PerceptronOps>(args: &BenchArgs, context: &Context<B>, row: &mut dyn FnMut(BenchRow)) -> Result<()> {
    let mut rows = Rows::new(&*context.observer, row);
    let sides = if args.sides.is_empty() { &[256, 1024, 4096][..] } else { &args.sides };
    for &side in sides {
        for (method, kernel) in methods([side; 3], args, context)? {
            rows.add(product(side, method, kernel, args.repeats, context))?;
        }
    }
    rows.end(&[])
}

/// The requested methods with their kernels; by default all that the device has for products of this size.
fn methods<B: PerceptronOps>(
    size: [usize; 3],
    args: &BenchArgs,
    context: &Context<B>,
) -> Result<Vec<(Matmul, MatmulKernel)>> {
    let dtype = B::FloatElem::dtype();
    let strategy = |method| B::perceptron_strategy(&context.device, dtype, size, method, args.allow_tf32);
    if !args.matmul.is_empty() {
        return args.matmul.iter().map(|&method| strategy(method)).collect();
    }
    let named = [Matmul::Tile, Matmul::Simt, Matmul::Split, Matmul::Tensor];
    let methods: Vec<_> = named.into_iter().filter_map(|method| strategy(method).ok()).collect();
    if methods.is_empty() { Ok(vec![strategy(Matmul::Auto)?]) } else { Ok(methods) }
}

fn product<B: PerceptronOps>(
    side: usize,
    method: Matmul,
    kernel: MatmulKernel,
    repeats: usize,
    context: &Context<B>,
) -> Result<BenchRow> {
    let parts = if method == Matmul::Split { 9 } else { 3 };
    check_memory("two matrices and their product", parts * side as u128 * side as u128, context)?;
    let left = numbers::<B>(side, side, 1.0 / (side as f64).sqrt(), context);
    let right = left.clone();
    let ms = median(context, repeats, || {
        let _ = B::perceptron_layer(left.clone(), right.clone(), None, Some(Sigmoid::default()), method);
        Ok(())
    })?;
    let tflop_s = 2.0 * (side as f64).powi(3) / ms / 1e9;
    let details =
        [("matmul".into(), kernel.to_string().into()), ("tflop_s".into(), tflop_s.into())].into_iter().collect();
    let (table, case) = ("products".into(), format!("product and sigmoid, {kernel}"));
    Ok(BenchRow { table, case, size: vec![side; 3], ms, repeats, paper_ms: None, note: None, details })
}
