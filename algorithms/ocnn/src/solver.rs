//! The algorithm: points to clusters, over tensors and the operations of [`OcnnOps`] only.

use burn::tensor::{Int, Tensor, TensorData, TensorPrimitive, backend::Backend};
use firebox_backends::limits::{Buffer, admit};
use firebox_core::{
    Algorithm, Context, Error, Precision, Result,
    data::{Points, collapse_duplicates},
    observe::checkpoint,
    random::Random,
    report::{Stopwatch, Timings},
    tensor::primitive,
};

use crate::{
    OcnnConfig, OcnnOps,
    components::labels,
    config::{Linking, Sync, Weights},
    ops::{Matvec, Network},
    record::{BATCH, Record, for_points},
    scale::{self, Scale},
};

/// Up to this dimension a weight is recomputed faster than it is read.
const NEAR: usize = 8;

/// An oscillatory chaotic neural network with checked parameters.
#[derive(Debug, Clone)]
pub struct Ocnn {
    config: OcnnConfig,
}

/// What the network found.
#[derive(Debug, Clone)]
pub struct Clusters<B: Backend> {
    /// The cluster of each point, from 0 by first appearance; −1 is noise. `[N]`
    pub labels: Vec<i64>,
    /// How many points each cluster has.
    pub sizes: Vec<usize>,
    /// Steps each pair of points was in step, 32-bit `[N, N]`, if asked for.
    pub sync: Option<Tensor<B, 2, Int>>,
    /// The scale a, in the points' unit.
    pub scale: f64,
    /// How the scale was found.
    pub scale_method: &'static str,
    /// What ran: where weights came from, how steps were shared, how components were found.
    pub strategy: String,
    /// Neurons that nothing reaches.
    pub isolated: usize,
    /// Seconds by phase.
    pub timings: Timings,
    /// The plan's largest sum of live buffers.
    pub peak_device_bytes: u64,
}

impl<B: Backend> Clusters<B> {
    /// How many clusters.
    pub fn count(&self) -> usize {
        self.sizes.len()
    }

    /// How many points are noise.
    pub fn noise(&self) -> usize {
        self.labels.iter().filter(|&&label| label < 0).count()
    }

    /// The labels as a tensor `[N]`.
    pub fn tensor(&self, device: &B::Device) -> Tensor<B, 1, Int> {
        Tensor::from_data(TensorData::new(self.labels.clone(), [self.labels.len()]), device)
    }
}

/// Points as neurons: equal points share one.
struct Neurons {
    /// Row-major coordinates in the points' unit.
    values: Vec<f64>,
    d: usize,
    counts: Vec<u32>,
    of_point: Vec<u32>,
}

impl Neurons {
    fn len(&self) -> usize {
        self.counts.len()
    }
}

/// What will run, and the memory it takes.
struct Plan {
    stored: bool,
    matvec: Matvec,
    /// Steps a call of the device covers.
    period: usize,
    bytes: u64,
    strategy: String,
}

impl Ocnn {
    pub(crate) fn new(config: OcnnConfig) -> Self {
        Self { config }
    }

    /// The parameters.
    pub fn config(&self) -> &OcnnConfig {
        &self.config
    }

    /// Clusters points `[N, d]`, seed 0, on the device they are on.
    ///
    /// ```
    /// use burn_ndarray::NdArray;
    /// use burn::tensor::Tensor;
    /// use firebox_ocnn::OcnnConfig;
    /// let points = Tensor::<NdArray, 2>::from_data(
    ///     [[0.0, 0.0], [0.1, 0.2], [0.2, 0.0], [9.0, 9.0], [9.1, 9.2], [9.2, 9.0]],
    ///     &Default::default(),
    /// );
    /// let clusters = OcnnConfig::new(0.8).init().unwrap().fit(points).unwrap();
    /// assert_eq!(clusters.labels, [0, 0, 0, 1, 1, 1]);
    /// ```
    pub fn fit<B: OcnnOps>(&self, points: Tensor<B, 2>) -> Result<Clusters<B>> {
        let context = Context::new(points.device());
        self.run(points, &context)
    }

    fn neurons<B: Backend>(&self, points: Tensor<B, 2>) -> Result<Neurons> {
        let [rows, d] = points.dims();
        if rows == 0 || d == 0 {
            return Err(Error::input(
                format!("there are no points in a table of {rows} × {d}"),
                "give at least 3 points",
            ));
        }
        let values: Vec<f64> = points.into_data().iter::<f64>().collect();
        let distinct = collapse_duplicates(&Points::new(values, d)?);
        if rows > 1 && distinct.counts.len() == 1 {
            let what = format!("all {rows} points are equal");
            return Err(Error::input(what, "give points that differ; equal ones have nothing to be told apart by"));
        }
        Ok(Neurons { values: distinct.values, d, counts: distinct.counts, of_point: distinct.index })
    }

    fn plan<B: OcnnOps>(&self, neurons: &Neurons, context: &Context<B>) -> Result<Plan> {
        let config = &self.config;
        let (n, d) = (neurons.len() as u128, neurons.d as u128);
        let float = size_of::<B::FloatElem>();
        let (matvec, shared) = B::ocnn_strategy(&context.device, config.matvec)?;
        // A word holds 32 steps: without S, a period that does not fill its last word would waste bits in every one.
        let whole_words = config.sync == Sync::Phase && !config.keep_sync;
        let period = if whole_words { config.period.next_multiple_of(32) } else { config.period };
        let period = period.min(config.steps.max(config.transient));
        let records = (config.steps as u128).div_ceil(period as u128);

        let mut plan = vec![
            Buffer::new("points, strengths", (d + 3) * n, float),
            Buffer::new("a period's outputs", (period as u128 + 2) * 2 * n, float),
        ];
        match (config.sync, config.keep_sync) {
            (_, true) => plan.push(Buffer::new("the synchronisation matrix S", n * n, 4)),
            // Joined at the end: for a moment the parts and the whole are there.
            (Sync::Phase, false) => {
                let words = records * period.div_ceil(32) as u128;
                plan.extend([0, 1].map(|_| Buffer::new("signs of all steps", words * n, 4)));
            }
            (Sync::Fragmentary, false) => {
                plan.extend([0, 1].map(|_| Buffer::new("outputs of all steps", records * period as u128 * n, float)));
            }
        }
        plan.push(match config.linking {
            Linking::UnionFind => Buffer::new("components", 2 * n, 4),
            Linking::BreadthFirst => Buffer::new("rows of links", BATCH as u128 * n.div_ceil(32), 4),
        });
        let matrix = Buffer::new("the weights J", n * n, float);
        let with_matrix: Vec<Buffer> = plan.iter().cloned().chain([matrix]).collect();

        let help = if config.keep_sync {
            "leave out S (no --sync-matrix), take fewer points, or a device with more memory"
        } else {
            "use --weights on-the-fly, fewer --steps, fewer points, or a device with more memory"
        };
        let (stored, bytes) = match config.weights {
            Weights::OnTheFly => (false, admit(context, &plan, help)?),
            Weights::Stored => (true, admit(context, &with_matrix, help)?),
            Weights::Auto if neurons.d <= NEAR => (false, admit(context, &plan, help)?),
            Weights::Auto => match admit(context, &with_matrix, help) {
                Ok(bytes) => (true, bytes),
                Err(_) => (false, admit(context, &plan, help)?),
            },
        };
        let linking = match config.linking {
            _ if config.keep_sync => "breadth-first over S",
            Linking::UnionFind => "union-find",
            Linking::BreadthFirst => "breadth-first",
        };
        let weights = if stored { "stored weights" } else { "weights on the fly" };
        Ok(Plan { stored, matvec, period, bytes, strategy: format!("{weights}, {shared}, {linking}") })
    }

    /// Points to the device, in the scale of the weights; strengths; weights if they are stored.
    fn network<B: OcnnOps>(&self, neurons: &Neurons, a: f64, plan: &Plan, device: &B::Device) -> (Network<B>, usize) {
        let (n, d) = (neurons.len(), neurons.d);
        let unit = 1.0 / (a * std::f64::consts::SQRT_2);
        let mut scaled = vec![0.0; n * d];
        for k in 0..d {
            // Rounding to f32 comes after centring, so that a far-off origin costs no digits.
            let column = || neurons.values[k..].iter().step_by(d);
            let mean = column().sum::<f64>() / n as f64;
            for (to, from) in scaled[k * n..(k + 1) * n].iter_mut().zip(column()) {
                *to = (from - mean) * unit;
            }
        }
        let points = primitive::<B, 2>(scaled, [d, n], device);
        let multiplicity = primitive::<B, 1>(neurons.counts.iter().map(|&m| f64::from(m)).collect(), [n], device);
        let self_coupling = self.config.self_coupling;
        let strengths = Tensor::<B, 1>::from_primitive(TensorPrimitive::Float(B::ocnn_strengths(
            points.clone(),
            multiplicity.clone(),
            self_coupling,
        )));
        // Below the smallest normal f32 strengths are denormal on one device and 0 on the next: both count as 0.
        let inverse: Vec<f64> = strengths
            .into_data()
            .iter::<f64>()
            .map(|c| if c < f64::from(f32::MIN_POSITIVE) { 0.0 } else { 1.0 / c })
            .collect();
        let isolated = inverse.iter().filter(|&&c| c == 0.0).count();
        let weights = plan.stored.then(|| B::ocnn_weights(points.clone(), multiplicity.clone(), self_coupling));
        let inverse_strength = primitive::<B, 1>(inverse, [n], device);
        (Network { points, weights, multiplicity, inverse_strength, self_coupling }, isolated)
    }

    /// Runs the transient, then T steps a period at a time; `record` takes every period's trajectory `[P + 1, n]`.
    fn simulate<B: OcnnOps>(
        &self,
        network: &Network<B>,
        n: usize,
        plan: &Plan,
        context: &Context<B>,
        mut record: impl FnMut(Tensor<B, 2>),
    ) -> Result<()> {
        let mut random = Random::new(context.seed, 0);
        let state = (0..n).map(|_| random.uniform(-1.0, 1.0)).collect();
        let mut state = primitive::<B, 1>(state, [n], &context.device);
        let total = self.config.transient + self.config.steps;
        let mut done = 0;
        while done < total {
            let counts = done >= self.config.transient;
            let until = if counts { total } else { self.config.transient };
            let steps = plan.period.min(until - done);
            let trajectory = B::ocnn_steps(network, state, steps, plan.matvec);
            let trajectory = Tensor::<B, 2>::from_primitive(TensorPrimitive::Float(trajectory));
            let last = trajectory.clone().slice([steps..steps + 1, 0..n]).reshape([n]);
            state = last.into_primitive().tensor();
            if counts {
                record(trajectory);
            }
            done += steps;
            B::finish(&context.device, "simulation")?;
            checkpoint(&*context.observer, "simulating", done as u64, total as u64)?;
        }
        Ok(())
    }
}

impl<B: OcnnOps> Algorithm<B> for Ocnn {
    type Input = Tensor<B, 2>;
    type Output = Clusters<B>;

    fn run(&self, points: Tensor<B, 2>, context: &Context<B>) -> Result<Clusters<B>> {
        self.config.validate()?;
        let mut watch = Stopwatch::default();
        let neurons = self.neurons(points)?;
        let n = neurons.len();
        let plan = self.plan(&neurons, context)?;
        checkpoint(&*context.observer, "scale", 0, 1)?;
        // The tensor's floats are what there is: a line of f32 is a line.
        let epsilon = if context.precision == Precision::F64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
        let found = scale::find_rounded(&neurons.values, neurons.d, &self.config.scale, epsilon)?;
        if let Some(notice) = &found.notice {
            context.observer.notice(notice);
        }
        watch.lap("scale_s");

        let (network, isolated) = self.network::<B>(&neurons, found.a, &plan, &context.device);
        B::finish(&context.device, "weights")?;
        watch.lap("weights_s");

        let mut record = Record::<B>::new(&self.config, n, &context.device);
        self.simulate(&network, n, &plan, context, |trajectory| record.take(trajectory, &self.config))?;
        drop(network);
        watch.lap("simulation_s");

        let (roots, sync) = record.components(&self.config, n)?;
        B::finish(&context.device, "linking")?;
        // A kernel that did not run leaves what no forest has.
        if roots.iter().enumerate().any(|(i, &root)| root > i || roots[root] != root) {
            let device = B::limits(&context.device).device;
            let what = "the components that came back are no components".into();
            return Err(Error::Run { device, phase: "linking".into(), what });
        }
        let labels = labels(&roots, &neurons.of_point);
        let mut sizes = vec![0; labels.iter().max().map_or(0, |&last| (last + 1) as usize)];
        labels.iter().filter(|&&label| label >= 0).for_each(|&label| sizes[label as usize] += 1);
        watch.lap("linking_s");

        let sync = sync.map(|counts| for_points(counts, &neurons.of_point));
        Ok(Clusters {
            labels,
            sizes,
            sync,
            scale: found.a,
            scale_method: found.method,
            strategy: plan.strategy,
            isolated,
            timings: watch.timings(),
            peak_device_bytes: plan.bytes,
        })
    }
}

impl From<scale::ScaleError> for Error {
    fn from(error: scale::ScaleError) -> Self {
        let help = "give more, different points, or set the scale yourself: --scale LENGTH";
        Error::input(error.to_string(), help)
    }
}

/// Reads `delaunay`, `nearest`, `nearest:K` or a length.
pub(crate) fn parse_scale(text: &str) -> std::result::Result<Scale, String> {
    let unknown = || format!("'{text}' is neither delaunay, nearest, nearest:K nor a length");
    match text.split_once(':') {
        Some(("nearest", k)) => k.parse().map(|k| Scale::Nearest { k }).map_err(|_| unknown()),
        None if text == "delaunay" => Ok(Scale::Delaunay),
        None if text == "nearest" => Ok(Scale::Nearest { k: 20 }),
        _ => text.parse().map(Scale::Fixed).map_err(|_| unknown()),
    }
}
