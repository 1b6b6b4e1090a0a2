//! A program with a single algorithm that misbehaves on request, for tests of the program around the algorithms.

#![allow(clippy::panic)]

use std::{process::ExitCode, thread, time::Duration};

use clap::{ArgMatches, Args, Command, ValueEnum};
use firebox_backends::{
    Device, Plugin,
    bench::{BenchRow, Growth, Kernel},
    plugin::Bench,
};
use firebox_cli::Program;
use firebox_core::{
    Error, Result, Session,
    command::{Conformance, InputFile, Outcome, StateIn, StateOut, TableOut, parse},
    data::Table,
    report::{InputSize, Timings},
};
use serde_json::{Map, Value};

fn main() -> ExitCode {
    firebox_cli::run(&Program::new("odd", vec![Box::new(Odd)]))
}

struct Odd;

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Action {
    Nothing,
    Panic,
    PanicInThread,
    Fail,
    /// Fail after a panic in another thread
    FailLate,
    /// Run for 2.5 seconds in one call
    Slow,
    /// Run for ten seconds with progress
    Sleep,
    /// Run for ten seconds without checking for stop requests
    Deaf,
    /// Read standard input to its end
    Read,
    /// Fail with control characters in a notice and an error
    Escape,
}

#[derive(Args)]
struct OddArgs {
    #[arg(value_enum)]
    action: Action,
    #[arg(long, default_value_t = 3)]
    rows: usize,
    #[arg(long)]
    input: Option<InputFile>,
    #[arg(long)]
    labels: Option<InputFile>,
    #[arg(long)]
    extra: Option<TableOut>,
    #[arg(long)]
    checkpoint: Option<StateOut>,
    #[arg(long)]
    resume: Option<StateIn>,
    /// Refuse to plot
    #[arg(long)]
    blind: bool,
}

fn perform(action: Action, session: &Session) -> Result<()> {
    match action {
        Action::Nothing => Ok(()),
        Action::Panic => panic!("oh dear"),
        Action::PanicInThread => match thread::spawn(|| panic!("deep down")).join() {
            Ok(()) => Ok(()),
            Err(_) => panic!("the thread panicked"),
        },
        Action::Fail => Err(Error::Run { device: "toy".into(), phase: "start".into(), what: "smoke".into() }),
        Action::FailLate => {
            let _ = thread::spawn(|| panic!("fire")).join();
            perform(Action::Fail, session)
        }
        Action::Slow => {
            thread::sleep(Duration::from_millis(2500));
            Ok(())
        }
        Action::Sleep => (0..1000).try_for_each(|done| {
            thread::sleep(Duration::from_millis(10));
            session.checkpoint(if done < 500 { "first half" } else { "second half" }, done % 500, 500)
        }),
        Action::Deaf => {
            thread::sleep(Duration::from_secs(10));
            Ok(())
        }
        Action::Read => {
            let read = std::io::read_to_string(std::io::stdin());
            read.map(drop).map_err(|source| Error::Io { action: "read", path: "<stdin>".into(), source })
        }
        Action::Escape => {
            session.observer.notice("column \u{1b}[2Jx");
            Err(Error::input(format!("column {}\u{1b}]0;x\u{7}", "h".repeat(1 << 20)), "rename \u{9b}2J"))
        }
    }
}

impl Plugin for Odd {
    fn command(&self) -> Command {
        OddArgs::augment_args(Command::new("odd").about("Does odd things"))
    }

    fn can_plot(&self, args: &ArgMatches) -> Result<()> {
        match parse::<OddArgs>(args)?.blind {
            true => Err(Error::input("there is nothing to plot", "leave out --plot")),
            false => Ok(()),
        }
    }

    fn run(&self, args: &ArgMatches, _device: &Device, session: &Session) -> Result<Outcome> {
        let args: OddArgs = parse(args)?;
        session.observer.notice("something to know");
        perform(args.action, session)?;
        let table = Table::ints("n", (0..args.rows as i64).collect());
        Ok(Outcome {
            config: Value::Null,
            input: InputSize::default(),
            timings: Timings::default(),
            peak_device_bytes: 0,
            result: Map::from_iter([("rows".to_string(), args.rows.into())]),
            tables: args.extra.map(|path| (path, table.clone())).into_iter().collect(),
            table,
            plot: None,
            plots: Vec::new(),
            page: None,
            documents: Vec::new(),
            summary: "done oddly".into(),
            unresolved: false,
        })
    }

    fn bench(&self) -> Option<&dyn Bench> {
        Some(&Odd)
    }

    fn conformance(&self) -> Conformance {
        Conformance::default()
    }
}

impl Bench for Odd {
    fn command(&self) -> Command {
        OddArgs::augment_args(Command::new("odd").about("Measures odd things"))
    }

    fn run(&self, args: &ArgMatches, _device: &Device, session: &Session, row: &mut dyn FnMut(BenchRow)) -> Result<()> {
        let args: OddArgs = parse(args)?;
        for n in 0..args.rows {
            row(BenchRow {
                table: "table 1".into(),
                case: "nothing".into(),
                size: vec![n, 2],
                ms: 0.25 * n as f64,
                repeats: 3,
                paper_ms: (n % 2 == 0).then_some(1.5),
                note: None,
                details: Map::new(),
            });
            if session.observer.cancelled() {
                return Err(Error::Cancelled);
            }
        }
        perform(args.action, session)
    }

    fn kernels(&self, _device: &Device, _session: &Session) -> Vec<Kernel> {
        Vec::new()
    }

    fn growth(&self, _device: &Device, _session: &Session) -> Vec<Growth> {
        Vec::new()
    }
}
