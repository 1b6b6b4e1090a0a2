//! Replays every committed input through the function that its fuzz target calls.

#![allow(clippy::unwrap_used)]

use firebox_fuzz::{TARGETS, corpus};

#[test]
fn no_input_of_the_corpus_makes_a_parser_panic() {
    for (name, target) in TARGETS {
        let mut count = 0;
        for entry in std::fs::read_dir(corpus(name)).unwrap() {
            target(&std::fs::read(entry.unwrap().path()).unwrap());
            count += 1;
        }
        assert!(count >= 5, "{name}: only {count} inputs in {}", corpus(name).display());
    }
}

/// Every input of the corpus with each byte changed in turn, and cut short at each byte.
#[test]
fn no_neighbour_of_the_corpus_makes_a_parser_panic() {
    const LONGEST: usize = 4096;
    for (name, target) in TARGETS {
        for entry in std::fs::read_dir(corpus(name)).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            let step = bytes.len().div_ceil(64).max(1);
            for at in (0..bytes.len().min(LONGEST)).step_by(step) {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << (at % 8);
                target(&changed);
                target(&bytes[..at]);
            }
        }
    }
}

#[test]
fn the_header_of_the_state_target_is_the_one_that_states_have() {
    use firebox_core::checkpoint::{decode, seal};
    let error = decode(&seal(b"not safetensors")).unwrap_err().to_string();
    assert!(!error.contains("checksum") && !error.contains("version") && !error.contains("not a state"), "{error}");
}
