//! End-to-end tests of state files: full disks; states that are damaged, outdated, or of another run.

#![allow(clippy::unwrap_used)]

use firebox_tests::program::Program;

/// For each algorithm that keeps states, a run without iteration limit and the option that sets the limit.
const RUNS: [(&str, &str); 3] = [
    ("sammon p.csv --label label --no-quality --tolerance 0", "--max-iterations"),
    (
        "rbf --mode paper --problem poisson-sine --neurons 9 --points 80 --boundary-points 24 --weights cg --shape gd",
        "--cycles",
    ),
    ("perceptron train p.csv --label label --hidden 4", "--epochs"),
];

fn program() -> Program {
    let program = Program::firebox();
    program.run("generate blobs --points 60 -o p.csv").succeed();
    program
}

#[cfg(target_os = "linux")]
#[test]
fn a_state_on_a_full_disk_does_not_end_the_run() {
    let program = program();
    for (run, limit) in RUNS {
        let run = format!("{run} {limit} 5 --backend ndarray");
        program.run(&format!("{run} -o whole.csv --report whole.json")).succeed();
        let with_state = format!("{run} --checkpoint /dev/full --checkpoint-every 1e-6 -o out.csv --report out.json");
        let done = program.run(&with_state).succeed();
        let notice = "note: the state cannot be written to /dev/full: No space left on device; the run continues\n";
        assert_eq!(done.err.matches(notice).count(), 1, "{}", done.err);
        assert!(done.err.contains("note: no state of this run could be written to /dev/full\n"), "{}", done.err);
        assert_eq!(program.read("out.csv"), program.read("whole.csv"), "{run}");
        let stale = |name: &str| program.json(name)["result"]["stale_state"].clone();
        assert_eq!((stale("out.json"), stale("whole.json")), (true.into(), false.into()));
    }
}

#[test]
fn unsuitable_states_are_refused_with_the_same_messages_by_all_algorithms() {
    let program = program();
    for (run, limit) in RUNS {
        let algorithm = run.split(' ').next().unwrap();
        let args = format!("{run} {limit} 5 --backend ndarray -q -o out.csv");
        program.run(&format!("{args} --seed 3 --checkpoint state")).succeed();
        let resume = format!("{args} --resume state");
        program.run(&format!("{resume} --seed 3")).succeed();
        program.run(&resume).refuse("its run had the seed 3, and this one has 0");
        let f64_run = program.run(&format!("{resume} --seed 3 --precision f64"));
        assert!(f64_run.err.contains("resume with --precision f32"), "{}", f64_run.err);
        f64_run.refuse("its run used f32, and this one uses f64");

        let state = program.read("state");
        let mut damaged = state.clone();
        let last = damaged.len() - 1;
        damaged[last] ^= 1;
        program.write("state", &damaged);
        program.run(&format!("{resume} --seed 3")).refuse("this state is damaged: its checksum does not match");
        program.write("state", &state[..last]);
        program.run(&format!("{resume} --seed 3")).refuse("this state is incomplete: ");
        let earlier = format!("firebox {algorithm} checkpoint 2");
        program.write("state", format!(r#"{{"header":{{"format":"{earlier}"}}}}"#));
        let message = format!("this state was written by an earlier version of Firebox ({earlier})");
        program.run(&format!("{resume} --seed 3")).refuse(&message);
    }
    let [sammon, rbf, _] = RUNS.map(|(run, limit)| format!("{run} {limit} 5 --backend ndarray -q -o out.csv"));
    program.run(&format!("{sammon} --checkpoint state")).succeed();
    program.run(&format!("{rbf} --resume state")).refuse("this is a state of sammon, not of rbf");
}
