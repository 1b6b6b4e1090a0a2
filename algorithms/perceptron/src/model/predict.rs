//! Prediction with a trained network, block by block on the device.

use burn::tensor::backend::Backend;
use firebox_backends::limits::{Buffer, admit};
use firebox_core::{
    Context, Error, Result,
    tensor::{floats, read_floats},
};

use crate::{
    model::mlp::Mlp,
    ops::PerceptronOps,
    solve::fitted::{Model, OutputKind},
};

/// Elements of a block of rows, or of a layer's outputs for it.
const BLOCK: usize = 1 << 22;

impl Model {
    /// Loads the network to a device, in the layout for prediction.
    pub fn network<B: Backend>(&self, device: &B::Device) -> Mlp<B> {
        self.network.with_values(self.layers.iter().cloned(), device).into_column_major()
    }

    /// Device memory of a prediction in bytes: weights, and the outputs of all layers for a block of rows. Fails if they do
    /// not fit.
    pub fn plan<B: PerceptronOps>(&self, rows: usize, context: &Context<B>) -> Result<u64> {
        let width = size_of::<B::FloatElem>();
        let wide: u128 = self.network.widths().iter().map(|&it| it as u128).sum();
        let widest = self.network.widths().into_iter().max().unwrap_or(1);
        let buffers = [
            Buffer::new("the weights", self.network.parameters(), width),
            Buffer::new("a block of rows in all layers", wide * block_rows(widest).min(rows) as u128, width),
        ];
        admit(context, &buffers, "take a smaller network, or another device")
    }

    /// Outputs `[n, outputs]`, row-major, of its `network` for unscaled `values` of the model's columns: logits of classes,
    /// or numbers in their original unit. Computed block by block on the device.
    ///
    /// Fails if an output is not finite.
    pub fn results<B: PerceptronOps>(
        &self,
        network: &Mlp<B>,
        mut values: Vec<f64>,
        context: &Context<B>,
    ) -> Result<Vec<f64>> {
        self.scaling.apply(&mut values);
        let mut results = results(network, &values, self.columns.len(), context)?;
        if let OutputKind::Number { scaling, .. } = &self.output {
            scaling.revert(&mut results);
        }
        Ok(results)
    }
}

/// Rows of a block for layers of up to `widest` columns.
fn block_rows(widest: usize) -> usize {
    (BLOCK / widest.max(1)).max(1)
}

/// Outputs of `network` for scaled row-major `values` of `columns` columns, block by block.
fn results<B: PerceptronOps>(
    network: &Mlp<B>,
    values: &[f64],
    columns: usize,
    context: &Context<B>,
) -> Result<Vec<f64>> {
    let widest = network.layers.iter().flat_map(|layer| layer.weights.dims()).max().unwrap_or(1);
    let block_rows = block_rows(widest);
    let total = (values.len() / columns.max(1)) as u64;
    let (mut results, session) = (Vec::new(), context.rank_local());
    for (block, rows) in values.chunks(block_rows * columns.max(1)).enumerate() {
        session.checkpoint("predicting", (block * block_rows) as u64, total)?;
        let rows = floats::<B, 2>(rows.to_vec(), [rows.len() / columns, columns], &context.device);
        results.extend(read_floats(network.forward(rows), "predicting")?);
    }
    session.checkpoint("predicting", total, total)?;
    let outputs = results.len() / (total as usize).max(1);
    match results.iter().position(|it| !it.is_finite()) {
        Some(at) => {
            let what = format!("the output for row {} of {total} is not finite", at / outputs.max(1) + 1);
            let help = "its values are too far from those of the training; check them, or try `precision = f64`";
            Err(Error::input(what, help))
        }
        None => Ok(results),
    }
}
