//! The command line of `firebox rbf`.

use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args, FromArgMatches};
use firebox_core::{
    Error, Result,
    data::{Points, ReadOptions, read},
};

use crate::{Checkpoints, Problem, RbfConfig, Redraw, Sampling, ShapeSolver, Weights, Width};

#[derive(Debug, Args)]
pub(crate) struct RbfArgs {
    /// What to solve: poisson-sine (the paper's), poisson-disc, l-shape, peak, boundary-layer, helmholtz, wave-front,
    /// poisson-cube, or a file of one's own as examples/problems/heated-plate.toml
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub problem: String,
    /// About so many neurons, their centres on a grid over the domain
    #[arg(long, value_name = "M", default_value_t = 64)]
    pub neurons: usize,
    /// Control points inside; 7 a neuron if not given
    #[arg(long, value_name = "N")]
    pub points: Option<usize>,
    /// Control points on the boundary; 9.5·√M if not given (in three dimensions 14.25·M^⅔)
    #[arg(long, value_name = "K")]
    pub boundary_points: Option<usize>,
    /// λ, the weight of the boundary conditions
    #[arg(long, value_name = "L", default_value_t = 100.0, allow_negative_numbers = true)]
    pub penalty: f64,
    /// How the weights are found. qr works in f64 on the host whatever --precision says
    #[arg(long, value_enum, default_value_t)]
    pub weights: Weights,
    /// How centres and widths are trained
    #[arg(long, value_enum, default_value_t)]
    pub shape: ShapeSolver,
    /// The width a of the neurons in spacings of their centres, or auto: the one with the least residual at points held
    /// out. If not given 0.7 for --shape lm, 3 for cg, else 8
    #[arg(long, value_name = "A|auto", allow_negative_numbers = true)]
    pub width: Option<Width>,
    /// Spacings that the centres reach outside the domain; if not given 0.35 for qr and lsqr, 0 for cg and --shape lm
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    pub reach: Option<f64>,
    /// How control points are spread
    #[arg(long, value_enum, default_value_t)]
    pub sampling: Sampling,
    /// When control points are drawn
    #[arg(long, value_enum, default_value_t)]
    pub redraw: Redraw,
    /// At most so many cycles; if not given 1 for qr and lsqr, 100 for --shape lm, else 200
    #[arg(long, value_name = "C")]
    pub cycles: Option<usize>,
    /// Gradient steps a cycle (--shape gd); 2 if not given
    #[arg(long, value_name = "S")]
    pub steps: Option<usize>,
    /// The rate of gradient steps, at most: it is halved while they raise the objective; 0.01 if not given
    #[arg(long, value_name = "ETA", allow_negative_numbers = true)]
    pub rate: Option<f64>,
    /// Take --rate as it is in every cycle, even where that raises the objective
    #[arg(long)]
    pub fixed_rate: bool,
    /// Iterations of cg a cycle, or of lsqr at most; 30 and 1000 if not given
    #[arg(long, value_name = "I")]
    pub iterations: Option<usize>,
    /// Stop once the residual norm at the control points is at most this; 0 never does
    #[arg(long, value_name = "T", default_value_t = 0.0, allow_negative_numbers = true)]
    pub tolerance: f64,
    /// Stop after so many seconds, counted from the start of the run, also within a cycle; an error if there is no
    /// solution by then
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub time_limit: Option<f64>,
    /// Leave out singular values below this share of the largest (qr)
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub truncation: Option<f64>,
    /// Points along each side of the grid that the solution is written and drawn on; 101, or 31 in three dimensions
    #[arg(long, value_name = "G")]
    pub grid: Option<usize>,
    /// Write the trained network (.json, .safetensors)
    #[arg(long, value_name = "FILE")]
    pub network: Option<PathBuf>,
    /// Write the solution for ParaView (.vtk, .vtu)
    #[arg(long, value_name = "FILE")]
    pub vtk: Option<PathBuf>,
    /// Find the solution at these points, one a row, besides
    #[arg(long, value_name = "POINTS", requires = "evaluate_output")]
    pub evaluate: Option<PathBuf>,
    /// Where the solution at those points goes
    #[arg(long, value_name = "OUT", requires = "evaluate")]
    pub evaluate_output: Option<PathBuf>,
    /// Draw the error (.svg, .png), if the exact solution is known
    #[arg(long, value_name = "P")]
    pub error_plot: Option<PathBuf>,
    /// Draw the centres and their widths (.svg, .png)
    #[arg(long, value_name = "P")]
    pub centres_plot: Option<PathBuf>,
    /// Draw the residuals by cycle (.svg, .png)
    #[arg(long, value_name = "P")]
    pub convergence: Option<PathBuf>,
    /// Keep the run's state in a file, to go on from with --resume
    #[arg(long, value_name = "FILE")]
    pub checkpoint: Option<PathBuf>,
    /// Seconds between two states
    #[arg(long, value_name = "S", default_value_t = 60.0, allow_negative_numbers = true)]
    pub checkpoint_every: f64,
    /// Go on from a state, to the same bits as a run that was not interrupted
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
}

impl RbfArgs {
    pub(crate) fn parse(args: &ArgMatches) -> Result<Self> {
        Self::from_arg_matches(args).map_err(|error| Error::input(error.to_string(), "see --help"))
    }

    pub(crate) fn config(&self) -> RbfConfig {
        RbfConfig::new(self.neurons)
            .with_points(self.points)
            .with_boundary_points(self.boundary_points)
            .with_penalty(self.penalty)
            .with_weights(self.weights)
            .with_shape(self.shape)
            .with_width(self.width.unwrap_or_default())
            .with_reach(self.reach)
            .with_sampling(self.sampling)
            .with_redraw(self.redraw)
            .with_cycles(self.cycles)
            .with_steps(self.steps)
            .with_rate(self.rate)
            .with_fixed_rate(self.fixed_rate)
            .with_iterations(self.iterations)
            .with_tolerance(self.tolerance)
            .with_time_limit(self.time_limit)
            .with_truncation(self.truncation)
    }

    pub(crate) fn checkpoints(&self) -> Result<Checkpoints> {
        let every = self.checkpoint_every;
        if !(every > 0.0 && every.is_finite()) {
            let reason = "must be a number of seconds above 0".into();
            return Err(Error::Config { field: "checkpoint_every", value: every.to_string(), reason });
        }
        Ok(Checkpoints { file: self.checkpoint.clone(), every, resume: self.resume.clone() })
    }

    /// By name, or from a file if it has an extension.
    pub(crate) fn problem(&self) -> Result<Problem> {
        match Path::new(&self.problem).extension() {
            Some(_) => Problem::read(&self.problem),
            None => Problem::named(&self.problem),
        }
    }

    /// The points of `--evaluate`.
    pub(crate) fn evaluated(&self, dims: usize) -> Result<Option<Points>> {
        let Some(path) = &self.evaluate else { return Ok(None) };
        let points = read(path, &ReadOptions::default())?;
        if points.columns != dims {
            let what = format!("these points have {} coordinates; the problem has {dims} dimensions", points.columns);
            return Err(Error::input(what, "give a row a point and a column a dimension").in_file(path));
        }
        Ok(Some(points))
    }
}
