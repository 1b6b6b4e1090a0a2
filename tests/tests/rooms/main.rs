//! Layout of the source: no import cycles between files, and no imports from lower to higher rooms of an algorithm.

#![allow(clippy::unwrap_used)]

mod sources;

use std::{
    fs,
    path::{Path, PathBuf},
};

use sources::{Import, Sources};

/// Rooms of an algorithm; each may import from those after it.
const ROOMS: &[&str] = &["command", "model", "io", "solve", "problem", "ops", "config", "types"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn algorithms() -> Vec<PathBuf> {
    let folders = fs::read_dir(root().join("algorithms")).unwrap().map(|entry| entry.unwrap().path());
    folders.filter(|path| path.join("Cargo.toml").exists()).collect()
}

fn format_imports(imports: &[Import]) -> String {
    let line = |(from, to, names): &Import| format!("  {} -> {}: {}\n", from.display(), to.display(), names.join(", "));
    imports.iter().map(line).collect()
}

#[test]
fn imports_between_files_have_no_cycles() {
    let others = ["core", "backends", "mpi", "cli", "examples/toy-plugin"].map(|folder| root().join(folder));
    let mut cycles = String::new();
    for folder in algorithms().into_iter().chain(others) {
        let sources = Sources::read(&folder.join("src")).unwrap();
        assert!(folder.ends_with("mpi") || !sources.imports().is_empty(), "no imports in {}", folder.display());
        for cycle in sources.cycles() {
            cycles.push_str(&format!("a cycle in {}:\n{}", folder.display(), format_imports(&cycle)));
        }
    }
    assert!(cycles.is_empty(), "{cycles}");
}

#[test]
fn rooms_import_only_from_lower_rooms() {
    for folder in algorithms() {
        let upward = Sources::read(&folder.join("src")).unwrap().upward(ROOMS);
        assert!(upward.is_empty(), "{}", format_imports(&upward));
    }
}

/// Returns the imports of a crate with these files, as `from to names`, and its number of cycles.
fn analyse(files: &[(&str, &str)]) -> (Vec<String>, usize) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Each statement starts a new line, as in code formatted by rustfmt.
        fs::write(path, text.replace("; ", ";\n")).unwrap();
    }
    let sources = Sources::read(folder.path()).unwrap();
    let relative = |path: &Path| path.strip_prefix(folder.path()).unwrap().display().to_string();
    let imports = sources.imports();
    let imports =
        imports.iter().map(|(from, to, names)| format!("{} {} {}", relative(from), relative(to), names.join(",")));
    (imports.collect(), sources.cycles().len())
}

#[test]
fn imports_are_read_from_use_statements_and_paths() {
    let (imports, cycles) = analyse(&[
        ("lib.rs", "mod a; mod b; mod c; pub use a::One; pub use b::*; fn f() { let x = One; }"),
        ("a.rs", "use crate::{b::{Two, self}, c as d}; pub struct One; // use crate::c::Three;"),
        ("b/mod.rs", "mod inner; pub use inner::Deep; pub struct Two; const TEXT: &str = \"crate::a::One\";"),
        ("b/inner.rs", "pub struct Deep; fn g() { crate::c::three(); super::super::c::four() }"),
        ("c.rs", "pub fn three() {} #[cfg(test)] mod tests { use crate::a::One; } pub fn four() {}"),
        ("d.rs", "use crate::{One, Deep, Two};"),
    ]);
    let expected = [
        "lib.rs a.rs One",
        "a.rs b/mod.rs Two,b",
        "a.rs c.rs d",
        "b/inner.rs c.rs four,three",
        "d.rs a.rs One",
        "d.rs b/mod.rs Two",
        "d.rs b/inner.rs Deep",
    ];
    let (mut imports, mut expected) = (imports, expected.map(String::from).to_vec());
    imports.sort();
    expected.sort();
    assert_eq!((imports, cycles), (expected, 0));
}

#[test]
fn cycles_through_several_files_are_detected() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use crate::b::B; pub struct A;"),
        ("b.rs", "fn f() { crate::c::c() } pub struct B;"),
        ("c.rs", "use super::a::A; pub fn c() {}"),
    ];
    assert_eq!(analyse(&files).1, 1);
    let parent = [("lib.rs", "mod a; use a::f; pub struct P;"), ("a.rs", "use super::P; pub fn f() {}")];
    assert_eq!(analyse(&parent).1, 1);
    let reexport = [("lib.rs", "mod a; pub use a::f; pub struct P;"), ("a.rs", "use super::P; pub fn f() {}")];
    assert_eq!(analyse(&reexport).1, 0);
}
