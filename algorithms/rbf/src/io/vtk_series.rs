//! Solutions over time for ParaView: a `.pvd` file that names a `.vtu` file per time.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use firebox_core::command::Document;

use super::{
    solution_grid::{Field, Solutions},
    vtk::{self, VtkFormat},
};

/// The files of the series `path`, with time as coordinate `axis` of `field`, in the folder of `path`.
pub(crate) fn files(path: &Path, field: Field, values: Solutions, axis: usize) -> Vec<(PathBuf, Document)> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let (indices, name) = (field.times(), |number: usize| format!("{stem}-{number:04}.vtu"));
    let time = |(number, &at): (usize, &usize)| (field.coordinate(axis, at), name(number));
    let times: Vec<(f64, String)> = indices.iter().enumerate().map(time).collect();
    let solution = Arc::new((field, values));
    let snapshot = |(&at, (_, name)): (&usize, &(f64, String))| {
        let solution = solution.clone();
        let write = move |out: &mut dyn Write| {
            let (section, rows) = solution.0.section(axis, at);
            vtk::write(VtkFormat::Xml, &section, &solution.1.rows(&rows), out)
        };
        (path.with_file_name(name), Document::new(write))
    };
    let mut files: Vec<(PathBuf, Document)> = indices.iter().zip(&times).map(snapshot).collect();
    files.push((path.into(), Document::new(move |out| collection(&times, out))));
    files
}

/// The collection of files with their times.
fn collection(times: &[(f64, String)], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<?xml version=\"1.0\"?>")?;
    writeln!(out, "<VTKFile type=\"Collection\" version=\"0.1\" byte_order=\"LittleEndian\">\n<Collection>")?;
    for (time, name) in times {
        let name = name.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
        writeln!(out, "<DataSet timestep=\"{time}\" part=\"0\" file=\"{name}\"/>")?;
    }
    writeln!(out, "</Collection>\n</VTKFile>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{io::solution_grid::Values, problem::definition::Problem};

    #[test]
    fn a_series_has_a_file_per_time() {
        let field = Field::new(&Problem::named("poisson-cube").unwrap(), 3).unwrap();
        let values = Values { u: field.points.chunks(3).map(|x| x[2]).collect(), exact: None };
        let values = Solutions { names: vec!["u".into()], all: vec![values] };
        let last = field.coordinate(2, 2);
        let files = files(Path::new("a/b&c.pvd"), field, values, 2);
        let text = |(_, document): &(PathBuf, Document)| {
            let mut text = Vec::new();
            document.write(&mut text).unwrap();
            String::from_utf8(text).unwrap()
        };
        let texts: Vec<String> = files.iter().map(text).collect();
        let names: Vec<_> = files.iter().map(|(path, _)| path.to_str().unwrap()).collect();
        assert_eq!(names, ["a/b&c-0000.vtu", "a/b&c-0001.vtu", "a/b&c-0002.vtu", "a/b&c.pvd"]);
        assert!(
            texts[3].contains(&format!("timestep=\"{last}\" part=\"0\" file=\"b&amp;c-0002.vtu\"")),
            "{}",
            texts[3]
        );
        for (text, z) in texts.iter().zip([0.0, 0.5 * last, last]) {
            assert!(text.contains("NumberOfPoints=\"9\" NumberOfCells=\"4\""));
            let values = text.split("Name=\"u\" format=\"ascii\">\n").nth(1).unwrap().lines().take(9);
            assert!(values.map(|line| line.parse::<f64>().unwrap()).all(|u| u == z));
        }
    }
}
