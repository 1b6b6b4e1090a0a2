//! Layout of the source, read from the paths in it: no import cycles between files, no imports against the order of an
//! algorithm's rooms, none against the order of crates.
//!
//! A path leads to the file that defines its item, through `pub use`, which is itself an import only if its file uses
//! the name. Tests are not read.

#![allow(clippy::unwrap_used)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// Rooms of an algorithm; each may import from those after it.
const ROOMS: [&str; 8] = ["command", "model", "io", "solve", "problem", "ops", "config", "types"];
/// Folders of crates; each level may import from those before it.
const LEVELS: [&[&str]; 4] = [&["core"], &["backends", "mpi"], &["algorithms"], &["cli"]];
/// Keywords before the name of an item.
const ITEMS: [&str; 8] = ["fn", "struct", "enum", "trait", "type", "const", "static", "macro_rules"];

/// Names from the crate's root to a module or an item.
type Names = Vec<String>;

/// Importing module, imported module, and the imported item.
type Import = (Names, Names, Names);

/// The source files of a crate by their modules.
struct Sources(BTreeMap<Names, File>);

#[derive(Default)]
struct File {
    tokens: Vec<String>,
    imports: Vec<Names>,
    /// Items of `pub use`, with their names in this module; `*` for all.
    exports: Vec<(String, Names)>,
}

impl Sources {
    /// Reads the files below a crate's `src`.
    fn read(src: &Path) -> Self {
        let mut texts = BTreeMap::new();
        collect(src, &[], &mut texts);
        Self::parse(texts)
    }

    fn parse(texts: BTreeMap<Names, String>) -> Self {
        let modules: BTreeSet<Names> = texts.keys().cloned().collect();
        let parse = |(module, text): (Names, String)| {
            let file = File::parse(&text, &module, &modules);
            (module, file)
        };
        Self(texts.into_iter().map(parse).collect())
    }

    /// Returns the module that defines the item at `path`.
    fn definition(&self, path: &[String]) -> Names {
        let depth = (0..=path.len()).rev().find(|&depth| self.0.contains_key(&path[..depth])).unwrap();
        let (module, rest) = path.split_at(depth);
        let (file, Some(name)) = (&self.0[module], rest.first()) else { return module.to_vec() };
        if let Some((_, path)) = file.exports.iter().find(|(export, _)| export == name) {
            return self.definition(path);
        }
        let globs = file.exports.iter().filter(|(export, _)| export == "*" && !file.defines(name));
        let mut modules = globs.map(|(_, path)| self.definition(&[&path[..path.len() - 1], &rest[..1]].concat()));
        let glob = modules.find(|module| self.0[module].defines(name));
        // Exported macros are at the root, in whichever file they are.
        let macros = || self.0.keys().find(|module| depth == 0 && self.0[*module].has_item("macro_rules", name));
        glob.or_else(|| macros().cloned()).unwrap_or_else(|| module.to_vec())
    }

    fn imports(&self) -> BTreeSet<Import> {
        let of_file = |(module, file): (&Names, &File)| {
            let is_used = |name: &str| file.tokens.iter().filter(|token| *token == name).count() > 1;
            let used = file.exports.iter().filter(|(name, _)| name != "*" && is_used(name)).map(|(_, path)| path);
            let all = file.imports.iter().chain(used);
            all.map(|path| (module.clone(), self.definition(path), path.clone())).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of_file).filter(|(from, to, _)| from != to).collect()
    }

    /// Returns the imports in and between cycles: those left after repeatedly removing the imports of files that
    /// nothing imports, and of files that import nothing.
    fn cycles(&self) -> BTreeSet<Import> {
        let mut left = self.imports();
        loop {
            let (from, to): (BTreeSet<Names>, BTreeSet<Names>) =
                left.iter().map(|(from, to, _)| (from.clone(), to.clone())).unzip();
            let count = left.len();
            left.retain(|(importing, imported, _)| to.contains(importing) && from.contains(imported));
            if left.len() == count {
                return left;
            }
        }
    }

    /// Returns the imports from a room that precedes the importing one.
    fn upward(&self) -> BTreeSet<Import> {
        let room = |module: &Names| ROOMS.iter().position(|room| module.first().is_some_and(|first| first == room));
        let is_upward = |(from, to, _): &Import| room(from).zip(room(to)).is_some_and(|(from, to)| to < from);
        self.imports().into_iter().filter(is_upward).collect()
    }
}

impl File {
    fn parse(text: &str, module: &[String], modules: &BTreeSet<Names>) -> Self {
        let mut file = Self { tokens: tokens(text), ..Self::default() };
        let (tokens, mut at) = (&file.tokens, 0);
        while at < tokens.len() {
            if tokens.get(at + 1).is_none_or(|next| next != "::") || !tokens[at].starts_with(is_word) {
                at += 1;
                continue;
            }
            let exported = at > 1 && tokens[at - 1] == "use" && ["pub", ")"].contains(&&*tokens[at - 2]);
            let mut paths = Vec::new();
            at = expand(tokens, at, &[], &mut paths);
            for (name, path) in paths {
                match absolute(&path, module, modules) {
                    Some(path) if exported => file.exports.push((name, path)),
                    Some(path) => file.imports.push(path),
                    None => {}
                }
            }
        }
        file
    }

    fn defines(&self, name: &str) -> bool {
        ITEMS.iter().any(|keyword| self.has_item(keyword, name))
    }

    fn has_item(&self, keyword: &str, name: &str) -> bool {
        let is_item = |w: &[String]| w[0] == keyword && (w[1] == name || w[1] == "!" && w[2] == name);
        self.tokens.windows(3).any(is_item)
    }
}

/// Adds the source files below `folder`, which belongs to `module`, with their modules.
fn collect(folder: &Path, module: &[String], texts: &mut BTreeMap<Names, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if ["main", "tests"].contains(&&*name) || name.ends_with("_tests") {
            continue;
        }
        let inner = if ["lib", "mod"].contains(&&*name) { module.to_vec() } else { [module, &[name]].concat() };
        if path.is_dir() {
            collect(&path, &inner, texts);
        } else {
            texts.insert(inner, fs::read_to_string(path).unwrap());
        }
    }
}

/// Splits code into words and punctuation, without lines of comments and the module of tests at the end.
fn tokens(code: &str) -> Vec<String> {
    let is_module = |code: &str| {
        let item = code.lines().find(|line| !line.starts_with("#["));
        item.is_some_and(|item| item.contains("mod ") && item.contains('{'))
    };
    let tests = code.match_indices("#[cfg(test)]\n").map(|(at, _)| at).find(|&at| is_module(&code[at..]));
    let mut tokens: Vec<String> = Vec::new();
    for line in code[..tests.unwrap_or(code.len())].lines().filter(|line| !line.trim_start().starts_with("//")) {
        let mut previous = ' ';
        for c in line.chars() {
            match tokens.last_mut() {
                Some(token) if is_word(c) && is_word(previous) || token == ":" && previous == ':' && c == ':' => {
                    token.push(c);
                }
                _ if c.is_whitespace() => {}
                _ => tokens.push(c.into()),
            }
            previous = c;
        }
    }
    tokens
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Reads a tree of paths such as `a::{b, c::d as e}` at `at`; returns the position after it. Appends each path, with
/// its name in scope, to `paths`.
fn expand(tokens: &[String], mut at: usize, prefix: &[String], paths: &mut Vec<(String, Names)>) -> usize {
    let token = |at: usize| tokens.get(at).map_or("}", String::as_str);
    let mut path = prefix.to_vec();
    while token(at) != "{" {
        path.extend((token(at) != "self" || path.is_empty()).then(|| token(at).to_owned()));
        let more = token(at + 1) == "::" && (["{", "*"].contains(&token(at + 2)) || token(at + 2).starts_with(is_word));
        at += 1 + usize::from(more);
        if !more {
            let alias = token(at) == "as";
            paths.push((if alias { token(at + 1) } else { &path[path.len() - 1] }.to_owned(), path));
            return at + 2 * usize::from(alias);
        }
    }
    at += 1;
    while token(at) != "}" {
        at = expand(tokens, at, &path, paths);
        at += usize::from(token(at) == ",");
    }
    at + 1
}

/// Returns the path from the crate's root. `None` for other crates.
fn absolute(path: &[String], module: &[String], modules: &BTreeSet<Names>) -> Option<Names> {
    let leading = path.iter().take_while(|name| ["crate", "self", "super"].contains(&name.as_str())).count();
    let depth = match path[0].as_str() {
        "crate" => 0,
        _ => module.len().checked_sub(path[..leading].iter().filter(|name| *name == "super").count())?,
    };
    let path = [&module[..depth], &path[leading..]].concat();
    (leading > 0 || modules.contains(&path[..=depth])).then_some(path)
}

/// Returns the folders of the crates that are, or are directly below, the folders `names` of the repository.
fn crates(names: &[&str]) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let is_crate = |path: &PathBuf| path.join("src/lib.rs").exists();
    let entries = |path: &Path| fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    let found =
        |name: &&str| if is_crate(&root.join(name)) { vec![root.join(name)] } else { entries(&root.join(name)) };
    names.iter().flat_map(found).filter(is_crate).collect()
}

fn text(imports: &BTreeSet<Import>) -> String {
    let line = |(from, to, item): &Import| format!("{} -> {}: {}\n", from.join("/"), to.join("/"), item.join("::"));
    imports.iter().map(line).collect()
}

#[test]
fn imports_between_files_have_no_cycles() {
    for folder in crates(&LEVELS.concat()).into_iter().chain(crates(&["examples"])) {
        let sources = Sources::read(&folder.join("src"));
        assert!(sources.0.len() < 3 || !sources.imports().is_empty(), "no imports in {}", folder.display());
        let cycles = text(&sources.cycles());
        assert!(cycles.is_empty(), "cycles in {}:\n{cycles}", folder.display());
    }
}

#[test]
fn rooms_import_only_from_lower_rooms() {
    for folder in crates(&["algorithms"]) {
        let upward = text(&Sources::read(&folder.join("src")).upward());
        assert!(upward.is_empty(), "{}:\n{upward}", folder.display());
    }
}

#[test]
fn crates_import_only_from_lower_crates() {
    // Below all; the code that it generates uses other crates.
    let mut lower = BTreeSet::from(["firebox_macros".to_owned()]);
    let name = |folder: &PathBuf| format!("firebox_{}", folder.file_name().unwrap().display());
    for level in LEVELS.map(crates) {
        for folder in &level {
            let (sources, own) = (Sources::read(&folder.join("src")), name(folder));
            let names = sources.0.values().flat_map(|file| &file.tokens).filter(|name| name.starts_with("firebox_"));
            let upward: BTreeSet<&String> = names.filter(|name| **name != own && !lower.contains(*name)).collect();
            assert!(upward.is_empty(), "{} uses {upward:?}", folder.display());
        }
        lower.extend(level.iter().map(name));
    }
}

/// Returns the sources of a crate with these modules, the root's name being empty.
fn sources(files: &[(&str, &str)]) -> Sources {
    let names = |module: &str| module.split("::").filter(|name| !name.is_empty()).map(String::from).collect();
    Sources::parse(files.iter().map(|(module, code)| (names(module), (*code).into())).collect())
}

#[test]
fn imports_are_read_from_use_statements_and_paths() {
    let sources = sources(&[
        ("", "mod a; mod b; mod c; pub use a::One; pub use b::*; fn f() { let x = One; }"),
        ("a", "use crate::{b::{Two, self}, c as d}; pub struct One;\n // use crate::c::Three;"),
        ("b", "mod inner; pub use inner::Deep; pub struct Two;"),
        ("b::inner", "pub struct Deep; fn g() { crate::c::three(); super::super::c::four() }"),
        ("c", "pub fn three() {} pub fn four() {}\n#[cfg(test)]\nmod tests { use crate::a::One; }"),
        ("d", "use crate::{One, Deep, Two};"),
    ]);
    let expected = [
        " -> a: a::One",
        "a -> b: b",
        "a -> b: b::Two",
        "a -> c: c",
        "b/inner -> c: c::four",
        "b/inner -> c: c::three",
        "d -> a: One",
        "d -> b: Two",
        "d -> b/inner: Deep",
    ];
    assert_eq!(text(&sources.imports()).lines().collect::<Vec<_>>(), expected);
    assert_eq!(text(&sources.cycles()), "");
}

#[test]
fn cycles_and_upward_imports_are_detected() {
    let three = [
        ("", "mod a; mod b; mod c; use a::A;"),
        ("a", "use crate::b::B; pub struct A;"),
        ("b", "fn f() { crate::c::c() } pub struct B; use crate::d::D;"),
        ("c", "use super::a::A; pub fn c() {}"),
        ("d", "pub struct D;"),
    ];
    assert_eq!(text(&sources(&three).cycles()), "a -> b: b::B\nb -> c: c::c\nc -> a: a::A\n");
    let parent = [("", "mod a; use a::f; pub struct P;"), ("a", "use super::P; pub fn f() {}")];
    assert_eq!(sources(&parent).cycles().len(), 2);
    let reexport = [("", "mod a; pub use a::f; pub struct P;"), ("a", "use super::P; pub fn f() {}")];
    assert_eq!(sources(&reexport).cycles().len(), 0);
    let rooms = [("", ""), ("ops", "use crate::types::T; use crate::solve::S;"), ("types", ""), ("solve::cg", "")];
    assert_eq!(text(&sources(&rooms).upward()), "");
    let rooms = [("", ""), ("ops", "use crate::solve::S;"), ("solve", "")];
    assert_eq!(text(&sources(&rooms).upward()), "ops -> solve: solve::S\n");
}
