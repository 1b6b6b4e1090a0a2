//! Tests of the arguments for input points.

use super::*;
use crate::observe::Silent;
use clap::{Args, FromArgMatches};

fn parse(args: &[&str]) -> std::result::Result<InputArgs, clap::Error> {
    let command = InputArgs::augment_args(clap::Command::new("test"));
    InputArgs::from_arg_matches(&command.try_get_matches_from(args)?)
}

#[test]
fn the_two_sources_of_labels_exclude_each_other() {
    let args = parse(&["test", "a.csv", "--label", "class"]).unwrap();
    assert_eq!(args.label.as_deref(), Some("class"));
    assert!(parse(&["test", "a.csv", "--labels", "a.cls"]).is_ok());
    assert!(parse(&["test", "-"]).is_ok());
    assert!(parse(&["test", "a.csv", "--label", "1", "--labels", "a.cls"]).is_err());
    assert!(parse(&["test"]).is_err());
}

/// Records notices.
#[derive(Default)]
struct Notices(std::sync::Mutex<Vec<String>>);

impl Observer for Notices {
    fn notice(&self, text: &str) {
        self.0.lock().unwrap().push(text.into());
    }
}

/// The arguments for a file, by their texts after its name.
fn input(path: &Path, args: &[&str]) -> InputArgs {
    let path = path.display().to_string();
    parse(&[&["test", &path], args].concat()).unwrap()
}

/// Reads points from a text; returns them or the error, and the notices.
fn read(
    text: &str,
    args: &[&str],
    preparation: PreparationArgs,
) -> (std::result::Result<PreparedPoints, String>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, text).unwrap();
    let notices = Notices::default();
    let found = input(&path, args).read_prepared(preparation, None, &notices);
    let place = format!("{}/", folder.path().display());
    let notices = notices.0.into_inner().unwrap().iter().map(|text| text.replace(&place, "")).collect();
    (found.map_err(|error| error.to_string().replace(&place, "")), notices)
}

const FLOWERS: &str = "id,length,colour,width,kind\n1,5,red,2,a\n2,4,blue,1,b\n3,6,red,3,a\n";

#[test]
fn columns_are_chosen_and_text_is_left_out_with_a_notice() {
    for (args, names, values) in [
        (&["--label", "kind", "--drop", "id"][..], "length width", vec![5.0, 2.0, 4.0, 1.0, 6.0, 3.0]),
        (&["--label", "kind", "--columns", "4,2"], "width length", vec![2.0, 5.0, 1.0, 4.0, 3.0, 6.0]),
        (&["--drop", "colour,kind,1"], "length width", vec![5.0, 2.0, 4.0, 1.0, 6.0, 3.0]),
        (
            &["--columns", "colour,width", "--categorical", "one-hot"],
            "colour=red colour=blue width",
            vec![1.0, 0.0, 2.0, 0.0, 1.0, 1.0, 1.0, 0.0, 3.0],
        ),
    ] {
        let (found, _) = read(FLOWERS, args, PreparationArgs::default());
        let points = found.unwrap().points;
        assert_eq!((points.names.join(" "), points.values), (names.to_string(), values), "{args:?}");
    }
    let notices = |args: &[&str]| read(FLOWERS, args, PreparationArgs::default()).1;
    assert_eq!(
        notices(&["--label", "kind"]),
        ["column \"colour\" is text and is left out; `categorical = one-hot` takes text as coordinates"]
    );
    assert_eq!(
        notices(&["--drop", "colour"]),
        ["column \"kind\" is text and is left out; if it holds the classes, add `label = kind`; \
          `categorical = one-hot` takes text as coordinates"]
    );
    assert!(notices(&["--drop", "kind,colour"]).is_empty());
    let error = |text: &str, args: &[&str]| read(text, args, PreparationArgs::default()).0.unwrap_err();
    let chosen = error(FLOWERS, &["--columns", "colour,width"]);
    assert_eq!(chosen, "a.csv, line 2, column colour: \"red\" is not a number");
    // A column with text and numbers is a mistake, whatever comes first.
    let mixed = "a.csv, line 3, column y: \"two\" is not a number";
    assert_eq!(error("x,y\n1,1\n2,two\n", &[]), mixed);
    assert_eq!(error("x,y\n1,\n2,two\n3,4\n", &["--drop", "x"]), "a.csv: there is no column of coordinates");
    assert_eq!(error("x,y\n1,one\n2,2\n", &[]), "a.csv, line 2, column y: \"one\" is not a number");
    let many: String = (0..101).map(|i| format!("{i},t{i}\n")).collect();
    let error = error(&format!("x,y\n{many}"), &["--categorical", "one-hot"]);
    assert!(error.contains("column y: the column has more than 100 different texts"), "{error}");
}

#[test]
fn points_are_prepared() {
    let text = "x,y\n1,10\n?,20\n3,\n5,30\n";
    let preparation = |missing, standardise| PreparationArgs { missing, standardise };
    let (found, notices) = read(text, &[], preparation(Missing::Mean, Standardise::None));
    assert_eq!(found.unwrap().points.values, [1.0, 10.0, 3.0, 20.0, 3.0, 20.0, 5.0, 30.0]);
    assert_eq!(notices, ["2 missing numbers of \"a.csv\" replaced by the means of the columns"]);
    let (found, notices) = read(text, &[], preparation(Missing::Drop, Standardise::Standard));
    assert_eq!(found.unwrap().points.values, [-1.0, -1.0, 1.0, 1.0]);
    assert_eq!(notices, ["2 rows of \"a.csv\" with missing numbers left out, of the answer too"]);
    let (found, _) = read(text, &[], PreparationArgs::default());
    assert_eq!(found.unwrap_err(), "a.csv, line 3, column x: \"?\" is a missing number");
    let (found, _) =
        read("x,c\n1,red\n2,\n3,blue\n", &["--categorical", "one-hot"], preparation(Missing::Drop, Standardise::None));
    assert_eq!(found.unwrap().points.values, [1.0, 1.0, 0.0, 3.0, 0.0, 1.0]);
    assert!(preparation(Missing::Drop, Standardise::None).refuse("distances").is_err());
    assert!(preparation(Missing::Refuse, Standardise::None).refuse("distances").is_ok());
}

/// The values of further points in `new`, read with the coordinates of `first`, or the error.
fn more(first: &str, label: Option<&str>, new: &str) -> std::result::Result<Vec<f64>, String> {
    more_weighted(first, label, None, new)
}

fn more_weighted(
    first: &str,
    label: Option<&str>,
    weight: Option<&str>,
    new: &str,
) -> std::result::Result<Vec<f64>, String> {
    let folder = tempfile::tempdir().unwrap();
    let [input, path] = ["first.csv", "new.csv"].map(|name| folder.path().join(name));
    std::fs::write(&input, first).unwrap();
    std::fs::write(&path, new).unwrap();
    let options: Vec<&str> = label.into_iter().flat_map(|label| ["--label", label]).collect();
    let (args, preparation) = (self::input(&input, &options), PreparationArgs::default());
    let like = args.read_prepared(preparation, weight, &Silent).unwrap();
    let points = args.read_more(&path, &like.schema, weight, &Silent);
    let place = format!("{}/", folder.path().display());
    points.map(|(points, _)| points.values).map_err(|error| error.to_string().replace(&place, ""))
}

#[test]
fn targets_are_the_last_coordinates_by_their_numbers_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    std::fs::write(&path, "name,x,y,z\nA,1,2,3\nB,4,5,6\n").unwrap();
    for (args, targets, names) in
        [(&[][..], "2", "y z x"), (&["--columns", "3,4"], "2", "y z x"), (&["--drop", "3"], "z", "x z")]
    {
        let args = input(&path, args);
        let options = ReadOptions { targets: Some(targets.into()), ..args.options() };
        let notices = Notices::default();
        let part = args.read_part(&options, Share::WHOLE, &notices).unwrap();
        assert_eq!((part.points.names.join(" "), part.targets), (names.into(), targets.split(',').count()));
        assert!(notices.0.into_inner().unwrap().iter().all(|notice| !notice.contains("label")));
    }
}

#[test]
fn further_points_may_have_weights() {
    const FIRST: &str = "x,class,m,y\n1,a,3,2\n3,b,1,4\n";
    for (label, weight, new) in [
        (Some("class"), "m", "x,class,m,y\n5,a,2,6\n"),
        (Some("2"), "3", "x,class,m,y\n5,a,2,6\n"),
        (Some("class"), "m", "x,m,y\n5,2,6\n"),
        (Some("class"), "m", "x,class,y\n5,a,6\n"),
        (Some("2"), "3", "x,y\n5,6\n"),
        (Some("2"), "3", "5,6\n"),
    ] {
        assert_eq!(more_weighted(FIRST, label, Some(weight), new).unwrap(), [5.0, 6.0], "{label:?} {weight} {new}");
    }
    assert_eq!(more_weighted("x,m,y\n1,3,2\n", None, Some("2"), "5,1,6\n").unwrap(), [5.0, 6.0]);
    // Names count, and numbers where names are absent.
    for new in ["x,y,class,m\n5,6,1,2\n", "x,m,y,class\n5,2,6,1\n"] {
        assert_eq!(more_weighted("x,y,m,class\n1,2,3,4\n", Some("4"), Some("m"), new).unwrap(), [5.0, 6.0], "{new}");
        assert_eq!(more_weighted("x,y,class,m\n1,2,3,4\n", Some("2"), Some("m"), new).unwrap(), [5.0, 1.0], "{new}");
    }
    let error = more_weighted(FIRST, Some("2"), Some("3"), "5,7,6\n").unwrap_err();
    assert_eq!(error, "new.csv: these points have 3 columns; those of the fit have 2");
    let error = more_weighted(FIRST, Some("class"), Some("m"), "x,class,m,y\n5,a,0,6\n").unwrap_err();
    assert!(error.starts_with("new.csv, row 1, column m: the weight 0"), "{error}");
}

#[test]
fn further_points_have_the_same_coordinates() {
    const NAMED: &str = "x,y,class\n1,2,a\n3,4,b\n";
    for (first, label, new) in [
        (NAMED, Some("class"), "x,y\n5,6\n"),
        (NAMED, Some("class"), "class,x,y\nz,5,6\n"),
        (NAMED, Some("3"), "x,y\n5,6\n"),
        (NAMED, Some("3"), "x,y,kind\n5,6,a\n"),
        (NAMED, Some("3"), "5,6\n"),
        ("1,2,7\n3,4,8\n", Some("3"), "5,6\n"),
        ("7,1,2\n8,3,4\n", Some("1"), "5,6\n"),
        ("7,1,2\n8,3,4\n", Some("1"), "9,5,6\n"),
        ("7,1,2\n8,3,4\n", Some("1"), "u,v\n5,6\n"),
        ("x,y\n1,2\n3,4\n", None, "x,y\n5,6\n"),
        (NAMED, Some("class"), "y,x\n6,5\n"),
        (NAMED, Some("3"), "class,x,y\n1,5,6\n"),
        (NAMED, Some("3"), "x,note,y,z,class\n5,a,6,7,1\n"),
    ] {
        assert_eq!(more(first, label, new).unwrap(), [5.0, 6.0], "{first} {label:?} {new}");
    }
    // As many columns as coordinates: the third column is a coordinate.
    assert_eq!(more("1,2,7,4\n", Some("3"), "5,6,8\n").unwrap(), [5.0, 6.0, 8.0]);
    for (first, label, new, expected) in [
        (NAMED, Some("class"), "x,class\n5,6\n", ": there is no column \"y\" to take the coordinates from"),
        (NAMED, Some("class"), "5,6,7\n", ": these points have 3 columns; those of the fit have 2"),
        (NAMED, Some("3"), "x\n5\n", ": there is no column \"y\" to take the coordinates from"),
        (NAMED, Some("class"), "x,y,class\n5,nan,a\n", ", line 2, column y: \"nan\" is a missing number"),
        ("1,2\n", None, "5,6,7\n", ": these points have 3 columns; those of the fit have 2"),
    ] {
        assert_eq!(more(first, label, new).unwrap_err(), format!("new.csv{expected}"), "{first} {label:?} {new}");
    }
}
