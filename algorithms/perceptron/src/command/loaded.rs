//! A model from a file, ready for a device.

use burn::tensor::Element;
use firebox_backends::{Device, with_context};
use firebox_core::{
    Context, Result, Session,
    command::Outcome,
    data::Table,
    report::{InputSize, Stopwatch},
};
use serde_json::{Map, Value, json};

use crate::{
    command::args::{ModelArgs, ProductArgs},
    ops::PerceptronOps,
    solve::fitted::Model,
    types::Matmul,
};

/// A model, the kernel of its widest layer, and the bytes that it needs on the device.
pub(super) struct Loaded {
    pub(super) model: Model,
    pub(super) matmul: &'static str,
    bytes: u64,
}

impl Loaded {
    /// Plans predictions of `rows` rows.
    ///
    /// # Errors
    ///
    /// Those of a product that the device lacks, and [`Error::Memory`](firebox_core::Error::Memory).
    pub(super) fn new(
        model: Model,
        product: ProductArgs,
        rows: usize,
        device: &Device,
        session: &Session,
    ) -> Result<Self> {
        with_context!(device, session, |context| plan(model, product, rows, context))
    }

    /// The outcome of predict or eval, without a plot.
    pub(super) fn outcome(
        &self,
        args: &ModelArgs,
        input: InputSize,
        watch: &Stopwatch,
        mut result: Map<String, Value>,
        table: Table,
        summary: String,
    ) -> Outcome {
        result.insert("parameters".into(), json!(self.model.network.parameters() as u64));
        result.insert("matmul".into(), self.matmul.into());
        let (model, product) = (args.model.display().to_string(), args.product);
        Outcome {
            config: json!({"model": model, "matmul": product.matmul, "allow_tf32": product.allow_tf32}),
            input,
            timings: watch.timings(),
            peak_device_bytes: self.bytes,
            result,
            table,
            plot: None,
            tables: Vec::new(),
            plots: Vec::new(),
            documents: Vec::new(),
            summary,
        }
    }
}

fn plan<B: PerceptronOps>(mut model: Model, product: ProductArgs, rows: usize, context: &Context<B>) -> Result<Loaded> {
    let widths = model.network.widths();
    let sizes = widths.windows(2).map(|pair| [rows, pair[0], pair[1]]);
    let size = sizes.max_by_key(|it| it[1] as u128 * it[2] as u128).unwrap_or([1; 3]);
    let dtype = B::FloatElem::dtype();
    let (way, matmul) = B::perceptron_strategy(&context.device, dtype, size, product.matmul, product.allow_tf32)?;
    if product.matmul != Matmul::Auto || product.allow_tf32 {
        model.network.matmul = way;
    }
    let bytes = model.plan(rows, context)?;
    Ok(Loaded { model, matmul, bytes })
}
