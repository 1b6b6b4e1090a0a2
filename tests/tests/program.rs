//! The program from end to end, on every backend there is, and on everything that can be wrong with what it is given.

#![allow(clippy::unwrap_used)]

use std::{
    fmt::Write as _,
    fs,
    io::{BufRead, BufReader},
    process::{Output, Stdio},
    time::Instant,
};

use firebox_core::{
    data::{self, Shape},
    random::Random,
};
use firebox_ocnn::OcnnConfig;
use firebox_tests::program::Program;

const BACKENDS: [&str; 3] = ["ndarray", "wgpu", "cuda"];

fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_firebox-under-test"))
}

/// Three well-separated triples.
const NINE: &str = "x,y\n0,0\n0,1\n1,0\n20,0\n20,1\n21,0\n0,20\n0,21\n1,20\n";

#[test]
fn hepta_is_clustered_on_every_backend() {
    let program = program();
    program.run("generate hepta -o hepta.csv").succeed();
    for backend in program.backends(&BACKENDS) {
        for mode in ["--threshold 0.85", "--threshold 0.8 --sync fragmentary --epsilon 0.35"] {
            let args = format!("ocnn hepta.csv --label label --backend {backend} {mode} --report r.json -o out.csv");
            let done = program.run(&args).succeed();
            assert_eq!(done.out, "");
            assert!(done.err.contains("7 clusters"), "{}", done.err);
            let report: serde_json::Value = serde_json::from_slice(&program.read("r.json")).unwrap();
            let ari = report["result"]["ari"].as_f64().unwrap();
            assert!(ari >= 0.99, "{backend} {mode}: ARI {ari}");
            assert_eq!(String::from_utf8(program.read("out.csv")).unwrap().lines().count(), 213);
        }
    }
}

#[test]
fn all_devices_agree_where_chaos_does_not_decide() {
    let program = program();
    program.run("generate hepta --seed 5 -o hepta.csv").succeed();
    let args = |backend: &str| format!("ocnn hepta.csv --label label --threshold 0.85 --backend {backend} -q");
    let wanted = program.run(&args("ndarray")).succeed().out;
    for backend in program.backends(&BACKENDS) {
        assert_eq!(program.run(&args(backend)).succeed().out, wanted, "{backend}");
    }
}

#[test]
fn lrn_and_cls_are_read() {
    let program = program();
    let points = data::generate(Shape::Hepta, None, None, 2).unwrap();
    let classes = points.labels.clone().unwrap();
    let mut lrn = format!("% {}\n% 4\n% 9\t1\t1\t1\n% Key\tx\ty\tz\n", points.rows);
    let mut cls = format!("% {}\n", points.rows);
    for row in 0..points.rows {
        let xyz: Vec<String> = points.row(row).iter().map(f64::to_string).collect();
        writeln!(lrn, "{}\t{}", 500 - row, xyz.join("\t")).unwrap();
    }
    for (row, class) in classes.iter().enumerate().rev() {
        writeln!(cls, "{}\t{}", 500 - row, class + 1).unwrap();
    }
    program.write("hepta.lrn", lrn);
    program.write("hepta.cls", cls);
    let args = "ocnn hepta.lrn --labels hepta.cls --threshold 0.85 --backend ndarray --format json -o out.cls";
    let report = program.run(args).succeed().json();
    assert_eq!(report["result"]["ari"], 1.0);
    assert_eq!((&report["input"]["rows"], &report["input"]["columns"]), (&212.into(), &3.into()));
    let written = String::from_utf8(program.read("out.cls")).unwrap();
    assert_eq!(written.lines().next(), Some("% 212"));
}

#[test]
fn standard_input_is_read() {
    let program = program();
    let points = program.run("generate hepta").succeed().out;
    for input in ["-", "/dev/stdin"] {
        let args = format!("ocnn {input} --label label --threshold 0.85 --backend ndarray --format json");
        assert_eq!(program.pipe(points.as_bytes(), &args).succeed().json()["result"]["ari"], 1.0);
    }
    let done = program.pipe(b"x,y\n1,2\n3,b\n", "ocnn - --threshold 0.5");
    done.refuse("<stdin>, line 3, column y: \"b\" is not a number");
}

#[test]
fn the_reported_configuration_runs_again() {
    let program = program();
    program.write("nine.csv", NINE);
    let args = "ocnn nine.csv --threshold 0.62 --sync fragmentary --epsilon 0.2 --steps 50 --transient 3 --period 7 \
                --scale nearest:4 --self-coupling --weights stored --linking breadth-first --sync-matrix s.csv \
                --backend ndarray --format json -o out.csv";
    let report = program.run(args).succeed().json();
    let config: OcnnConfig = serde_json::from_value(report["config"].clone()).unwrap();
    let expected = OcnnConfig::new(0.62)
        .with_sync(firebox_ocnn::Sync::Fragmentary)
        .with_epsilon(Some(0.2))
        .with_steps(50)
        .with_transient(3)
        .with_period(7)
        .with_scale(firebox_ocnn::Scale::Nearest { k: 4 })
        .with_self_coupling(true)
        .with_weights(firebox_ocnn::Weights::Stored)
        .with_linking(firebox_ocnn::Linking::BreadthFirst)
        .with_keep_sync(true);
    assert_eq!(config, expected);
    assert_eq!(program.files(), ["nine.csv", "out.csv", "s.csv"]);
}

#[test]
fn bad_files_are_refused_with_their_place() {
    let program = program();
    for (name, bytes) in [
        ("empty.csv", ""),
        ("header.csv", "x,y\n"),
        ("ragged.csv", "x,y\n1,2\n3,4\n5\n"),
        ("text.csv", "x,y\n1,2\n3,four\n5,6\n"),
        ("gap.csv", "x,y\n1,2\n3,\n5,6\n"),
        ("nan.csv", "x,y\n1,2\nnan,4\n5,6\n"),
        ("inf.csv", "1 2\n3 4\n5 -inf\n"),
        ("one.csv", "x,y\n1,2\n"),
        ("two.csv", "x,y\n1,2\n3,4\n"),
        ("equal.csv", "x,y\n1,2\n1,2\n1,2\n1,2\n"),
        ("nine.csv", NINE),
        ("short.lrn", "% 3\n% 3\n% 9\t1\t1\n1\t1\t2\n2\t3\t4\n"),
        ("keys.cls", "% 9\n1\t1\n2\t1\n3\t1\n4\t1\n5\t1\n6\t1\n7\t1\n8\t1\n10\t1\n"),
        ("few.cls", "% 2\n1\t1\n2\t1\n"),
        ("bad.npy", "\u{93}NUMPY"),
        ("points.xlsx", "PK"),
        ("binary.csv", "\0\u{1}\u{2}\n"),
    ] {
        program.write(name, bytes);
    }
    program.write("latin.csv", [b"x,y\n1,2\n3,\xe9\n".as_slice()].concat());
    fs::create_dir(program.path().join("folder.csv")).unwrap();
    let before = program.files();
    for (input, says) in [
        ("missing.csv", "cannot read missing.csv: No such file"),
        ("empty.csv", "empty.csv: the file is empty"),
        ("header.csv", "header.csv: there are no rows"),
        ("ragged.csv", "ragged.csv, line 4: 1 fields, but line 1 has 2"),
        ("text.csv", "text.csv, line 3, column y: \"four\" is not a number"),
        ("gap.csv", "gap.csv, line 3, column y: the field is empty"),
        ("nan.csv", "nan.csv, line 3, column x: \"nan\" is not a finite number"),
        ("inf.csv", "inf.csv, line 3, column C2: \"-inf\" is not a finite number"),
        ("one.csv", "no second one"),
        ("two.csv", "at least 3 different points, here are 2"),
        ("equal.csv", "points are equal"),
        ("short.lrn", "short.lrn, line 1: the header promises 3 rows, and there are 2"),
        ("nine.csv --labels keys.cls", "keys.cls: 1 of 9 points have no class; the first is the one with key 9"),
        ("nine.csv --labels few.cls", "few.cls: 7 of 9 points have no class"),
        ("nine.csv --labels missing.cls", "cannot read missing.cls"),
        ("nine.csv --label class", "nine.csv: there is no column \"class\""),
        ("nine.csv --label x --labels keys.cls", "cannot be used with"),
        ("keys.cls", "keys.cls: a .cls holds classes"),
        ("bad.npy", "bad.npy"),
        ("points.xlsx", "points.xlsx: unknown extension .xlsx"),
        ("binary.csv", "binary.csv"),
        ("latin.csv", "latin.csv"),
        ("folder.csv", "cannot read folder.csv"),
    ] {
        let args = format!("ocnn {input} --threshold 0.5 --backend ndarray -o out.csv --plot p.svg --report r.json");
        let done = program.run(&args).refuse(says);
        let usage = done.err.contains("Usage:");
        assert!(usage || done.err.contains("help: "), "{input}: no help in {}", done.err);
        assert_eq!(program.files(), before, "{input}");
    }
}

#[test]
fn bad_arguments_are_refused() {
    let program = program();
    program.write("nine.csv", NINE);
    fs::create_dir(program.path().join("folder.csv")).unwrap();
    let before = program.files();
    for (args, says) in [
        ("--threshold 0", "threshold = 0: must lie between 0 and 1"),
        ("--threshold 1", "threshold = 1: "),
        ("--threshold -1", "threshold = -1: "),
        ("--threshold 1.5", "threshold = 1.5: "),
        ("--threshold nan", "threshold = NaN: "),
        ("--threshold inf", "threshold = inf: "),
        ("--threshold x", "invalid value 'x' for '--threshold <THETA>'"),
        ("", "--threshold <THETA>"),
        ("--threshold .5 --steps 0", "steps = 0: "),
        ("--threshold .5 --steps -1", "-1"),
        ("--threshold .5 --steps 16777217", "steps = 16777217: "),
        ("--threshold .5 --steps 99999999999999999999", "'--steps <T>'"),
        ("--threshold .5 --transient 4294967296", "transient = 4294967296: "),
        ("--threshold .5 --period 0", "period = 0: "),
        ("--threshold .5 --scale -2", "scale = -2: "),
        ("--threshold .5 --scale nan", "scale = NaN: "),
        ("--threshold .5 --scale nearest:0", "scale = nearest:0: "),
        ("--threshold .5 --scale nearest:-1", "neither delaunay"),
        ("--threshold .5 --scale far", "'far' is neither delaunay"),
        ("--threshold .5 --sync fragmentary", "epsilon = not given: fragmentary synchronisation needs it"),
        ("--threshold .5 --sync fragmentary --epsilon 0", "epsilon = 0: "),
        ("--threshold .5 --sync fragmentary --epsilon nan", "epsilon = NaN: "),
        ("--threshold .5 --epsilon 0.1", "epsilon = 0.1: has no meaning in phase"),
        ("--threshold .5 --backend gpu", "unknown backend 'gpu'"),
        ("--threshold .5 --backend wgpu:x", "'x' is no device index"),
        ("--threshold .5 --backend wgpu:99", "wgpu:99"),
        ("--threshold .5 --backend ndarray:0", "one device only"),
        ("--threshold .5 --backend rocm", "not compiled in"),
        ("--threshold .5 --precision f16", "'f16'"),
        ("--threshold .5 --seed -1", "-1"),
        ("--threshold .5 --memory-limit lots", "'lots' is no size"),
        ("--threshold .5 --matvec z-threads", "'z-threads'"),
        ("--threshold .5 --matvec x-threads", "matvec = x-threads: "),
        ("--threshold .5 -q -v", "cannot be used with"),
        ("--threshold .5 -o none/out.csv", "cannot write none/out.csv: No such file"),
        ("--threshold .5 -o folder.csv", "cannot write folder.csv"),
        ("--threshold .5 -o nine.csv/out.csv", "cannot write nine.csv/out.csv"),
        ("--threshold .5 -o out.xyz", "out.xyz: unknown extension .xyz"),
        ("--threshold .5 -o out", "out: the name has no extension"),
        ("--threshold .5 --plot p.gif", "p.gif"),
        ("--threshold .5 --sync-matrix s.xyz", "s.xyz: unknown extension .xyz"),
        ("--threshold .5 -o s.npy --sync-matrix s.npy", "two outputs"),
        ("--threshold .5 --report none/r.json", "cannot write none/r.json"),
        ("--threshold .5 nine.csv", "unexpected argument 'nine.csv'"),
        ("--threshold .5 --nonsense", "unexpected argument '--nonsense'"),
    ] {
        let backend = if args.contains("--backend") { "" } else { "--backend ndarray" };
        program.run(&format!("ocnn nine.csv {backend} {args}")).refuse(says);
        assert_eq!(program.files(), before, "{args}");
    }
}

#[test]
fn devices_that_cannot_are_refused() {
    let program = program();
    program.write("nine.csv", NINE);
    let here = program.backends(&BACKENDS);
    let run = |args: &str| program.run(&format!("ocnn nine.csv --threshold 0.5 -o out.csv {args}"));
    if here.contains(&"wgpu") {
        run("--backend wgpu --precision f64").refuse("wgpu does not compute 64-bit floats rightly");
    }
    if !here.contains(&"cuda") {
        run("--backend cuda").refuse("help: install the driver");
    }
    for backend in here {
        let done = run(&format!("--backend {backend} --memory-limit 1KiB --steps 100000"));
        let err = done.refuse("(1024 bytes) is the --memory-limit").err;
        let needed: u64 =
            err.split("needs ").nth(1).and_then(|it| it.split(['(', ' ']).nth(3)).unwrap().parse().unwrap();
        assert!(needed > 1024, "{err}");
    }
    assert_eq!(program.files(), ["nine.csv"]);
}

#[test]
fn points_on_a_line_are_clustered_with_a_notice() {
    let program = program();
    let rows = (0..40).map(|i| f64::from(i) * 0.125 + if i < 20 { 0.0 } else { 64.0 });
    let text: String = rows.map(|x| format!("{x},{}\n", 2.0 * x + 1.0)).collect();
    program.write("line.csv", text);
    for backend in program.backends(&BACKENDS) {
        let args = format!("ocnn line.csv --threshold 0.8 --backend {backend} --report r.json");
        let done = program.run(&args).succeed();
        assert!(done.err.contains("note: ") && done.err.contains("20 nearest neighbours"), "{}", done.err);
        let rows: Vec<&str> = done.out.lines().skip(1).collect();
        assert_eq!(rows, [["0"; 20], ["1"; 20]].concat(), "{backend}");
        let report: serde_json::Value = serde_json::from_slice(&program.read("r.json")).unwrap();
        assert_eq!(report["result"]["scale_method"], "nearest");
    }
}

#[test]
fn equal_points_share_a_label() {
    let program = program();
    // Uniform noise: only being equal keeps two of these together.
    let points = data::generate(Shape::Uniform, Some(80), None, 1).unwrap();
    let row = |at: usize| format!("{},{}\n", points.row(at)[0], points.row(at)[1]);
    program.write("twice.csv", (0..160).map(|at| row(at % 80)).collect::<String>());
    for backend in program.backends(&BACKENDS) {
        for mode in ["", "--sync-matrix s.csv"] {
            let out =
                program.run(&format!("ocnn twice.csv --threshold 0.7 --backend {backend} -q {mode}")).succeed().out;
            let labels: Vec<&str> = out.lines().skip(1).collect();
            assert_eq!(labels[..80], labels[80..], "{backend} {mode}");
            assert!(!labels.contains(&"-1"), "equal points are no noise: {labels:?}");
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let program = program();
    program.run("generate uniform --points 1500 -o points.csv").succeed();
    for precision in ["f32", "f64"] {
        for mode in ["--weights stored", "--weights on-the-fly", "--sync fragmentary --epsilon 0.2"] {
            let [one, two, four] = ["1", "2", "4"].map(|threads| {
                let args = format!(
                    "ocnn points.csv --threshold 0.7 --steps 60 --backend ndarray --precision {precision} \
                     --sync-matrix s.npy -o out.npy {mode}"
                );
                let args: Vec<&str> = args.split_whitespace().collect();
                let output = program.command(&args).env("RAYON_NUM_THREADS", threads).output().unwrap();
                assert!(output.status.success(), "{output:?}");
                (program.read("s.npy"), program.read("out.npy"))
            });
            assert!(one == two && one == four, "{precision} {mode}");
        }
    }
}

#[test]
fn a_reader_who_has_read_enough_is_no_error() {
    let program = program();
    program.write("nine.csv", NINE);
    program.write("long.csv", (0..20_000).map(|i| format!("{}\n", i % 7)).collect::<String>());
    for args in ["generate uniform --points 200000", "ocnn long.csv --threshold 0.5 --steps 10 --backend ndarray -q"] {
        let args: Vec<&str> = args.split_whitespace().collect();
        let mut child = program.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::with_capacity(16, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_ne!(line, "");
        let Output { status, stderr, .. } = child.wait_with_output().unwrap();
        assert_eq!((status.code(), String::from_utf8(stderr).unwrap().as_str()), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn streams_are_kept_apart() {
    let program = program();
    program.write("line.csv", "0,0\n1,1\n2,2\n9,9\n");
    let args = "ocnn line.csv --threshold 0.5 --backend ndarray";
    let loud = program.run(args).succeed();
    assert!(loud.err.contains("note: ") && loud.err.contains("clusters"), "{}", loud.err);
    assert_eq!(loud.out.lines().next(), Some("cluster"));
    let quiet = program.run(&format!("{args} -q")).succeed();
    assert_eq!((quiet.out, quiet.err.as_str()), (loud.out, ""));
    let json = program.run(&format!("{args} --format json")).succeed();
    assert!(json.json().is_object());
    assert_eq!(json.err, loud.err);
    let logged = program.run(&format!("{args} -vv")).succeed();
    assert!(logged.err.contains("device found"), "{}", logged.err);
    assert_eq!(program.files(), ["line.csv"]);
}

#[test]
fn the_programs_own_commands_work() {
    let program = program();
    let list = program.run("backends --format json").succeed().json();
    let named = |name: &str| list.as_array().unwrap().iter().any(|it| it["name"].as_str().unwrap().starts_with(name));
    assert!(["ndarray", "flex", "wgpu", "cuda", "rocm"].into_iter().all(named), "{list}");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(program.run(&format!("completions {shell}")).succeed().out.contains("threshold"), "{shell}");
    }
    assert!(program.run("man").succeed().out.contains(".TH"));
    program.run("man pages").succeed();
    assert!(fs::read_dir(program.path().join("pages")).unwrap().count() > 5);
    assert!(program.run("--version").succeed().out.contains(env!("CARGO_PKG_VERSION")));
    assert!(program.run("bench ocnn --help").succeed().out.contains("Usage"));
}

#[test]
fn every_synthetic_set_is_drawn_and_read() {
    let program = program();
    for shape in <Shape as clap::ValueEnum>::value_variants() {
        let name = clap::ValueEnum::to_possible_value(shape).unwrap();
        let name = name.get_name();
        program.run(&format!("generate {name} --points 50 -o set.csv --plot set.svg")).succeed();
        let label = if *shape == Shape::Uniform { "" } else { "--label label" };
        let args = format!("ocnn set.csv {label} --threshold 0.7 --steps 20 --backend ndarray -q");
        let out = program.run(&args).succeed().out;
        assert_eq!(out.lines().count(), 51, "{name}");
        assert!(program.read("set.svg").starts_with(b"<svg"));
    }
    assert_eq!(program.files(), ["set.csv", "set.svg"]);
}

/// 200 command lines of parts drawn at random: whatever they mean, the program ends as it should.
#[test]
fn no_command_line_makes_the_program_panic() {
    const INPUTS: [&str; 12] = [
        "nine.csv",
        "nine.csv",
        "nine.csv",
        "line.csv",
        "wide.csv",
        "equal.csv",
        "huge.csv",
        "tiny.csv",
        "two.csv",
        "one.csv",
        "empty.csv",
        "missing.csv",
    ];
    const PARTS: [(&str, &[&str]); 15] = [
        ("--threshold", &["0.5", "0.8", "0.001", "0.999999999", "1e-300", "1", "-0.5", "nan", ""]),
        ("--sync", &["phase", "fragmentary", "both"]),
        ("--epsilon", &["0.1", "0.35", "1e-30", "1e300", "2", "0", "inf"]),
        ("--steps", &["1", "2", "31", "32", "33", "64", "100", "0", "x"]),
        ("--transient", &["0", "1", "40", "100", "-1"]),
        ("--period", &["1", "2", "31", "33", "64", "65536", "65537"]),
        ("--scale", &["delaunay", "nearest", "nearest:1", "nearest:1000", "1", "1e-300", "1e300", "0", "5e-324"]),
        ("--weights", &["auto", "stored", "on-the-fly"]),
        ("--matvec", &["auto", "thread-per-neuron", "x-threads", "y-threads"]),
        ("--linking", &["union-find", "breadth-first"]),
        ("--precision", &["f32", "f64"]),
        ("--seed", &["0", "18446744073709551615", "18446744073709551616"]),
        ("--memory-limit", &["0", "1KiB", "100KiB", "1GiB", "99999999T"]),
        ("--label", &["x", "1", "2", "3", "none", ""]),
        ("--sync-matrix", &["s.npy", "s.csv", "s.cls", "none/s.csv"]),
    ];
    const FLAGS: [&str; 10] = [
        "--self-coupling",
        "-q",
        "-v",
        "-oout.csv",
        "-oout.cls",
        "-oout.lrn",
        "--plot=p.svg",
        "--plot=p.png",
        "--format=json",
        "--report=r.json",
    ];
    let program = program();
    program.write("nine.csv", NINE);
    program.write("line.csv", "x,y\n0,0\n1,1\n2,2\n3,3\n50,50\n");
    program.write("wide.csv", "1 2 3 4 5 6 7 8 9\n9 8 7 6 5 4 3 2 1\n1 1 1 1 1 1 1 1 1\n2 2 2 2 2 3 3 3 3\n");
    program.write("equal.csv", "x,y\n1,1\n1,1\n1,1\n");
    program.write("huge.csv", "x,y\n1e308,-1e308\n-1e308,1e308\n1e308,1e308\n0,0\n");
    program.write("tiny.csv", "x,y\n0,5e-324\n5e-324,0\n0,0\n1e-310,1e-310\n");
    program.write("two.csv", "x,y\n1,2\n3,4\n");
    program.write("one.csv", "x,y\n1,2\n");
    program.write("empty.csv", "");
    let wgpu = program.backends(&["ndarray", "wgpu"]).contains(&"wgpu");

    let seed = std::env::var("FIREBOX_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    println!("FIREBOX_SEED={seed}");
    let mut random = Random::new(seed, 0);
    let mut below = |n: usize| (random.bits() % n as u64) as usize;
    let (start, mut codes) = (Instant::now(), [0; 3]);
    for run in 0..200 {
        let mut args = vec!["ocnn", INPUTS[below(INPUTS.len())], "--backend"];
        args.push(if wgpu && run % 16 == 0 { "wgpu" } else { "ndarray" });
        for (at, (name, values)) in PARTS.iter().enumerate() {
            // A threshold nearly always, for else there is no run.
            if below(8) < if at == 0 { 7 } else { 2 } {
                // The first values are the good ones; they should be frequent enough for runs to succeed.
                args.extend([name, values[if below(5) > 0 { below(2) } else { below(values.len()) }]]);
            }
        }
        args.extend(FLAGS.iter().filter(|_| below(6) == 0));
        let done = program.run_args(&args); // It checks for panics.
        assert!((0..3).contains(&done.code), "{}: {args:?}\n{}", done.code, done.err);
        assert_eq!(done.code == 0, !done.err.contains("help"), "{args:?}\n{}", done.err);
        codes[done.code as usize] += 1;
    }
    println!("exit codes 0, 1, 2: {codes:?} in {:?}", start.elapsed());
    assert!(codes[0] >= 10 && codes[1] == 0 && codes[2] >= 10, "not much of a test: {codes:?}");
}
