//! `firebox <algorithm>`: runs an algorithm and writes its outcome.

use std::{
    env,
    io::{IsTerminal, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use clap::{ArgMatches, FromArgMatches};
use firebox_backends::{Device, Plugin};
use firebox_core::{
    Error, Observer, Session,
    command::{Outcome, Paths},
    plot::Image,
    report::{Input, InputSize, Memory, Report},
};

use crate::{
    args::{Compute, Output, Verbosity},
    cache,
    failure::Failure,
    interrupt, output, printable,
    progress::Progress,
    ranks::Ranks,
};

pub(super) fn run(name: &str, plugin: &dyn Plugin, args: &ArgMatches, ranks: &Ranks) -> Result<(), Failure> {
    cache::configure();
    // If the algorithm has subcommands, these hold the common arguments.
    let common = args.subcommand().map_or(args, |(_, args)| args);
    let (compute, verbosity) = (Compute::from_arg_matches(common)?, Verbosity::from_arg_matches(common)?);
    let output = Output::from_arg_matches(common)?;
    verbosity.start_logging();
    if let Some(path) = &output.plot {
        plugin.can_plot(args)?;
        if Image::of(path).is_ok_and(|image| image == Image::Gif) {
            plugin.can_animate(args)?;
        }
    }
    let files = Paths::of(args);
    if !(files.states.is_empty() && files.documents.is_empty()) {
        interrupt::extend_grace_period();
    }
    let quiet = verbosity.quiet || !ranks.is_root();
    if ranks.is_distributed() {
        plugin.can_share(args)?;
        if files.inputs.iter().any(|path| path == Path::new("-")) {
            let what = "standard input (-) is available to rank 0 only";
            return Err(Error::input(what, "name a file that all processes can read").into());
        }
        ranks.check_files(&files.inputs)?;
    }
    if ranks.is_root() {
        output::check(&output, &files)?;
    }
    let progress = Arc::new(Progress::new(quiet));
    ranks.check_affinity(&*progress);
    let device = Device::find(ranks.device(compute.backend, &*progress), compute.precision)?;
    tracing::info!(backend = device.backend(), ?device, precision = %compute.precision, "device found");

    ranks.check_backends(&device)?;
    let peers = ranks.peers(&device)?;
    let session = Session {
        observer: progress.clone(),
        communicator: ranks.communicator(),
        sharers: ranks.sharers(&device),
        peers: peers.clone(),
        ..compute.session()
    };
    let start = Instant::now();
    // `watched` also stops loops that have no access to the session.
    let outcome = session.watched(|| plugin.run(args, &device, &session)).and_then(|outcome| outcome);
    progress.finish();
    let mut outcome = outcome?;
    let direct = peers.as_ref().is_some_and(|peers| peers.is_connected());
    if peers.is_some_and(|peers| peers.required()) && !direct {
        progress.notice("this run exchanged no data directly between devices; all of it went through the hosts");
    }
    let rank_report = ranks.report(&device.limits().device, start.elapsed().as_secs_f64(), direct);
    if !ranks.is_root() {
        return Ok(());
    }
    if interrupt::requested() {
        return Err(Error::Cancelled.into());
    }
    if output.plot.is_some() && outcome.plot.is_none() {
        progress.notice(&format!("{name} has no plot; nothing was written for --plot"));
    }
    if output.style.is_given() && output.plot.is_none() && files.plots.is_empty() {
        progress.notice("no plot is drawn, which --theme, --size and --title are for; --plot names one");
    }
    let report = Report { ranks: rank_report, ..report(name, &files.inputs, &compute, &device, &outcome) };
    output::losses(&output, &outcome).iter().for_each(|loss| progress.notice(loss));
    let page = outcome.page.take();
    let page_path = page.as_ref().map(|(path, _)| path.to_path_buf());
    output::write(&output, &outcome, page, &report)?;
    let mut summary = outcome.summary.as_str();
    if verbosity.quiet {
        // The first line says that the result falls short; a result that does not is silent.
        summary = summary.lines().next().filter(|_| outcome.unresolved).unwrap_or_default();
    }
    if !summary.is_empty() {
        let _ = writeln!(std::io::stderr(), "{}", printable::lines(summary));
    }
    let mut files = output::files(&output, &outcome);
    files.extend(page_path.as_deref());
    if !(quiet || files.is_empty()) && std::io::stderr().is_terminal() {
        let files: Vec<_> = files.iter().map(|path| path.display().to_string()).collect();
        let _ = writeln!(std::io::stderr(), "{}", printable::line(&format!("wrote {}", files.join(", "))));
    }
    if outcome.unresolved { Err(Failure::Unresolved) } else { Ok(()) }
}

fn report(name: &str, inputs: &[PathBuf], compute: &Compute, device: &Device, outcome: &Outcome) -> Report {
    let InputSize { rows, columns } = outcome.input;
    Report {
        algorithm: name.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        arguments: env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect(),
        backend: device.backend().into(),
        device: device.limits().device,
        precision: compute.precision.to_string(),
        seed: compute.seed,
        config: outcome.config.clone(),
        input: Input { paths: inputs.iter().map(|path| path.display().to_string()).collect(), rows, columns },
        timings: outcome.timings.clone(),
        memory: Memory { peak_device_bytes: outcome.peak_device_bytes },
        ranks: None,
        result: outcome.result.clone(),
    }
}
