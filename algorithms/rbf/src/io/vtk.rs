//! Solutions as unstructured VTK grids in text form: the cells whose corners are all in the domain.
//!
//! The crate `vtkio` is not used: it has had no stable release since 2021 and includes parsers of the whole format.

use std::{
    io::{self, Write},
    path::Path,
};

use firebox_core::{Error, Result, error::Place};

use super::solution_grid::{Field, Solutions};

/// A VTK file format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VtkFormat {
    /// `.vtk`: version 3.0 of the simple legacy format, in text.
    Legacy,
    /// `.vtu`: XML, in text.
    Xml,
    /// `.pvd`: a `.vtu` file per time, of solutions over time.
    Series,
}

impl VtkFormat {
    /// The format of the extension. Fails for others.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default().to_ascii_lowercase();
        match extension.as_str() {
            "vtk" => Ok(Self::Legacy),
            "vtu" => Ok(Self::Xml),
            "pvd" => Ok(Self::Series),
            _ => {
                let what = "VTK has a format by the file's extension";
                Err(Error::input_at(
                    Place::file(path),
                    what,
                    "name the file .vtk or .vtu, or .pvd for a series over time",
                ))
            }
        }
    }
}

/// VTK cell types of lines, rectangles and boxes with corners in the order of x running fastest.
const TYPES: [u8; 3] = [3, 8, 11];

/// Writes the solution `values` at the points of `field`.
pub(crate) fn write(format: VtkFormat, field: &Field, values: &Solutions, out: &mut dyn Write) -> io::Result<()> {
    let kind = TYPES[field.dims.clamp(1, TYPES.len()) - 1];
    match format {
        VtkFormat::Legacy => legacy(out, field, values, kind),
        VtkFormat::Xml | VtkFormat::Series => xml(out, field, values, kind),
    }
}

/// The columns without NaN, which some readers of the text format refuse.
fn columns(values: &Solutions) -> impl Iterator<Item = (String, &[f64])> {
    values.columns().into_iter().filter(|(_, column)| column.iter().all(|value| value.is_finite()))
}

/// Corners of the cells that lie in the domain.
fn cells(field: &Field) -> impl Iterator<Item = [usize; 8]> {
    let (dims, side) = (field.dims, field.side);
    let corner = move |node: usize, which: usize| {
        let step: usize = (0..dims).filter(|axis| which >> axis & 1 == 1).map(|axis| side.pow(axis as u32)).sum();
        field.row(node + step)
    };
    let last = move |node: &usize| (0..dims).any(|axis| node / side.pow(axis as u32) % side == side - 1);
    (0..field.nodes()).filter(move |node| !last(node)).filter_map(move |node| {
        let mut corners = [0; 8];
        for (which, place) in corners.iter_mut().enumerate().take(1 << dims) {
            *place = corner(node, which)?;
        }
        Some(corners)
    })
}

/// A point as three coordinates, 0 beyond the dimensions.
fn point(point: &[f64]) -> String {
    let at = |axis: usize| point.get(axis).copied().unwrap_or(0.0);
    format!("{} {} {}", at(0), at(1), at(2))
}

fn joined(cell: [usize; 8], corners: usize) -> String {
    cell[..corners].iter().map(usize::to_string).collect::<Vec<_>>().join(" ")
}

fn legacy(out: &mut dyn Write, field: &Field, values: &Solutions, kind: u8) -> io::Result<()> {
    let (corners, count) = (1 << field.dims, cells(field).count());
    writeln!(out, "# vtk DataFile Version 3.0\nRBF network\nASCII\nDATASET UNSTRUCTURED_GRID")?;
    writeln!(out, "POINTS {} double", values.points())?;
    field.points.chunks(field.dims).try_for_each(|at| writeln!(out, "{}", point(at)))?;
    writeln!(out, "CELLS {count} {}", count * (corners + 1))?;
    cells(field).try_for_each(|cell| writeln!(out, "{corners} {}", joined(cell, corners)))?;
    writeln!(out, "CELL_TYPES {count}")?;
    (0..count).try_for_each(|_| writeln!(out, "{kind}"))?;
    writeln!(out, "POINT_DATA {}", values.points())?;
    for (name, column) in columns(values) {
        writeln!(out, "SCALARS {name} double 1\nLOOKUP_TABLE default")?;
        column.iter().try_for_each(|value| writeln!(out, "{value}"))?;
    }
    Ok(())
}

fn xml(out: &mut dyn Write, field: &Field, values: &Solutions, kind: u8) -> io::Result<()> {
    let (corners, count) = (1 << field.dims, cells(field).count());
    let array = |kind: &str, name: &str, more: &str| {
        format!("<DataArray type=\"{kind}\" Name=\"{name}\"{more} format=\"ascii\">")
    };
    writeln!(out, "<?xml version=\"1.0\"?>")?;
    writeln!(out, "<VTKFile type=\"UnstructuredGrid\" version=\"0.1\" byte_order=\"LittleEndian\">")?;
    let sizes = format!("NumberOfPoints=\"{}\" NumberOfCells=\"{count}\"", values.points());
    writeln!(out, "<UnstructuredGrid>\n<Piece {sizes}>\n<Points>")?;
    writeln!(out, "{}", array("Float64", "Points", " NumberOfComponents=\"3\""))?;
    field.points.chunks(field.dims).try_for_each(|at| writeln!(out, "{}", point(at)))?;
    writeln!(out, "</DataArray>\n</Points>\n<Cells>\n{}", array("Int64", "connectivity", ""))?;
    cells(field).try_for_each(|cell| writeln!(out, "{}", joined(cell, corners)))?;
    writeln!(out, "</DataArray>\n{}", array("Int64", "offsets", ""))?;
    (1..=count).try_for_each(|k| writeln!(out, "{}", k * corners))?;
    writeln!(out, "</DataArray>\n{}", array("UInt8", "types", ""))?;
    (0..count).try_for_each(|_| writeln!(out, "{kind}"))?;
    writeln!(
        out,
        "</DataArray>\n</Cells>\n<PointData Scalars=\"{}\">",
        columns(values).next().map_or("u".into(), |it| it.0)
    )?;
    for (name, column) in columns(values) {
        writeln!(out, "{}", array("Float64", &name, ""))?;
        column.iter().try_for_each(|value| writeln!(out, "{value}"))?;
        writeln!(out, "</DataArray>")?;
    }
    writeln!(out, "</PointData>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{problem::definition::Problem, solve::network::RbfNetwork};

    fn written(problem: &str, side: usize, format: VtkFormat) -> String {
        let field = Field::new(&Problem::named(problem).unwrap(), side).unwrap();
        let network = RbfNetwork::new(field.dims, vec![0.0; field.dims], vec![1.0], vec![1.0]).unwrap();
        let values = Solutions::new(&["u".into()], &[network.into()], &field.points, field.exact.as_ref()).unwrap();
        let mut text = Vec::new();
        write(format, &field, &values, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn cells_outside_are_left_out() {
        let text = written("l-shape", 5, VtkFormat::Legacy);
        for line in ["POINTS 21 double", "CELLS 12 60", "CELL_TYPES 12", "POINT_DATA 21", "SCALARS error double 1"] {
            assert!(text.lines().any(|it| it == line), "{line}");
        }
        assert!(text.contains("\n4 0 1 3 4\n"));
        assert_eq!(text.lines().filter(|line| *line == "8").count(), 12);
    }

    #[test]
    fn both_formats_hold_boxes_in_three_dimensions() {
        let text = written("poisson-cube", 3, VtkFormat::Legacy);
        assert!(
            text.contains("POINTS 27 double") && text.contains("CELLS 8 72") && text.contains("8 0 1 3 4 9 10 12 13")
        );
        let text = written("poisson-cube", 3, VtkFormat::Xml);
        assert!(text.contains("NumberOfPoints=\"27\" NumberOfCells=\"8\"") && text.contains("\n0 1 3 4 9 10 12 13\n"));
        assert_eq!(text.matches("<DataArray").count(), text.matches("</DataArray>").count());
    }

    #[test]
    fn extensions_determine_formats() {
        assert_eq!(VtkFormat::of(Path::new("a.VTU")).unwrap(), VtkFormat::Xml);
        assert!(VtkFormat::of(Path::new("a.txt")).unwrap_err().help().unwrap().contains(".vtu"));
    }
}
