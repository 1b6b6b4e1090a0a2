//! `firebox <algorithm>`: from arguments to files.

use std::{io::Write, path::Path, sync::Arc, time::Instant};

use clap::{ArgMatches, FromArgMatches};
use firebox_backends::Device;
use firebox_core::{
    Error, Observer, Outcome,
    report::{Memory, Report},
};

use crate::{
    Program,
    args::{Compute, Output, Voice},
    cache,
    failure::Failure,
    interrupt,
    job::{self, Job, Work},
    output, printable,
    progress::Progress,
    ranks::Ranks,
};

pub(crate) fn run(program: &dyn Program, name: &str, args: &ArgMatches, ranks: &Ranks) -> Result<(), Failure> {
    cache::configure();
    // The program's arguments stand with a subcommand, if the algorithm has any; the plugin gets all.
    let own = args.subcommand().map_or(args, |(_, args)| args);
    let (compute, voice) = (Compute::from_arg_matches(own)?, Voice::from_arg_matches(own)?);
    let output = Output::from_arg_matches(own)?;
    voice.start();
    let plugin = job::find(program.listing(), name)?;
    if output.plot.is_some() {
        plugin.can_plot(args)?;
    }
    let files = output::Files {
        inputs: plugin.inputs(args),
        tables: plugin.files(args),
        pictures: plugin.pictures(args),
        documents: plugin.documents(args),
        checkpoints: plugin.checkpoints(args),
        resumed: plugin.resumed(args),
    };
    if !(files.checkpoints.is_empty() && files.documents.is_empty()) {
        interrupt::wait_for_state();
    }
    let quiet = voice.quiet || !ranks.is_first();
    if ranks.several() {
        plugin.can_share(args)?;
        if files.inputs.iter().any(|path| path == Path::new("-")) {
            let what = "standard input (-) is the first process's alone";
            return Err(Error::input(what, "name a file that all processes can read").into());
        }
        ranks.same_files(&files.inputs)?;
    }
    if ranks.is_first() {
        output::check(&output, &files)?;
    }
    let progress = Arc::new(Progress::new(quiet));
    ranks.check_cores(&*progress);
    let device = Device::find(ranks.device(compute.backend, &*progress), compute.precision)?;
    tracing::info!(backend = device.backend(), ?device, precision = %compute.precision, "device found");

    ranks.agree(&device)?;
    let (observer, communicator, sharers) = (progress.clone(), ranks.communicator(), ranks.sharers(&device));
    let peers = ranks.peers(&device)?;
    let job = Job {
        plugin: name,
        args,
        compute: &compute,
        observer,
        communicator,
        sharers,
        peers: peers.clone(),
        work: Work::Run,
    };
    let began = Instant::now();
    let outcome = program.dispatch(&device, job);
    progress.finish();
    let Some(outcome) = outcome? else { return Ok(()) };
    let direct = peers.as_ref().is_some_and(|peers| peers.met());
    if peers.is_some_and(|peers| peers.required()) && !direct {
        progress.notice("nothing of this run is told from device to device: it all went through the hosts");
    }
    let shared = ranks.report(&device.limits().device, began.elapsed().as_secs_f64(), direct);
    if !ranks.is_first() {
        return Ok(());
    }
    if interrupt::requested() {
        return Err(Error::Cancelled.into());
    }
    if output.plot.is_some() && outcome.picture.is_none() {
        progress.notice(&format!("{name} draws no picture; nothing was written for --plot"));
    }
    let report = Report { ranks: shared, ..report(name, &compute, &device, &outcome) };
    output::write(&output, &outcome, &report)?;
    if !voice.quiet {
        let _ = writeln!(std::io::stderr(), "{}", printable::lines(&outcome.summary));
    }
    Ok(())
}

fn report(name: &str, compute: &Compute, device: &Device, outcome: &Outcome) -> Report {
    Report {
        algorithm: name.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        backend: device.backend().into(),
        device: device.limits().device,
        precision: compute.precision.to_string(),
        seed: compute.seed,
        config: outcome.config.clone(),
        input: outcome.input,
        timings: outcome.timings.clone(),
        memory: Memory { peak_device_bytes: outcome.peak_device_bytes },
        ranks: None,
        result: outcome.result.clone(),
    }
}
