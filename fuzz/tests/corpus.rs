//! Replays the committed inputs of every fuzz target.

#![allow(clippy::unwrap_used)]

use firebox_fuzz::{TARGETS, corpus};

#[test]
fn corpus_causes_no_panic() {
    for (name, target) in TARGETS {
        let mut count = 0;
        for entry in std::fs::read_dir(corpus(name)).unwrap() {
            target(&std::fs::read(entry.unwrap().path()).unwrap());
            count += 1;
        }
        assert!(count >= 5, "{name}: only {count} inputs in {}", corpus(name).display());
    }
}

/// Flips a bit at up to 64 positions of each input, and truncates it there.
#[test]
fn mutated_corpus_causes_no_panic() {
    const MAX_POSITION: usize = 4096;
    for (name, target) in TARGETS {
        for entry in std::fs::read_dir(corpus(name)).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            let step = bytes.len().div_ceil(64).max(1);
            for position in (0..bytes.len().min(MAX_POSITION)).step_by(step) {
                let mut flipped = bytes.clone();
                flipped[position] ^= 1 << (position % 8);
                target(&flipped);
                target(&bytes[..position]);
            }
        }
    }
}

#[test]
fn state_target_generates_valid_headers() {
    use firebox_core::checkpoint::{decode, seal};
    let error = decode(&seal(b"not safetensors")).unwrap_err().to_string();
    assert!(!error.contains("checksum") && !error.contains("version") && !error.contains("not a state"), "{error}");
}
