//! `firebox perceptron predict`.

use std::path::PathBuf;

use firebox_backends::{Device, with_context};
use firebox_core::{
    Context, Error, Result, Session,
    command::Outcome,
    data::{ReadOptions, Table, read_blocks},
    report::{InputSize, Stopwatch},
};
use serde_json::Map;

use crate::{
    command::{
        args::{Form, PredictArgs},
        loaded::Loaded,
        report::class_column,
    },
    ops::PerceptronOps,
    solve::{
        fitted::{Model, OutputKind},
        logits::{argmax, probabilities},
    },
};

/// Bytes of text in a block, which is predicted at once.
const BLOCK_BYTES: usize = 64 << 20;
/// Maximum number of rows in a block, for memory plans.
const BLOCK_ROWS: usize = 1 << 20;

/// Predictions of all rows, in their order.
#[derive(Default)]
struct Predictions {
    input: InputSize,
    /// The argmax class of each row; empty in a regression.
    labels: Vec<usize>,
    /// Numbers, probabilities or logits, row by row.
    numbers: Vec<f64>,
}

pub(super) fn run(args: &PredictArgs, device: &Device, session: &Session) -> Result<Outcome> {
    let mut watch = Stopwatch::default();
    let loaded =
        Loaded::new(Model::load(&args.model_args.model)?, args.model_args.product, BLOCK_ROWS, device, session)?;
    if matches!(loaded.model.output, OutputKind::Number { .. }) && args.give == Form::Probabilities {
        return Err(Error::input("numbers have no probabilities", "leave out `give`"));
    }
    let predictions = predict(args, &loaded.model, &mut watch, device, session)?;
    let input = predictions.input;
    let table = table(&loaded.model, args.give, predictions)?;
    let summary = format!("{} rows predicted, {}", input.rows, loaded.matmul);
    Ok(loaded.outcome(&args.model_args, input, &watch, Map::new(), table, summary))
}

fn predict(
    args: &PredictArgs,
    model: &Model,
    watch: &mut Stopwatch,
    device: &Device,
    session: &Session,
) -> Result<Predictions> {
    with_context!(device, session, |context| predict_blocks(args, model, watch, context))
}

/// Predicts block by block and keeps only the results.
fn predict_blocks<B: PerceptronOps>(
    args: &PredictArgs,
    model: &Model,
    watch: &mut Stopwatch,
    context: &Context<B>,
) -> Result<Predictions> {
    let network = model.network::<B>(&context.device);
    let mut all = Predictions::default();
    let input = &args.model_args.input;
    let labels = input.labels.clone().map(PathBuf::from);
    let options = ReadOptions { label: input.label.clone(), labels, missing: false };
    read_blocks(&input.input, &options, BLOCK_BYTES, |points| {
        let values = model.columns_of(&points.names, &points.values).map_err(|error| error.in_file(&input.input))?;
        watch.lap("data_s");
        let results = model.results(&network, values, context)?;
        all.input = InputSize { rows: all.input.rows + points.rows, columns: points.columns };
        if let OutputKind::Class(classes) = &model.output {
            all.labels.extend(argmax(&results, classes.len()));
        }
        match (&model.output, args.give) {
            (OutputKind::Class(_), Form::Labels) => {}
            (OutputKind::Class(classes), Form::Probabilities) => {
                all.numbers.extend(probabilities(&results, classes.len()))
            }
            _ => all.numbers.extend(results),
        }
        watch.lap("prediction_s");
        Ok(())
    })?;
    Ok(all)
}

/// The label, then the requested numbers.
fn table(model: &Model, form: Form, Predictions { labels, numbers, .. }: Predictions) -> Result<Table> {
    let classes = match &model.output {
        OutputKind::Number { name, .. } => return Ok(Table::floats(name.clone(), numbers)),
        OutputKind::Class(classes) => classes,
    };
    let label = class_column("label", labels, classes);
    let names = |prefix: &str| (0..classes.len()).map(|k| format!("{prefix} {}", classes.name(k))).collect();
    match form {
        Form::Labels => Ok(label),
        Form::Probabilities => label.beside(Table::float_matrix(names("probability"), numbers)?),
        Form::Raw => label.beside(Table::float_matrix(names("raw"), numbers)?),
    }
}
