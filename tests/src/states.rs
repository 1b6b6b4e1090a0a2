//! Damaged and crafted state files. Tests of every algorithm that keeps states include this file.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
};

use firebox_core::{
    Observer, Result,
    checkpoint::{Checkpoints, decode},
    random::Random,
};
use serde_json::{Value, json};

/// Resumes from the bytes of a file; returns all numbers of the result.
pub(crate) type Resume<'a> = &'a dyn Fn(&[u8]) -> Result<Vec<f64>>;

/// Checks the bytes of a file without a run.
pub(crate) type Check<'a> = &'a dyn Fn(&[u8]) -> Result<()>;

/// Returns the bytes of the state file that `run` writes.
pub(crate) fn written_state(run: impl FnOnce(Checkpoints)) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state");
    run(Checkpoints { file: Some(file.clone()), ..Checkpoints::default() });
    std::fs::read(file).unwrap()
}

/// Calls `run` with checkpoints that resume from the bytes of a state file.
pub(crate) fn resume_from<T>(bytes: &[u8], run: impl FnOnce(Checkpoints) -> T) -> T {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state");
    std::fs::write(&file, bytes).unwrap();
    run(Checkpoints { resume: Some(file), ..Checkpoints::default() })
}

#[derive(Default)]
struct Notices(Mutex<Vec<String>>);

impl Observer for Notices {
    fn notice(&self, text: &str) {
        self.0.lock().unwrap().push(text.into());
    }
}

/// Calls `run` with a state path that cannot be written; asserts notices at the first failure and at the end of the
/// run.
pub(crate) fn assert_unwritable_state_is_reported(run: impl FnOnce(Checkpoints, Arc<dyn Observer>)) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("missing/state");
    let notices = Arc::new(Notices::default());
    run(Checkpoints { file: Some(file.clone()), every: 1e-9, ..Checkpoints::default() }, notices.clone());
    let notices = notices.0.lock().unwrap().clone();
    assert_eq!(notices.len(), 2, "{notices:?}");
    assert!(notices[0].contains("the run continues"), "{notices:?}");
    assert_eq!(notices[1], format!("no state of this run could be written to {}", file.display()));
}

/// Returns a generator seeded with `FIREBOX_SEED`, which is printed so that a failure can be repeated.
fn random() -> Random {
    let seed = std::env::var("FIREBOX_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    println!("FIREBOX_SEED={seed}");
    Random::new(seed, 0)
}

fn assert_refused(what: &str, bytes: &[u8], resume: Resume<'_>) {
    let error = resume(bytes).expect_err(what);
    let text = error.to_string();
    assert_eq!(error.exit_code(), 2, "{what}: {text}");
    assert!(!text.contains('\n') && text.len() < 400 && error.help().is_some(), "{what}: {text}");
}

/// Asserts that 300 flipped bits, 80 truncations and appended bytes are each refused with a one-line message.
pub(crate) fn assert_damage_is_refused(name: &str, bytes: &[u8], resume: Resume<'_>) {
    assert!(resume(bytes).is_ok(), "{name}: the intact state");
    let mut random = random();
    for _ in 0..300 {
        let bit = (random.bits() % (8 * bytes.len() as u64)) as usize;
        let mut damaged = bytes.to_vec();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert_refused(&format!("{name}, bit {bit}"), &damaged, resume);
    }
    let lengths = (0..60).map(|_| (random.bits() % bytes.len() as u64) as usize);
    for length in lengths.chain(0..10).chain(bytes.len() - 10..bytes.len()) {
        assert_refused(&format!("{name}, cut to {length}"), &bytes[..length], resume);
    }
    for extra in [&b"\0"[..], b"\n", bytes] {
        assert_refused(&format!("{name}, with appended bytes"), &[bytes, extra].concat(), resume);
    }
}

/// Asserts that states with modified content and a valid checksum are either refused or resumed with finite results,
/// never panic, and are not resumed if `check` refuses them. Prints how many were refused.
pub(crate) fn assert_crafted_states_are_handled(name: &str, bytes: &[u8], check: Check<'_>, resume: Resume<'_>) {
    let resume = |bytes: &[u8]| {
        let (checked, resumed) = (check(bytes), resume(bytes));
        assert!(checked.is_ok() || resumed.is_err());
        resumed
    };
    let state = decode(bytes).unwrap();
    let mut crafted = Vec::new();
    let values = json!([null, true, -1, 0, 1, 1e-300, 1e300, 1u64 << 53, u64::MAX, "nan", "infinity", "x\n", [], {},]);
    for path in paths(&state.state) {
        for value in values.as_array().unwrap() {
            let mut other = state.clone();
            *other.state.pointer_mut(&path).unwrap() = value.clone();
            crafted.push((format!("{path} = {value}"), other));
        }
        let mut other = state.clone();
        let (parent, field) = path.rsplit_once('/').unwrap();
        if let Some(fields) = other.state.pointer_mut(parent).and_then(Value::as_object_mut) {
            fields.remove(field);
            crafted.push((format!("without {path}"), other));
        }
    }
    let names: Vec<String> = state.tensors.names().map(String::from).collect();
    for name in &names {
        let shape = state.tensors.shape(name).unwrap().to_vec();
        let values = state.tensors.clone().take_any(name, &shape).unwrap();
        let mut with = |what: &str, shape: &[usize], values: Vec<f64>| {
            let mut other = state.clone();
            other.tensors.put(name.clone(), shape, values);
            crafted.push((format!("{name}: {what}"), other));
        };
        with("flat", &[1, 1, values.len()], values.clone());
        with("longer", &[values.len() + 1], [&values[..], &[0.0]].concat());
        with("empty", &[0], Vec::new());
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, -0.0, 5e-324, 1e30, 1e300, -1e300] {
            for at in [0, values.len() / 2, values.len().saturating_sub(1)] {
                let mut other = values.clone();
                if let Some(slot) = other.get_mut(at) {
                    *slot = value;
                    with(&format!("{value} at {at}"), &shape, other);
                }
            }
            with(&format!("all {value}"), &shape, vec![value; values.len()]);
        }
        let mut other = state.clone();
        other.tensors.take_any(name, &shape).unwrap();
        crafted.push((format!("without {name}"), other));
    }
    let mut other = state.clone();
    other.tensors.put("more", &[1], vec![1.0]);
    crafted.push(("an additional tensor".into(), other));
    let mut other = state.clone();
    other.run.backend = "x\n".repeat(1000);
    crafted.push(("another backend".into(), other));

    let (mut accepted, mut refused) = (0, 0);
    for (what, state) in &crafted {
        let bytes = state.encode().unwrap();
        let result = catch_unwind(AssertUnwindSafe(|| resume(&bytes)));
        match result.unwrap_or_else(|_| panic!("{name}, {what}: panicked")) {
            Ok(numbers) => {
                accepted += 1;
                assert!(numbers.iter().all(|number| number.is_finite()), "{name}, {what}: {numbers:?}");
            }
            Err(error) => {
                refused += 1;
                assert!(error.to_string().len() < 600, "{name}, {what}: {error}");
            }
        }
    }
    println!("{name}: of {} crafted states {refused} refused, {accepted} resumed", crafted.len());
    assert!(refused > accepted / 4 && accepted > 0, "{name}: {accepted} {refused}");
}

/// Returns JSON pointers to all values below the root.
fn paths(value: &Value) -> Vec<String> {
    let below = |(field, value): (String, &Value)| {
        let field = format!("/{field}");
        let deeper = paths(value).into_iter().map(|path| format!("{field}{path}")).collect::<Vec<_>>();
        [vec![field.clone()], deeper].concat()
    };
    match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).flat_map(below).collect(),
        Value::Array(values) => {
            values.iter().enumerate().map(|(at, value)| (at.to_string(), value)).flat_map(below).collect()
        }
        _ => Vec::new(),
    }
}
