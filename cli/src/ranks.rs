//! The processes that share a run, where MPI started several. The first speaks for all of them: it reports, writes, and
//! takes the wish to stop.

use std::{
    env,
    process::ExitCode,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use firebox_backends::device::{Choice, cuda_count};
use firebox_core::{Communicator, Error, Observer, Result, Solo, report};

use crate::{failure::Failure, interrupt};

/// How a launcher tells a process how many it has started: Open MPI; MPICH and what descends from it.
const COUNTS: [&str; 2] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"];
/// What a rank waits before it tells of a failure, since the first may have failed of the same and end all.
const PATIENCE: Duration = Duration::from_secs(1);

/// This process's place among them.
#[derive(Debug)]
pub(crate) struct Ranks {
    communicator: Arc<dyn Communicator>,
    #[cfg(feature = "mpi")]
    world: Option<Arc<firebox_mpi::World>>,
    /// Which of those on this machine it is.
    local: usize,
}

/// What a launcher says that it has started.
fn launched() -> Option<usize> {
    COUNTS.iter().find_map(|name| env::var(name).ok()?.trim().parse().ok())
}

impl Ranks {
    /// Joins the others, if a launcher has started some.
    #[cfg(feature = "mpi")]
    pub(crate) fn start() -> Result<Self> {
        if launched().is_none() {
            return Ok(Self { communicator: Arc::new(Solo), world: None, local: 0 });
        }
        let help = "check that mpirun and the library that the program finds are of one MPI";
        let world = firebox_mpi::World::start().ok_or_else(|| Error::input("MPI does not start", help))?;
        let (local, world) = (world.local_rank(), Arc::new(world));
        Ok(Self { communicator: world.clone(), world: Some(world), local })
    }

    /// Fails if a launcher has started several: they would all do the same, over each other's files.
    #[cfg(not(feature = "mpi"))]
    pub(crate) fn start() -> Result<Self> {
        match launched() {
            Some(count) if count > 1 => {
                let what = format!("this is one of {count} processes, and the program was built without MPI");
                Err(Error::input(what, "build it with --features mpi, or start one process"))
            }
            _ => Ok(Self { communicator: Arc::new(Solo), local: 0 }),
        }
    }

    pub(crate) fn communicator(&self) -> Arc<dyn Communicator> {
        self.communicator.clone()
    }

    pub(crate) fn is_first(&self) -> bool {
        self.communicator.rank() == 0
    }

    pub(crate) fn several(&self) -> bool {
        self.communicator.size() > 1
    }

    /// The device for this rank: those of one machine take its GPUs in turn, unless one is named.
    pub(crate) fn device(&self, choice: Choice, observer: &dyn Observer) -> Choice {
        let count = match choice {
            Choice::Cuda(None) | Choice::Auto if self.several() => cuda_count().unwrap_or(0),
            _ => 0,
        };
        if count == 0 {
            return choice;
        }
        if self.local >= count {
            observer.notice(&format!("more processes than GPUs ({count}) on a machine: some share one"));
        }
        Choice::Cuda(Some(self.local % count))
    }

    /// What the report says of a run that took `seconds` here; every rank has to ask.
    pub(crate) fn report(&self, device: &str, seconds: f64) -> Option<report::Ranks> {
        if !self.several() {
            return None;
        }
        let communication = self.communicator.seconds();
        let devices = self.communicator.all_say(device);
        let figures = self.communicator.all_gather(&[communication, (seconds - communication).max(0.0)]);
        let (told, _) = figures.as_chunks::<2>();
        let (most, sum) =
            told.iter().fold((0.0, 0.0), |(most, sum): (f64, f64), [_, busy]| (most.max(*busy), sum + busy));
        let mean = sum / told.len() as f64;
        Some(report::Ranks {
            count: self.communicator.size(),
            devices,
            communication_s: told.iter().map(|[seconds, _]| *seconds).collect(),
            imbalance: if mean > 0.0 { most / mean - 1.0 } else { 0.0 },
        })
    }

    /// Waits for all to have come to the end.
    fn finish(&self) {
        #[cfg(feature = "mpi")]
        if let Some(world) = &self.world {
            world.finish();
        }
    }

    /// Ends this process, and with a failure all of them.
    pub(crate) fn end(&self, ended: std::result::Result<(), Failure>) -> ExitCode {
        let Err(failure) = ended else {
            self.finish();
            return ExitCode::SUCCESS;
        };
        let code = failure.code();
        if code == 0 {
            if self.is_first() {
                failure.show();
            }
            self.finish();
            return ExitCode::SUCCESS;
        }
        if !self.is_first() && stopped_within(PATIENCE) {
            std::process::exit(code.into());
        }
        failure.show();
        if self.several() {
            self.communicator.abort(code);
        }
        self.finish();
        ExitCode::from(code)
    }
}

/// Whether a signal to stop comes, or has come: the launcher sends one as soon as any rank has ended all.
fn stopped_within(patience: Duration) -> bool {
    let until = Instant::now() + patience;
    while !interrupt::requested() && Instant::now() < until {
        thread::sleep(Duration::from_millis(5));
    }
    interrupt::requested()
}
