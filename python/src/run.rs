//! A run on a thread of its own: its device and session, progress, notices and interrupts.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    thread,
    time::Duration,
};

use firebox::{
    Error, Observer, Precision, Result,
    backends::{Device, device},
    core::Session,
};
use pyo3::{
    exceptions::{PyRuntimeError, PyValueError},
    prelude::*,
    types::PyDict,
};

use crate::errors::exception;

/// Time between two looks for an interrupt.
const LOOK: Duration = Duration::from_millis(50);

/// Where and how a fit or a prediction runs.
#[pyclass(frozen, module = "firebox._firebox")]
pub struct Run {
    device: Device,
    session: Session,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
    notice: Option<Py<PyAny>>,
}

/// Event of a run, which the calling thread delivers.
enum Event {
    Progress(String, u64, u64),
    Notice(String),
    End,
}

/// Passes progress and notices to the calling thread, and its request to stop to the run.
struct Messenger {
    events: Sender<Event>,
    with_progress: bool,
    stopped: AtomicBool,
}

impl Observer for Messenger {
    fn progress(&self, phase: &str, done: u64, total: u64) {
        if self.with_progress {
            let _ = self.events.send(Event::Progress(phase.into(), done, total));
        }
    }

    fn notice(&self, text: &str) {
        let _ = self.events.send(Event::Notice(text.into()));
    }

    fn cancelled(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

#[pymethods]
impl Run {
    /// `progress(phase, done, total)` and `notice(text)` are called on the calling thread; an exception of theirs ends the
    /// run.
    #[new]
    #[pyo3(signature = (backend="auto", precision="float32", seed=0, memory_limit=None, threads=None, progress=None, notice=None))]
    fn new(
        backend: &str,
        precision: &str,
        seed: u64,
        memory_limit: Option<u64>,
        threads: Option<usize>,
        progress: Option<Py<PyAny>>,
        notice: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let choice = backend.parse().map_err(|error: String| PyValueError::new_err(format!("backend: {error}")))?;
        let precision = match precision {
            "float32" => Precision::F32,
            "float64" => Precision::F64,
            other => {
                let text = format!("precision = {other:?}: must be 'float32' or 'float64'");
                return Err(PyValueError::new_err(text));
            }
        };
        let device = Device::find(choice, precision).map_err(exception)?;
        let session = Session { seed, precision, memory_limit, ..Session::default() };
        Ok(Self { device, session, threads, progress, notice })
    }

    /// Name of the backend, such as `ndarray`.
    #[getter]
    fn backend(&self) -> &'static str {
        self.device.backend()
    }

    /// Ordinal of the CUDA device if arrays on it can be predicted there.
    #[getter]
    fn cuda_ordinal(&self) -> Option<usize> {
        match &self.device {
            #[cfg(feature = "cuda")]
            Device::Cuda(device) if self.session.precision == Precision::F32 => Some(device.index),
            _ => None,
        }
    }

    /// Name of the device.
    #[getter]
    fn device(&self) -> String {
        self.device.limits().device
    }
}

impl Run {
    /// Seed of the random numbers.
    pub fn seed(&self) -> u64 {
        self.session.seed
    }

    /// Calls `work` on a thread of its own, without the interpreter's lock. An interrupt (Ctrl-C) stops it within
    /// [`LOOK`] and the time to its next check.
    pub fn call<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Device, &Session) -> Result<T> + Send,
    ) -> PyResult<T> {
        let (sender, receiver) = channel();
        let (events, with_progress) = (sender.clone(), self.progress.is_some());
        let messenger = Arc::new(Messenger { events, with_progress, stopped: AtomicBool::new(false) });
        let session = Session { observer: messenger.clone(), ..self.session.clone() };
        let computed = || session.watched(|| work(&self.device, &session)).and_then(|result| result);
        py.detach(move || {
            thread::scope(|scope| {
                let worker = scope.spawn(|| {
                    // The end is announced even by a panic.
                    let _end = Announced(sender);
                    self.in_pool(computed)
                });
                let mut raised = None;
                let mut stop = |result: PyResult<()>| {
                    if let Err(error) = result {
                        messenger.stopped.store(true, Ordering::Relaxed);
                        raised.get_or_insert(error);
                    }
                };
                loop {
                    match receiver.recv_timeout(LOOK) {
                        Ok(Event::End) | Err(RecvTimeoutError::Disconnected) => break,
                        Ok(event) => stop(Python::attach(|py| self.deliver(py, event))),
                        Err(RecvTimeoutError::Timeout) => stop(Python::attach(|py| py.check_signals())),
                    }
                }
                let result = worker.join();
                match (raised, result) {
                    (Some(error), _) => Err(error),
                    (None, Ok(result)) => result.map_err(exception),
                    (None, Err(_)) => Err(PyRuntimeError::new_err("this is a defect of firebox; please report it")),
                }
            })
        })
    }

    /// Runs in a pool of the given number of threads, or in the shared one.
    fn in_pool<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        let Some(threads) = self.threads else { return work() };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|error| {
            Error::input(format!("{threads} threads cannot be started: {error}"), "set `n_jobs` to fewer")
        })?;
        pool.install(work)
    }

    fn deliver(&self, py: Python<'_>, event: Event) -> PyResult<()> {
        match (event, &self.progress, &self.notice) {
            (Event::Progress(phase, done, total), Some(progress), _) => {
                progress.call1(py, (phase, done, total)).map(drop)
            }
            (Event::Notice(text), _, Some(notice)) => notice.call1(py, (text,)).map(drop),
            _ => Ok(()),
        }?;
        py.check_signals()
    }
}

/// Announces the end of a run when dropped.
struct Announced(Sender<Event>);

impl Drop for Announced {
    fn drop(&mut self) {
        let _ = self.0.send(Event::End);
    }
}

/// The backends and devices, each as a dictionary with its name, and its device or the reason why it is missing.
#[pyfunction]
pub fn backends(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let describe = |listed: device::Listed| {
        let entry = PyDict::new(py);
        entry.set_item("name", listed.name)?;
        entry.set_item("device", listed.device)?;
        entry.set_item("missing", listed.missing)?;
        entry.set_item("float64", listed.f64)?;
        entry.set_item("auto", listed.auto)?;
        Ok(entry)
    };
    device::list().into_iter().map(describe).collect()
}
