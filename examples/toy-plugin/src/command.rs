//! The command `centroid`: parses a [`CentroidConfig`]; writes distances to a table, a plot and the report.

use clap::{ArgMatches, Args, Command};
use firebox_backends::{Device, DeviceLimits, Plugin, with_context};
use firebox_core::{
    Context, Result, Session,
    command::{Conformance, InputArgs, Outcome, parse},
    data::Table,
    plot::Plot,
    tensor::floats,
};
use serde_json::{Map, Value, json};

use crate::config::CentroidConfig;

/// The command `centroid`.
#[derive(Debug, Clone, Copy, Default)]
pub struct CentroidPlugin;

#[derive(Debug, Args)]
struct CentroidArgs {
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    config: CentroidConfig,
}

impl Plugin for CentroidPlugin {
    fn command(&self) -> Command {
        // After the arguments, since clap would replace the descriptions by the doc comment of `InputArgs`.
        CentroidArgs::augment_args(Command::new("centroid"))
            .about("Measures the distances of points from their centre")
            .long_about(
                "Computes the mean of the points and writes the distance of each point from it, in the points' unit.",
            )
    }

    fn run(&self, args: &ArgMatches, device: &Device, session: &Session) -> Result<Outcome> {
        let args: CentroidArgs = parse(args)?;
        with_context!(device, session, |context| run(&args, context))
    }

    fn conformance(&self) -> Conformance {
        let args = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        Conformance { good: args("{csv} --label label"), bad: vec![("norm", args("--norm 0.5"))] }
    }
}

fn run<B: DeviceLimits>(args: &CentroidArgs, context: &Context<B>) -> Result<Outcome> {
    let centroid = args.config.clone().init()?;
    let points = args.input.read(&*context.observer)?;
    centroid.admit(points.rows, points.columns, context)?;

    let tensor = floats::<B, 2>(points.values.clone(), [points.rows, points.columns], &context.device);
    let centred = centroid.fit_with(tensor, context)?;

    let centre: Vec<f64> = centred.centre.into_data().iter::<f64>().collect();
    let distances: Vec<f64> = centred.distances.into_data().iter::<f64>().collect();
    let farthest = distances.iter().copied().fold(0.0, f64::max);
    let summary = format!("the centre of {} points is at {centre:?}; the farthest is {farthest} away", points.rows);
    let result = Map::from_iter([("centre".to_string(), json!(centre)), ("farthest".to_string(), json!(farthest))]);
    Ok(Outcome {
        config: serde_json::to_value(centroid.config()).unwrap_or(Value::Null),
        input: points.size(),
        timings: centred.timings,
        peak_device_bytes: centred.peak_device_bytes,
        result,
        table: Table::floats("distance", distances),
        plot: Some(Plot::scatter("the points", points)),
        tables: Vec::new(),
        plots: Vec::new(),
        page: None,
        documents: Vec::new(),
        summary,
        unresolved: false,
    })
}
