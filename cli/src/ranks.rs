//! The processes that share a run, where MPI started several. The first speaks for all of them: it reports, writes, and
//! takes the wish to stop.

use std::{
    env, fs,
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use firebox_backends::{
    Device,
    device::{Choice, cuda_count},
};
use firebox_core::{Communicator, Error, Observer, Peers, Result, Share, Sharers, Solo, error::Place, report};

use crate::{failure::Failure, interrupt, threads};

/// How a launcher tells a process how many it has started: Open MPI; MPICH and what descends from it; Slurm's srun, which
/// says it beside what Open MPI's launchers say.
const COUNTS: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"];
/// What a rank waits before it tells of a failure, since the first may have failed of the same and end all.
const PATIENCE: Duration = Duration::from_secs(1);

/// Through what numbers on GPUs are told: `hosts`, or `devices` from one to the other.
const EXCHANGE: &str = "FIREBOX_EXCHANGE";

/// This process's place among them.
#[derive(Debug)]
pub(crate) struct Ranks {
    communicator: Arc<dyn Communicator>,
    #[cfg(feature = "mpi")]
    world: Option<Arc<firebox_mpi::World>>,
    /// Its share of what those on this machine have together.
    local: Share,
}

/// What a launcher says that it has started.
fn launched() -> Option<usize> {
    COUNTS.iter().find_map(|name| env::var(name).ok()?.trim().parse().ok())
}

impl Ranks {
    /// Joins the others, if a launcher has started some.
    #[cfg(feature = "mpi")]
    pub(crate) fn start() -> Result<Self> {
        // A step of one process in a larger job is nobody's rank.
        let Some(count) = launched().filter(|&count| count > 1) else {
            return Ok(Self { communicator: Arc::new(Solo), world: None, local: Share::WHOLE });
        };
        let help = "check that mpirun and the library that the program finds are of one MPI";
        let world = firebox_mpi::World::start().ok_or_else(|| Error::input("MPI does not start", help))?;
        let known = world.size();
        if known != count {
            let what = format!("{count} processes were started together, and MPI knows of {known}");
            let help = "start them with the mpirun of the MPI that the program was built with, or with srun --mpi=pmix";
            return Err(Error::input(what, help));
        }
        let (local, world) = (world.local(), Arc::new(world));
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
            _ => Ok(Self { communicator: Arc::new(Solo), local: Share::WHOLE }),
        }
    }

    pub(crate) fn communicator(&self) -> Arc<dyn Communicator> {
        self.communicator.clone()
    }

    pub(crate) fn is_first(&self) -> bool {
        self.communicator.rank() == 0
    }

    /// Processes on this machine that share the run.
    pub(crate) fn local_size(&self) -> usize {
        self.local.size
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
        if self.local.rank >= count {
            observer.notice(&format!("more processes than GPUs ({count}) on a machine: some share one"));
        }
        Choice::Cuda(Some(self.local.rank % count))
    }

    /// Fails if the ranks do not all compute in one way: what is one's part differs between kinds of device.
    pub(crate) fn agree(&self, device: &Device) -> Result<()> {
        let kinds = self.communicator.all_say(device.backend());
        match kinds.iter().find(|kind| **kind != kinds[0]) {
            Some(other) => {
                let what = format!("the processes found devices of different kinds, {} and {other}", kinds[0]);
                Err(Error::input(what, "name one that all of them have: --backend cuda, wgpu or ndarray"))
            }
            None => Ok(()),
        }
    }

    /// Fails if a file is not as long for all ranks: they may be on machines with files of their own.
    pub(crate) fn same_files(&self, paths: &[PathBuf]) -> Result<()> {
        for path in paths {
            let lengths = self.communicator.all_gather(&[fs::metadata(path).map_or(u64::MAX, |it| it.len())]);
            if let Some(rank) = lengths.iter().position(|length| *length != lengths[0]) {
                let told = |length: u64| if length == u64::MAX { "nothing".into() } else { format!("{length} bytes") };
                let (first, other) = (told(lengths[0]), told(lengths[rank]));
                let what = format!("the first process finds {first} there, process {} {other}", rank + 1);
                return Err(Error::input_at(Place::file(path), what, "give all processes the same file"));
            }
        }
        Ok(())
    }

    /// How many ranks share memories with this one.
    pub(crate) fn sharers(&self, device: &Device) -> Sharers {
        let devices = if device.backend() == "cuda" { cuda_count().unwrap_or(1).max(1) } else { 1 };
        Sharers { device: self.local.size.div_ceil(devices), host: self.local.size }
    }

    /// The GPUs of all ranks, if these may tell each other without their hosts: on one machine, a GPU for each rank, and
    /// NCCL to be found. [`EXCHANGE`] says otherwise, or that nothing else will do.
    pub(crate) fn peers(&self, device: &Device) -> Result<Option<Arc<Peers>>> {
        let wanted = env::var(EXCHANGE).unwrap_or_default();
        if !self.several() {
            return Ok(None);
        }
        let may = match wanted.as_str() {
            "hosts" => false,
            "" | "devices" => self.local.size == self.communicator.size(),
            _ => {
                let what = format!("{EXCHANGE} is \"{wanted}\"");
                return Err(Error::input(what, "say hosts or devices, or leave it out"));
            }
        };
        let own = device.tells_others().filter(|_| may).map_or(-1, i32::from);
        let all = self.communicator.all_gather(&[own]);
        let mut different = all.clone();
        different.sort_unstable();
        different.dedup();
        if different[0] < 0 || different.len() < all.len() {
            let what = "the GPUs of these processes cannot tell each other anything by themselves";
            let help = "it takes one machine, a GPU for each process, all of which each sees, and libnccl.so on the \
                        library path";
            return if wanted == "devices" { Err(Error::input(what, help)) } else { Ok(None) };
        }
        let devices = all.into_iter().map(|index| index as u16).collect();
        Ok(Some(Arc::new(Peers::new(devices, wanted == "devices"))))
    }

    /// Says so if the launcher has bound this process to one core of many: its threads, and those that feed a GPU, all
    /// wait for that one then.
    pub(crate) fn check_cores(&self, observer: &dyn Observer) {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let own = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).map_or(0, threads::cores);
        let all = threads::online();
        // A core may be two for the system.
        if self.several() && (1..=2).contains(&own) && all / self.local.size > own {
            observer.notice(&format!(
                "this process is bound to {own} of {all} cores, where all of its threads wait for each other: start it \
                 with mpirun --bind-to none"
            ));
        }
    }

    /// What the report says of a run that took `seconds` here; every rank has to ask.
    pub(crate) fn report(&self, device: &str, seconds: f64, direct: bool) -> Option<report::Ranks> {
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
            exchange: if direct { "devices" } else { "hosts" }.into(),
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
