//! End-to-end tests of the program on every available backend.

#![allow(clippy::unwrap_used)]

use std::{fmt::Write as _, fs};

use firebox_core::data::{self, Shape};
use firebox_ocnn::PaperConfig;
use firebox_tests::program::{BACKENDS, NINE, Program, RunResult};

#[test]
fn hepta_is_clustered_on_every_backend() {
    let program = Program::firebox();
    program.run("generate hepta -o hepta.csv").succeed();
    for backend in program.backends(&BACKENDS) {
        for mode in
            ["", "--mode paper --threshold 0.85", "--mode paper --threshold 0.8 --sync fragmentary --epsilon 0.35"]
        {
            let args = format!("ocnn hepta.csv --label label --backend {backend} {mode} --report r.json -o out.csv");
            let done = program.run(&args).succeed();
            assert_eq!(done.out, "");
            assert!(done.err.contains("7 clusters"), "{}", done.err);
            let ari = program.json("r.json")["result"]["ari"].as_f64().unwrap();
            assert!(ari >= 0.99, "{backend} {mode}: ARI {ari}");
            assert_eq!(program.text("out.csv").lines().count(), 213);
        }
    }
}

#[test]
fn all_backends_agree_on_well_separated_clusters() {
    let program = Program::firebox();
    program.run("generate hepta --seed 5 -o hepta.csv").succeed();
    let args =
        |backend: &str| format!("ocnn hepta.csv --label label --mode paper --threshold 0.85 --backend {backend} -q");
    let expected = program.run(&args("ndarray")).succeed().out;
    for backend in program.backends(&BACKENDS) {
        assert_eq!(program.run(&args(backend)).succeed().out, expected, "{backend}");
    }
}

#[test]
fn lrn_and_cls_files_are_read() {
    let program = Program::firebox();
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
    let args =
        "ocnn hepta.lrn --labels hepta.cls --mode paper --threshold 0.85 --backend ndarray --format json -o out.cls";
    let report = program.run(args).succeed().json();
    assert_eq!(report["result"]["ari"], 1.0);
    assert_eq!((&report["input"]["rows"], &report["input"]["columns"]), (&212.into(), &3.into()));
    assert_eq!(program.text("out.cls").lines().next(), Some("% 212"));
}

#[test]
fn sparse_rows_are_clustered_and_predict_the_clusters_of_new_ones() {
    let program = Program::firebox();
    let archive = |name: &str| fs::read(format!("../fuzz/corpus/npz/{name}")).unwrap();
    // [[1.5, 0, 2], [0, 0, 3], [4, 0, 0]]
    program.write("old.npz", archive("stored"));
    program.write("wide.npz", archive("empty_row"));
    let args = "ocnn old.npz --metric cosine --backend ndarray --clusters 2";
    let run = |new: &str| program.run(&format!("{args} --predict {new} --predict-output new.csv -o old.csv"));
    run("old.npz").succeed();
    let first = |line: &str| line.split(',').next().unwrap().to_string();
    let clusters: Vec<String> = program.text("old.csv").lines().map(first).collect();
    assert_eq!(program.text("new.csv").lines().collect::<Vec<_>>(), clusters);
    for (new, message) in [
        ("wide.npz", "wide.npz: the new points have 2 columns, the others 3"),
        ("old.csv", "old.csv: this is not an archive of arrays"),
    ] {
        program.refuse(&format!("{args} --predict {new} --predict-output bad.csv"), message);
    }
}

#[test]
fn standard_input_is_read() {
    let program = Program::firebox();
    let points = program.run("generate hepta").succeed().out;
    for input in ["-", "/dev/stdin"] {
        let args = format!("ocnn {input} --label label --mode paper --threshold 0.85 --backend ndarray --format json");
        assert_eq!(program.pipe(points.as_bytes(), &args).succeed().json()["result"]["ari"], 1.0);
    }
    let done = program.pipe(b"x,y\n1,2\n3,b\n", "ocnn - --mode paper --threshold 0.5");
    done.refuse("<stdin>, line 3, column y: \"b\" is not a number");
}

#[test]
fn the_reported_configuration_equals_the_arguments() {
    let program = Program::firebox();
    program.write("nine.csv", NINE);
    let args = "ocnn nine.csv --mode paper --threshold 0.62 --sync fragmentary --epsilon 0.2 --steps 50 --transient 3 --period 7 \
                --scale nearest:4 --self-coupling --weights stored --linking breadth-first --sync-matrix s.csv \
                --backend ndarray --format json -o out.csv";
    let report = program.run(args).succeed().json();
    let config: PaperConfig = serde_json::from_value(report["config"].clone()).unwrap();
    let expected = PaperConfig::new(0.62)
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
fn points_on_a_line_are_clustered_with_a_notice() {
    let program = Program::firebox();
    let rows = (0..40).map(|i| f64::from(i) * 0.125 + if i < 20 { 0.0 } else { 64.0 });
    let text: String = rows.map(|x| format!("{x},{}\n", 2.0 * x + 1.0)).collect();
    program.write("line.csv", text);
    for backend in program.backends(&BACKENDS) {
        let args = format!("ocnn line.csv --mode paper --threshold 0.8 --backend {backend} --report r.json");
        let done = program.run(&args).succeed();
        assert!(done.err.contains("note: ") && done.err.contains("20 nearest neighbours"), "{}", done.err);
        let rows: Vec<&str> = done.out.lines().skip(1).collect();
        assert_eq!(rows, [["0"; 20], ["1"; 20]].concat(), "{backend}");
        assert_eq!(program.json("r.json")["result"]["scale_method"], "nearest");
    }
}

#[test]
fn equal_points_share_a_label() {
    let program = Program::firebox();
    // Uniform noise, in which points share a cluster only because they are equal.
    let points = data::generate(Shape::Uniform, Some(80), None, 1).unwrap();
    let row = |at: usize| format!("{},{}\n", points.row(at)[0], points.row(at)[1]);
    program.write("twice.csv", (0..160).map(|at| row(at % 80)).collect::<String>());
    for backend in program.backends(&BACKENDS) {
        for mode in ["", "--sync-matrix s.csv"] {
            let args = format!("ocnn twice.csv --mode paper --threshold 0.7 --backend {backend} -q {mode}");
            let out = program.run(&args).succeed().out;
            let labels: Vec<&str> = out.lines().skip(1).collect();
            assert_eq!(labels[..80], labels[80..], "{backend} {mode}");
            assert!(!labels.contains(&"-1"), "equal points labelled as noise: {labels:?}");
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let program = Program::firebox();
    program.run("generate uniform --points 1500 -o points.csv").succeed();
    for precision in ["f32", "f64"] {
        for mode in ["--weights stored", "--weights on-the-fly", "--sync fragmentary --epsilon 0.2"] {
            let [one, two, four] = ["1", "2", "4"].map(|threads| {
                let args = format!(
                    "ocnn points.csv --mode paper --threshold 0.7 --steps 60 --backend ndarray --precision {precision} \
                     --sync-matrix s.npy -o out.npy {mode}"
                );
                let mut command = program.command(&args);
                command.env("RAYON_NUM_THREADS", threads);
                RunResult::of(command).succeed();
                (program.read("s.npy"), program.read("out.npy"))
            });
            assert!(one == two && one == four, "{precision} {mode}");
        }
    }
}

#[test]
fn results_and_messages_go_to_separate_streams() {
    let program = Program::firebox();
    program.write("line.csv", "0,0\n1,1\n2,2\n9,9\n");
    let args = "ocnn line.csv --mode paper --threshold 0.5 --backend ndarray";
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

/// The paper's problem and settings, as in the specification.
const SINE: &str = "--problem poisson-sine --penalty 100";
const PAPER: &str =
    "--neurons 64 --points 448 --boundary-points 76 --weights cg --shape gd --cycles 200 --precision f32";

/// Returns the relative L2 error of `firebox rbf` with `args`.
fn relative_error(program: &Program, args: &str) -> f64 {
    program.run(&format!("rbf {args} --mode paper --report r.json -o u.csv")).succeed();
    program.json("r.json")["result"]["relative_l2"].as_f64().unwrap()
}

#[test]
fn differential_equations_are_solved_to_the_specified_accuracy() {
    let program = Program::firebox();
    for (args, max_error) in [
        (format!("{SINE} {PAPER}"), 2e-2),
        (format!("{SINE} --neurons 64 --points 448 --boundary-points 76 --weights qr --precision f64"), 5e-6),
        (format!("{SINE} --neurons 196 --points 900 --boundary-points 140 --weights qr --precision f64"), 2e-7),
        (
            "--problem peak --neurons 25 --points 1000 --boundary-points 160 --penalty 100 --weights qr --shape lm \
             --precision f64"
                .into(),
            1e-8,
        ),
    ] {
        for seed in 0..3 {
            let error = relative_error(&program, &format!("{args} --backend ndarray --seed {seed}"));
            assert!(error <= max_error, "{args}, seed {seed}: {error:e}");
        }
    }
}

#[test]
fn networks_grow_until_the_error_is_small_enough_or_say_that_it_is_not() {
    let program = Program::firebox();
    let options = "--backend ndarray --grid 51 -o u.csv --report r.json --model net.json --convergence g.svg";
    program.write("string.toml", include_str!("../../examples/problems/vibrating-string.toml"));
    let cosine = |dims: usize| {
        let (low, high) = (vec![0; dims], vec![1; dims]);
        format!(
            "dims = {dims}\nexact = 'cos(x)'\nequation = {{ laplacian = 1, rhs = '-cos(x)' }}\n\
             boundary = [{{ condition = 'dirichlet' }}]\n\
             domain = {{ type = 'box', low = {low:?}, high = {high:?} }}"
        )
    };
    program.write("inclusion.toml", include_str!("../../examples/problems/inclusion.toml"));
    let jumping = cosine(2).replace("laplacian = 1, rhs = '-cos(x)'", "laplacian = 'if(y < 0.3, 1, 2)'");
    program.write("jumping.toml", jumping);
    program.write("one.toml", cosine(1));
    program.write("four.toml", cosine(4));
    let done = program.run(&format!("rbf --problem peak {options}")).succeed();
    assert!(done.err.contains("resolved: the relative L2 error is about") && !done.err.contains("not resolved"));
    let result = &program.json("r.json")["result"];
    let [error, estimate] = ["relative_l2", "estimate"].map(|key| result[key].as_f64().unwrap());
    assert!(error <= 2.0 * estimate && estimate <= 1e-6 && result["resolved"] == true, "{result}");
    // Trained after the first.
    assert!(result["levels"].as_array().unwrap().len() >= 3 && program.read("g.svg").starts_with(b"<svg"));
    let limited = format!("rbf --problem l-shape --max-neurons 400 {options}");
    let short = program.run(&limited);
    assert_eq!(short.code, 3, "{}", short.err);
    let first = short.err.lines().find(|line| line.contains("relative L2 error is about")).unwrap();
    assert!(first.starts_with("not resolved"), "{}", short.err);
    assert_eq!(program.json("r.json")["result"]["resolved"], false);
    let quiet = program.run(&format!("{limited} -q"));
    assert_eq!((quiet.code, quiet.err.trim_end()), (3, first));
    assert_eq!(program.run(&format!("{limited} --accept-unresolved")).succeed().err, short.err);
    for (args, message) in [
        ("--problem peak --neurons 9", "--neurons"),
        ("--problem peak --checkpoint state", "--checkpoint"),
        ("--problem peak --mode paper --target-error 1e-3", "--target-error"),
        ("--problem peak --target-error 2", "--target-error"),
        ("--problem string.toml --mode paper", "has second derivatives in the laplacian only"),
        ("--problem four.toml --vtk u.vtk", "at most three dimensions"),
        ("--problem peak --plot u.gif", "an animation needs time among several coordinates, and this problem has x, y"),
        ("--problem peak --vtk u.pvd", "--vtk, a series over time, needs time"),
        ("--problem inclusion.toml --mode paper", "has one equation in the whole domain"),
        (
            "--problem inclusion.toml --model net.json",
            "is a single network, and this problem has one in each of 2 regions",
        ),
        ("--problem peak --memory-limit 1MiB", "the matrices"),
    ] {
        program.run(&format!("rbf {args} --backend ndarray")).refuse(message);
    }
    for (args, message) in [
        ("--neurons 300 --max-neurons 400", "--neurons and --max-neurons contradict each other"),
        ("--width 101", "--width"),
    ] {
        program.run(&format!("rbf --problem peak {args} {options}")).refuse(message);
    }
    program.run(&format!("rbf --problem poisson-sine --neurons 400 --width 3.5 {options}")).succeed();
    let result = &program.json("r.json")["result"];
    let levels = result["levels"].as_array().unwrap();
    // Resolved with fewer than half of them otherwise.
    assert!((250..=400).contains(&result["neurons"].as_u64().unwrap()) && result["resolved"] == true, "{result}");
    assert!(levels.iter().all(|level| level["ratio"] == 3.5), "{result}");
    // A level before the last is resolved, and the time ends the growth.
    let timed = program.run(&format!("rbf --problem poisson-sine --neurons 4000 --time-limit 3 {options}")).succeed();
    assert!(timed.err.starts_with("resolved: "), "{}", timed.err);
    // Any number of dimensions has a table and a plot.
    for (name, columns) in [
        ("one", "x,u,exact,error"),
        ("string", "x,t,u,exact,error"),
        ("inclusion", "x,y,u,exact,error"),
        ("four", "x,y,z,x4,u,exact,error"),
    ] {
        let outputs = format!("--problem {name}.toml --target-error 1e-2 -o u.csv --plot u.svg --centres-plot c.svg");
        program.run(&format!("rbf {outputs} --backend ndarray")).succeed();
        let table = String::from_utf8_lossy(&program.read("u.csv")).into_owned();
        assert_eq!(table.lines().next().unwrap(), columns);
        assert!(program.read("u.svg").starts_with(b"<svg") && program.read("c.svg").starts_with(b"<svg"));
    }
    let over_time = "rbf --problem string.toml --target-error 1e-2 --grid 11 --plot u.gif --vtk u.pvd -o u.csv";
    program.run(&format!("{over_time} --backend ndarray")).succeed();
    assert!(program.read("u.gif").starts_with(b"GIF89a"));
    assert!(program.text("u.pvd").contains("timestep=\"1\" part=\"0\" file=\"u-0010.vtu\""));
    assert!(program.text("u-0010.vtu").contains("NumberOfPoints=\"11\" NumberOfCells=\"10\""));
    let kink =
        program.run("rbf --problem jumping.toml --max-neurons 200 --accept-unresolved --backend ndarray").succeed();
    assert!(
        kink.err.contains("the coefficient of the laplacian jumps at (") && kink.err.contains("[[region]]"),
        "{}",
        kink.err
    );
    let little = program.run("rbf --problem poisson-sine --memory-limit 100MiB --backend ndarray -o u.csv");
    assert!(little.succeed().err.contains("there is memory for "));
    program.run("rbf --problem peak --time-limit 1e-9 --backend ndarray").fail(1, "--time-limit");
}

#[test]
fn the_papers_method_is_as_accurate_on_every_backend() {
    let program = Program::firebox();
    for backend in program.backends(&BACKENDS) {
        let error = relative_error(&program, &format!("{SINE} {PAPER} --backend {backend}"));
        assert!(error <= 2e-2, "{backend}: {error:e}");
        let accepted = program.json("r.json")["result"]["accepted"].as_f64().unwrap();
        assert!(accepted >= 0.95, "{backend}: the objective fell in {accepted} of the phases of gradient steps");
    }
    // Matrix products on the device in f64.
    for backend in program.backends(&["ndarray", "cuda"]) {
        let points = "--neurons 64 --points 4000 --boundary-points 400 --weights lsqr --precision f64";
        let error = relative_error(&program, &format!("{SINE} {points} --backend {backend}"));
        assert!(error <= 5e-6, "{backend}: {error:e}");
    }
}

#[test]
fn commands_without_an_algorithm_work() {
    let program = Program::firebox();
    let list = program.run("backends --format json").succeed().json();
    let named = |name: &str| list.as_array().unwrap().iter().any(|row| row["name"].as_str().unwrap().starts_with(name));
    assert!(["ndarray", "flex", "wgpu", "cuda", "rocm"].into_iter().all(named), "{list}");
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(program.run(&format!("completions {shell}")).succeed().out.contains("threshold"), "{shell}");
    }
    assert!(program.run("man").succeed().out.contains(".TH"));
    program.run("man pages").succeed();
    assert!(fs::read_dir(program.path().join("pages")).unwrap().count() > 5);
    assert!(program.run("--version").succeed().out.contains(env!("CARGO_PKG_VERSION")));
    assert!(program.run("bench ocnn --help").succeed().out.contains("Usage"));
    for backend in program.backends(&BACKENDS) {
        let measurement = ["bench", "kernels", "--case", "ocnn step, on the fly", "--points", "1000", "--repeats", "1"];
        let options = ["--backend", backend, "--format", "json"];
        let rows = program.run_args(&[&measurement[..], &options[..]].concat()).succeed().json_lines();
        let steps: Vec<_> = rows.iter().filter(|row| row["case"] == "ocnn step, on the fly").collect();
        assert_eq!((steps.len(), &steps[0]["size"]), (1, &serde_json::json!([1000, 1])), "{rows:?}");
        assert_eq!((&steps[0]["backend"], rows.len()), (&backend.into(), 6), "{rows:?}");
    }
}

#[test]
fn every_synthetic_set_is_plotted_and_clustered() {
    let program = Program::firebox();
    for shape in <Shape as clap::ValueEnum>::value_variants() {
        let name = clap::ValueEnum::to_possible_value(shape).unwrap();
        let name = name.get_name();
        program.run(&format!("generate {name} --points 50 -o set.csv --plot set.svg")).succeed();
        let label = if *shape == Shape::Uniform { "" } else { "--label label" };
        let args = format!("ocnn set.csv {label} --mode paper --threshold 0.7 --steps 20 --backend ndarray -q");
        let out = program.run(&args).succeed().out;
        assert_eq!(out.lines().count(), 51, "{name}");
        assert!(program.read("set.svg").starts_with(b"<svg"));
    }
    assert_eq!(program.files(), ["set.csv", "set.svg"]);
}

#[test]
fn a_resumed_training_equals_an_uninterrupted_one() {
    let program = Program::firebox();
    for backend in program.backends(&BACKENDS) {
        let train = |cycles: usize, options: &str| {
            let base = "rbf --mode paper --problem poisson-sine --weights cg --shape gd --seed 5 -q -o out.csv";
            program.run(&format!("{base} --backend {backend} --cycles {cycles} {options}")).succeed();
        };
        train(12, "--checkpoint whole --model whole.json");
        train(5, "--checkpoint half --model half.json");
        train(12, "--checkpoint rest --model rest.json --resume half");
        assert_ne!(program.read("half.json"), program.read("whole.json"));
        for (rest, whole) in [("rest.json", "whole.json"), ("rest", "whole")] {
            assert_eq!(program.read(rest), program.read(whole), "{backend}");
        }
    }
}
