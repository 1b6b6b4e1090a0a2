//! Where results go: checked before the run, written together after it.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use firebox_core::{
    Error, Outcome, Result,
    data::{
        self, Table,
        atomic::{Staged, is_same, is_stdout},
    },
    plot::{Image, Picture},
    report::Report,
};

use crate::{
    args::{Format, Output},
    stdio,
};

/// The files a plugin reads, and those it is asked for, by kind.
#[derive(Default)]
pub(crate) struct Files {
    pub inputs: Vec<PathBuf>,
    pub tables: Vec<PathBuf>,
    pub pictures: Vec<PathBuf>,
    pub documents: Vec<PathBuf>,
    pub checkpoints: Vec<PathBuf>,
    /// States that are read and that only the next state may replace.
    pub resumed: Vec<PathBuf>,
}

/// Fails if an output cannot be written, whatever the run may find, or would replace an input, and if standard input is
/// two inputs; leaves nothing behind. Fails as a run does if standard output is closed and something would go there.
pub(crate) fn check(output: &Output, files: &Files) -> Result<()> {
    let Files { inputs, tables: extra, pictures, documents, checkpoints, resumed } = files;
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
    for path in table.into_iter().chain(extra.iter().map(PathBuf::as_path)) {
        data::Format::of(path)?;
    }
    for path in output.plot.iter().chain(pictures) {
        Image::of(path)?;
    }
    let own = extra.iter().chain(pictures).chain(documents);
    let results = output.plot.iter().chain(&output.report).chain(own).map(PathBuf::as_path);
    let results = table.into_iter().chain(results).map(|path| (path, false));
    let mut staged = Staged::default();
    for (path, is_state) in results.chain(checkpoints.iter().map(|path| (path.as_path(), true))) {
        if is_stdout(path) {
            return Err(Error::input(
                "only -o can be standard output",
                "name a file; for the report there is --format json",
            ));
        }
        // Opening a pipe to try it out would be its reader's end.
        if !path.metadata().is_ok_and(|it| !it.is_file() && !it.is_dir()) {
            let mut read = inputs.iter().chain(resumed.iter().filter(|_| !is_state));
            if read.any(|input| !is_stdin(input) && is_same(input, path)) {
                let what = format!("{} is read, and an output is to be written to it", path.display());
                return Err(Error::input(what, "give the output a file of its own"));
            }
            staged.add(path, |_| Ok(())).map_err(before_the_run)?;
        }
    }
    if output.output.is_none() || output.format == Format::Json || output.output.as_deref().is_some_and(is_stdout) {
        stdio::check()?;
    }
    Ok(())
}

/// A file that cannot be written is a wrong argument as long as nothing was computed.
fn before_the_run(error: Error) -> Error {
    match error {
        Error::Io { .. } => Error::input(error.to_string(), error.help().unwrap_or_default()),
        other => other,
    }
}

/// Writes every output: files, then what goes to standard output. One that fails does not stop the others.
pub(crate) fn write(output: &Output, outcome: &Outcome, report: &Report) -> Result<()> {
    let file = output.output.as_deref().filter(|path| !is_stdout(path));
    let mut staged = Staged::default();
    let tables = file.map(|path| (path, &outcome.table)).into_iter();
    for (path, table) in tables.chain(outcome.extra.iter().map(|(path, table)| (path.as_path(), table))) {
        staged.attempt(|staged| stage(staged, path, table));
    }
    let plot = output.plot.iter().zip(&outcome.picture);
    for (path, picture) in plot.chain(outcome.pictures.iter().map(|(path, picture)| (path, picture))) {
        staged.attempt(|staged| draw(staged, path, picture));
    }
    for (path, document) in &outcome.documents {
        staged.attempt(|staged| staged.add(path, |out| document.write(out)));
    }
    if let Some(path) = &output.report {
        staged.attempt(|staged| staged.add(path, |out| json(report, out)));
    }
    staged.attempt(|staged| match output.format {
        Format::Json => staged.print(|out| json(report, out)),
        Format::Human if file.is_none() => staged.print(|out| outcome.table.write_csv(out)),
        Format::Human => Ok(()),
    });
    staged.commit()
}

/// Stages a table in the format of its path's extension.
pub(crate) fn stage(staged: &mut Staged, path: &Path, table: &Table) -> Result<()> {
    let format = table.format_for(path)?;
    staged.add(path, |out| table.write_as(format, out))
}

/// Stages a picture in the format of its path's extension.
pub(crate) fn draw(staged: &mut Staged, path: &Path, picture: &Picture) -> Result<()> {
    let bytes = picture.render(Image::of(path)?)?;
    staged.add(path, |out| out.write_all(&bytes))
}

/// Writes `value` as indented JSON.
pub(crate) fn json(value: &impl serde::Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}
