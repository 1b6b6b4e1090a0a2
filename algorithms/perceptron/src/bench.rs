//! `firebox bench perceptron`: square products, by every way to multiply.

mod growth;
mod kernels;

use burn::tensor::{Element, ops::FloatTensor};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use firebox_backends::bench::{Rows, at_least_one, median};
use firebox_core::{
    Context, Error, Result,
    plugin::{Bench, BenchRow},
};

use self::kernels::{fits, numbers};
use crate::{
    ops::{Matmul, PerceptronOps, Sigmoid},
    tensor_ops::primitive,
};

pub(crate) use self::{growth::growth, kernels::kernels};

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

impl<B: PerceptronOps> Bench<B> for PerceptronBench {
    fn command(&self) -> Command {
        let about = "The perceptron's square products with the sigmoid, by every way to multiply that the device has";
        BenchArgs::augment_args(Command::new("perceptron").about(about))
    }

    fn run(&self, args: &ArgMatches, context: &Context<B>, row: &mut dyn FnMut(BenchRow)) -> Result<()> {
        let args = BenchArgs::from_arg_matches(args).map_err(|error| Error::input(error.to_string(), "see --help"))?;
        at_least_one(&[("repeats", args.repeats)])?;
        args.sides.iter().try_for_each(|&side| at_least_one(&[("sides", side)]))?;
        let mut rows = Rows::new(&*context.observer, row);
        Measure { context, args: &args }.product(&mut rows)?;
        rows.end(&[])
    }
}

struct Measure<'a, B: PerceptronOps> {
    context: &'a Context<B>,
    args: &'a BenchArgs,
}

impl<B: PerceptronOps> Measure<'_, B> {
    /// The ways to multiply so many numbers that were asked for, or that there are; with their names.
    fn ways(&self, size: [usize; 3]) -> Result<Vec<(Matmul, &'static str)>> {
        let dtype = B::FloatElem::dtype();
        let strategy = |way| B::perceptron_strategy(&self.context.device, dtype, size, way, self.args.allow_tf32);
        if !self.args.matmul.is_empty() {
            return self.args.matmul.iter().map(|&way| strategy(way)).collect();
        }
        let named = [Matmul::Tile, Matmul::Simt, Matmul::Split, Matmul::Tensor];
        let ways: Vec<_> = named.into_iter().filter_map(|way| strategy(way).ok()).collect();
        if ways.is_empty() { Ok(vec![strategy(Matmul::Auto)?]) } else { Ok(ways) }
    }

    fn product(&self, rows: &mut Rows<'_>) -> Result<()> {
        let sides = if self.args.sides.is_empty() { &[256, 1024, 4096][..] } else { &self.args.sides };
        for &side in sides {
            for (way, name) in self.ways([side; 3])? {
                rows.add(self.one_product(side, way, name))?;
            }
        }
        Ok(())
    }

    fn one_product(&self, side: usize, way: Matmul, name: &str) -> Result<BenchRow> {
        let parts = if way == Matmul::Split { 9 } else { 3 };
        fits("two matrices and their product", parts * side as u128 * side as u128, self.context)?;
        let reach = 1.0 / (side as f64).sqrt();
        let left: FloatTensor<B> = primitive(numbers(side, side, reach, self.context));
        let right = left.clone();
        let ms = median(self.context, self.args.repeats, || {
            let _ = B::perceptron_layer(left.clone(), right.clone(), None, Some(Sigmoid::default()), way);
            Ok(())
        })?;
        let tflop_s = 2.0 * (side as f64).powi(3) / ms / 1e9;
        let details = [("matmul".into(), name.into()), ("tflop_s".into(), tflop_s.into())].into_iter().collect();
        let (table, case) = ("products".into(), format!("product and sigmoid, {name}"));
        Ok(BenchRow { table, case, size: vec![side; 3], ms, repeats: self.args.repeats, paper_ms: None, details })
    }
}
