//! Refusal of invalid files, arguments and devices, and 200 random command lines.

#![allow(clippy::unwrap_used)]

use std::{fs, time::Instant};

use firebox_core::random::Random;
use firebox_tests::program::{BACKENDS, NINE, Program, seed};

#[test]
fn invalid_files_are_refused_with_their_location() {
    let program = Program::firebox();
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
    for (input, message) in [
        ("missing.csv", "cannot read missing.csv: No such file"),
        ("empty.csv", "empty.csv: the file is empty"),
        ("header.csv", "header.csv: there are no rows"),
        ("ragged.csv", "ragged.csv, line 4: 1 fields, but line 1 has 2"),
        ("text.csv", "text.csv, line 3, column y: \"four\" is not a number"),
        ("gap.csv", "gap.csv, line 3, column y: the field is empty"),
        ("nan.csv", "nan.csv, line 3, column x: \"nan\" is a missing number"),
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
        let args = format!(
            "ocnn {input} --mode paper --threshold 0.5 --backend ndarray -o out.csv --plot p.svg --report r.json"
        );
        let err = program.refuse(&args, message).err;
        assert!(err.contains("Usage:") || err.contains("help: "), "{input}: no help in {err}");
    }
}

#[test]
fn invalid_arguments_are_refused() {
    let program = Program::firebox();
    program.write("nine.csv", NINE);
    fs::create_dir(program.path().join("folder.csv")).unwrap();
    for (args, message) in [
        ("--threshold 0", "threshold = 0: must lie between 0 and 1"),
        ("--threshold 1", "threshold = 1: "),
        ("--threshold -1", "threshold = -1: "),
        ("--threshold 1.5", "threshold = 1.5: "),
        ("--threshold nan", "threshold = NaN: "),
        ("--threshold inf", "threshold = inf: "),
        ("--threshold x", "invalid value 'x' for '--threshold <THETA>'"),
        ("", "threshold is missing: "),
        ("--threshold .5 --steps 0", "steps = 0: "),
        ("--threshold .5 --steps -1", "invalid value '-1' for '--steps <T>'"),
        ("--threshold .5 --steps 16777217", "steps = 16777217: "),
        ("--threshold .5 --steps 99999999999999999999", "'--steps <T>'"),
        ("--threshold .5 --transient 4294967296", "transient = 4294967296: "),
        ("--threshold .5 --period 0", "period = 0: "),
        ("--threshold .5 --scale -2", "scale = -2: "),
        ("--threshold .5 --scale nan", "scale = NaN: "),
        ("--threshold .5 --scale nearest:0", "scale = nearest:0: "),
        ("--threshold .5 --scale nearest:-1", "neither delaunay"),
        ("--threshold .5 --scale far", "'far' is neither delaunay"),
        ("--threshold .5 --sync fragmentary", "epsilon is missing: fragmentary synchronisation needs it"),
        ("--threshold .5 --sync fragmentary --epsilon 0", "epsilon = 0: "),
        ("--threshold .5 --sync fragmentary --epsilon nan", "epsilon = NaN: "),
        ("--threshold .5 --epsilon 0.1", "epsilon = 0.1: has no meaning in phase"),
        ("--threshold .5 --backend gpu", "unknown backend 'gpu'"),
        ("--threshold .5 --backend wgpu:x", "'x' is not a device index"),
        ("--threshold .5 --backend wgpu:99", "wgpu:99"),
        ("--threshold .5 --backend ndarray:0", "has a single device"),
        ("--threshold .5 --backend rocm", "not compiled in"),
        ("--threshold .5 --precision f16", "'f16'"),
        ("--threshold .5 --seed -1", "invalid value '-1' for '--seed <"),
        ("--threshold .5 --threads -1", "invalid value '-1' for '--threads <N>'"),
        ("--threshold .5 -1", "unexpected argument '-1'"),
        ("--threshold .5 --memory-limit lots", "'lots' is not a size"),
        ("--threshold .5 --matvec z-threads", "'z-threads'"),
        ("--threshold .5 --matvec x-threads", "matvec = x-threads: "),
        ("--threshold .5 -q -v", "cannot be used with"),
        ("--threshold .5 -o none/out.csv", "cannot write none/out.csv: No such file"),
        ("--threshold .5 -o folder.csv", "cannot write folder.csv"),
        ("--threshold .5 -o nine.csv/out.csv", "cannot write nine.csv/out.csv"),
        ("--threshold .5 -o out.xyz", "out.xyz: unknown extension .xyz"),
        ("--threshold .5 -o out", "out: the name has no extension"),
        ("--threshold .5 --plot p.tif", "p.tif"),
        ("--threshold .5 --plot p.gif", "the plot of ocnn does not change over time"),
        ("--threshold .5 --sync-matrix s.xyz", "s.xyz: unknown extension .xyz"),
        ("--threshold .5 -o s.npy --sync-matrix s.npy", "two outputs"),
        ("--threshold .5 --report none/r.json", "cannot write none/r.json"),
        ("--threshold .5 nine.csv", "unexpected argument 'nine.csv'"),
        ("--threshold .5 --nonsense", "unexpected argument '--nonsense'"),
    ] {
        let backend = if args.contains("--backend") { "" } else { "--backend ndarray" };
        program.refuse(&format!("ocnn nine.csv --mode paper {backend} {args}"), message);
    }
}

#[test]
fn invalid_arguments_of_automatic_clustering_are_refused() {
    let program = Program::firebox();
    program.write("nine.csv", NINE);
    program.write("zero.csv", "x,y\n1,2\n0,0\n3,4\n");
    program.write("north.csv", "lat,lon\n91,0\n10,0\n10,1\n");
    program.write("south.csv", "lat,lon\n-80,0\n-80,1\n-80,2\n-79,0\n-79,1\n-79,2\n-78,0\n");
    program.write("line.csv", "1\n2\n3\n4\n5\n6\n");
    program.write("graph.csv", "i,j,d\n0,1,1\n1,1,2\n");
    program.write("half.csv", "i,j,d\n0,1,1\n1.5,2,2\n");
    program.write("bad.npz", "PK");
    program.write("skew.csv", "0,1,2\n1,0,3\n2,9,0\n");
    program.write("negative.csv", "0,-1,2\n-1,0,3\n2,3,0\n");
    for (input, args, message) in [
        ("nine.csv", "--threshold 0", "threshold = 0: "),
        ("nine.csv", "--threshold nan", "threshold = NaN: "),
        ("nine.csv", "--clusters 0", "clusters = 0: "),
        ("nine.csv", "--clusters 10", "clusters = 10: there are 9 different points"),
        ("nine.csv", "--clusters 2 --threshold 0.5", "cannot be used with"),
        ("nine.csv", "--neighbours 9", "neighbours = 9: there are 9 different points"),
        ("nine.csv", "--steps 31", "steps = 31: must be a multiple of 2"),
        ("nine.csv", "--seeds 0", "seeds = 0: "),
        ("nine.csv", "--sync phase", "--sync belongs to --mode paper"),
        ("nine.csv", "--mode paper --threshold 0.5 --assign-all", "--assign-all belongs to --mode auto"),
        ("nine.csv", "--metric chebyshev", "'chebyshev'"),
        ("nine.csv", "--predict nine.csv", "--predict-output"),
        ("nine.csv", "--predict zero.xyz --predict-output p.csv", "zero.xyz"),
        (
            "nine.csv",
            "--predict graph.csv --predict-output p.csv",
            "graph.csv: there is no column \"x\" to take the coordinates from",
        ),
        ("nine.csv", "--predict north.csv --predict-output p.csv", "north.csv: there is no column \"x\" to take"),
        ("south.csv", "--metric haversine --predict north.csv --predict-output p.csv", "north.csv, row 1: 91, 0 is no"),
        ("-", "--predict - --predict-output p.csv", "two inputs (-) cannot both come from"),
        (
            "line.csv",
            "--metric precomputed --predict nine.csv --predict-output p.csv",
            "distances cannot take new points",
        ),
        ("line.csv", "--metric precomputed --plot p.svg", "--plot needs coordinates"),
        ("half.csv", "--metric graph --plot p.svg -q", "--plot needs coordinates"),
        ("bad.npz", "--metric cosine", "bad.npz: this is not an archive of arrays"),
        ("bad.npz", "--metric cosine --label 1", "bad.npz: sparse rows have no column \"1\" of labels"),
        ("bad.npz", "--metric cosine --plot p.svg", "--plot needs coordinates"),
        ("bad.npz", "--mode paper --threshold 0.5", "bad.npz: an .npz is an archive of arrays, not a table"),
        ("line.csv", "--metric precomputed --labels line.csv", "line.csv: there are 6 labels for 4 points"),
        ("nine.csv", "--predict nine.csv --predict-output ./out.csv", "two outputs are to be written to ./out.csv"),
        ("nine.csv", "--scores ./nine.csv", "nine.csv is read, and an output is to be written to it"),
        ("nine.csv", "--predict zero.csv --predict-output zero.csv", "zero.csv is read, and an output is"),
        ("nine.csv", "--linkage l.xyz", "l.xyz: unknown extension"),
        ("nine.csv", "--memberships m.xyz", "m.xyz: unknown extension"),
        ("nine.csv", "--memberships ./nine.csv", "nine.csv is read, and an output is to be written to it"),
        ("nine.csv", "--point-weights z", "there is no column \"z\" to take the weights from"),
        ("graph.csv", "--point-weights i", "graph.csv, row 1, column i: the weight 0 is no whole number"),
        ("graph.csv", "--metric graph --point-weights d", "--point-weights is a column beside coordinates"),
        ("nine.csv", "--mode paper --threshold 0.5 --point-weights x", "--point-weights belongs to --mode auto"),
        ("nine.csv", "--dendrogram d.gif", "d.gif"),
        ("nine.csv", "--memory-limit 1KiB", "--memory-limit"),
        ("zero.csv", "--metric cosine", "zero.csv, row 2: a vector of zeros"),
        ("north.csv", "--metric haversine", "no latitude and longitude"),
        ("graph.csv", "--metric haversine", "haversine needs 2 columns, not 3"),
        ("graph.csv", "--metric graph", "point 1 is linked with itself"),
        ("half.csv", "--metric graph", "1.5 and 2 are no numbers of points"),
        ("nine.csv", "--metric graph", "a graph has 3 columns"),
        ("skew.csv", "--metric precomputed", "the other way round"),
        ("negative.csv", "--metric precomputed", "the distance -1 is negative"),
        ("nine.csv", "--metric precomputed", "are not a matrix of distances"),
    ] {
        program.refuse(&format!("ocnn {input} --backend ndarray -o out.csv {args}"), message);
    }
}

/// Returns the TOML of a problem on a square, with `from` replaced by `to`.
fn problem(from: &str, to: &str) -> String {
    const SQUARE: &str = "[domain]\ntype = \"box\"\nlow = [0, 0]\nhigh = [\"pi\", \"pi\"]\n[equation]\nlaplacian = 1\n\
                          rhs = \"sin(x)*sin(y)\"\n[[boundary]]\ncondition = \"dirichlet\"\nvalue = 0\n";
    assert!(SQUARE.contains(from), "{from}");
    SQUARE.replace(from, to)
}

#[test]
fn invalid_problems_are_refused_with_their_location() {
    let program = Program::firebox();
    let polygon = "type = \"polygon\"\ncorners = [[0, 0], [1, 1], [1, 0], [0, 1]]";
    let empty = "type = \"difference\"\nparts = [{type = \"disc\", centre = [0, 0], radius = 1}, \
                 {type = \"box\", low = [-2, -2], high = [2, 2]}]";
    let square = "type = \"box\"\nlow = [0, 0]\nhigh = [\"pi\", \"pi\"]";
    for (name, from, to) in [
        ("good.toml", "", ""),
        ("expression.toml", "sin(x)*sin(y)", "sin(x)*"),
        ("variable.toml", "sin(x)*sin(y)", "sin(x)*t"),
        ("crossing.toml", square, polygon),
        ("empty.toml", square, empty),
        ("key.toml", "laplacian = 1", "laplacean = 1"),
        ("nothing.toml", "laplacian = 1", "laplacian = 0"),
        ("open.toml", "value = 0", "value = ["),
    ] {
        program.write(name, problem(from, to));
    }
    for (args, message) in [
        ("--problem missing.toml", "cannot read missing.toml"),
        ("--problem poisson", "'poisson'"),
        ("--problem expression.toml", "expression.toml, line 7, column 15: something is missing at the end"),
        ("--problem variable.toml", "variable.toml, line 7, column 15: unknown name 't'"),
        ("--problem crossing.toml", "a polygon crosses or touches itself: edge 1 from"),
        ("--problem empty.toml", "the domain is empty"),
        ("--problem key.toml", "key.toml, line 6, column 1: unknown field \"laplacean\""),
        ("--problem nothing.toml", "the equation asks nothing of u"),
        ("--problem open.toml", "open.toml, line 10"),
        ("--problem good.toml --neurons 0", "neurons = 0: "),
        ("--problem good.toml --width -1", "width = -1: "),
        ("--problem good.toml --penalty -1", "penalty = -1: "),
        ("--problem good.toml --penalty nan", "penalty = NaN: "),
        (
            "--problem good.toml --weights qr --points 20 --boundary-points 8",
            "neurons = 64: least squares need as many control points as neurons or more, and there are 28; take more",
        ),
        ("--problem good.toml --weights lsqr --precision f32", "weights = lsqr: "),
        ("--problem good.toml --weights cg --shape lm", "shape = lm: "),
        ("--problem good.toml --steps 3", "steps = 3: is for --shape gd"),
        ("--problem good.toml --max-iterations 3", "iterations = 3: "),
        ("--problem good.toml --weights cg --penalty 1e60", "penalty = 1"),
        ("--problem good.toml --grid 1", "grid = 1: "),
        ("--problem good.toml --error-plot e.png", "--error-plot needs the exact solution"),
        ("--problem good.toml --vtk u.obj", "u.obj"),
        ("--problem good.toml --centres-plot c.gif", "c.gif: this plot does not change over time"),
        ("--problem good.toml --model net.txt", "net.txt"),
        ("--problem good.toml --evaluate good.toml", "--evaluate-output"),
    ] {
        program.refuse(
            &format!("rbf {args} --mode paper --backend ndarray -o out.csv --plot p.svg --report r.json"),
            message,
        );
    }
}

#[test]
fn unsuitable_devices_are_refused() {
    let program = Program::firebox();
    program.write("nine.csv", NINE);
    let available = program.backends(&BACKENDS);
    let refuse = |args: &str, message: &str| {
        program.refuse(&format!("ocnn nine.csv --mode paper --threshold 0.5 -o out.csv {args}"), message)
    };
    if available.contains(&"wgpu") {
        refuse("--backend wgpu --precision f64", "f64 is unreliable on wgpu");
    }
    if !available.contains(&"cuda") {
        refuse("--backend cuda", "help: install the driver");
    }
    for backend in available {
        let args = format!("--backend {backend} --memory-limit 1KiB --steps 100000");
        let err = refuse(&args, "(1024 bytes) is the --memory-limit").err;
        let needed: u64 =
            err.split("needs ").nth(1).and_then(|text| text.split(['(', ' ']).nth(3)).unwrap().parse().unwrap();
        assert!(needed > 1024, "{err}");
    }
}

#[test]
fn a_matrix_beyond_the_largest_buffer_is_refused() {
    let program = Program::firebox();
    let list = program.run("backends --format json").succeed().json();
    for backend in program.backends(&BACKENDS) {
        let kind = |name: &str| name.split(':').next() == Some(backend);
        let mut listed = list.as_array().unwrap().iter().filter(|row| row["name"].as_str().is_some_and(kind));
        let Some(largest) = listed.find_map(|row| row["largest_buffer"].as_u64()) else { continue };
        let points = (largest / 4).isqrt() + 1;
        program.run(&format!("generate uniform --points {points} -o points.csv")).succeed();
        let args =
            format!("ocnn points.csv --mode paper --threshold 0.5 --weights stored --backend {backend} -o out.csv");
        program.refuse(&args, "is the largest buffer it has");
        // The counts of 8000 points take 256 MB.
        if largest < 256_000_000 {
            let args = format!("bench ocnn figure4 --points 8000 --backend {backend}");
            program.run(&args).refuse("the synchronisation matrix S needs 244.14 MiB");
        }
    }
}

/// Runs 200 random command lines; each must succeed or fail with a message.
#[test]
fn no_command_line_makes_the_program_panic() {
    const INPUTS: &str = "nine.csv nine.csv nine.csv line.csv wide.csv equal.csv huge.csv tiny.csv two.csv one.csv \
                          empty.csv missing.csv";
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
    const FLAGS: &str = "--self-coupling -q -v -oout.csv -oout.cls -oout.lrn --plot=p.svg --plot=p.png --format=json \
                         --report=r.json";
    let inputs: Vec<&str> = INPUTS.split(' ').collect();
    let program = Program::firebox();
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

    let mut random = Random::new(seed(1), 0);
    let mut below = |n: usize| (random.bits() % n as u64) as usize;
    let (start, mut codes) = (Instant::now(), [0; 3]);
    for run in 0..200 {
        let mut args = vec!["ocnn", inputs[below(inputs.len())], "--backend"];
        args.push(if wgpu && run % 16 == 0 { "wgpu" } else { "ndarray" });
        args.extend(["--mode", if below(6) == 0 { "auto" } else { "paper" }]);
        for (at, (name, values)) in PARTS.iter().enumerate() {
            // The threshold is almost always included, since it is required.
            if below(8) < if at == 0 { 7 } else { 2 } {
                // The first two values are valid, and frequent enough for some runs to succeed.
                args.extend([name, values[if below(5) > 0 { below(2) } else { below(values.len()) }]]);
            }
        }
        args.extend(FLAGS.split(' ').filter(|_| below(6) == 0));
        let done = program.run_args(&args); // Asserts that there is no panic.
        assert!((0..3).contains(&done.code), "{}: {args:?}\n{}", done.code, done.err);
        assert_eq!(done.code == 0, !done.err.contains("help"), "{args:?}\n{}", done.err);
        // A result that does not fit a .cls is detected after the run; the other outputs are then written.
        assert!(done.code != 1 || done.err.contains("a .cls holds one column"), "{args:?}\n{}", done.err);
        codes[done.code as usize] += 1;
    }
    println!("exit codes 0, 1, 2: {codes:?} in {:?}", start.elapsed());
    assert!(codes[0] >= 10 && codes[2] >= 10, "too few successes or refusals: {codes:?}");
}
