//! The imports between the top-level modules of each crate, which must not form a cycle.

use std::collections::{BTreeMap, BTreeSet};

use crate::paths::paths_in;
use crate::rust_text::Text;
use crate::tree::{File, rust_files};

/// Cycles that are not removed yet, with the reason. A cycle that no longer exists must be deleted from this list.
const KNOWN_CYCLES: [(&str, &[&str], &str); 0] = [];

/// One import: the file, the line and the path as it is written.
type Import = (String, usize, String);

/// The imports of a crate, by the importing and the imported top-level module.
type Graph = BTreeMap<String, BTreeMap<String, Vec<Import>>>;

#[test]
fn top_level_modules_form_layers() {
    let mut offences = Vec::new();
    let mut known: Vec<_> = KNOWN_CYCLES.iter().map(|(name, modules, _)| (*name, *modules)).collect();
    for (name, files) in crates() {
        let graph = imports(&files);
        for cycle in cycles(&graph) {
            match known.iter().position(|(owner, modules)| *owner == name && *modules == cycle) {
                Some(at) => drop(known.remove(at)),
                None => offences.push(describe(&name, &cycle, &graph)),
            }
        }
    }
    offences.extend(known.iter().map(|(name, cycle)| format!("{name}: {cycle:?} is no longer a cycle")));
    crate::check("The top-level modules of a crate import each other without cycles.", offences);
}

/// The program files of each crate, by path below its `src`.
fn crates() -> BTreeMap<String, BTreeMap<String, File>> {
    let mut crates: BTreeMap<String, BTreeMap<String, File>> = BTreeMap::new();
    for file in rust_files().into_iter().filter(|file| !file.is_test()) {
        let path = file.path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"));
        let Some((name, below)) = path.map(|(name, below)| (name.to_owned(), below.to_owned())) else {
            continue;
        };
        if !below.starts_with("bin/") {
            crates.entry(name).or_default().insert(below, file);
        }
    }
    crates
}

fn imports(files: &BTreeMap<String, File>) -> Graph {
    let modules: BTreeSet<&str> = files.keys().map(|path| top_level(path)).collect();
    let roots = files.iter().filter(|(path, _)| is_root(path)).map(|(_, file)| code(file));
    let reexports: BTreeMap<String, String> = roots.flat_map(|code| reexports(&code, &modules)).collect();
    let mut graph = Graph::new();
    for (path, file) in files.iter().filter(|(path, _)| !is_root(path)) {
        let own = top_level(path);
        let position: Vec<&str> = path.trim_end_matches(".rs").trim_end_matches("/mod").split('/').collect();
        for (line, written) in paths_in(&code(file)) {
            let first = first_module(&written, &position);
            let module = match first {
                Some(name) if modules.contains(name) => name,
                Some(name) => match reexports.get(name) {
                    Some(module) => module,
                    None => continue,
                },
                None => continue,
            };
            if module != own {
                let import = (file.path.clone(), line, written.join("::"));
                graph.entry(own.into()).or_default().entry(module.into()).or_default().push(import);
            }
        }
    }
    graph
}

fn code(file: &File) -> String {
    without_tests(&Text::read(&file.source).code)
}

fn is_root(path: &str) -> bool {
    matches!(path, "lib.rs" | "main.rs")
}

fn top_level(path: &str) -> &str {
    path.split('/').next().unwrap_or_default().trim_end_matches(".rs")
}

/// The names that the crate root re-exports, with the module that defines them.
fn reexports(code: &str, modules: &BTreeSet<&str>) -> Vec<(String, String)> {
    let paths = paths_in(code).into_iter().map(|(_, path)| path);
    let inner = paths.map(|path| {
        let skipped = path.iter().take_while(|part| matches!(part.as_str(), "crate" | "self")).count();
        path[skipped..].to_vec()
    });
    let named = inner.filter(|path| path.len() > 1 && modules.contains(path[0].as_str()));
    named.filter_map(|path| Some((path.last()?.clone(), path.first()?.clone()))).collect()
}

/// The first name of a path below the crate root, if the path leads there.
fn first_module<'a>(path: &'a [String], position: &[&'a str]) -> Option<&'a str> {
    match path.first()?.as_str() {
        "crate" => path.get(1).map(String::as_str),
        "super" => {
            let up = path.iter().take_while(|part| *part == "super").count();
            let above = position.len().checked_sub(up)?;
            if above > 0 { Some(position[0]) } else { path.get(up).map(String::as_str) }
        }
        _ => None,
    }
}

/// Blanks every item behind `#[cfg(test)]`; lines stay where they were.
fn without_tests(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let (mut kept, mut rest) = (String::new(), code);
    while let Some(at) = rest.find(MARK) {
        let item = &rest[at + MARK.len()..];
        let end = item_length(item);
        kept.push_str(&rest[..at]);
        kept.extend(item[..end].chars().filter(|character| *character == '\n'));
        rest = &item[end..];
    }
    kept + rest
}

/// The length of the item at the start of the text: up to its closing brace, or to a semicolon outside brackets.
fn item_length(item: &str) -> usize {
    let mut depth = 0_i32;
    for (at, character) in item.char_indices() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' => depth -= 1,
            '}' => {
                depth -= 1;
                if depth <= 0 {
                    return at + 1;
                }
            }
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    item.len()
}

/// The sets of modules that reach each other, each sorted.
fn cycles(graph: &Graph) -> BTreeSet<Vec<String>> {
    let reach: BTreeMap<&String, BTreeSet<&String>> =
        graph.keys().map(|module| (module, reachable(graph, module))).collect();
    let reaches = |from: &String, to: &String| reach.get(from).is_some_and(|reached| reached.contains(to));
    let with_others = graph.keys().filter(|module| reaches(module, module));
    with_others
        .map(|module| {
            graph.keys().filter(|other| reaches(module, other) && reaches(other, module)).cloned().collect()
        })
        .collect()
}

fn reachable<'a>(graph: &'a Graph, start: &String) -> BTreeSet<&'a String> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![start]);
    while let Some(module) = open.pop() {
        for next in graph.get(module).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(next) {
                open.push(next);
            }
        }
    }
    reached
}

fn describe(name: &str, cycle: &[String], graph: &Graph) -> String {
    let mut text = format!("{name}: {}", cycle.join(", "));
    for from in cycle {
        for (to, imports) in graph[from].iter().filter(|(to, _)| cycle.contains(to)) {
            for (file, line, path) in imports {
                text += &format!("\n    {from} -> {to}: {file}:{line} {path}");
            }
        }
    }
    text
}

#[test]
fn a_cycle_is_found_and_tests_are_not_part_of_it() {
    let file = |path: &str, source: &str| {
        (path.to_owned(), File { path: format!("crates/x/src/{path}"), source: source.to_owned() })
    };
    let files = BTreeMap::from([
        file("lib.rs", "mod a;\nmod b;\nmod c;\npub use b::{Deep, inner::Other as Renamed};\n"),
        file("a.rs", "use std::fmt;\n// use crate::c::X;\nuse crate::{Deep, c::Low};\n"),
        file("a/part.rs", "use super::Own;\n"),
        file("b.rs", "mod inner;\n"),
        file("b/inner.rs", "fn f() { super::super::a::g(\"crate::c::text\"); }\n"),
        file("c.rs", "#[cfg(test)]\nmod tests { use crate::a::X; }\n#[cfg(test)]\nuse crate::b::Y;\n"),
    ]);
    let graph = imports(&files);
    let edges: Vec<(&str, Vec<&str>)> =
        graph.iter().map(|(from, to)| (from.as_str(), to.keys().map(String::as_str).collect())).collect();
    assert_eq!(edges, [("a", vec!["b", "c"]), ("b", vec!["a"])]);
    assert_eq!(cycles(&graph), BTreeSet::from([vec!["a".to_owned(), "b".to_owned()]]));
    assert_eq!(graph["a"]["b"], [("crates/x/src/a.rs".to_owned(), 3, "crate::Deep".to_owned())]);
}
