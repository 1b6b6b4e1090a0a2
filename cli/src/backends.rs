//! `firebox backends`: what is compiled in, which devices are here, and what they can do.

use std::io::{self, Write};

use clap::{ArgMatches, Args, Command, FromArgMatches};
use firebox_backends::device::{self, Listed};
use firebox_core::error::human_bytes;

use crate::{
    args::{Format, Voice},
    cache,
    failure::Failure,
    output, stdio,
};

#[derive(Debug, Args)]
struct BackendsArgs {
    /// A list for a person, or a JSON array
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    voice: Voice,
}

pub(crate) fn command() -> Command {
    let about = "Lists the backends and devices there are, and what is missing to use the others";
    BackendsArgs::augment_args(Command::new("backends").about(about))
}

pub(crate) fn run(args: &ArgMatches) -> Result<(), Failure> {
    cache::configure();
    let args = BackendsArgs::from_arg_matches(args)?;
    args.voice.start();
    let list = device::list();
    Ok(stdio::write(|out| match args.format {
        Format::Json => output::json(&list, out),
        Format::Human => list.iter().try_for_each(|listed| human(listed, out)),
    })?)
}

fn human(listed: &Listed, out: &mut dyn Write) -> io::Result<()> {
    let Listed { name, device, missing, help, .. } = listed;
    let mark = if listed.auto { "*" } else { " " };
    if let Some(device) = device {
        writeln!(out, "{mark} {name:<10} {device}")?;
        writeln!(out, "             {}", abilities(listed).join(", "))?;
    } else {
        writeln!(out, "{mark} {name:<10} not available: {}", missing.as_deref().unwrap_or("unknown"))?;
        if let Some(help) = help {
            writeln!(out, "             help: {help}")?;
        }
    }
    if listed.auto {
        writeln!(out, "             taken by --backend auto")?;
    }
    Ok(())
}

fn abilities(listed: &Listed) -> Vec<String> {
    let mut words = vec![if listed.f64 { "f32 and f64".to_string() } else { "f32".into() }];
    words.extend(listed.free.map(|bytes| format!("{} free", human_bytes(bytes))));
    words.extend(listed.largest_buffer.map(|bytes| format!("buffers up to {}", human_bytes(bytes))));
    words.extend(listed.plane.map(|units| format!("planes of {units}")));
    words.extend(listed.atomic_f32.map(|has| if has { "atomic f32" } else { "no atomic f32" }.to_string()));
    words
}
