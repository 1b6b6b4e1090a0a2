//! Interactive reports in a browser: writes pages with the program, and runs the tests in `tests/browser` on them.
//!
//! Needs Node.js 18 or newer with npm, a package index, and Chromium.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use firebox_tests::program::{Program, skip};

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    println!("{}", text(&output.stdout));
    assert!(output.status.success(), "{command:?} failed\n{}", text(&output.stderr));
}

fn works(program: &str, args: &[&str]) -> bool {
    Command::new(program).args(args).output().is_ok_and(|output| output.status.success())
}

/// Chromium, if it is installed beside Node.js and npm.
fn chromium() -> Option<PathBuf> {
    let suits = "process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)";
    let has_node = works("node", &["-e", suits]) && works("npm", &["--version"]);
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH")?).collect();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let mut paths = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    paths.find(|path| has_node && path.is_file())
}

/// Writes a page for each test, with tables of the clusters that its slider should show.
fn write_pages(folder: &Path) {
    let program = Program::firebox();
    let save = |names: &[&str]| {
        for name in names {
            fs::copy(program.path().join(name), folder.join(name)).unwrap();
        }
    };
    let succeeds = |args: &str| drop(program.run(args).succeed());
    succeeds("generate lsun --seed 5 -o points.csv");
    succeeds("ocnn points.csv --label label --backend ndarray -o chosen.csv --html clusters.html");
    for count in [1, 2, 5] {
        succeeds(&format!("ocnn points.csv --label label --backend ndarray --clusters {count} -o {count}.csv"));
        save(&[&format!("{count}.csv")]);
    }
    save(&["chosen.csv", "clusters.html"]);
    succeeds("ocnn points.csv --label label --backend ndarray --threshold 0.9 -o threshold.csv --html threshold.html");
    program.write("graph.csv", "i,j,distance\n0,1,1\n1,2,1\n0,2,1\n3,4,1\n4,5,1\n3,5,1\n2,3,9\n");
    succeeds("ocnn graph.csv --metric graph --backend ndarray -o graph.out.csv --html graph.html");
    succeeds("generate blobs --points 300 --dims 6 --seed 2 -o six.csv");
    succeeds(
        "ocnn six.csv --label label --backend ndarray -o many_columns.csv --html many_columns.html --html-columns 4",
    );
    save(&["threshold.html", "threshold.csv", "graph.html", "graph.out.csv", "many_columns.html", "many_columns.csv"]);
    for (dims, name) in [("2", "map"), ("3", "map3")] {
        let files = format!("-o {name}.csv --html {name}.html");
        succeeds(&format!("sammon six.csv --label label --backend ndarray --dims {dims} {files}"));
        save(&[&format!("{name}.csv"), &format!("{name}.html")]);
    }
    write_solutions(&program);
    save(&["sine.html", "sine.csv", "disc.html", "disc.csv", "paper.html", "paper.csv"]);
    save(&["cube.html", "cube.csv", "line.html", "line.csv"]);
    succeeds("generate blobs --points 100000 --seed 1 -o many.csv");
    succeeds("ocnn many.csv --label label --backend ndarray -o many.out.csv --html many.html");
    save(&["many.html"]);
    write_networks(&program);
    save(&["network.html", "eval.html", "eval.csv", "regression.html", "linear.html"]);
}

/// Writes pages of networks, with their confusion matrices.
fn write_networks(program: &Program) {
    let succeeds = |args: &str| drop(program.run(args).succeed());
    succeeds("generate blobs --points 600 --dims 16 --seed 4 -o sixteen.csv");
    let train = "perceptron train sixteen.csv --label label --backend ndarray --hidden 12";
    succeeds(&format!("{train} --epochs 2 --model network.safetensors -o losses.csv --html network.html --keep label"));
    let eval = "perceptron eval sixteen.csv --label label --backend ndarray --model network.safetensors";
    succeeds(&format!("{eval} -o eval.csv --html eval.html"));
    succeeds("generate swiss-roll --points 500 --seed 1 -o roll.csv");
    let train = "perceptron train roll.csv --backend ndarray --epochs 5 -o losses.csv";
    succeeds(&format!("{train} --label C1 --task regression --drop label --hidden 8 --html regression.html"));
    succeeds(&format!("{train} --label label --hidden none --test 0 --validation 0 --html linear.html"));
}

/// Writes pages of solutions in one to three dimensions with their tables.
fn write_solutions(program: &Program) {
    program.write(
        "line.toml",
        "name = '</script><img src=x onerror=alert(1)>'\ndims = 1\nexact = 'sin(5*x)'\n\
         domain = { type = 'box', low = [0], high = [3] }\nequation = { laplacian = 1, rhs = '-25*sin(5*x)' }\n\
         boundary = [{ condition = 'dirichlet' }]\n",
    );
    for (name, args) in [
        ("sine", "--problem poisson-sine"),
        ("disc", "--problem poisson-disc"),
        ("paper", "--problem poisson-sine --mode paper --neurons 64 --weights cg --cycles 10"),
        ("cube", "--problem poisson-cube --max-neurons 300 --accept-unresolved"),
        ("line", "--problem line.toml"),
    ] {
        program.run(&format!("rbf {args} --backend ndarray -o {name}.csv --html {name}.html")).succeed();
    }
}

#[test]
fn pages_pass_their_tests() {
    let required = env::var("FIREBOX_REQUIRE").is_ok_and(|names| names.split(',').any(|name| name == "browser"));
    let missing = |what: &str| {
        assert!(!required, "FIREBOX_REQUIRE names browser, and {what}");
        skip(&format!("browser: {what}"));
    };
    let Some(chromium) = chromium() else {
        return missing("Node.js 18 or newer with npm, or Chromium, is missing");
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("browser");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("pages")).unwrap();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser");
    for file in fs::read_dir(&sources).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
        fs::copy(&file, folder.join(file.file_name().unwrap())).unwrap();
    }
    let install = Command::new("npm").args(["ci", "--silent", "--no-audit", "--no-fund"]).current_dir(&folder).output();
    if !install.unwrap().status.success() {
        return missing("npm ci failed; it needs a package index");
    }
    write_pages(&folder.join("pages"));
    let html = Path::new(env!("CARGO_MANIFEST_DIR")).join("../core/src/html").canonicalize().unwrap();
    let mut tests = Command::new("npm");
    tests.arg("test").current_dir(&folder).env("FIREBOX_PAGES", folder.join("pages")).env("FIREBOX_HTML", html);
    run(tests.env("CHROMIUM", chromium));
}
