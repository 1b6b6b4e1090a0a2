//! Identification of the run that a state belongs to.

use burn::tensor::backend::Backend;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::context::{Context, Precision};
use crate::error::{Error, Result, cut};
use crate::observe::Observer;

/// Maximum number of parameters that a message lists with both values.
const MAX_LISTED: usize = 3;

/// Identity of a run: everything that must be equal for another run to resume its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// The algorithm's command, such as `sammon`.
    pub algorithm: String,
    /// The backend, which may differ: see [`Identity::backend_notice`].
    pub backend: String,
    /// Precision of the floats.
    pub precision: Precision,
    /// Seed of the random numbers.
    pub seed: u64,
    /// [`Fingerprint`](super::Fingerprint) of the input.
    pub input: String,
    /// Parameters without the limits.
    pub config: Value,
    /// Names of the parameters that may differ, for advice.
    #[serde(skip)]
    limits: &'static [&'static str],
}

impl Identity {
    /// Creates the identity of a run of `algorithm` with `config`, whose fields named in `limits` may differ in a resumed
    /// run.
    pub fn new<B: Backend>(
        algorithm: &str,
        config: &impl Serialize,
        limits: &'static [&'static str],
        input: String,
        context: &Context<B>,
    ) -> Self {
        let mut config = serde_json::to_value(config).unwrap_or(Value::Null);
        if let Some(fields) = config.as_object_mut() {
            fields.retain(|name, _| !limits.contains(&name.as_str()));
        }
        Self {
            algorithm: algorithm.into(),
            backend: B::name(&context.device),
            precision: context.precision,
            seed: context.seed,
            input,
            config,
            limits,
        }
    }

    /// Checks that the run `ours` may resume a state of this run. The error names the first of algorithm, precision, seed,
    /// parameters and input that differs.
    pub fn check(&self, ours: &Self) -> Result<()> {
        if self.algorithm != ours.algorithm {
            let what = format!("this is a state of {}, not of {}", shown(&self.algorithm), ours.algorithm);
            return Err(Error::input(what, "give a state that the same algorithm wrote"));
        }
        if self.precision != ours.precision {
            let what = format!("its run used {}, and this one uses {}", self.precision, ours.precision);
            return Err(Error::input(what, format!("resume with `precision = {}`", self.precision)));
        }
        if self.seed != ours.seed {
            let what = format!("its run had the seed {}, and this one has {}", self.seed, ours.seed);
            return Err(Error::input(what, format!("resume with `seed = {}`", self.seed)));
        }
        let differences = differences(&self.config, &ours.config);
        if !differences.is_empty() {
            let more = match differences.len().saturating_sub(MAX_LISTED) {
                0 => String::new(),
                more => format!("; and {more} more"),
            };
            let listed = differences.into_iter().take(MAX_LISTED).collect::<Vec<_>>().join("; ");
            let limits = match ours.limits {
                [] => String::new(),
                limits => format!("; only these may differ: {}", limits.join(", ")),
            };
            let help = format!("resume with the parameters of the run that wrote it{limits}");
            return Err(Error::input(format!("its run had other parameters: {listed}{more}"), help));
        }
        if self.input != ours.input {
            return Err(Error::input("its run had another input", "resume with the input of the run that wrote it"));
        }
        Ok(())
    }

    /// Notifies the user if this state was written on another backend than that of the run `ours`.
    pub fn backend_notice(&self, ours: &Self, observer: &dyn Observer) {
        if self.backend != ours.backend {
            let theirs = shown(&self.backend);
            let text = format!(
                "the state was written on {theirs}, and this run uses {}: it goes on, but rounds differently",
                ours.backend
            );
            observer.notice(&text);
        }
    }
}

/// Describes each parameter that differs, with both values.
fn differences(theirs: &Value, ours: &Value) -> Vec<String> {
    if theirs == ours {
        return Vec::new();
    }
    let (Some(theirs), Some(ours)) = (theirs.as_object(), ours.as_object()) else {
        return vec!["they cannot be compared".into()];
    };
    let value = |value: Option<&Value>| match value {
        None => "absent".into(),
        Some(Value::Null) => "not set".into(),
        Some(Value::String(text)) => shown(text),
        Some(other) => shown(&other.to_string()),
    };
    let unknown = theirs.keys().filter(|name| !ours.contains_key(*name));
    let names = ours.keys().chain(unknown).filter(|name| theirs.get(*name) != ours.get(*name));
    let description =
        |name: &String| format!("{} was {} and is {}", shown(name), value(theirs.get(name)), value(ours.get(name)));
    names.map(description).collect()
}

/// Text from a file as a message shows it: escaped, on one line, cut to 40 characters.
pub(super) fn shown(text: &str) -> String {
    cut(text).escape_debug().to_string()
}
