//! `firebox bench perceptron`: square products by every method, and the cases of `firebox bench kernels` and
//! `firebox bench cost`.

mod growth;
mod kernels;

use burn::tensor::{Element, ops::FloatTensor};
use clap::{ArgMatches, Args, Command};
use firebox_backends::{
    Device,
    bench::{BenchRow, Growth, Kernel, Rows, at_least_one, median},
    plugin::Bench,
    with_context,
};
use firebox_core::{Context, Result, Session, command::parse};

use crate::{
    command::bench::{
        growth::growth,
        kernels::{check_memory, kernels, numbers},
    },
    ops::{PerceptronOps, tensor::primitive},
    types::{Matmul, Sigmoid},
};

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
    Measure { context, args }.product(&mut rows)?;
    rows.end(&[])
}

struct Measure<'a, B: PerceptronOps> {
    context: &'a Context<B>,
    args: &'a BenchArgs,
}

impl<B: PerceptronOps> Measure<'_, B> {
    /// The requested methods with their names; by default all that the device has for products of this size.
    fn methods(&self, size: [usize; 3]) -> Result<Vec<(Matmul, &'static str)>> {
        let dtype = B::FloatElem::dtype();
        let strategy = |method| B::perceptron_strategy(&self.context.device, dtype, size, method, self.args.allow_tf32);
        if !self.args.matmul.is_empty() {
            return self.args.matmul.iter().map(|&method| strategy(method)).collect();
        }
        let named = [Matmul::Tile, Matmul::Simt, Matmul::Split, Matmul::Tensor];
        let methods: Vec<_> = named.into_iter().filter_map(|method| strategy(method).ok()).collect();
        if methods.is_empty() { Ok(vec![strategy(Matmul::Auto)?]) } else { Ok(methods) }
    }

    fn product(&self, rows: &mut Rows<'_>) -> Result<()> {
        let sides = if self.args.sides.is_empty() { &[256, 1024, 4096][..] } else { &self.args.sides };
        for &side in sides {
            for (method, name) in self.methods([side; 3])? {
                rows.add(self.one_product(side, method, name))?;
            }
        }
        Ok(())
    }

    fn one_product(&self, side: usize, method: Matmul, name: &str) -> Result<BenchRow> {
        let parts = if method == Matmul::Split { 9 } else { 3 };
        check_memory("two matrices and their product", parts * side as u128 * side as u128, self.context)?;
        let reach = 1.0 / (side as f64).sqrt();
        let left: FloatTensor<B> = primitive(numbers(side, side, reach, self.context));
        let right = left.clone();
        let ms = median(self.context, self.args.repeats, || {
            let _ = B::perceptron_layer(left.clone(), right.clone(), None, Some(Sigmoid::default()), method);
            Ok(())
        })?;
        let tflop_s = 2.0 * (side as f64).powi(3) / ms / 1e9;
        let details = [("matmul".into(), name.into()), ("tflop_s".into(), tflop_s.into())].into_iter().collect();
        let (table, case) = ("products".into(), format!("product and sigmoid, {name}"));
        Ok(BenchRow { table, case, size: vec![side; 3], ms, repeats: self.args.repeats, paper_ms: None, details })
    }
}
