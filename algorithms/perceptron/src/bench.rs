//! `firebox bench perceptron`: the sigmoid, the product and the forward pass, beside what memory allows.

use burn::tensor::{Element, Tensor, ops::FloatTensor};
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use firebox_backends::{
    bench::{Rows, at_least_one, median},
    limits::{Buffer, admit},
};
use firebox_core::{
    Context, Error, Result,
    plugin::{Bench, BenchRow},
    random::Random,
    tensor::{floats, tensor},
};
use serde_json::{Map, Value};

use crate::{
    mlp::MlpConfig,
    ops::{Matmul, PerceptronOps, Sigmoid},
    tensor_ops::primitive,
};

/// The bench of the perceptron.
#[derive(Debug, Clone, Copy, Default)]
pub struct PerceptronBench;

/// What to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The sigmoid of every element, beside a copy
    Sigmoid,
    /// Square products, by every way to multiply that the device has
    Product,
    /// The forward pass of networks, by every way to multiply
    Forward,
}

#[derive(Debug, Args)]
struct BenchArgs {
    /// What to measure; everything by default
    #[arg(value_enum)]
    parts: Vec<Part>,
    /// Elements of the sigmoid; 2^20, 2^24 and 2^28 by default
    #[arg(long, value_name = "N", value_delimiter = ',')]
    elements: Vec<usize>,
    /// Sides of the products' matrices; 256, 1024 and 4096 by default
    #[arg(long, value_name = "N", value_delimiter = ',')]
    sides: Vec<usize>,
    /// Rows of the forward pass; 256 through 784-128-10 and 8192 through 784-4096-4096-10 by default
    #[arg(long, value_name = "N", value_delimiter = ',')]
    rows: Vec<usize>,
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
        let about = "The perceptron's sigmoid, product and forward pass, measured here";
        BenchArgs::augment_args(Command::new("perceptron").about(about))
    }

    fn run(&self, args: &ArgMatches, context: &Context<B>, row: &mut dyn FnMut(BenchRow)) -> Result<()> {
        let args = BenchArgs::from_arg_matches(args).map_err(|error| Error::input(error.to_string(), "see --help"))?;
        at_least_one(&[("repeats", args.repeats)])?;
        for (field, counts) in [("elements", &args.elements), ("sides", &args.sides), ("rows", &args.rows)] {
            counts.iter().try_for_each(|&count| at_least_one(&[(field, count)]))?;
        }
        let parts = if args.parts.is_empty() { Part::value_variants() } else { &args.parts };
        let mut rows = Rows::new(&*context.observer, row);
        let measure = Measure { context, args: &args };
        for part in parts {
            match part {
                Part::Sigmoid => measure.sigmoid(&mut rows)?,
                Part::Product => measure.product(&mut rows)?,
                Part::Forward => measure.forward(&mut rows)?,
            }
        }
        rows.end(&[])
    }
}

/// The counts that were asked for, or these.
fn or<'a>(asked: &'a [usize], default: &'a [usize]) -> &'a [usize] {
    if asked.is_empty() { default } else { asked }
}

struct Measure<'a, B: PerceptronOps> {
    context: &'a Context<B>,
    args: &'a BenchArgs,
}

impl<B: PerceptronOps> Measure<'_, B> {
    fn time(&self, work: impl FnMut() -> Result<()>) -> Result<f64> {
        median(self.context, self.args.repeats, work)
    }

    fn admit(&self, what: &str, count: u128) -> Result<()> {
        let plan = [Buffer::new(what, count, size_of::<B::FloatElem>())];
        admit(self.context, &plan, "take a smaller size, or a device with more memory").map(drop)
    }

    /// Uniform in ±`reach`: a short row of random numbers, again and again, since drawing them would take longer.
    fn numbers(&self, rows: usize, columns: usize, reach: f64) -> Tensor<B, 2> {
        let mut random = Random::new(self.context.seed, 1);
        let some = columns.min(1 << 20);
        let row = (0..some).map(|_| random.uniform(-reach, reach)).collect();
        let row = floats::<B, 2>(row, [1, some], &self.context.device);
        let again = columns.div_ceil(some);
        let row = if again > 1 { row.repeat_dim(1, again).slice([0..1, 0..columns]) } else { row };
        if rows == 1 { row } else { row.repeat_dim(0, rows) }
    }

    fn row(&self, case: &str, size: Vec<usize>, ms: f64, details: &[(&str, Value)]) -> BenchRow {
        let details: Map<String, Value> = details.iter().map(|(name, value)| ((*name).into(), value.clone())).collect();
        let (table, case) = ("kernels".into(), case.into());
        BenchRow { table, case, size, ms, repeats: self.args.repeats, paper_ms: None, details }
    }

    fn sigmoid(&self, rows: &mut Rows<'_>) -> Result<()> {
        for &count in or(&self.args.elements, &[1 << 20, 1 << 24, 1 << 28]) {
            rows.add(self.one_sigmoid(count, false))?;
            rows.add(self.one_sigmoid(count, true))?;
        }
        Ok(())
    }

    fn one_sigmoid(&self, count: usize, in_place: bool) -> Result<BenchRow> {
        self.admit("numbers and their sigmoids", 2 * count as u128)?;
        let sigmoid = Sigmoid { location: 0.5, slope: 2.0, ..Sigmoid::default() };
        let mut values = Some(primitive(self.numbers(1, count, 4.0)));
        let ms = self.time(|| {
            if let Some(x) = values.take() {
                values = Some(if in_place {
                    B::perceptron_sigmoid(x, sigmoid, true)
                } else {
                    let _ = B::perceptron_sigmoid(x.clone(), sigmoid, false);
                    x
                });
            }
            Ok(())
        })?;
        // As many bytes read and written, by Burn, as the ceiling.
        let kept = values.map(tensor::<B, 2>);
        let copy = self.time(|| {
            let _ = kept.clone().map(|x| x.add_scalar(1.0));
            Ok(())
        })?;
        let gb_s = 2.0 * (count * size_of::<B::FloatElem>()) as f64 / ms / 1e6;
        let case = if in_place { "sigmoid elementwise, in place" } else { "sigmoid elementwise" };
        Ok(self.row(case, vec![count], ms, &[("gb_s", gb_s.into()), ("copy_ms", copy.into())]))
    }

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
        for &side in or(&self.args.sides, &[256, 1024, 4096]) {
            for (way, name) in self.ways([side; 3])? {
                rows.add(self.one_product(side, way, name))?;
            }
        }
        Ok(())
    }

    fn one_product(&self, side: usize, way: Matmul, name: &str) -> Result<BenchRow> {
        let parts = if way == Matmul::Split { 9 } else { 3 };
        self.admit("two matrices and their product", parts * side as u128 * side as u128)?;
        let reach = 1.0 / (side as f64).sqrt();
        let left: FloatTensor<B> = primitive(self.numbers(side, side, reach));
        let right = left.clone();
        let ms = self.time(|| {
            let _ = B::perceptron_layer(left.clone(), right.clone(), None, Some(Sigmoid::default()), way);
            Ok(())
        })?;
        Ok(self.row(
            &format!("product and sigmoid, {name}"),
            vec![side; 3],
            ms,
            &rate(name, 2.0 * (side as f64).powi(3), ms),
        ))
    }

    fn forward(&self, rows: &mut Rows<'_>) -> Result<()> {
        let nets: [(usize, &[usize]); 2] = [(256, &[784, 128, 10]), (8192, &[784, 4096, 4096, 10])];
        for (batch, widths) in nets {
            let asked = &self.args.rows;
            if !asked.is_empty() && !asked.contains(&batch) {
                continue;
            }
            let pair = widths.windows(2).max_by_key(|pair| pair[0] * pair[1]).unwrap_or(&[1, 1]);
            for (way, name) in self.ways([batch, pair[0], pair[1]])? {
                rows.add(self.one_forward(batch, widths, way, name))?;
            }
        }
        Ok(())
    }

    fn one_forward(&self, batch: usize, widths: &[usize], way: Matmul, name: &str) -> Result<BenchRow> {
        let (Some(&inputs), Some(&outputs)) = (widths.first(), widths.last()) else {
            return Err(Error::input("a network has inputs and outputs", ""));
        };
        let hidden = widths[1..widths.len() - 1].to_vec();
        let config =
            MlpConfig::new(inputs, hidden, outputs).with_bias(false).with_squash_outputs(true).with_matmul(way);
        let wide: u128 = widths.iter().map(|&it| it as u128).sum();
        let parts = if way == Matmul::Split { 4 } else { 1 };
        self.admit("a network and its layers' results", parts * (config.parameters() + batch as u128 * wide))?;
        let network = config.init::<B>(&self.context.device)?;
        let x = self.numbers(batch, inputs, 1.0);
        let ms = self.time(|| {
            let _ = network.forward(x.clone());
            Ok(())
        })?;
        let size = [&[batch], widths].concat();
        let flops = 2.0 * batch as f64 * config.parameters() as f64;
        Ok(self.row(&format!("mlp forward, {name}"), size, ms, &rate(name, flops, ms)))
    }
}

/// Which way, and how fast.
fn rate(name: &str, flops: f64, ms: f64) -> [(&'static str, Value); 2] {
    [("matmul", name.into()), ("tflop_s", (flops / ms / 1e9).into())]
}
