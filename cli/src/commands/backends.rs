//! `firebox backends`: lists compiled backends, detected devices and their capabilities.

use std::io::{self, Write};

use clap::{ArgMatches, Args, Command, FromArgMatches};
use firebox_backends::device::{self, Listed};
use firebox_core::error::human_bytes;

use crate::{
    args::{Format, Verbosity},
    cache,
    failure::Failure,
    flags, output, stdio,
};

#[derive(Debug, Args)]
struct BackendsArgs {
    /// A list as plain text, or a JSON array
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    verbosity: Verbosity,
}

const EXAMPLES: &str = "\
Examples:
  firebox backends
  firebox backends --format json";

pub(super) fn command() -> Command {
    let about = "Lists the available backends and devices, and what is missing to use the others";
    BackendsArgs::augment_args(Command::new("backends").about(about)).after_long_help(EXAMPLES)
}

pub(super) fn run(args: &ArgMatches) -> Result<(), Failure> {
    cache::configure();
    let args = BackendsArgs::from_arg_matches(args)?;
    args.verbosity.start_logging();
    let mut list = device::list();
    list.iter_mut().for_each(|listed| listed.help = listed.help.take().map(|help| flags::substitute(&help)));
    Ok(stdio::write(|out| match args.format {
        Format::Json => output::json(&list, out),
        Format::Human => list.iter().try_for_each(|listed| write_text(listed, out)),
    })?)
}

fn write_text(listed: &Listed, out: &mut dyn Write) -> io::Result<()> {
    let Listed { name, device, missing, help, .. } = listed;
    let mark = if listed.auto { "*" } else { " " };
    if let Some(device) = device {
        writeln!(out, "{mark} {name:<10} {device}")?;
        writeln!(out, "             {}", capabilities(listed).join(", "))?;
    } else {
        writeln!(out, "{mark} {name:<10} not available: {}", missing.as_deref().unwrap_or("unknown"))?;
        if let Some(help) = help {
            writeln!(out, "             help: {help}")?;
        }
    }
    if listed.auto {
        writeln!(out, "             selected by --backend auto")?;
    }
    Ok(())
}

fn capabilities(listed: &Listed) -> Vec<String> {
    let mut capabilities = vec![if listed.f64 { "f32 and f64".to_string() } else { "f32".into() }];
    capabilities.extend(listed.free.map(|bytes| format!("{} free", human_bytes(bytes))));
    capabilities.extend(listed.largest_buffer.map(|bytes| format!("buffers up to {}", human_bytes(bytes))));
    capabilities.extend(listed.plane.map(|units| format!("planes of {units}")));
    capabilities
        .extend(listed.atomic_f32.map(|supported| if supported { "atomic f32" } else { "no atomic f32" }.to_string()));
    capabilities
}
