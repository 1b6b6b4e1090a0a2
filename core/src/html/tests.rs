use super::*;
use crate::{
    data::Points,
    report::{Report, Timings},
};

fn points() -> Points {
    let mut points = Points::new(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.5, 0.0, -1.0, 2.0], 3).unwrap();
    points.names[0] = "</script><b>".into();
    points.labels = Some(vec![1, 0, 1]);
    points.label_names = Some(vec!["<img src=x onerror=alert(1)>".into(), "b".into()]);
    points
}

fn page() -> Page {
    let points = points();
    Page {
        kind: Kind::Ocnn,
        title: "my <points>.csv: a <title> & \"more\"".into(),
        table: RowTable {
            rows: points.rows,
            columns: [principal_columns(&points), input_columns(&points, 2)].concat(),
            texts: Vec::new(),
            classes: classes(&points, "kind").unwrap(),
        },
        content: Map::from_iter([("clusters".into(), Value::Null)]),
    }
}

fn report() -> Report {
    Report {
        algorithm: "ocnn".into(),
        version: "1".into(),
        arguments: ["ocnn", "my points.csv", "--label", "it's"].map(String::from).to_vec(),
        backend: "ndarray".into(),
        device: "</script>".into(),
        precision: "f32".into(),
        seed: 0,
        config: serde_json::json!({ "steps": 64, "cut": "auto", "sweep": null }),
        input: crate::report::Input { paths: vec!["my <points>.csv".into()], rows: 3, columns: 3 },
        timings: Timings { total_s: 0.25, phases: Map::from_iter([("graph_s".into(), 0.125.into())]) },
        memory: Default::default(),
        ranks: None,
        result: Map::new(),
    }
}

#[test]
fn large_numbers_keep_their_differences() {
    let times = [1.7e9, 1.7e9 + 0.25, 1.7e9 + 2.0];
    let Column { offset, scale, values, .. } = Column::new("t".into(), times.into_iter());
    assert_eq!((offset, scale, values), (1.7e9 + 1.0, 1.0, encode::floats([-1.0, -0.75, 1.0].into_iter())));
    for (extreme, offset, scale) in [([1.7e308, -1.7e308], 0.0, 1.7e308), ([1e-300, 3e-300], 2e-300, 1e-300)] {
        let column = Column::new("x".into(), extreme.into_iter());
        assert!((column.offset - offset).abs() <= 1e-12 * scale && (column.scale / scale - 1.0).abs() < 1e-12);
    }
    assert_eq!(Column::new("x".into(), [5.0, f64::NAN].into_iter()).offset, 5.0);
    assert_eq!(Column::new("x".into(), [f64::NAN].into_iter()).scale, 1.0);
}

#[test]
fn runs_without_files_have_no_input() {
    let names = |report: &Report| -> Vec<String> { About::new(report, "").facts.into_iter().map(|it| it.0).collect() };
    let mut report = report();
    assert_eq!(names(&report)[..3], ["version", "input", "rows"]);
    report.input.paths.clear();
    assert_eq!(names(&report)[..2], ["version", "rows"]);
}

/// The text of the element that starts with `open`.
fn element<'a>(html: &'a str, open: &str, close: &str) -> &'a str {
    let start = html.find(open).unwrap() + open.len();
    &html[start..start + html[start..].find(close).unwrap()]
}

#[test]
fn text_of_files_stays_data() {
    let html = page().render(&About::new(&report(), "a summary with </script>")).unwrap();
    assert_eq!(html, page().render(&About::new(&report(), "a summary with </script>")).unwrap());
    assert_eq!(html.matches("</script>").count(), 2);
    assert!(!html.contains("<img") && !html.contains("<b>"));
    assert!(
        html.contains("<title>my &lt;points&gt;.csv: a &lt;title&gt; &amp; &quot;more&quot;</title>"),
        "{}",
        element(&html, "<title>", "</title>")
    );
    let data: Value = serde_json::from_str(element(&html, "type=\"application/json\">", "</script>")).unwrap();
    assert_eq!(data["columns"][2]["name"], "</script><b>");
    assert_eq!(data["columns"].as_array().map(Vec::len), Some(4));
    assert_eq!(data["classes"]["names"], serde_json::json!(["b", "<img src=x onerror=alert(1)>"]));
    assert_eq!(data["classes"]["of"], encode::indices([0, 1, 0].into_iter()).unwrap());
    assert_eq!(data["command"], "firebox ocnn 'my points.csv' --label 'it'\\''s'");
    assert_eq!(data["settings"], serde_json::json!([["steps", "64"], ["cut", "auto"], ["sweep", "–"]]));
    assert_eq!(data["title"], "my <points>.csv: a <title> & \"more\"");
    assert_eq!(data["summary"], "a summary with </script>");
    let facts = data["facts"].as_array().unwrap();
    assert!(facts.contains(&serde_json::json!(["seconds, graph", "0.125"])), "{facts:?}");
}

#[test]
fn the_policy_allows_the_script_and_the_style_alone() {
    for kind in [Kind::Ocnn, Kind::Sammon, Kind::Rbf, Kind::Perceptron, Kind::Regression] {
        check_policy(&Page { kind, ..page() }.render(&About::new(&report(), "")).unwrap());
    }
}

fn check_policy(html: &str) {
    let (script, style) =
        (element(html, "<script type=\"module\">", "</script>"), element(html, "<style>", "</style>"));
    let policy = element(html, "http-equiv=\"Content-Security-Policy\" content=\"", "\">")
        .replace("&#x27;", "'")
        .replace("&#x2f;", "/");
    for (directive, text) in [("script-src", script), ("style-src", style)] {
        assert!(policy.contains(&format!("{directive} '{}'", hash(text))), "{policy}");
    }
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    let data = element(html, "type=\"application/json\">", "</script>");
    let frame = html.len() - data.len();
    assert!(frame < 60_000, "{frame} bytes beside data");
}

#[test]
fn scripts_lose_spaces_outside_of_strings() {
    let script =
        "  // A comment.\n  const a = b ? 'c = \\' d' : -1;\n  let x = a - -b + +c;\n  const y = `${a} b` / 2;\n";
    assert_eq!(minified(script), "let a=b?'c = \\' d':-1;let x=a- -b+ +c;let y=`${a} b`/2;");
    // A template that is not whole, one inside another, and a pattern.
    for kept in ["let a = `b, c", "let a = `${b ? `, c` : d}`;", "let a = b.replace(/ ,/, c);"] {
        assert_eq!(minified(kept).trim_end(), kept);
    }
}
