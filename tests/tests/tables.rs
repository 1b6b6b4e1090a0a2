//! End-to-end tests of input tables: columns, text, missing numbers, scales, compression, and columns beside the answer.

#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;

use firebox_core::data::{self, Points, Shape};
use firebox_tests::program::{NINE, Program, first_columns};

const BACKEND: &str = "--backend ndarray --format human";

/// A table with identifiers, text, a name of each class, and two coordinates of unlike scale.
fn flowers(points: &Points) -> String {
    let mut text = String::from("id,colour,kind,length,width\n");
    for (row, label) in points.labels.as_ref().unwrap().iter().enumerate() {
        let [x, y] = [points.row(row)[0], points.row(row)[1]];
        writeln!(text, "{},{},k{label},{},{y}", 1000 + row, ["red", "blue"][row % 2], 1024.0 * x).unwrap();
    }
    text
}

fn blobs() -> Points {
    data::generate(Shape::Blobs, Some(240), Some(2), 3).unwrap()
}

#[test]
fn identifiers_and_text_are_noticed_and_columns_chosen() {
    let program = Program::firebox();
    program.write("a.csv", flowers(&blobs()));
    let done = program.run(&format!("ocnn a.csv --label kind {BACKEND} -o a1.csv")).succeed();
    for notice in [
        "column \"colour\" is text and is left out; --categorical one-hot takes text as coordinates",
        "column \"id\" has whole numbers that increase from row to row, as identifiers do: add --drop id",
    ] {
        assert!(done.err.contains(notice), "{}", done.err);
    }
    let chosen = program.run(&format!("ocnn a.csv --label kind --drop id,colour {BACKEND} -o b.csv")).succeed();
    assert!(!chosen.err.contains("is left out") && !chosen.err.contains("identifiers"), "{}", chosen.err);
    program.run(&format!("ocnn a.csv --label kind --columns length,5 {BACKEND} -o c.csv")).succeed();
    assert_eq!(program.text("b.csv"), program.text("c.csv"));
    let sammon =
        program.run(&format!("sammon a.csv --label kind --columns 4-5 --max-iterations 30 {BACKEND}")).succeed();
    assert!(sammon.out.lines().nth(1).unwrap().contains(",k"), "{}", sammon.out);
    program.refuse("ocnn a.csv --columns colour", "line 2, column colour: \"red\" is not a number");
    program.refuse("ocnn a.csv --drop size", "there is no column \"size\" to leave out");
    program.refuse("ocnn a.csv --metric precomputed --standardise robust", "--standardise is for the coordinates");
}

#[test]
fn scales_and_missing_numbers_are_prepared_and_rows_keep_their_columns() {
    let program = Program::firebox();
    let points = blobs();
    program.write("a.csv", flowers(&points));
    let args = "--label kind --columns length,width --standardise standard";
    program.run(&format!("ocnn a.csv {args} {BACKEND} --keep id,kind -o a.out.csv")).succeed();
    // The same after standardising by hand.
    let mut scaled = points.clone();
    let fitted = data::Preparation::fit(&points, None, data::Missing::Refuse, data::Standardise::Standard).unwrap();
    fitted.apply(&mut scaled).unwrap();
    scaled.table().unwrap().write(&program.path().join("b.csv")).unwrap();
    program.run(&format!("ocnn b.csv --label label {BACKEND} -o b.out.csv")).succeed();
    let kept = program.text("a.out.csv");
    assert_eq!(kept.lines().count(), 241);
    let mut lines = kept.lines().zip(program.text("b.out.csv").lines().map(String::from).collect::<Vec<_>>());
    let names = "cluster,membership,outlier";
    assert_eq!(lines.next().unwrap(), (&*format!("id,kind,{names}"), names.to_string()));
    for (row, (line, cluster)) in lines.enumerate() {
        assert_eq!(line, format!("{},k{},{cluster}", 1000 + row, points.labels.as_ref().unwrap()[row]));
    }

    let gaps = NINE.replace("0,1\n", "0,NA\n").replace("21,0", "?,0");
    program.write("gaps.csv", gaps);
    program.refuse("ocnn gaps.csv", "gaps.csv, line 3, column y: \"NA\" is a missing number");
    let done = program.run(&format!("ocnn gaps.csv --missing drop --min-size 2 --keep all {BACKEND}")).succeed();
    assert!(done.err.contains("rows of \"gaps.csv\" with missing numbers left out"), "{}", done.err);
    let rows: Vec<&str> = done.out.lines().skip(1).map(|line| line.rsplitn(4, ',').last().unwrap()).collect();
    assert_eq!(rows, ["0,0", "1,0", "20,0", "0,20", "0,21", "1,20"]);
    let done = program.run(&format!("sammon gaps.csv --missing median --max-iterations 30 {BACKEND}")).succeed();
    assert_eq!(done.out.lines().count(), 10);
}

#[test]
fn new_points_are_prepared_as_the_fitted_ones() {
    let program = Program::firebox();
    let points = blobs();
    let text = flowers(&points);
    program.write("a.csv", &text);
    // The same rows with their columns in another order, and one more.
    let turned = text.lines().enumerate().map(|(row, line)| {
        let [id, colour, kind, length, width] = line.split(',').collect::<Vec<_>>().try_into().unwrap();
        let extra = if row == 0 { "extra" } else { "7" };
        format!("{width},{extra},{kind},{id},{length},{colour}\n")
    });
    program.write("new.csv", turned.collect::<String>());
    for args in ["--drop id --standardise robust", "--drop id --standardise standard --categorical one-hot"] {
        let new = "--predict new.csv --predict-output new.out.csv --keep id --model m.fbx";
        program.run(&format!("ocnn a.csv --label kind {args} {new} {BACKEND} -o a.out.csv")).succeed();
        let clusters = first_columns(&program.text("a.out.csv"), 2);
        assert_eq!(program.text("new.out.csv"), clusters, "{args}");
        // The model has the names, the scales and the texts.
        program.run(&format!("predict new.csv --model m.fbx --keep id {BACKEND} -o model.out.csv")).succeed();
        assert_eq!(program.text("model.out.csv"), clusters, "{args}");
    }
    program.write("short.csv", "id,width\n1,2\n");
    let args = "ocnn a.csv --label kind --drop id --predict short.csv --predict-output p.csv";
    program.refuse(args, "short.csv: there is no column \"length\"");
    program.write("other.csv", "length,width,colour\n1,2,green\n");
    let args = "ocnn a.csv --label kind --drop id --categorical one-hot --predict other.csv --predict-output p.csv";
    program.refuse(args, "other.csv, line 2, column colour: \"green\" is not among the texts red, blue");
}

#[test]
fn columnar_tables_give_the_same_answers() {
    let program = Program::firebox();
    for extension in ["csv", "parquet", "arrow", "arrows"] {
        program.run(&format!("generate blobs --points 90 --seed 5 -o a.{extension}")).succeed();
        let args = format!("ocnn a.{extension} --label label --keep all {BACKEND}");
        program.run(&format!("{args} -o {extension}.csv")).succeed();
        assert_eq!(program.text(&format!("{extension}.csv")), program.text("csv.csv"));
    }
    // Numbers and names of classes keep their types on the way out and in.
    program.write("named.csv", flowers(&blobs()));
    let ocnn = |input: &str, output: &str| {
        let args = format!("ocnn {input} --label kind --columns length,width --keep all {BACKEND} -o {output}");
        program.run(&args).succeed();
    };
    ocnn("named.csv", "b.csv");
    ocnn("named.csv", "b.parquet");
    let done =
        program.run(&format!("ocnn b.parquet --label kind --columns length,width --keep 1-5 {BACKEND} -o c.csv"));
    assert!(!done.succeed().err.contains("is text"));
    assert_eq!(program.text("c.csv"), program.text("b.csv"));
    let done = program.run(&format!("ocnn b.parquet --label kind --drop cluster {BACKEND} -o d.csv")).succeed();
    for notice in ["column \"colour\" is text and is left out", "column \"id\" has whole numbers that increase"] {
        assert!(done.err.contains(notice), "{}", done.err);
    }
    let bytes = program.read("b.parquet");
    program.write("cut.parquet", &bytes[..bytes.len() / 2]);
    program.refuse("ocnn cut.parquet", "cut.parquet: the file cannot be decoded");
    program.write("none.arrow", "");
    program.refuse("ocnn none.arrow", "none.arrow: the file is empty");
}
