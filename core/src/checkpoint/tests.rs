//! The format, the rules for resuming, and writers that fail.

use std::{
    fs,
    sync::{Arc, Mutex},
};

use burn_ndarray::NdArray;
use serde_json::json;

use super::*;
use crate::context::{Context, Precision};
use crate::error::Error;
use crate::observe::Observer;
use crate::random::Random;

type B = NdArray<f32>;

/// Records notices.
#[derive(Default)]
struct Notices(Mutex<Vec<String>>);

impl Notices {
    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl Observer for Notices {
    fn notice(&self, text: &str) {
        self.0.lock().unwrap().push(text.into());
    }
}

fn context() -> Context<B> {
    Context::new(Default::default()).seed(5)
}

fn identity() -> Identity {
    let config = json!({"solver": "lbfgs", "power": 1.0, "iterations": 10, "hidden": [4, 2]});
    Identity::new("sammon", &config, &["iterations"], Fingerprint::default().word(7).to_string(), &context())
}

fn state() -> Checkpoint {
    let mut tensors = Tensors::default();
    tensors.put("x", &[2, 3], vec![0.1, -0.0, 5e-324, 1e308, -1.0 / 3.0, f64::INFINITY]);
    tensors.put("nothing", &[0, 3], vec![]);
    tensors.put("scalar", &[], vec![f64::from_bits(0x7ff8_0000_dead_beef)]);
    Checkpoint::new(&identity(), &json!({"iterations": 3, "stop": null}), tensors).unwrap()
}

/// Generator of random damage. Its seed is printed so that a failure can be reproduced.
fn random() -> Random {
    let seed = std::env::var("FIREBOX_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    println!("FIREBOX_SEED={seed}");
    Random::new(seed, 0)
}

/// The message of a rejected state: one line, with advice and the exit code of invalid input.
fn refusal<T>(result: crate::error::Result<T>) -> String {
    let Err(error) = result else { panic!("accepted") };
    assert_eq!(error.exit_code(), 2);
    assert!(error.help().is_some(), "{error}");
    let text = error.to_string();
    assert!(!text.contains('\n') && text.len() < 400, "{text}");
    text
}

#[test]
fn states_round_trip_bitwise() {
    let bytes = state().encode().unwrap();
    let mut again = decode(&bytes).unwrap();
    assert_eq!(again.encode().unwrap(), bytes);
    assert!(again.run.check(&identity()).is_ok());
    let x = again.tensors.take_any("x", &[2, 3]).unwrap();
    assert_eq!(x[1].to_bits(), (-0.0f64).to_bits());
    assert_eq!((x[2], x[5]), (5e-324, f64::INFINITY));
    assert_eq!(again.tensors.take_any("scalar", &[]).unwrap()[0].to_bits(), 0x7ff8_0000_dead_beef);
    assert!(again.tensors.take("nothing", &[0, 3]).unwrap().is_empty());
    assert!(again.tensors.finish().is_ok());
}

#[test]
fn every_flipped_bit_truncation_and_excess_is_detected() {
    let bytes = state().encode().unwrap();
    for bit in 0..8 * bytes.len() {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        refusal(decode(&damaged));
    }
    for length in 0..bytes.len() {
        refusal(decode(&bytes[..length]));
    }
    assert!(refusal(decode(&bytes[..12])).contains("incomplete"));
    assert!(refusal(decode(&bytes[..bytes.len() - 1])).contains("incomplete"));
    for extra in [&b"\0"[..], b"\n", &bytes] {
        assert!(refusal(decode(&[&bytes, extra].concat())).contains("damaged"));
    }
}

/// An independent implementation of [`seal`].
fn sealed(payload: &[u8]) -> Vec<u8> {
    let mut bytes = state().encode().unwrap()[..12].to_vec();
    bytes.extend((payload.len() as u64).to_le_bytes());
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes);
    hasher.update(payload);
    bytes.extend(hasher.finalize().to_le_bytes());
    bytes.extend(payload);
    bytes
}

#[test]
fn payloads_with_a_valid_checksum_are_not_trusted() {
    let payload = &state().encode().unwrap()[24..];
    assert_eq!(sealed(payload), state().encode().unwrap());
    assert_eq!(sealed(b"any"), seal(b"any"));
    let described = |text: &str, data: usize| {
        let length = (text.len() as u64).to_le_bytes();
        sealed(&[&length[..], text.as_bytes(), &vec![0; data]].concat())
    };
    let entry = r#""__metadata__":{"firebox":"{}"}"#;
    for (text, data) in [
        ("", 0),
        ("{}", 0),
        ("[[[[", 0),
        (r#"{"__metadata__":{}}"#, 0),
        (&format!("{{{entry}}}"), 0),
        (&format!(r#"{{{entry},"x":{{"dtype":"F64","shape":[2],"data_offsets":[0,16]}}}}"#), 8),
        (&format!(r#"{{{entry},"x":{{"dtype":"F64","shape":[1099511627776],"data_offsets":[0,8796093022208]}}}}"#), 8),
        (&format!(r#"{{{entry},"x":{{"dtype":"F64","shape":[18446744073709551615,2],"data_offsets":[0,8]}}}}"#), 8),
        (&format!(r#"{{{entry},"x":{{"dtype":"F4","shape":[3],"data_offsets":[0,8]}}}}"#), 8),
        (&format!(r#"{{{entry},"x":{{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}}}"#), 8),
    ] {
        refusal(decode(&described(text, data)));
    }
    for length in [0, 7, u64::MAX, 1 << 40] {
        refusal(decode(&sealed(&length.to_le_bytes()[..8.min(length as usize)])));
    }
    let mut random = random();
    for _ in 0..3000 {
        let mut other = payload.to_vec();
        for _ in 0..1 + random.bits() % 3 {
            let at = (random.bits() % other.len() as u64) as usize;
            other[at] = random.bits() as u8;
        }
        if let Ok(found) = decode(&sealed(&other)) {
            let _ = found.run.check(&identity()).map_err(|error| refusal::<()>(Err(error)));
        }
    }
}

#[test]
fn other_files_and_versions_are_recognised() {
    let mut later = state().encode().unwrap();
    later[8] = 2;
    let wrapped = br#"XXXXXXXX{"__metadata__":{"firebox":"{\"format\":\"firebox perceptron checkpoint 2\","#;
    for (bytes, expected) in [
        (&b""[..], "this is not a state file of Firebox"),
        (b"firebox checkpoint", "this is not a state file of Firebox"),
        (
            br#"{"header":{"format":"firebox rbf checkpoint 2","problem":"#,
            "this state was written by an earlier version of Firebox (firebox rbf checkpoint 2)",
        ),
        (wrapped, "this state was written by an earlier version of Firebox (firebox perceptron checkpoint 2)"),
        (&later, "this state has format version 2, and this version of Firebox reads 1"),
    ] {
        assert_eq!(refusal(decode(bytes)), expected);
    }
}

#[test]
fn differences_of_identity_are_named() {
    let ours = identity();
    let of = |change: fn(&mut Identity)| {
        let mut theirs = identity();
        change(&mut theirs);
        let error = theirs.check(&ours).unwrap_err();
        (error.to_string(), error.help().unwrap())
    };
    let expected = ["its run used f64, and this one uses f32", "resume with `precision = f64`"].map(String::from);
    assert_eq!(of(|it| it.precision = Precision::F64), expected.into());
    let expected = ["its run had the seed 6, and this one has 5", "resume with `seed = 6`"].map(String::from);
    assert_eq!(of(|it| it.seed = 6), expected.into());
    let (text, help) = of(|it| {
        it.config = json!({"solver": "gd", "power": null, "hidden": [4, 2], "more\n": true});
        it.input = "other".into();
    });
    assert_eq!(
        text,
        "its run had other parameters: solver was gd and is lbfgs; power was not set and is 1.0; more\\n was true and is \
         absent"
    );
    assert!(help.ends_with("only these may differ: iterations"), "{help}");
    assert_eq!(of(|it| it.input = "other".into()).0, "its run had another input");
    assert_eq!(of(|it| it.algorithm = "r\nbf".into()).0, "this is a state of r\\nbf, not of sammon");
    assert!(of(|it| it.config = json!(3)).0.starts_with("its run had other parameters"));
    let long = |it: &mut Identity| it.config = json!({"solver": "x".repeat(10_000)});
    assert!(of(long).0.len() < 400);
}

#[test]
fn a_state_of_another_backend_is_resumed_with_a_notice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let notices = Arc::new(Notices::default());
    let context = context().observer(notices.clone());
    state().write(&path).unwrap();
    assert!(resume(&path, &identity(), &context).is_ok());
    assert!(notices.all().is_empty());
    let mut other = state();
    other.run.backend = "cuda".into();
    other.write(&path).unwrap();
    assert!(resume(&path, &identity(), &context).is_ok());
    assert_eq!(
        notices.all(),
        ["the state was written on cuda, and this run uses ndarray: it goes on, but rounds differently"]
    );
    fs::write(&path, "x").unwrap();
    let text = refusal(resume(&path, &identity(), &context));
    assert_eq!(text, format!("{}: this is not a state file of Firebox", path.display()));
    assert!(matches!(resume(folder.path(), &identity(), &context), Err(Error::Io { action: "read", .. })));
}

#[test]
fn a_state_longer_than_the_prefix_is_read_completely() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let mut large = state();
    large.tensors.put("large", &[100_000], vec![0.5; 100_000]);
    large.tensors.0.retain(|name, _| name == "large");
    large.write(&path).unwrap();
    let again = resume(&path, &identity(), &context()).unwrap();
    assert!(again.encode().unwrap() == large.encode().unwrap());
    let mut bytes = fs::read(&path).unwrap();
    bytes.push(0);
    fs::write(&path, &bytes).unwrap();
    assert!(refusal(resume(&path, &identity(), &context())).contains("damaged"));
    if cfg!(target_os = "linux") {
        // Endless.
        refusal(resume(std::path::Path::new("/dev/zero"), &identity(), &context()));
    }
}

#[test]
fn tensors_are_checked_by_name_shape_and_value() {
    let take = |name: &str, shape: &[usize]| refusal(state().tensors.take(name, shape));
    assert_eq!(take("y", &[1]), "this state is incomplete: it has no tensor y");
    assert_eq!(take("x", &[6]), "this state is inconsistent: its tensor x has shape [2, 3] instead of [6]");
    assert_eq!(take("x", &[2, 3]), "this state is inconsistent: its tensor x contains inf");
    assert!(refusal(state().tensors.finish()).contains("unknown"));
}

#[test]
fn non_finite_numbers_are_strings_in_json() {
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Pair(#[serde(with = "number")] f64, #[serde(with = "number::option")] Option<f64>);
    for value in [0.1, -0.0, 5e-324, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, 3.0] {
        let text = serde_json::to_string(&Pair(value, Some(value))).unwrap();
        let Pair(one, other) = serde_json::from_str(&text).unwrap();
        assert_eq!([one.to_bits(), other.unwrap().to_bits()], [value.to_bits(); 2], "{text}");
    }
    assert!(serde_json::from_str::<Pair>("[1,null]").unwrap().1.is_none());
    assert!(serde_json::from_str::<Pair>(r#"["nan",1]"#).unwrap().0.is_nan());
    assert!(serde_json::from_str::<Pair>(r#"["many",1]"#).is_err());
}

#[test]
fn a_state_that_cannot_be_written_does_not_end_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("below");
    let path = below.join("state");
    let notices = Arc::new(Notices::default());
    let checkpoints = Checkpoints { file: Some(path.clone()), every: 1e-9, resume: None };
    let context = context().observer(notices.clone());
    let mut keeper = Keeper::new(&checkpoints, &context);
    assert!(keeper.is_on() && keeper.is_due());

    // There is no folder yet.
    keeper.save("iteration 1", || Ok(state())).unwrap();
    let cannot = format!("the state cannot be written to {}: ", path.display());
    assert!(notices.all()[0].starts_with(&cannot) && notices.all()[0].ends_with("; the run continues"));
    assert!(!notices.all()[0].contains("os error"));
    assert!(keeper.finish("iteration 1"));
    assert_eq!(notices.all()[1], format!("no state of this run could be written to {}", path.display()));

    fs::create_dir(&below).unwrap();
    keeper.save("iteration 2", || Ok(state())).unwrap();
    assert!(decode(&fs::read(&path).unwrap()).is_ok());
    assert_eq!(notices.all()[2], format!("states can be written to {} again", path.display()));
    assert!(!keeper.finish("iteration 2"));
    assert_eq!(notices.all().len(), 3);

    // A second failure in a row is not mentioned again before the end.
    fs::remove_dir_all(&below).unwrap();
    keeper.save("iteration 3", || Ok(state())).unwrap();
    keeper.save("iteration 4", || Ok(state())).unwrap();
    assert_eq!(notices.all().len(), 4);
    assert!(keeper.finish("iteration 4"));
    let stale = format!(
        "{} is stale: it holds the state at iteration 2, and the run ended at iteration 4; no later state could be written",
        path.display()
    );
    assert_eq!(notices.all()[4], stale);

    // A state that cannot be made is the run's own failure.
    assert!(matches!(keeper.save("iteration 5", || Err(Error::Cancelled)), Err(Error::Cancelled)));
}

#[test]
fn nothing_is_written_without_a_file() {
    let checkpoints = Checkpoints::default();
    let mut keeper = Keeper::new(&checkpoints, &context());
    assert!(!keeper.is_on() && !keeper.is_due());
    keeper.save("iteration 1", || panic!("made in vain")).unwrap();
    assert!(!keeper.finish("iteration 1"));
}
