//! The operations each vendor serves, as declared in its file.

use std::fmt::Write as _;

use domain::call::Format;

#[test]
fn vendors_declare_what_they_serve() {
    let mut table = String::new();
    for vendor in wire::vendors::list() {
        let paths = &vendor.paths;
        let all = [
            ("chat", paths.chat),
            ("responses", paths.responses),
            ("embeddings", paths.embeddings),
            ("rerank", paths.rerank),
            ("completions", paths.completions),
        ];
        let served: Vec<&str> =
            all.iter().filter(|(_, path)| path.is_some()).map(|(name, _)| *name).collect();
        if vendor.format == Format::Chat {
            writeln!(table, "{}: {} {:?}", vendor.name, served.join(" "), paths.lifecycle).unwrap();
        }
    }
    insta::assert_snapshot!(table);
}
