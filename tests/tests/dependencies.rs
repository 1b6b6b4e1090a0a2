//! Dependencies: each has a licence that permits use in a program under MIT or Apache-2.0, and the library for one
//! algorithm on the CPU compiles nothing of the program, of plots or of GPUs, nor the program for the CPU anything of GPUs.

#![allow(clippy::unwrap_used)]

use std::process::Command;

use serde_json::Value;

/// Permitted licences. The Mozilla Public License only covers changes of its own files, which are used unchanged.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MPL-2.0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Returns whether a licence expression is permitted: each part of a conjunction must have an allowed alternative.
fn is_allowed(expression: &str) -> bool {
    let alternatives = |part: &str| {
        let part = part.trim_matches(['(', ')', ' ']).replace('/', " OR ");
        part.split(" OR ").any(|licence| ALLOWED.contains(&licence.trim()))
    };
    expression.split(" AND ").all(alternatives)
}

#[test]
fn every_dependency_has_an_allowed_licence() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let args = ["metadata", "--locked", "--format-version", "1", "--filter-platform", "x86_64-unknown-linux-gnu"];
    let output = Command::new(env!("CARGO")).args(args).current_dir(root).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 300, "{} packages", packages.len());
    let refused = packages.iter().filter(|package| !package["license"].as_str().is_some_and(is_allowed));
    let refused: Vec<String> = refused.map(|package| format!("{} {}", package["name"], package["license"])).collect();
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[test]
fn licence_expressions_are_evaluated() {
    for allowed in ["MIT", "GPL-3.0 OR MIT", "MIT/GPL-3.0", "(MIT OR GPL-3.0) AND Unicode-3.0", "MIT / Apache-2.0"] {
        assert!(is_allowed(allowed), "{allowed}");
    }
    for refused in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Apache-2.0) AND LGPL-2.1", ""] {
        assert!(!is_allowed(refused), "{refused}");
    }
}

/// Crates of GPUs and of kernels for them.
const GPUS: [&str; 9] = [
    "burn_fusion",
    "burn_cubecl",
    "burn_cuda",
    "burn_wgpu",
    "cubecl",
    "cubecl_core",
    "cubecl_runtime",
    "wgpu",
    "cudarc",
];

/// The crates of `package` with `features` and without its defaults.
fn crates(package: &str, features: &str) -> Vec<String> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let args = ["tree", "--locked", "--offline", "--package", package, "--no-default-features", "--features", features];
    let more = ["--edges", "normal,build", "--prefix", "none", "--format", "{lib}"];
    let output = Command::new(env!("CARGO")).args(args).args(more).current_dir(root).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_string).collect()
}

#[test]
fn the_library_for_one_algorithm_on_the_cpu_is_slim() {
    let heavy = ["clap", "plotters", "png", "csv", "ndarray_npy", "tempfile"];
    let is_heavy = |name: &&String| heavy.contains(&name.as_str()) || GPUS.contains(&name.as_str());
    let slim = crates("firebox", "ndarray,ocnn");
    let found: Vec<_> = slim.iter().filter(is_heavy).collect();
    assert!(slim.iter().any(|name| name == "firebox_ocnn") && found.is_empty(), "{found:?}");
    // The check finds them where they are.
    let full = crates("firebox", "wgpu,cuda,fusion,command,ocnn");
    for name in ["clap", "plotters", "png", "tempfile"].iter().chain(&GPUS) {
        assert!(full.iter().any(|it| it == name), "{name}");
    }
}

#[test]
fn the_program_for_the_cpu_has_nothing_of_gpus() {
    let program = crates("firebox-cli", "ndarray,ocnn,perceptron,rbf,sammon");
    let found: Vec<_> = program.iter().filter(|name| GPUS.contains(&name.as_str())).collect();
    assert!(program.iter().any(|name| name == "firebox_ocnn") && found.is_empty(), "{found:?}");
}
