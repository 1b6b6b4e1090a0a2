//! Terminals, full disks, closed streams and signals.

use std::{
    io::Read,
    process::Stdio,
    time::{Duration, Instant},
};

use firebox_tests::program::{Program, RunResult, send, skip};

use super::TABLE;

/// Runs a shell command line in which `$PROGRAM` is the program.
fn shell(program: &Program, line: &str) -> RunResult {
    RunResult::of(program.shell(line))
}

/// The terminal is emulated by `script` of util-linux.
#[test]
fn elapsed_time_of_a_long_call_is_shown_on_terminals_only() {
    let program = Program::odd();
    let on_terminal =
        |args: &str| program.wrapped(&["script", "-qec", &format!("$PROGRAM {args}"), "/dev/null"]).output();
    let Ok(output) = on_terminal("odd slow") else {
        skip("a terminal: script, which emulates one, is not installed");
        return;
    };
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let shown = text(output.stdout);
    assert!(shown.contains("00:00:01") && shown.contains("done oddly"), "{shown:?}");
    // The bar is removed before the summary.
    assert!(!shown.rsplit("\u{1b}[2K").next().unwrap().contains("00:00"), "{shown:?}");
    assert_eq!(text(on_terminal("odd slow -q").unwrap().stdout), TABLE.replace('\n', "\r\n"));
    assert!(!text(on_terminal("odd nothing").unwrap().stdout).contains("00:00"));
    program.run("odd slow").print(TABLE, "note: something to know\ndone oddly\n");
}

#[test]
fn a_failed_output_does_not_prevent_the_others() {
    for (line, failed) in [
        ("$PROGRAM odd nothing -o t.csv --extra e.npy --report /dev/full", "/dev/full"),
        ("$PROGRAM odd nothing --format json -o t.csv --extra e.npy >/dev/full", "standard output"),
    ] {
        let program = Program::odd();
        let failure = format!("cannot write {failed}: No space left on device");
        let err = shell(&program, line).fail(1, &failure).err;
        assert!(err.contains("; written: t.csv, e.npy") && err.contains("help: free space"), "{line}: {err}");
        assert!(!err.contains("done oddly"), "{line}: {err}");
        assert_eq!(program.files(), ["e.npy", "t.csv"], "{line}");
    }
}

#[test]
fn full_or_closed_standard_output_is_an_error() {
    let program = Program::odd();
    for args in
        ["odd nothing", "--help", "odd --help", "--version", "backends", "generate hepta", "man", "completions bash"]
    {
        for (stream, reason) in [(">/dev/full", "No space left on device"), (">&-", "it is closed")] {
            let message = format!("cannot write standard output: {reason}");
            shell(&program, &format!("$PROGRAM {args} {stream}")).fail(1, &message);
        }
    }
    // Standard output is needed only if the table goes there; otherwise the run is refused before it starts.
    shell(&program, "$PROGRAM odd nothing -q -o t.csv >&-").print("", "");
    shell(&program, "$PROGRAM odd panic >&-").fail(1, "it is closed");
    // Open for reading and writing, as Python's `subprocess.DEVNULL` is.
    shell(&program, "$PROGRAM odd nothing -q 1<>/dev/null").succeed();
}

#[test]
fn a_closed_pipe_ends_the_program_quietly() {
    let program = Program::odd();
    for args in ["odd nothing --rows 1000000 -q", "--help", "generate uniform --points 100000"] {
        let line = format!("exec 4>&1; ({{ $PROGRAM {args}; echo $? >&3; }} 3>&1 >&4 4>&1 | head -n 1)");
        let RunResult { out, err, .. } = shell(&program, &line);
        assert_eq!(err, "", "{args}");
        assert!(out.lines().any(|line| line == "0"), "{args}: {out}");
    }
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = program.command("odd nothing --rows 100000 --report r.json");
    assert_eq!(command.stdout(writer).output().unwrap().status.code(), Some(0));
    assert_eq!(program.files(), ["r.json"]);
}

#[test]
fn a_resumed_state_can_only_be_replaced_by_a_new_state() {
    let program = Program::odd();
    program.write("s.ck", "state");
    for (outputs, message) in [
        ("--report s.ck", "s.ck is read, and an output is"),
        ("--report ./s.ck", "s.ck is read, and an output is"),
        ("--report r.json --checkpoint r.json", "two outputs are"),
        ("--checkpoint t.csv -o t.csv", "two outputs are"),
    ] {
        program.refuse(&format!("odd panic --resume s.ck {outputs}"), message);
    }
    program.run("odd nothing --resume s.ck --checkpoint ./s.ck").succeed();
    assert_eq!(program.read("s.ck"), b"state");
}

#[test]
fn every_command_stops_within_a_second() {
    let program = Program::odd();
    for (args, signal) in [
        ("odd deaf -o t.csv", "-INT"),
        ("odd deaf --quiet", "-TERM"),
        ("odd read", "-INT"),
        ("odd read", "-TERM"),
        ("generate uniform --points 12000000 --dims 8 -o u.csv", "-INT"),
        ("generate uniform --points 12000000 --dims 8 -o u.csv", "-TERM"),
        ("bench odd deaf", "-INT"),
    ] {
        let mut command = program.command(args);
        // On many cores a table would be written before the signal.
        command.env("RAYON_NUM_THREADS", "1");
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
        assert!(program.files().is_empty(), "{args} {signal}");
    }
}

#[test]
fn text_from_files_cannot_control_the_terminal() {
    let err = Program::odd().run("odd escape").refuse("note: column \\u{1b}[2Jx").err;
    assert!(err.contains("help: rename \\u{9b}2J"), "{err:?}");
    assert!(!err.contains(|c: char| c.is_control() && c != '\n'), "{err:?}");
    assert!(err.len() < 2000, "{}", err.len());
}

#[test]
fn threads_are_limited_with_a_notice() {
    let program = Program::odd();
    let cores = std::thread::available_parallelism().unwrap().get();
    for (line, source) in [
        ("$PROGRAM odd nothing --threads 20000", "--threads"),
        ("RAYON_NUM_THREADS=20000 $PROGRAM generate hepta -o h.csv", "RAYON_NUM_THREADS"),
    ] {
        let err = shell(&program, line).succeed().err;
        let notice = format!("note: {source} asks for 20000 threads: {} are used", 4 * cores);
        assert!(err.contains(&notice), "{err}");
    }
    for command in ["odd nothing", "generate hepta", "backends", "man", "completions bash", "bench odd nothing"] {
        let err = program.run(&format!("{command} --threads 1")).succeed().err;
        assert!(!err.contains("threads"), "{command}: {err}");
        assert_eq!(program.run(&format!("{command} --threads 0")).code, 2, "{command}");
    }
}

#[test]
fn concurrent_writers_of_one_file_leave_a_complete_file() {
    let program = Program::odd();
    let start = |rows: usize| program.command(&format!("odd nothing -q --rows {rows} -o t.csv")).spawn().unwrap();
    let mut children = [200_000, 100_000, 200_000, 100_000].map(start);
    assert!(children.iter_mut().all(|child| child.wait().unwrap().success()));
    let rows = program.text("t.csv").lines().count() - 1;
    assert!([100_000, 200_000].contains(&rows), "{rows}");
    assert_eq!(program.files(), ["t.csv"]);
}
