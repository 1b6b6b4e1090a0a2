//! `… centroid`: arguments to [`CentroidConfig`], distances to a table, a picture and the report's result.

use clap::{ArgMatches, Args, Command, FromArgMatches};
use firebox_backends::Limited;
use firebox_core::{
    Algorithm, Context, Error, Outcome, Plugin, Result,
    data::{InputArgs, Table},
    plot::Picture,
    plugin::Conformance,
    tensor::floats,
};
use serde_json::{Map, Value, json};

use crate::CentroidConfig;

/// The command `centroid`.
#[derive(Debug, Clone, Copy, Default)]
pub struct CentroidPlugin;

#[derive(Debug, Args)]
struct CentroidArgs {
    #[command(flatten)]
    input: InputArgs,
    /// The p of the p-norm that measures distances, at least 1
    #[arg(long, value_name = "P", default_value_t = CentroidConfig::default().norm, allow_negative_numbers = true)]
    norm: f64,
}

impl<B: Limited> Plugin<B> for CentroidPlugin {
    fn command(&self) -> Command {
        // The descriptions come after the arguments: clap takes InputArgs' doc comment for one, and the last one counts.
        CentroidArgs::augment_args(Command::new("centroid"))
            .about("Measures how far points lie from their centre")
            .long_about("Finds the mean of the points and writes each point's distance to it, in the points' unit.")
    }

    fn run(&self, args: &ArgMatches, context: &Context<B>) -> Result<Outcome> {
        let args =
            CentroidArgs::from_arg_matches(args).map_err(|error| Error::input(error.to_string(), "see --help"))?;
        let centroid = CentroidConfig { norm: args.norm }.init()?;
        let points = args.input.read()?;
        centroid.admit(points.rows, points.columns, context)?;

        let tensor = floats::<B, 2>(points.values.clone(), [points.rows, points.columns], &context.device);
        let found = centroid.run(tensor, context)?;

        let centre: Vec<f64> = found.centre.into_data().iter::<f64>().collect();
        let distances: Vec<f64> = found.distances.into_data().iter::<f64>().collect();
        let farthest = distances.iter().copied().fold(0.0, f64::max);
        let summary = format!("the centre of {} points is at {centre:?}; the farthest is {farthest} away", points.rows);
        let result = Map::from_iter([("centre".to_string(), json!(centre)), ("farthest".to_string(), json!(farthest))]);
        Ok(Outcome {
            config: serde_json::to_value(centroid.config()).unwrap_or(Value::Null),
            input: points.size(),
            timings: found.timings,
            peak_device_bytes: found.peak_device_bytes,
            result,
            table: Table::floats("distance", distances),
            picture: Some(Picture::scatter("the points", points)),
            extra: Vec::new(),
            pictures: Vec::new(),
            documents: Vec::new(),
            summary,
        })
    }

    fn conformance(&self) -> Conformance {
        let args = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        Conformance { good: args("{csv} --label label"), bad: vec![("norm", args("--norm 0.5"))] }
    }
}
