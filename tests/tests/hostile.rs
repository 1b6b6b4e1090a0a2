//! Inputs that would exhaust memory, under a limit of the process: refused with a message, without an abort.

#![allow(clippy::unwrap_used)]
#![cfg(target_os = "linux")]

use std::{
    fs::File,
    io::{Seek, SeekFrom, Write},
};

use firebox_tests::program::{Program, RunResult};

/// Runs with a limit of the address space: more than the program itself needs, less than any of these inputs would.
fn run(program: &Program, args: &str) -> RunResult {
    RunResult::of(program.shell(&format!("ulimit -v 4000000 && exec $PROGRAM {args}")))
}

fn assert_refused(program: &Program, args: &str, message: &str) {
    let err = run(program, args).refuse(message).err;
    assert!(err.contains("help: "), "{args}: {err}");
}

#[test]
fn ordinary_runs_succeed_under_the_limit() {
    run(&Program::firebox(), "generate uniform --points 10").succeed();
}

#[test]
fn a_header_that_claims_many_columns_is_refused() {
    let program = Program::firebox();
    let (columns, rows) = (100_000, 100_000);
    let types = " 1".repeat(columns);
    program.write("a.lrn", format!("% {rows}\n% {columns}\n%{types}\n{}", "1\n".repeat(rows)));
    assert_refused(
        &program,
        "ocnn a.lrn --backend ndarray -o out.csv",
        "1 fields, but the header names 100000 columns",
    );
    assert_eq!(program.files(), ["a.lrn"]);
}

#[test]
fn points_beyond_the_memory_are_not_generated() {
    let program = Program::firebox();
    for (args, message) in [
        ("uniform --points 200000000 --dims 3", "200000000 points of 3 coordinates"),
        ("blobs --points 100000000 --dims 3", "100000000 points of 3 coordinates"),
        ("uniform --points 1 --dims 200000000", "1 points of 200000000 coordinates"),
        ("uniform --points 18446744073709551615 --dims 3", "18446744073709551615 points of 3 coordinates"),
    ] {
        for output in ["-o x.npy", "-o x.csv", ""] {
            assert_refused(&program, &format!("generate {args} {output}"), message);
        }
    }
    assert!(program.files().is_empty(), "{:?}", program.files());
}

#[test]
fn files_beyond_the_memory_are_refused() {
    const BYTES: u64 = 8 << 30;
    let program = Program::firebox();
    let header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({BYTES},), }}\n");
    let mut npy = File::create(program.path().join("a.npy")).unwrap();
    npy.write_all(b"\x93NUMPY\x01\x00").unwrap();
    npy.write_all(&(header.len() as u16).to_le_bytes()).unwrap();
    npy.write_all(header.as_bytes()).unwrap();
    let header_length = npy.stream_position().unwrap();
    // A sparse file, which takes no space on disk.
    npy.set_len(header_length + BYTES).unwrap();
    for name in ["a.csv", "a.lrn"] {
        let mut file = File::create(program.path().join(name)).unwrap();
        file.seek(SeekFrom::Start(BYTES)).unwrap();
        file.write_all(b"\n").unwrap();
    }
    for name in ["a.npy", "a.csv", "a.lrn"] {
        assert_refused(&program, &format!("ocnn {name} --backend ndarray -o out.csv"), name);
    }
}
