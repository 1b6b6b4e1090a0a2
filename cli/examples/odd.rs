//! A program whose one algorithm does what algorithms should not, for the tests of the program around it.

#![allow(clippy::panic, clippy::expect_used)]

use std::{path::PathBuf, thread, time::Duration};

use burn::tensor::backend::Backend;
use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use firebox_core::{
    Context, Error, Outcome, Plugin, Result,
    data::Table,
    observe::checkpoint,
    plugin::{Bench, BenchRow, Conformance, paths},
    report::{InputSize, Timings},
};
use serde_json::{Map, Value};

firebox_cli::firebox! { Odd }

#[derive(Default)]
struct Odd;

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Deed {
    Nothing,
    Panic,
    PanicInThread,
    Fail,
    /// Fail, once a thread of the device's has said why
    FailLate,
    /// Two seconds and a half in one call
    Slow,
    /// Ten seconds of progress
    Sleep,
    /// Ten seconds without a look at the wish to stop
    Deaf,
    /// Read standard input to its end
    Read,
    /// Fail with text that a terminal would act on, in a notice, a summary and an error
    Escape,
}

#[derive(Args)]
struct OddArgs {
    #[arg(value_enum)]
    deed: Deed,
    #[arg(long, default_value_t = 3)]
    rows: usize,
    #[arg(long)]
    input: Option<PathBuf>,
    #[arg(long)]
    labels: Option<PathBuf>,
    #[arg(long)]
    extra: Option<PathBuf>,
    #[arg(long)]
    checkpoint: Option<PathBuf>,
    #[arg(long)]
    resume: Option<PathBuf>,
    /// Know beforehand that there is no picture
    #[arg(long)]
    blind: bool,
}

fn parse(args: &ArgMatches) -> Result<OddArgs> {
    OddArgs::from_arg_matches(args).map_err(|error| Error::input(error.to_string(), ""))
}

fn act<B: Backend>(deed: Deed, context: &Context<B>) -> Result<()> {
    match deed {
        Deed::Nothing => Ok(()),
        Deed::Panic => panic!("oh dear"),
        Deed::PanicInThread => {
            let thread = thread::spawn(|| panic!("deep down"));
            thread.join().map_err(|_| ()).expect("the thread to do its work");
            Ok(())
        }
        Deed::Fail => Err(Error::Run { device: "toy".into(), phase: "start".into(), what: "smoke".into() }),
        Deed::FailLate => {
            let _ = thread::spawn(|| panic!("fire")).join();
            act(Deed::Fail, context)
        }
        Deed::Slow => {
            thread::sleep(Duration::from_millis(2500));
            Ok(())
        }
        Deed::Sleep => (0..1000).try_for_each(|done| {
            thread::sleep(Duration::from_millis(10));
            checkpoint(&*context.observer, if done < 500 { "first half" } else { "second half" }, done % 500, 500)
        }),
        Deed::Deaf => {
            thread::sleep(Duration::from_secs(10));
            Ok(())
        }
        Deed::Read => {
            let read = std::io::read_to_string(std::io::stdin());
            read.map(drop).map_err(|source| Error::Io { action: "read", path: "<stdin>".into(), source })
        }
        Deed::Escape => {
            context.observer.notice("column \u{1b}[2Jx");
            Err(Error::input(format!("column {}\u{1b}]0;x\u{7}", "h".repeat(1 << 20)), "rename \u{9b}2J"))
        }
    }
}

impl<B: Backend> Plugin<B> for Odd {
    fn command(&self) -> Command {
        OddArgs::augment_args(Command::new("odd").about("Does odd things"))
    }

    fn files(&self, args: &ArgMatches) -> Vec<PathBuf> {
        parse(args).ok().and_then(|args| args.extra).into_iter().collect()
    }

    fn checkpoints(&self, args: &ArgMatches) -> Vec<PathBuf> {
        paths(args, &["checkpoint"])
    }

    fn can_plot(&self, args: &ArgMatches) -> Result<()> {
        if parse(args)?.blind { Err(Error::input("there is nothing to see", "leave out --plot")) } else { Ok(()) }
    }

    fn run(&self, args: &ArgMatches, context: &Context<B>) -> Result<Outcome> {
        let args = parse(args)?;
        context.observer.notice("something to know");
        act(args.deed, context)?;
        let table = Table::ints("n", (0..args.rows as i64).collect());
        Ok(Outcome {
            config: Value::Null,
            input: InputSize::default(),
            timings: Timings::default(),
            peak_device_bytes: 0,
            result: Map::from_iter([("rows".to_string(), args.rows.into())]),
            extra: args.extra.map(|path| (path, table.clone())).into_iter().collect(),
            table,
            picture: None,
            pictures: Vec::new(),
            documents: Vec::new(),
            summary: "done oddly".into(),
        })
    }

    fn bench(&self) -> Option<&dyn Bench<B>> {
        Some(&Odd)
    }

    fn conformance(&self) -> Conformance {
        Conformance::default()
    }
}

impl<B: Backend> Bench<B> for Odd {
    fn command(&self) -> Command {
        OddArgs::augment_args(Command::new("odd").about("Measures odd things"))
    }

    fn run(&self, args: &ArgMatches, context: &Context<B>, row: &mut dyn FnMut(BenchRow)) -> Result<()> {
        let args = parse(args)?;
        for n in 0..args.rows {
            row(BenchRow {
                table: "table 1".into(),
                case: "nothing".into(),
                size: vec![n, 2],
                ms: 0.25 * n as f64,
                repeats: 3,
                paper_ms: (n % 2 == 0).then_some(1.5),
                details: Map::new(),
            });
            if context.observer.cancelled() {
                return Err(Error::Cancelled);
            }
        }
        act(args.deed, context)
    }
}
