//! Destinations of results: checked before the run, written together after it.

use std::{
    io::{self, IsTerminal, Write},
    path::{Path, PathBuf},
};

use firebox_core::{
    Error, Result,
    atomic::{Staged, is_same, is_stdout},
    command::{Outcome, PageOut, Paths},
    data::{self, Table},
    html::{About, Page},
    plot::{Image, Plot, Style},
    report::Report,
};

use crate::{
    args::{Format, Output},
    preview, stdio,
};

/// Checks all destinations without changing any file. Fails if an output cannot be written or would replace an input,
/// if two inputs are standard input, and if standard output is needed but closed.
pub(crate) fn check(output: &Output, files: &Paths) -> Result<()> {
    let Paths { inputs, tables, plots, pages, documents, states, resumed } = files;
    let is_stdin = |path: &Path| path.as_os_str() == "-";
    if inputs.iter().filter(|path| is_stdin(path)).count() > 1 {
        let what = "two inputs (-) cannot both come from standard input";
        return Err(Error::input(what, "name a file for one of them"));
    }
    let table = output.output.as_deref();
    if table.is_some_and(is_stdout) && output.format == Format::Json {
        let what = "the table (-o) and the report (--format json) cannot both go to standard output";
        return Err(Error::input(what, "name a file for one of them: -o OUT, or --report R with --format human"));
    }
    let table = table.filter(|path| !is_stdout(path));
    for path in table.into_iter().chain(tables.iter().map(PathBuf::as_path)) {
        data::Format::of(path)?;
    }
    output.plot.as_deref().map(Image::of).transpose()?;
    plots.iter().try_for_each(|path| Image::still(path).map(drop))?;
    pages.iter().try_for_each(|path| check_page(path))?;
    let plugin_files = tables.iter().chain(plots).chain(pages).chain(documents);
    let results = output.plot.iter().chain(&output.report).chain(plugin_files).map(PathBuf::as_path);
    let results = table.into_iter().chain(results).map(|path| (path, false));
    let mut staged = Staged::default();
    for (path, is_state) in results.chain(states.iter().map(|path| (path.as_path(), true))) {
        if is_stdout(path) {
            return Err(Error::input(
                "only -o can be standard output",
                "name a file; for the report there is --format json",
            ));
        }
        // A pipe is not opened for the check: closing it would signal the end to its reader.
        if !path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
            let mut sources = inputs.iter().chain(resumed.iter().filter(|_| !is_state));
            if sources.any(|input| !is_stdin(input) && is_same(input, path)) {
                let what = format!("{} is read, and an output is to be written to it", path.display());
                return Err(Error::input(what, "give the output a file of its own"));
            }
            staged.add(path, |_| Ok(())).map_err(as_input_error)?;
        }
    }
    if output.output.is_none() || output.format == Format::Json || output.output.as_deref().is_some_and(is_stdout) {
        stdio::check()?;
    }
    Ok(())
}

/// Fails if a path does not end in .html.
fn check_page(path: &Path) -> Result<()> {
    let extension = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    if extension.eq_ignore_ascii_case("html") || is_stdout(path) {
        return Ok(());
    }
    let what = format!("{}: an interactive report is a file of HTML", path.display());
    Err(Error::input(what, "give it a name that ends in .html"))
}

/// Converts I/O errors to input errors: before the run, a file that cannot be written is an invalid argument.
fn as_input_error(error: Error) -> Error {
    match error {
        Error::Io { .. } => Error::input(error.to_string(), error.help().unwrap_or_default()),
        other => other,
    }
}

/// Writes all outputs, files first, then standard output. Failure of one does not prevent the others.
pub(crate) fn write(
    output: &Output,
    outcome: &Outcome,
    page: Option<(PageOut, Result<Page>)>,
    report: &Report,
) -> Result<()> {
    let file = output.output.as_deref().filter(|path| !is_stdout(path));
    let mut staged = Staged::default();
    let tables = file.map(|path| (path, &outcome.table)).into_iter();
    for (path, table) in tables.chain(outcome.tables.iter().map(|(path, table)| (&**path, table))) {
        staged.attempt(|staged| stage(staged, path, table));
    }
    let style = output.style.style();
    let plot = output.plot.as_deref().into_iter().zip(&outcome.plot);
    for (path, plot) in plot.chain(outcome.plots.iter().map(|(path, plot)| (&**path, plot))) {
        staged.attempt(|staged| draw(staged, path, plot, &style));
    }
    if let Some((path, page)) = page {
        staged.attempt(|staged| {
            let text = page?.render(&About::new(report, &outcome.summary))?;
            staged.add(&path, |out| out.write_all(text.as_bytes()))
        });
    }
    for (path, document) in &outcome.documents {
        staged.attempt(|staged| staged.add(path, |out| document.write(out)));
    }
    if let Some(path) = &output.report {
        staged.attempt(|staged| staged.add(path, |out| json(report, out)));
    }
    staged.attempt(|staged| match output.format {
        Format::Json => staged.print(|out| json(report, out)),
        // A terminal gets the first rows, a pipe all of them.
        Format::Human if output.output.is_none() && io::stdout().is_terminal() => {
            staged.print(|out| preview::write(&outcome.table, out))
        }
        Format::Human if file.is_none() => staged.print(|out| outcome.table.write_csv(out)),
        Format::Human => Ok(()),
    });
    staged.commit()
}

/// Returns what the files of the outcome do not hold of it, in a sentence each.
pub(crate) fn losses(output: &Output, outcome: &Outcome) -> Vec<String> {
    let main = output.output.as_deref().filter(|path| !is_stdout(path)).map(|path| (path, &outcome.table));
    let tables = main.into_iter().chain(outcome.tables.iter().map(|(path, table)| (&**path, table)));
    let losses = tables.filter_map(|(path, table)| Some((path, table.losses(data::Format::of(path).ok()?))));
    losses.flat_map(|(path, losses)| losses.into_iter().map(|loss| format!("{}: {loss}", path.display()))).collect()
}

/// Returns the files that [`write`] writes, in its order, without the page.
pub(crate) fn files<'a>(output: &'a Output, outcome: &'a Outcome) -> Vec<&'a Path> {
    let main = output.output.as_deref().filter(|path| !is_stdout(path));
    let tables = main.into_iter().chain(outcome.tables.iter().map(|(path, _)| &**path));
    let plot = output.plot.as_deref().filter(|_| outcome.plot.is_some());
    let plots = plot.into_iter().chain(outcome.plots.iter().map(|(path, _)| &**path));
    let documents = outcome.documents.iter().map(|(path, _)| &**path);
    tables.chain(plots).chain(documents).chain(output.report.as_deref()).collect()
}

/// Stages a table in the format of its path's extension.
pub(crate) fn stage(staged: &mut Staged, path: &Path, table: &Table) -> Result<()> {
    let format = table.format_for(path)?;
    staged.add(path, |out| table.write_as(format, out))
}

/// Stages a plot in the format of its path's extension.
pub(crate) fn draw(staged: &mut Staged, path: &Path, plot: &Plot, style: &Style) -> Result<()> {
    let bytes = plot.render(Image::of(path)?, style)?;
    staged.add(path, |out| out.write_all(&bytes))
}

/// Writes `value` as indented JSON.
pub(crate) fn json(value: &impl serde::Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}
