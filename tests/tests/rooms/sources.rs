//! Imports between the source files of a crate, read from their text.
//!
//! Files import names by `use` and by paths in code that begin with `crate`, `super`, `self` or a child module. A `pub
//! use` is resolved to the file that defines the name, and counts as an import only if its own file uses the name.
//! Tests are excluded.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
};

/// Path of a module below the crate's root, whose path is empty.
type Module = Vec<String>;

/// The source files of one crate and their imports.
pub struct Sources {
    files: BTreeMap<Module, Source>,
}

struct Source {
    path: PathBuf,
    text: String,
    uses: Vec<Use>,
    macros: BTreeSet<String>,
}

/// A name imported by a `use` or by a path in code, with its absolute path.
struct Use {
    path: Module,
    name: String,
    reexport: bool,
}

/// The importing file, the file imported from, and the names.
pub type Import = (PathBuf, PathBuf, Vec<String>);

impl Sources {
    /// Reads all source files below `src`.
    pub fn read(src: &Path) -> io::Result<Self> {
        let mut texts = BTreeMap::new();
        collect(src, &mut Vec::new(), &mut texts)?;
        let modules: BTreeSet<Module> = texts.keys().cloned().collect();
        let files = texts.into_iter().map(|(module, (path, text))| {
            let text = without_tests(&without_comments(&text));
            let uses = uses(&text, &module, &modules);
            let macros = names_after(&text, "macro_rules! ").collect();
            (module, Source { path, text, uses, macros })
        });
        Ok(Self { files: files.collect() })
    }

    /// Returns all imports between files.
    pub fn imports(&self) -> Vec<Import> {
        let edges = self.edges().into_iter();
        let path = |module: &Module| self.files[module].path.clone();
        edges.map(|((from, to), names)| (path(&from), path(&to), names.into_iter().collect())).collect()
    }

    /// Returns the imports within each cycle of files.
    pub fn cycles(&self) -> Vec<Vec<Import>> {
        let edges = self.edges();
        let reach: BTreeMap<&Module, BTreeSet<&Module>> =
            self.files.keys().map(|start| (start, reachable(start, &edges))).collect();
        let mut seen = BTreeSet::new();
        let mut cycles = Vec::new();
        for module in self.files.keys().filter(|module| reach[module].contains(module)) {
            let cycle: BTreeSet<_> = reach[module].iter().filter(|other| reach[*other].contains(module)).collect();
            if !seen.insert(cycle.clone()) {
                continue;
            }
            let inside = edges.iter().filter(|((from, to), _)| cycle.contains(&from) && cycle.contains(&to));
            let path = |module: &Module| self.files[module].path.clone();
            cycles.push(inside.map(|((a, b), names)| (path(a), path(b), names.iter().cloned().collect())).collect());
        }
        cycles
    }

    /// Returns imports from a room that precedes the importing room in `order`. Rooms are the first parts of module
    /// paths.
    pub fn upward(&self, order: &[&str]) -> Vec<Import> {
        let position = |module: &Module| module.first().and_then(|room| order.iter().position(|name| name == room));
        let edges = self.edges().into_iter().filter(|((from, to), _)| match (position(from), position(to)) {
            (Some(from), Some(to)) => to < from,
            _ => false,
        });
        let path = |module: &Module| self.files[module].path.clone();
        edges.map(|((from, to), names)| (path(&from), path(&to), names.into_iter().collect())).collect()
    }

    fn edges(&self) -> BTreeMap<(Module, Module), BTreeSet<String>> {
        let mut edges: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for (from, source) in &self.files {
            for import in &source.uses {
                if import.reexport && !is_used(&source.text, &import.name) {
                    continue;
                }
                if let Some(to) = self.resolve(&import.path, 0).filter(|to| to != from) {
                    edges.entry((from.clone(), to)).or_default().insert(import.name.clone());
                }
            }
        }
        edges
    }

    /// Returns the module whose file defines the item at `path`.
    fn resolve(&self, path: &[String], depth: usize) -> Option<Module> {
        let known = (0..=path.len()).rev().find(|&n| self.files.contains_key(&path[..n]))?;
        let Some(name) = path.get(known) else { return Some(path.to_vec()) };
        let source = &self.files[&path[..known]];
        let reexports = source.uses.iter().filter(|import| import.reexport && depth < 8);
        for import in reexports {
            if import.name == *name {
                return self.resolve(&import.path, depth + 1);
            }
            if import.name == "*" && !defines(&source.text, name) {
                let below = [&import.path[..import.path.len() - 1], std::slice::from_ref(name)].concat();
                let found = self.resolve(&below, depth + 1);
                if found.as_ref().is_some_and(|found| defines(&self.files[found].text, name)) {
                    return found;
                }
            }
        }
        if known == 0
            && let Some((module, _)) = self.files.iter().find(|(_, source)| source.macros.contains(name))
        {
            return Some(module.clone());
        }
        Some(path[..known].to_vec())
    }
}

fn reachable<'a>(start: &Module, edges: &'a BTreeMap<(Module, Module), BTreeSet<String>>) -> BTreeSet<&'a Module> {
    let (mut found, mut pending) = (BTreeSet::new(), vec![start]);
    while let Some(module) = pending.pop() {
        for (_, to) in edges.keys().filter(|(from, _)| from == module) {
            if found.insert(to) {
                pending.push(to);
            }
        }
    }
    found
}

fn collect(folder: &Path, module: &mut Module, texts: &mut BTreeMap<Module, (PathBuf, String)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if name == "tests" || name.ends_with("_tests") {
            continue;
        }
        let inside = !matches!(name.as_str(), "lib" | "mod");
        if inside {
            module.push(name);
        }
        if path.is_dir() {
            collect(&path, module, texts)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("src/main.rs") {
            texts.insert(module.clone(), (path.clone(), fs::read_to_string(&path)?));
        }
        if inside {
            module.pop();
        }
    }
    Ok(())
}

/// Removes comments and string literals.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skip = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if c == '"' {
            let mut escaped = false;
            let end = rest[1..].find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            end.map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with("'\"'") {
            3
        } else if rest.starts_with("r#\"") {
            rest.find("\"#").map_or(rest.len(), |end| end + 2)
        } else {
            out.push(c);
            c.len_utf8()
        };
        rest = &rest[skip..];
    }
    out
}

/// Removes items under `#[cfg(test)]`.
fn without_tests(text: &str) -> String {
    const TEST: &str = "#[cfg(test)]";
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(TEST) {
        out.push_str(&rest[..at]);
        rest = &rest[at + TEST.len()..];
        let mut depth = 0;
        let end = rest.find(|c| {
            depth += match c {
                '{' => 1,
                '}' => -1,
                _ => 0,
            };
            depth == 0 && matches!(c, '}' | ';')
        });
        rest = &rest[end.map_or(rest.len(), |end| end + 1)..];
    }
    out + rest
}

fn uses(text: &str, module: &Module, modules: &BTreeSet<Module>) -> Vec<Use> {
    let mut uses = Vec::new();
    let mut code = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("use ") {
        let line = rest[..at].rfind('\n').map_or(0, |end| end + 1);
        let before = rest[line..at].trim();
        let statement = &rest[at + 4..];
        let Some(end) = statement.find(';').filter(|_| before.is_empty() || before.starts_with("pub")) else {
            code.push_str(&rest[..at + 4]);
            rest = statement;
            continue;
        };
        code.push_str(&rest[..line]);
        let reexport = before.starts_with("pub");
        let mut paths = Vec::new();
        expand(&statement[..end], &mut Vec::new(), &mut paths);
        for (path, name) in paths {
            if let Some(path) = absolute(&path, module, modules) {
                uses.push(Use { path, name, reexport });
            }
        }
        rest = &statement[end + 1..];
    }
    code.push_str(rest);
    for path in paths_in(&code) {
        if let Some(path) = absolute(&path, module, modules) {
            uses.push(Use { name: path.last().cloned().unwrap_or_default(), path, reexport: false });
        }
    }
    uses
}

/// Expands a tree such as `a::{b, c::{d, e as f}}` to its paths, each with its name in scope.
fn expand(tree: &str, prefix: &mut Module, out: &mut Vec<(Module, String)>) {
    let tree = tree.trim();
    if let Some(at) = tree.find('{') {
        let depth = prefix.len();
        prefix.extend(tree[..at].split("::").map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()));
        let inner = &tree[at + 1..tree.rfind('}').unwrap_or(tree.len())];
        let (mut level, mut start) = (0, 0);
        for (k, c) in inner.char_indices() {
            match c {
                '{' => level += 1,
                '}' => level -= 1,
                ',' if level == 0 => {
                    expand(&inner[start..k], prefix, out);
                    start = k + 1;
                }
                _ => {}
            }
        }
        expand(&inner[start..], prefix, out);
        prefix.truncate(depth);
    } else if !tree.is_empty() {
        let (path, alias) = tree.split_once(" as ").map_or((tree, None), |(path, alias)| (path, Some(alias)));
        let parts =
            path.split("::").map(|part| part.trim().to_owned()).filter(|part| part != "self" || prefix.is_empty());
        let path: Module = prefix.iter().cloned().chain(parts).collect();
        let name = alias.map_or_else(|| path.last().cloned().unwrap_or_default(), |alias| alias.trim().to_owned());
        out.push((path, name));
    }
}

/// Returns the path from the crate's root. `None` for other crates.
fn absolute(path: &[String], module: &Module, modules: &BTreeSet<Module>) -> Option<Module> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" | "$crate" => Some(rest.to_vec()),
        "self" => Some([module, rest].concat()),
        "super" => {
            absolute(&[&["self".to_owned()], rest].concat(), &module[..module.len().checked_sub(1)?].to_vec(), modules)
        }
        _ => {
            let child = [&module[..], std::slice::from_ref(first)].concat();
            modules.contains(&child).then(|| [module, path].concat())
        }
    }
    .map(|path| {
        // `super::super`
        match path.iter().rposition(|part| part == "super") {
            Some(at) if at > 0 => [&path[..at - 1], &path[at + 1..]].concat(),
            _ => path,
        }
    })
}

/// Returns the paths of several segments in code.
fn paths_in(code: &str) -> Vec<Module> {
    let mut paths = Vec::new();
    let mut rest = code;
    while let Some(at) = rest.find("::") {
        let start = rest[..at].rfind(|c: char| !is_word(c)).map_or(0, |k| k + 1);
        let mut path = vec![rest[start..at].to_owned()];
        rest = &rest[at + 2..];
        loop {
            let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            path.extend(Some(rest[..end].to_owned()).filter(|part| !part.is_empty()));
            rest = &rest[end..];
            match rest.strip_prefix("::") {
                Some(more) if end > 0 => rest = more,
                _ => break,
            }
        }
        paths.push(path);
    }
    paths
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn names_after<'a>(text: &'a str, keyword: &'a str) -> impl Iterator<Item = String> + 'a {
    text.match_indices(keyword).map(|(at, _)| {
        let rest = &text[at + keyword.len()..];
        rest[..rest.find(|c: char| !is_word(c)).unwrap_or(rest.len())].to_owned()
    })
}

fn defines(text: &str, name: &str) -> bool {
    ["fn ", "struct ", "enum ", "trait ", "type ", "const ", "static ", "mod ", "macro_rules! "]
        .iter()
        .any(|keyword| names_after(text, keyword).any(|found| found == name))
}

/// Returns whether a name occurs more than once in the text, that is, besides its import.
fn is_used(text: &str, name: &str) -> bool {
    let is_boundary = |c: Option<char>| !c.is_some_and(is_word);
    let occurrences = text.match_indices(name).filter(|(at, _)| {
        is_boundary(text[..*at].chars().next_back()) && is_boundary(text[at + name.len()..].chars().next())
    });
    name != "*" && occurrences.count() > 1
}
