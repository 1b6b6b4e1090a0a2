//! Full disks, closed streams and signals. The algorithm is that of `examples/odd.rs`.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use odd::{Program, output};

mod odd;

/// Runs a shell command line in which `$ODD` is the program.
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
    output(command)
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn a_failed_output_does_not_prevent_the_others() {
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
fn full_or_closed_standard_output_is_an_error() {
    let program = Program::new();
    for args in
        ["odd nothing", "--help", "odd --help", "--version", "backends", "generate hepta", "man", "completions bash"]
    {
        for (stream, message) in [(">/dev/full", "No space left on device"), (">&-", "it is closed")] {
            let (code, _, err) = shell(&program, &format!("$ODD {args} {stream}"));
            assert_eq!(code, 1, "{args} {stream}: {err}");
            assert!(err.contains("cannot write standard output: ") && err.contains(message), "{args} {stream}: {err}");
        }
    }
    // Standard output is needed only if the table goes there; otherwise the run is refused before it starts.
    assert_eq!(shell(&program, "$ODD odd nothing -q -o t.csv >&-"), (0, String::new(), String::new()));
    let (code, _, err) = shell(&program, "$ODD odd panic >&-");
    assert!(code == 1 && err.contains("it is closed"), "{err}");
    // Open for reading and writing, as Python's `subprocess.DEVNULL` is.
    assert_eq!(shell(&program, "$ODD odd nothing -q 1<>/dev/null").0, 0);
}

#[test]
fn a_closed_pipe_ends_the_program_quietly() {
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
fn a_resumed_state_can_only_be_replaced_by_a_new_state() {
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
        // Before the handler is installed a signal would kill the process.
        std::thread::sleep(Duration::from_millis(1500));
        assert_eq!(child.try_wait().unwrap(), None, "{args} ended before the signal");
        // `wait` closes standard input, and a command that reads its end has succeeded.
        let _input = child.stdin.take();
        let start = Instant::now();
        send(signal, &child);
        let status = child.wait().unwrap();
        let elapsed = start.elapsed();
        assert_eq!(status.code(), Some(130), "{args} {signal}");
        assert!(elapsed < Duration::from_millis(1500), "{args} {signal}: {elapsed:?}");
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
    let message = |source: &str| format!("note: {source} asks for 20000 threads: {} are used", 4 * cores);
    let (code, _, err) = program.run("odd nothing --threads 20000");
    assert!(code == 0 && err.contains(&message("--threads")), "{err}");
    let (code, _, err) = shell(&program, "RAYON_NUM_THREADS=20000 $ODD generate hepta -o h.csv");
    assert!(code == 0 && err.contains(&message("RAYON_NUM_THREADS")), "{err}");
    for command in ["odd nothing", "generate hepta", "backends", "man", "completions bash", "bench odd nothing"] {
        let (code, _, err) = program.run(&format!("{command} --threads 1"));
        assert!(code == 0 && !err.contains("threads"), "{command}: {err}");
        assert_eq!(program.run(&format!("{command} --threads 0")).0, 2, "{command}");
    }
}

#[test]
fn concurrent_writers_of_one_file_leave_a_complete_file() {
    let program = Program::new();
    let start = |rows: usize| program.command(&format!("odd nothing -q --rows {rows} -o t.csv")).spawn().unwrap();
    let mut children = [200_000, 100_000, 200_000, 100_000].map(start);
    assert!(children.iter_mut().all(|child| child.wait().unwrap().success()));
    let rows = BufReader::new(fs::File::open(program.path().join("t.csv")).unwrap()).lines().count() - 1;
    assert!([100_000, 200_000].contains(&rows), "{rows}");
    assert_eq!(program.files(), ["t.csv"].map(PathBuf::from));
}
