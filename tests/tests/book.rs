//! Runs the commands of the book (`docs/book`) and compares their output with that printed in it.
//!
//! A page's `sh` blocks run in order in one folder, which is empty except for the repository's `examples` and `docs`. Each
//! must succeed. A `text` block that follows one directly is the output of both its streams, in which `…` stands for any
//! part of a line and a line of `…` alone for any number of lines. The backend is NdArray.

#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

use firebox_tests::program::{Program, RunResult};
use libtest_mimic::{Arguments, Failed, Trial};

const BOOK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/book/src");

/// A block of a page that is run, and its printed output.
#[derive(Debug, PartialEq)]
struct Block {
    line: usize,
    commands: String,
    output: Option<String>,
}

fn main() {
    let trial = |name: &str, test: fn()| {
        Trial::test(name, move || {
            test();
            Ok::<(), Failed>(())
        })
    };
    let mut trials = vec![
        trial("blocks_are_found_with_their_output", blocks_are_found_with_their_output),
        trial("outputs_match_up_to_ellipses", outputs_match_up_to_ellipses),
        trial("the_summary_has_every_page", the_summary_has_every_page),
        trial("links_lead_to_files", links_lead_to_files),
        trial("plots_of_the_readme_are_those_of_its_commands", plots_of_the_readme_are_those_of_its_commands),
    ];
    for page in pages() {
        let name = page.strip_prefix(BOOK).unwrap().display().to_string();
        let found = blocks(&fs::read_to_string(&page).unwrap());
        if !found.is_empty() {
            trials.push(Trial::test(format!("commands_run::{name}"), move || commands_run(&name, &found)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// `docs/plots.sh` draws all of them again.
fn plots_of_the_readme_are_those_of_its_commands() {
    let docs = Path::new(BOOK).join("../../../docs/plots");
    let program = Program::firebox();
    let target = Path::new(BOOK).join("../../../examples/data/target.csv");
    program.write("target.csv", fs::read(target).unwrap());
    for (plot, command) in
        [("clusters", "ocnn target.csv --plot"), ("confusion", "perceptron train target.csv --confusion")]
    {
        let drawn = format!("{plot}.png");
        program.run(&format!("{command} {drawn} --label label --backend ndarray -q -o table.csv")).succeed();
        assert!(program.read(&drawn) == fs::read(docs.join(&drawn)).unwrap(), "docs/plots/{drawn}");
    }
}

fn commands_run(page: &str, blocks: &[Block]) -> Result<(), Failed> {
    let program = Program::firebox();
    for folder in ["examples", "docs"] {
        symlink(Path::new(BOOK).join("../../..").join(folder), program.path().join(folder)).unwrap();
    }
    let binaries = program.cache();
    let wrapper = binaries.join("firebox");
    let script = "#!/bin/sh\ncase $1 in\ngenerate | backends | help | -*) exec \"$PROGRAM\" \"$@\" ;;\n\
                  *) exec \"$PROGRAM\" \"$@\" --backend ndarray ;;\nesac\n";
    fs::write(&wrapper, script).unwrap();
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap());
    for Block { line, commands, output } in blocks {
        // One stream, as a terminal shows it.
        let mut command = program.shell(&format!("set -e\nexec 2>&1\n{commands}"));
        let RunResult { code, out, .. } = RunResult::of({
            command.env("PATH", &path);
            command
        });
        if code != 0 {
            return Err(format!("{page}:{line}: exit code {code}\n{commands}\n{out}").into());
        }
        if let Some(expected) = output.as_ref().filter(|expected| !matches(expected, &out)) {
            return Err(format!("{page}:{line}: printed\n{out}\ninstead of\n{expected}").into());
        }
    }
    Ok(())
}

/// Returns the Markdown files of the book, in order.
fn pages() -> Vec<PathBuf> {
    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    collect(Path::new(BOOK), &mut found);
    found.sort();
    found
}

/// Returns the `sh` blocks of a page.
fn blocks(page: &str) -> Vec<Block> {
    let mut found: Vec<Block> = Vec::new();
    // The last `sh` block, while only blank lines have followed it.
    let mut open = false;
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(language) = line.strip_prefix("```") else {
            open &= line.trim().is_empty();
            continue;
        };
        let content: Vec<&str> = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
        match language {
            "sh" => found.push(Block { line: number + 1, commands: content.join("\n"), output: None }),
            "text" if open => found.last_mut().unwrap().output = Some(content.join("\n")),
            _ => {}
        }
        open = language == "sh";
    }
    found
}

/// True if an output matches the expected one.
fn matches(expected: &str, output: &str) -> bool {
    let lines = |text: &str| text.trim_end().lines().map(|line| line.trim_end().to_string()).collect::<Vec<_>>();
    matches_lines(&lines(expected), &lines(output))
}

fn matches_lines(expected: &[String], output: &[String]) -> bool {
    match expected.split_first() {
        None => output.is_empty(),
        Some((line, rest)) if line == "…" => {
            (0..=output.len()).any(|skipped| matches_lines(rest, &output[skipped..]))
        }
        Some((line, rest)) => {
            output.split_first().is_some_and(|(first, others)| matches_line(line, first) && matches_lines(rest, others))
        }
    }
}

fn matches_line(expected: &str, line: &str) -> bool {
    let Some((begin, rest)) = expected.split_once('…') else { return expected == line };
    let Some(mut line) = line.strip_prefix(begin) else { return false };
    let (middle, end) = rest.rsplit_once('…').map_or(("", rest), |parts| parts);
    for part in middle.split('…') {
        let Some((_, after)) = line.split_once(part) else { return false };
        line = after;
    }
    line.ends_with(end)
}

fn blocks_are_found_with_their_output() {
    let page = "a\n```sh\nfirebox x\n```\n\n```text\none\n```\n```text\nno output\n```\n```sh\ny\n```\nwords\n```text\nz\n```\n";
    let block = |line, commands: &str, output: Option<&str>| Block {
        line,
        commands: commands.into(),
        output: output.map(String::from),
    };
    assert_eq!(blocks(page), [block(2, "firebox x", Some("one")), block(12, "y", None)]);
}

fn outputs_match_up_to_ellipses() {
    for (expected, output, same) in [
        ("a\nb\n", "a\nb", true),
        ("a\nb", "a\nc", false),
        ("a", "a\nb", false),
        ("a\nb", "a", false),
        ("in … s", "in 0.3 s", true),
        ("in … s", "in 0.3 s or so", false),
        ("a … b … c", "a 1 b 2 c", true),
        ("a … b … c", "a 1 c", false),
        ("a…a", "a", false),
        ("a\n…\nd", "a\nb\nc\nd", true),
        ("a\n…\nd", "a\nd", true),
        ("a\n…\nd", "a\nb", false),
    ] {
        assert_eq!(matches(expected, output), same, "{expected:?} {output:?}");
    }
}

fn the_summary_has_every_page() {
    let summary = fs::read_to_string(Path::new(BOOK).join("SUMMARY.md")).unwrap();
    for page in pages() {
        let name = page.strip_prefix(BOOK).unwrap().display().to_string();
        assert!(name == "SUMMARY.md" || summary.contains(&format!("({name})")), "SUMMARY.md lacks {name}");
    }
}

fn links_lead_to_files() {
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap();
            let exists = file.is_empty() || file.contains("://") || page.parent().unwrap().join(file).exists();
            assert!(exists, "{}: no file at {link}", page.display());
        }
    }
}
