//! The program when its files, streams and signals are hostile. `examples/odd.rs` is the algorithm.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use odd::{Program, done};

mod odd;

/// Runs a line of the shell, in which `$ODD` is the program.
fn shell(program: &Program, line: &str) -> (i32, String, String) {
    let odd = program.command("");
    let mut command = Command::new("sh");
    command.args(["-c", line]).env("ODD", odd.get_program()).current_dir(program.path()).stdin(Stdio::null());
    for (name, value) in odd.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    done(command)
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn an_output_that_cannot_be_written_does_not_take_the_others_along() {
    for (line, failed) in [
        ("$ODD odd nothing -o t.csv --extra e.npy --report /dev/full", "/dev/full"),
        ("$ODD odd nothing --format json -o t.csv --extra e.npy >/dev/full", "standard output"),
    ] {
        let program = Program::new();
        let (code, _, err) = shell(&program, line);
        assert_eq!(code, 1, "{line}: {err}");
        assert!(err.contains(&format!("cannot write {failed}: No space left on device")), "{line}: {err}");
        assert!(err.contains("; written: t.csv, e.npy") && err.contains("help: free space"), "{line}: {err}");
        assert!(!err.contains("done oddly"), "{line}: {err}");
        assert_eq!(program.files(), ["e.npy", "t.csv"].map(PathBuf::from), "{line}");
    }
}

#[test]
fn standard_output_that_is_full_or_closed_is_a_failure() {
    let program = Program::new();
    for args in
        ["odd nothing", "--help", "odd --help", "--version", "backends", "generate hepta", "man", "completions bash"]
    {
        for (stream, says) in [(">/dev/full", "No space left on device"), (">&-", "it is closed")] {
            let (code, _, err) = shell(&program, &format!("$ODD {args} {stream}"));
            assert_eq!(code, 1, "{args} {stream}: {err}");
            assert!(err.contains("cannot write standard output: ") && err.contains(says), "{args} {stream}: {err}");
        }
    }
    // The run that writes nothing there needs no standard output; the one that does is refused before it starts.
    assert_eq!(shell(&program, "$ODD odd nothing -q -o t.csv >&-"), (0, String::new(), String::new()));
    let (code, _, err) = shell(&program, "$ODD odd panic >&-");
    assert!(code == 1 && err.contains("it is closed"), "{err}");
    // An application that reads nothing from the start, as `subprocess.DEVNULL` of Python does.
    assert_eq!(shell(&program, "$ODD odd nothing -q 1<>/dev/null").0, 0);
}

#[test]
fn a_reader_that_leaves_ends_the_program_quietly() {
    let program = Program::new();
    for args in ["odd nothing --rows 1000000 -q", "--help", "generate uniform --points 100000"] {
        let line = format!("{{ $ODD {args}; echo $? >&3; }} 3>&1 >&4 4>&1 | head -n 1");
        let line = format!("exec 4>&1; ({line})");
        let (_, out, err) = shell(&program, &line);
        assert_eq!(err, "", "{args}");
        assert!(out.lines().any(|line| line == "0"), "{args}: {out}");
    }
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = program.command("odd nothing --rows 100000 --report r.json");
    assert_eq!(command.stdout(writer).output().unwrap().status.code(), Some(0));
    assert_eq!(program.files(), ["r.json"].map(PathBuf::from));
}

#[test]
fn a_state_that_is_resumed_is_replaced_by_the_next_state_only() {
    let program = Program::new();
    fs::write(program.path().join("s.ck"), "state").unwrap();
    for outputs in
        ["--report s.ck", "--report ./s.ck", "--report r.json --checkpoint r.json", "--checkpoint t.csv -o t.csv"]
    {
        let (code, _, err) = program.run(&format!("odd panic --resume s.ck {outputs}"));
        assert_eq!(code, 2, "{outputs}: {err}");
        assert!(err.contains("s.ck is read, and an output is") || err.contains("two outputs are"), "{outputs}: {err}");
    }
    assert_eq!(program.run("odd nothing --resume s.ck --checkpoint ./s.ck").0, 0);
    assert_eq!(fs::read(program.path().join("s.ck")).unwrap(), b"state");
}

#[test]
fn every_command_stops_within_a_second() {
    let program = Program::new();
    for (args, signal) in [
        ("odd deaf -o t.csv", "-INT"),
        ("odd deaf --quiet", "-TERM"),
        ("odd read", "-INT"),
        ("odd read", "-TERM"),
        ("generate uniform --points 4000000 --dims 8 -o u.csv", "-INT"),
        ("generate uniform --points 4000000 --dims 8 -o u.csv", "-TERM"),
        ("bench odd deaf", "-INT"),
    ] {
        let mut command = program.command(args);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        // Until it listens, a signal would end it in the system's way.
        std::thread::sleep(Duration::from_millis(1500));
        assert_eq!(child.try_wait().unwrap(), None, "{args} ended by itself");
        let start = Instant::now();
        send(signal, &child);
        let status = child.wait().unwrap();
        let waited = start.elapsed();
        assert_eq!(status.code(), Some(130), "{args} {signal}");
        assert!(waited < Duration::from_millis(1500), "{args} {signal}: {waited:?}");
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        assert!(err.contains("stopped on request"), "{args} {signal}: {err}");
        assert_eq!(program.files(), Vec::<PathBuf>::new(), "{args} {signal}");
    }
}

#[test]
fn text_from_files_cannot_control_the_terminal() {
    let (code, _, err) = Program::new().run("odd escape");
    assert_eq!(code, 2);
    assert!(err.contains("note: column \\u{1b}[2Jx") && err.contains("help: rename \\u{9b}2J"), "{err:?}");
    assert!(!err.contains(|c: char| c.is_control() && c != '\n'), "{err:?}");
    assert!(err.len() < 2000, "{}", err.len());
}

#[test]
fn threads_are_limited_with_a_notice() {
    let program = Program::new();
    let cores = std::thread::available_parallelism().unwrap().get();
    let says = |source: &str| format!("note: {source} asks for 20000 threads: {} are used", 4 * cores);
    let (code, _, err) = program.run("odd nothing --threads 20000");
    assert!(code == 0 && err.contains(&says("--threads")), "{err}");
    let (code, _, err) = shell(&program, "RAYON_NUM_THREADS=20000 $ODD generate hepta -o h.csv");
    assert!(code == 0 && err.contains(&says("RAYON_NUM_THREADS")), "{err}");
    for command in ["odd nothing", "generate hepta", "backends", "man", "completions bash", "bench odd nothing"] {
        let (code, _, err) = program.run(&format!("{command} --threads 1"));
        assert!(code == 0 && !err.contains("threads"), "{command}: {err}");
        assert_eq!(program.run(&format!("{command} --threads 0")).0, 2, "{command}");
    }
}

#[test]
fn two_programs_that_write_one_file_leave_a_whole_one() {
    let program = Program::new();
    let start = |rows: usize| program.command(&format!("odd nothing -q --rows {rows} -o t.csv")).spawn().unwrap();
    let mut children = [200_000, 100_000, 200_000, 100_000].map(start);
    assert!(children.iter_mut().all(|child| child.wait().unwrap().success()));
    let rows = BufReader::new(fs::File::open(program.path().join("t.csv")).unwrap()).lines().count() - 1;
    assert!([100_000, 200_000].contains(&rows), "{rows}");
    assert_eq!(program.files(), ["t.csv"].map(PathBuf::from));
}
