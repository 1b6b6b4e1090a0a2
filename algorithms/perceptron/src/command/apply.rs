//! `firebox perceptron predict` and `firebox perceptron eval`.

use burn::tensor::Element;
use firebox_backends::{Device, with_context};
use firebox_core::{
    Context, Error, Result, Session, Solo,
    command::Outcome,
    data::{Kept, Table, read_blocks},
    html::Page,
    report::{InputSize, Stopwatch, entries},
};
use serde_json::{Map, Value, json};

use super::args::{EvalArgs, Form, ModelArgs, PredictArgs, ProductArgs};
use super::input::{instances, notice, options, text_error};
use super::report::{EvalResult, NetworkFigures, PredictResult, class_column};
use crate::config::Task;
use crate::model::Scored;
use crate::model::page::{Examined, page};
use crate::ops::PerceptronOps;
use crate::solve::{Model, OutputKind, Targets, argmax, probabilities};
use crate::types::{Matmul, MatmulKernel};

/// Bytes of text in a block, which is predicted at once.
const BLOCK_BYTES: usize = 64 << 20;
/// Maximum number of rows in a block, for memory plans.
const BLOCK_ROWS: usize = 1 << 20;

/// A model from a file, the kernel of its widest layer, and the bytes that it needs on the device.
struct Loaded {
    model: Model,
    matmul: MatmulKernel,
    bytes: u64,
}

impl Loaded {
    /// Plans predictions of `rows` rows.
    ///
    /// # Errors
    ///
    /// Those of a product that the device lacks, and [`Error::Memory`].
    fn new<B: PerceptronOps>(
        mut model: Model,
        ProductArgs { matmul, allow_tf32 }: ProductArgs,
        rows: usize,
        context: &Context<B>,
    ) -> Result<Self> {
        let widths = model.network.widths();
        let sizes = widths.windows(2).map(|pair| [rows, pair[0], pair[1]]);
        let size = sizes.max_by_key(|it| it[1] as u128 * it[2] as u128).unwrap_or([1; 3]);
        let dtype = B::FloatElem::dtype();
        let (method, kernel) = B::perceptron_strategy(&context.device, dtype, size, matmul, allow_tf32)?;
        if matmul != Matmul::Auto || allow_tf32 {
            model.network.matmul = method;
        }
        let bytes = model.plan(rows, context)?;
        Ok(Self { model, matmul: kernel, bytes })
    }

    /// The network in the report's result.
    fn figures(&self) -> NetworkFigures {
        NetworkFigures { parameters: self.model.network.parameters() as u64, matmul: self.matmul.to_string() }
    }

    /// The outcome of predict or eval, without a plot.
    fn outcome(
        &self,
        args: &ModelArgs,
        input: InputSize,
        watch: &Stopwatch,
        result: Map<String, Value>,
        table: Table,
        summary: String,
    ) -> Outcome {
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
            page: None,
            documents: Vec::new(),
            summary,
            unresolved: false,
        }
    }
}

pub(super) fn predict(args: &PredictArgs, device: &Device, session: &Session) -> Result<Outcome> {
    let mut watch = Stopwatch::default();
    let model = Model::load(&args.model_args.model)?;
    let product = args.model_args.product;
    let loaded = with_context!(device, session, |context| Loaded::new(model, product, BLOCK_ROWS, context))?;
    if args.give == Form::Probabilities && loaded.model.classes().is_err() {
        return Err(Error::input("a regression has no probabilities", "leave out `give`"));
    }
    let watched = &mut watch;
    let mut predictions =
        with_context!(device, session, |context| predict_blocks(args, &loaded.model, watched, context))?;
    let input = predictions.input;
    let kept = std::mem::take(&mut predictions.kept);
    let table = kept.beside(predictions.table(&loaded.model, args.give)?)?;
    let summary = format!("{} rows predicted, {}", input.rows, loaded.matmul);
    let result = entries(&PredictResult { network: loaded.figures() });
    Ok(loaded.outcome(&args.model_args, input, &watch, result, table, summary))
}

/// Predictions of all rows, in their order.
#[derive(Default)]
struct Predictions {
    input: InputSize,
    /// The columns to keep beside the predictions.
    kept: Kept,
    /// Most probable class of each row; empty in a regression.
    labels: Vec<usize>,
    /// Numbers, probabilities or logits, row by row.
    numbers: Vec<f64>,
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
    // The target of a regression is a column of numbers, which the model ignores like any other that it does not know.
    let missing = model.imputation.missing;
    let mut options = options(input, model.task(), missing, Some(model))?;
    if model.task() == Task::Regression {
        options.labels = None;
        options.targets = None;
    }
    let mut counts = [0; 2];
    read_blocks(&input.input, &options, BLOCK_BYTES, |points, mut kept| {
        let values = model.columns_of(&points.names, &points.values);
        let values = values.map_err(|error| text_error(input, model, error))?;
        let (values, rows) = model.imputation.retain(values, model.columns.len());
        kept.retain(&rows);
        let left = rows.iter().filter(|kept| **kept).count();
        counts[0] += (points.rows - left) as u64;
        counts[1] += values.iter().filter(|value| value.is_nan()).count() as u64;
        watch.lap("data_s");
        let results = model.results(&network, values, context)?;
        all.kept.append(kept);
        all.input = InputSize { rows: all.input.rows + left, columns: points.columns };
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
    if all.input.rows == 0 {
        let error = Error::input("every row has a missing number", "give at least one complete row");
        return Err(error.in_file(&input.input));
    }
    notice(missing, counts, &input.input).into_iter().for_each(|notice| context.observer.notice(&notice));
    Ok(all)
}

impl Predictions {
    /// The label, then the requested numbers.
    fn table(self, model: &Model, form: Form) -> Result<Table> {
        let classes = match &model.output {
            OutputKind::Number { names, .. } => return Table::float_matrix(names.clone(), self.numbers),
            OutputKind::Class(classes) => classes,
        };
        let label = class_column("label", self.labels, classes);
        let prefix = match form {
            Form::Labels => return Ok(label),
            Form::Probabilities => "probability",
            Form::Raw => "raw",
        };
        let names = classes.names().map(|name| format!("{prefix} {name}")).collect();
        label.beside(Table::float_matrix(names, self.numbers)?)
    }
}

pub(super) fn eval(
    EvalArgs { model_args: args, page: to }: &EvalArgs,
    device: &Device,
    session: &Session,
) -> Result<Outcome> {
    let mut watch = Stopwatch::default();
    let model = Model::load(&args.model)?;
    let treatment = (model.task(), model.imputation.missing);
    let (instances, source) = instances(&args.input, treatment, Some(&model), &Solo, &*session.observer, to)?;
    let input = InputSize { rows: instances.rows(), columns: instances.names.len() };
    let loaded = with_context!(device, session, |context| Loaded::new(model, args.product, input.rows, context))?;
    watch.lap("data_s");
    let shown = to.html.is_some().then(|| instances.values.clone());
    let scored = score(&loaded.model, instances.values, &instances.targets, device, session)?;
    watch.lap("prediction_s");
    let score = &scored.score;
    let examined = || Examined {
        model: &loaded.model,
        scored: &scored,
        values: shown.unwrap_or_default(),
        numbers: source.numbers(input.rows),
        kept: &source.kept,
        label: source.label.as_deref(),
        rows: "rows",
        training: None,
    };
    let titled = |page: Page| page.of_input(&args.input.name());
    let page = to.html.clone().map(|path| (path, page(examined(), &Solo).map(titled)));
    let result = entries(&EvalResult { figures: score.figures(), network: loaded.figures() });
    let summary = format!("{} on {} rows, {}", score.summary(), input.rows, loaded.matmul);
    let plot = Some(score.plot(&format!("{} rows", input.rows)));
    Ok(Outcome { plot, page, ..loaded.outcome(args, input, &watch, result, score.table()?, summary) })
}

/// The score of a model on unscaled row-major `values` of its columns.
pub(super) fn score(
    model: &Model,
    values: Vec<f64>,
    targets: &Targets,
    device: &Device,
    session: &Session,
) -> Result<Scored> {
    with_context!(device, session, |context| model.score_rows(values, targets, context))
}
