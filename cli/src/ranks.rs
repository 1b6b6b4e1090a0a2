//! The processes that share a run under MPI. Only rank 0 reports and writes files.

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

/// Environment variables in which launchers pass the number of processes: Open MPI; MPICH and its derivatives; Slurm's
/// srun.
const SIZE_VARIABLES: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"];
/// Time that a failed rank waits for rank 0, which may have failed for the same reason and then reports it for all and aborts
/// the job. Ranks of a busy machine can be seconds apart.
const ABORT_DELAY: Duration = Duration::from_secs(5);

/// Environment variable that selects how GPUs exchange data: through `hosts`, or directly between `devices`.
const EXCHANGE_VARIABLE: &str = "FIREBOX_EXCHANGE";

/// This process among the ranks of a run.
#[derive(Debug)]
pub(crate) struct Ranks {
    communicator: Arc<dyn Communicator>,
    #[cfg(feature = "mpi")]
    world: Option<Arc<firebox_mpi::World>>,
    /// This process among the ranks on this machine.
    local: Share,
}

/// Returns the number of processes that the launcher started, if there is a launcher.
fn launched_count() -> Option<usize> {
    SIZE_VARIABLES.iter().find_map(|name| env::var(name).ok()?.trim().parse().ok())
}

impl Ranks {
    /// Initialises MPI if a launcher has started several processes.
    #[cfg(feature = "mpi")]
    pub(crate) fn start() -> Result<Self> {
        // A single process, such as a job step of size 1, needs no MPI.
        let Some(count) = launched_count().filter(|&count| count > 1) else {
            return Ok(Self { communicator: Arc::new(Solo), world: None, local: Share::WHOLE });
        };
        let help = "check that mpirun and the loaded MPI library belong to the same installation";
        let world = firebox_mpi::World::start().ok_or_else(|| Error::input("MPI cannot be initialised", help))?;
        let size = world.size();
        if size != count {
            let what = format!("the launcher started {count} processes, but MPI reports {size}");
            let help = "use the mpirun of the MPI that the program was built with, or srun --mpi=pmix";
            return Err(Error::input(what, help));
        }
        let (local, world) = (world.local(), Arc::new(world));
        Ok(Self { communicator: world.clone(), world: Some(world), local })
    }

    /// Fails if a launcher has started several processes: each would run everything and overwrite the others' files.
    #[cfg(not(feature = "mpi"))]
    pub(crate) fn start() -> Result<Self> {
        match launched_count() {
            Some(count) if count > 1 => {
                let what = format!("the launcher started {count} processes, but the program was built without MPI");
                Err(Error::input(what, "build it with --features mpi, or start one process"))
            }
            _ => Ok(Self { communicator: Arc::new(Solo), local: Share::WHOLE }),
        }
    }

    pub(crate) fn communicator(&self) -> Arc<dyn Communicator> {
        self.communicator.clone()
    }

    pub(crate) fn is_root(&self) -> bool {
        self.communicator.rank() == 0
    }

    /// Returns the number of ranks on this machine.
    pub(crate) fn local_size(&self) -> usize {
        self.local.size
    }

    pub(crate) fn is_distributed(&self) -> bool {
        self.communicator.size() > 1
    }

    /// Returns the device for this rank. Ranks on one machine are assigned its GPUs round-robin unless `choice` names a
    /// GPU.
    pub(crate) fn device(&self, choice: Choice, observer: &dyn Observer) -> Choice {
        let count = match choice {
            Choice::Cuda(None) | Choice::Auto if self.is_distributed() => cuda_count().unwrap_or(0),
            _ => 0,
        };
        if count == 0 {
            return choice;
        }
        if self.local.rank >= count {
            observer.notice(&format!("more processes than GPUs ({count}) on this machine: some processes share a GPU"));
        }
        Choice::Cuda(Some(self.local.rank % count))
    }

    /// Fails if the ranks use different backends, which divide the work differently.
    pub(crate) fn check_backends(&self, device: &Device) -> Result<()> {
        let backends = self.communicator.all_gather_str(device.backend());
        match backends.iter().find(|backend| **backend != backends[0]) {
            Some(other) => {
                let what = format!("the processes use different backends, {} and {other}", backends[0]);
                Err(Error::input(what, "name a backend that all of them have: --backend cuda, wgpu or ndarray"))
            }
            None => Ok(()),
        }
    }

    /// Fails if the size of a file differs between ranks, which may run on machines with different files.
    pub(crate) fn check_files(&self, paths: &[PathBuf]) -> Result<()> {
        for path in paths {
            let lengths =
                self.communicator.all_gather(&[fs::metadata(path).map_or(u64::MAX, |metadata| metadata.len())]);
            if let Some(rank) = lengths.iter().position(|length| *length != lengths[0]) {
                let size = |length: u64| if length == u64::MAX { "no file".into() } else { format!("{length} bytes") };
                let (root, other) = (size(lengths[0]), size(lengths[rank]));
                let what = format!("rank 0 finds {root}, but rank {rank} finds {other}");
                return Err(Error::input_at(Place::file(path), what, "make the same file available to all processes"));
            }
        }
        Ok(())
    }

    /// Returns the numbers of ranks that share device and host memory with this one.
    pub(crate) fn sharers(&self, device: &Device) -> Sharers {
        let devices = if device.backend() == "cuda" { cuda_count().unwrap_or(1).max(1) } else { 1 };
        Sharers { device: self.local.size.div_ceil(devices), host: self.local.size }
    }

    /// Returns the GPUs of all ranks if they support direct transfers: all on one machine, one GPU per rank. With
    /// [`EXCHANGE_VARIABLE`] set to `hosts` they are not used; with `devices` their absence is an error.
    pub(crate) fn peers(&self, device: &Device) -> Result<Option<Arc<Peers>>> {
        let requested = env::var(EXCHANGE_VARIABLE).unwrap_or_default();
        if !self.is_distributed() {
            return Ok(None);
        }
        let allowed = match requested.as_str() {
            "hosts" => false,
            "" | "devices" => self.local.size == self.communicator.size(),
            _ => {
                let what = format!("{EXCHANGE_VARIABLE} is \"{requested}\"");
                return Err(Error::input(what, "set it to hosts or devices, or unset it"));
            }
        };
        let ordinal = device.p2p_ordinal().filter(|_| allowed).map_or(-1, i32::from);
        let ordinals = self.communicator.all_gather(&[ordinal]);
        let mut distinct = ordinals.clone();
        distinct.sort_unstable();
        distinct.dedup();
        if distinct[0] < 0 || distinct.len() < ordinals.len() {
            let what = "the GPUs of these processes cannot exchange data directly";
            let help = "this needs one machine, a GPU for each process, all GPUs visible to all processes, and \
                        libnccl.so on the library path";
            return if requested == "devices" { Err(Error::input(what, help)) } else { Ok(None) };
        }
        let devices = ordinals.into_iter().map(|ordinal| ordinal as u16).collect();
        Ok(Some(Arc::new(Peers::new(devices, requested == "devices"))))
    }

    /// Sends a notice if the launcher has bound this process to one of many cores, which serialises its threads.
    pub(crate) fn check_affinity(&self, observer: &dyn Observer) {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let bound =
            status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).map_or(0, threads::count_cores);
        let all = threads::online_cores();
        // With simultaneous multithreading one physical core counts as two.
        if self.is_distributed() && (1..=2).contains(&bound) && all / self.local.size > bound {
            observer.notice(&format!(
                "this process is bound to {bound} of {all} cores, so that its threads cannot run in parallel: start it \
                 with mpirun --bind-to none"
            ));
        }
    }

    /// Returns the report's entry on ranks for a run that took `seconds` on this rank. Collective.
    pub(crate) fn report(&self, device: &str, seconds: f64, direct: bool) -> Option<report::Ranks> {
        if !self.is_distributed() {
            return None;
        }
        let communication = self.communicator.seconds();
        let devices = self.communicator.all_gather_str(device);
        let times = self.communicator.all_gather(&[communication, (seconds - communication).max(0.0)]);
        let (times, _) = times.as_chunks::<2>();
        let (max, sum) =
            times.iter().fold((0.0, 0.0), |(max, sum): (f64, f64), [_, busy]| (max.max(*busy), sum + busy));
        let mean = sum / times.len() as f64;
        Some(report::Ranks {
            count: self.communicator.size(),
            devices,
            exchange: if direct { "devices" } else { "hosts" }.into(),
            communication_s: times.iter().map(|[seconds, _]| *seconds).collect(),
            imbalance: if mean > 0.0 { max / mean - 1.0 } else { 0.0 },
        })
    }

    /// Finalises MPI, which waits for all ranks.
    fn finalize(&self) {
        #[cfg(feature = "mpi")]
        if let Some(world) = &self.world {
            world.finish();
        }
    }

    /// Shows a failure and returns the exit code. A failure aborts all ranks.
    pub(crate) fn exit(&self, result: std::result::Result<(), Failure>) -> ExitCode {
        let Err(failure) = result else {
            self.finalize();
            return ExitCode::SUCCESS;
        };
        let code = failure.code();
        // The run is complete on every rank.
        if code == 0 || matches!(failure, Failure::Unresolved) {
            if self.is_root() {
                failure.show();
            }
            self.finalize();
            return ExitCode::from(code);
        }
        if !self.is_root() && stopped_within(ABORT_DELAY) {
            std::process::exit(code.into());
        }
        failure.show();
        if self.is_distributed() {
            self.communicator.abort(code);
        }
        self.finalize();
        ExitCode::from(code)
    }
}

/// Returns whether a stop is requested within `timeout`. The launcher sends a signal as soon as a rank aborts the job.
fn stopped_within(timeout: Duration) -> bool {
    let deadline = Instant::now() + timeout;
    while !interrupt::requested() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(5));
    }
    interrupt::requested()
}
