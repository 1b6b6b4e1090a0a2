//! `firebox <algorithm>`: from arguments to files.

use std::{io::Write, sync::Arc};

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
    output,
    progress::Progress,
};

pub(crate) fn run(program: &dyn Program, name: &str, args: &ArgMatches) -> Result<(), Failure> {
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
    };
    output::check(&output, &files)?;
    let device = Device::find(compute.backend, compute.precision)?;
    tracing::info!(backend = device.backend(), ?device, precision = %compute.precision, "device found");

    interrupt::listen(voice.quiet);
    let progress = Arc::new(Progress::new(voice.quiet));
    let job = Job { plugin: name, args, compute: &compute, observer: progress.clone(), work: Work::Run };
    let outcome = program.dispatch(&device, job);
    progress.finish();
    let Some(outcome) = outcome? else { return Ok(()) };
    if interrupt::requested() {
        return Err(Error::Cancelled.into());
    }
    if output.plot.is_some() && outcome.picture.is_none() {
        progress.notice(&format!("{name} draws no picture; nothing was written for --plot"));
    }
    output::write(&output, &outcome, &report(name, &compute, &device, &outcome))?;
    if !voice.quiet {
        let _ = writeln!(std::io::stderr(), "{}", outcome.summary.trim_end());
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
        result: outcome.result.clone(),
    }
}
