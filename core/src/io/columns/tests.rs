//! Tests of the roles of columns.

use super::*;

fn names(text: &str) -> Vec<String> {
    text.split(' ').map(String::from).collect()
}

/// The indices of the labels and the weights.
fn two(columns: Columns<'_>, names: &[String], is_data: &dyn Fn(usize) -> bool) -> Result<[Option<usize>; 2]> {
    columns.find(names, is_data).map(|roles| [roles.label, roles.weight])
}

#[test]
fn a_column_is_found_by_name_then_by_number() {
    let names = names("x 2 class class");
    for (wanted, expected) in [
        ("x", Ok(0)),
        ("2", Ok(1)),
        ("3", Ok(2)),
        ("0", Err("there is no column \"0\" to take the labels from")),
        ("5", Err("there is no column \"5\" to take the labels from")),
        ("species", Err("there is no column \"species\" to take the labels from")),
        ("class", Err("several columns are called \"class\"")),
    ] {
        let found = find(&names, wanted, "labels").map_err(|error| error.to_string());
        assert_eq!(found, expected.map_err(String::from));
    }
    let both = |label, weight| Columns { label: Some(label), weight: Some(weight), ..Columns::default() };
    assert_eq!(two(both("x", "3"), &names, &|_| true).unwrap(), [Some(0), Some(2)]);
    let error = two(both("x", "1"), &names, &|_| true).unwrap_err().to_string();
    assert_eq!(error, "column x: both the labels and the weights are taken from this column");
    let error = two(both("x", "w"), &names, &|_| true).unwrap_err().to_string();
    assert_eq!(error, "there is no column \"w\" to take the weights from");
    let help = find(&names, "species", "labels").unwrap_err().help().unwrap();
    assert_eq!(help, "name one of the columns x, 2, class, class, or give its number from 1 to 4");
    let many: Vec<String> = (0..30).map(|i| format!("p{i}")).collect();
    assert!(listed(&many).contains("p19 and 10 more"));
}

#[test]
fn columns_are_selected_by_names_numbers_and_ranges() {
    let names = names("id x y z class 5-9");
    let all = |columns, drop| {
        let roles = Columns { label: Some("class"), columns, drop, ..Columns::default() };
        roles.find(&names, &|at| at != 5).map(|roles| roles.coordinates).map_err(|error| error.to_string())
    };
    for (columns, drop, expected) in [
        (None, None, vec![0, 1, 2, 3]),
        (Some("y,x"), None, vec![2, 1]),
        (Some("2-4"), None, vec![1, 2, 3]),
        (Some(" 4 , 1-3,x"), None, vec![3, 0, 1, 2]),
        (Some("1-6"), None, vec![0, 1, 2, 3, 5]),
        (Some("5-9"), None, vec![5]),
        (None, Some("id"), vec![1, 2, 3]),
        (None, Some("1-2,class"), vec![2, 3]),
        (Some("1-3"), Some("id"), vec![1, 2]),
        (Some("class"), None, vec![]),
    ] {
        assert_eq!(all(columns, drop), Ok(expected), "{columns:?} {drop:?}");
    }
    for (columns, entry) in [("x,", ""), ("x,u", "u"), ("0-2", "0-2"), ("3-2", "3-2"), ("2-7", "2-7"), ("-", "-")] {
        let expected = format!("there is no column {} to take as a coordinate", shown(entry));
        assert_eq!(all(Some(columns), None), Err(expected));
    }
    assert_eq!(all(None, Some("u")), Err("there is no column \"u\" to leave out".into()));
    let comma = ["a,b", "a", "b"].map(String::from);
    assert_eq!(select(&comma, "a,b", "").unwrap(), [0]);
    assert_eq!(select(&comma, "a, b", "").unwrap(), [1, 2]);
}

#[test]
fn one_of_two_columns_is_identified_by_its_name() {
    let like = names("C1 C2");
    for (label, weight, columns, expected) in [
        ("class", "w", "x y class w", [Some(2), Some(3)]),
        ("class", "w", "w x y", [None, Some(0)]),
        ("class", "w", "x class y", [Some(1), None]),
        ("class", "w", "x y", [None, None]),
        ("class", "w", "x w", [None, None]),
        ("1", "4", "class x y w", [Some(0), Some(3)]),
        ("1", "4", "x y w", [None, None]),
        ("1", "2", "w x y", [None, None]),
        ("3", "w", "x w y", [None, Some(1)]),
    ] {
        let columns = names(columns);
        let roles = Columns { label: Some(label), weight: Some(weight), like: Some(&like), ..Columns::default() };
        assert_eq!(two(roles, &columns, &|_| true).unwrap(), expected, "{label} {weight} {columns:?}");
    }
    // A column that is never a coordinate is always identified.
    let roles = Columns { label: Some("4"), weight: Some("1"), like: Some(&like), ..Columns::default() };
    assert_eq!(two(roles, &names("w x y class"), &|at| at < 3).unwrap(), [Some(3), Some(0)]);
}

#[test]
fn options_of_a_further_table_are_not_ignored() {
    let like = names("x y");
    let own = Columns { like: Some(&like), own: true, ..Columns::default() };
    let coordinates = |columns: Columns<'_>, header: &str| {
        columns.find(&names(header), &|_| true).map(|roles| roles.coordinates).map_err(|error| error.to_string())
    };
    let left = |count: usize| Err(format!("{count} of the columns are left as coordinates; the fit has 2"));
    let columns = |columns| Columns { columns: Some(columns), ..own };
    let drop = |drop| Columns { drop: Some(drop), ..own };
    let label = |label| Columns { label: Some(label), ..own };
    assert_eq!(coordinates(columns("3,1"), "C1 C2 C3"), Ok(vec![2, 0]));
    assert_eq!(coordinates(columns("Y,X"), "X Y"), Ok(vec![1, 0]));
    assert_eq!(coordinates(columns("1"), "C1 C2"), left(1));
    assert_eq!(coordinates(drop("2"), "C1 C2 C3"), Ok(vec![0, 2]));
    assert_eq!(coordinates(drop("2"), "C1 C2"), left(1));
    assert_eq!(coordinates(label("1"), "C1 C2 C3"), Ok(vec![1, 2]));
    assert_eq!(coordinates(label("kind"), "y kind x"), Ok(vec![2, 0]));
    for (columns, header, expected) in [
        (label("9"), "C1 C2", "there is no column \"9\" to take the labels from"),
        (drop("9"), "x y", "there is no column \"9\" to leave out"),
        (columns("9"), "x y", "there is no column \"9\" to take as a coordinate"),
        (drop("x"), "x y", "column x: the column is a coordinate of the fit"),
        (label("y"), "x y", "column y: the column is a coordinate of the fit"),
    ] {
        assert_eq!(coordinates(columns, header), Err(expected.to_string()), "{header}");
    }
}

#[test]
fn coordinates_of_an_earlier_table_are_found_by_name() {
    let like = names("x y");
    let roles = Columns { label: Some("class"), drop: Some("id"), like: Some(&like), ..Columns::default() };
    let found = roles.find(&names("class y extra x"), &|_| true).unwrap();
    let expected = Roles { label: Some(0), coordinates: vec![3, 1], chosen: true, ..Roles::default() };
    assert_eq!(found, expected);
    let kept = |keep, names: &[String]| Columns { keep, ..roles }.find(names, &|_| true).map(|roles| roles.kept);
    assert_eq!(kept(Some("all"), &names("class y x")).unwrap(), [0, 1, 2]);
    assert_eq!(kept(Some("all"), &names("class y x all")).unwrap(), [3]);
    assert_eq!(kept(Some("3,y"), &names("class y x")).unwrap(), [2, 1]);
    let error = kept(Some("id"), &names("class y x")).unwrap_err().to_string();
    assert_eq!(error, "there is no column \"id\" to keep");
    let error = roles.find(&names("x class"), &|_| true).unwrap_err().to_string();
    assert_eq!(error, "there is no column \"y\" to take the coordinates from");
    // A header may have default names beside others.
    let default = names("C1 C2");
    let roles = Columns { like: Some(&default), ..Columns::default() };
    assert_eq!(roles.find(&names("label C2 C1"), &|_| true).unwrap().coordinates, [2, 1]);
    assert_eq!(roles.find(&names("C2 C1"), &|_| true).unwrap().coordinates, [1, 0]);
    // Without names the roles of the earlier table hold, if the number of columns suits them.
    let roles = Columns { drop: Some("1"), label: Some("2"), like: Some(&like), ..Columns::default() };
    assert_eq!(roles.find(&names("C1 C2 C3 C4"), &|_| true).unwrap().coordinates, [2, 3]);
    assert_eq!(roles.find(&names("C1 C2"), &|_| true).unwrap().coordinates, [0, 1]);
}
