//! QR decompositions by cuSOLVER, and solutions of triangular systems by cuBLAS, loaded at run time.

use std::{
    collections::BTreeMap,
    ffi::{c_int, c_void},
    fmt::Display,
    ptr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use burn::tensor::DType;
use burn_cubecl::tensor::CubeTensor;
use cubecl::cuda::CudaRuntime;
use cudarc::{
    cublas::{result as blas, sys as blas_sys},
    cusolver::{result as solver, sys},
    driver::{result as driver, sys as driver_sys},
};
use firebox_core::{Error, Result, tensor::widened};

use crate::{
    backend::Cuda,
    kernel::{launch, triangle},
    limits::DeviceLimits,
    qr::DeviceQr,
};

const PHASE: &str = "the QR decomposition";
/// Reflectors that are applied in a call.
const REFLECTORS: usize = 4096;
const F64: sys::cudaDataType = sys::cudaDataType::CUDA_R_64F;

/// Returns whether both libraries can be loaded.
pub(crate) fn is_present() -> bool {
    // SAFETY: only checks whether the libraries can be loaded.
    unsafe { sys::is_culib_present() && blas_sys::is_culib_present() }
}

/// The libraries' handles for a device; calls are made one at a time, since the handles have one workspace.
struct Libraries {
    ordinal: usize,
    context: Context,
    solver: sys::cusolverDnHandle_t,
    parameters: sys::cusolverDnParams_t,
    blas: blas_sys::cublasHandle_t,
}

// SAFETY: handles may be used by one thread after another.
unsafe impl Send for Libraries {}

/// The handles of every device that was used. They are kept: creating them takes about half a second.
static OPEN: Mutex<BTreeMap<usize, Arc<Mutex<Libraries>>>> = Mutex::new(BTreeMap::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Libraries {
    fn open(ordinal: usize) -> Result<Arc<Mutex<Self>>> {
        let mut open = lock(&OPEN);
        if let Some(libraries) = open.get(&ordinal) {
            return Ok(libraries.clone());
        }
        let context = Context::retain(ordinal)?;
        context.activate()?;
        let libraries = Arc::new(Mutex::new(Self {
            ordinal,
            context,
            solver: checked(ordinal, solver::dn_create())?,
            parameters: checked(ordinal, solver::dn_create_params())?,
            blas: checked(ordinal, blas::create_handle())?,
        }));
        open.insert(ordinal, libraries.clone());
        Ok(libraries)
    }

    /// The result of a call.
    fn check<E: Display>(&self, result: std::result::Result<(), E>) -> Result<()> {
        checked(self.ordinal, result)
    }

    /// Waits for all work on the device.
    fn finish(&self) -> Result<()> {
        self.check(driver::ctx::synchronize())
    }
}

/// The primary context of a device, which CubeCL uses too. It stays retained.
#[derive(Clone, Copy)]
struct Context {
    ordinal: usize,
    handle: driver_sys::CUcontext,
}

// SAFETY: a context may be current in several threads.
unsafe impl Send for Context {}

impl Context {
    fn retain(ordinal: usize) -> Result<Self> {
        let device = checked(ordinal, driver::device::get(ordinal as c_int))?;
        // SAFETY: the device handle is valid.
        let handle = checked(ordinal, unsafe { driver::primary_ctx::retain(device) })?;
        Ok(Self { ordinal, handle })
    }

    /// Makes it the context of this thread.
    fn activate(self) -> Result<()> {
        // SAFETY: the context is retained.
        checked(self.ordinal, unsafe { driver::ctx::set_current(self.handle) })
    }
}

fn failure(ordinal: usize, what: impl Display) -> Error {
    let device = super::cuda::name(ordinal).unwrap_or_else(|| format!("cuda:{ordinal}"));
    Error::Run { device, phase: PHASE.into(), what: what.to_string() }
}

fn checked<T, E: Display>(ordinal: usize, result: std::result::Result<T, E>) -> Result<T> {
    result.map_err(|error| failure(ordinal, error))
}

/// Memory of the device outside CubeCL's pool.
struct Memory {
    pointer: u64,
    context: Context,
}

impl Memory {
    /// Uninitialised memory; the context is current.
    fn new(bytes: usize, context: Context) -> Result<Self> {
        let ordinal = context.ordinal;
        // SAFETY: the memory is written before it is read.
        let pointer = unsafe { driver::malloc_sync(bytes.max(1)) };
        let what = |error| failure(ordinal, format!("{bytes} bytes of workspace could not be allocated: {error}"));
        Ok(Self { pointer: pointer.map_err(what)?, context })
    }

    fn of<T>(values: &[T], context: Context) -> Result<Self> {
        let memory = Self::new(size_of_val(values), context)?;
        // SAFETY: the memory has the size of the values.
        checked(context.ordinal, unsafe { driver::memcpy_htod_sync(memory.pointer, values) })?;
        Ok(memory)
    }

    /// Reads the first values.
    fn read<T>(&self, values: &mut [T]) -> Result<()> {
        // SAFETY: the callers read what has been written, of the same type and not more.
        checked(self.context.ordinal, unsafe { driver::memcpy_dtoh_sync(values, self.pointer) })
    }

    fn as_ptr<T>(&self) -> *mut T {
        self.pointer as *mut T
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // An error cannot be reported here; the device has failed then.
        if self.context.activate().is_ok() {
            // SAFETY: allocated by `new` in this context.
            let _ = unsafe { driver::free_sync(self.pointer) };
        }
    }
}

/// The decomposition in the memory of the matrix: R above, reflectors below.
pub(crate) struct CudaQr {
    libraries: Arc<Mutex<Libraries>>,
    /// `[m, n]`
    packed: CubeTensor<CudaRuntime>,
    pointer: u64,
    /// Factors of the reflectors, m.
    factors: Memory,
    n: usize,
    m: usize,
    /// As of [`DeviceQr::column_norms`].
    norms: [Vec<f64>; 2],
}

impl CudaQr {
    /// Decomposes a matrix in f64 with n ≥ m rows, given as its transpose `[m, n]`.
    ///
    /// # Errors
    /// [`Error::Run`] if its type or shape is another, or the device fails.
    pub(crate) fn new(transposed: CubeTensor<CudaRuntime>) -> Result<Self> {
        let packed = launch::dense(transposed);
        let ordinal = packed.device.index;
        let [m, n] = packed.meta.shape().dims();
        if packed.dtype != DType::F64 || n < m || c_int::try_from(n).is_err() {
            return Err(failure(ordinal, format!("{n} × {m} of {:?} are no tall matrix of f64", packed.dtype)));
        }
        // The libraries use another stream than CubeCL.
        Cuda::<f64>::finish(&packed.device, PHASE)?;
        let libraries = Libraries::open(ordinal)?;
        let pointer = {
            let resource = packed.client.get_resource(packed.handle.clone());
            resource.map_err(|error| failure(ordinal, format!("{error:?}")))?.resource().ptr
        };
        let context = lock(&libraries).context;
        context.activate()?;
        let factors = Memory::new(m * size_of::<f64>(), context)?;
        let mut qr = Self { libraries, packed, pointer, factors, n, m, norms: [Vec::new(), Vec::new()] };
        qr.decompose()?;
        let norms = triangle::column_norms::<CudaRuntime, f64>(&qr.packed);
        let norms = widened(&firebox_core::tensor::float_data::<Cuda<f64>>(norms, PHASE)?);
        let (sums, lengths) = norms.split_at(m);
        qr.norms = [sums.to_vec(), lengths.to_vec()];
        context.activate()?;
        for k in qr.empty() {
            // Its unknown is 0: see `solve`.
            let diagonal = qr.pointer + ((k * n + k) * size_of::<f64>()) as u64;
            // SAFETY: an element of the matrix.
            checked(ordinal, unsafe { driver::memcpy_htod_sync(diagonal, &[1.0]) })?;
        }
        Ok(qr)
    }

    /// Columns of zeros.
    fn empty(&self) -> impl Iterator<Item = usize> {
        self.norms[1].iter().enumerate().filter(|(_, norm)| **norm == 0.0).map(|(k, _)| k)
    }

    /// The handles, with the device's context current.
    fn libraries(&self) -> Result<MutexGuard<'_, Libraries>> {
        let libraries = lock(&self.libraries);
        libraries.context.activate()?;
        Ok(libraries)
    }

    fn decompose(&self) -> Result<()> {
        let libraries = self.libraries()?;
        let (n, m, matrix) = (self.n as i64, self.m as i64, self.pointer as *mut c_void);
        let Libraries { context, solver, parameters, .. } = *libraries;
        let factors = self.factors.as_ptr::<c_void>();
        let (mut on_device, mut on_host) = (0, 0);
        // SAFETY: the matrix has n·m elements of f64 in column-major order with n rows, the factors m; all pointers stay
        // valid until the device has finished.
        unsafe {
            let sizes = [&raw mut on_device, &raw mut on_host];
            let size = sys::cusolverDnXgeqrf_bufferSize(
                solver, parameters, n, m, F64, matrix, n, F64, factors, F64, sizes[0], sizes[1],
            );
            libraries.check(size.result())?;
            let (work, mut host) = (Memory::new(on_device, context)?, vec![0u8; on_host]);
            let status = Memory::of(&[0 as c_int], context)?;
            let host = if host.is_empty() { ptr::null_mut() } else { host.as_mut_ptr().cast() };
            let done = sys::cusolverDnXgeqrf(
                solver,
                parameters,
                n,
                m,
                F64,
                matrix,
                n,
                F64,
                factors,
                F64,
                work.as_ptr(),
                on_device,
                host,
                on_host,
                status.as_ptr(),
            );
            libraries.check(done.result())?;
            libraries.finish()?;
            read_status(&status)
        }
    }
}

/// Fails if a call of cuSOLVER reported a wrong argument.
fn read_status(status: &Memory) -> Result<()> {
    let mut found = [0 as c_int];
    status.read(&mut found)?;
    if found[0] == 0 {
        Ok(())
    } else {
        Err(failure(status.context.ordinal, format!("cuSOLVER ended with status {}", found[0])))
    }
}

impl DeviceQr for CudaQr {
    fn image(&self, b: &[f64]) -> Result<Vec<f64>> {
        let libraries = self.libraries()?;
        let Libraries { ordinal, context, solver, .. } = *libraries;
        if b.len() != self.n {
            return Err(failure(ordinal, format!("{} right-hand sides of {} rows", b.len(), self.n)));
        }
        let (side, transposed) = (sys::cublasSideMode_t::CUBLAS_SIDE_LEFT, sys::cublasOperation_t::CUBLAS_OP_T);
        let vector = Memory::of(b, context)?;
        let status = Memory::of(&[0 as c_int], context)?;
        // By ranges of reflectors: this function of cuSOLVER counts elements in 32 bits.
        for first in (0..self.m).step_by(REFLECTORS) {
            let count = REFLECTORS.min(self.m - first) as c_int;
            let (rows, n) = ((self.n - first) as c_int, self.n as c_int);
            let at = |pointer: u64, index: usize| pointer + (index * size_of::<f64>()) as u64;
            let matrix = at(self.pointer, first * self.n + first) as *const f64;
            let factors = at(self.factors.pointer, first) as *const f64;
            let to = at(vector.pointer, first) as *mut f64;
            let mut size = 0;
            // SAFETY: the reflectors from `first` on begin in row `first`; the vector has n elements, and all pointers
            // stay valid until the device has finished.
            unsafe {
                let sized = sys::cusolverDnDormqr_bufferSize(
                    solver, side, transposed, rows, 1, count, matrix, n, factors, to, rows, &mut size,
                );
                libraries.check(sized.result())?;
                let work = Memory::new(size.max(1) as usize * size_of::<f64>(), context)?;
                let done = sys::cusolverDnDormqr(
                    solver,
                    side,
                    transposed,
                    rows,
                    1,
                    count,
                    matrix,
                    n,
                    factors,
                    to,
                    rows,
                    work.as_ptr(),
                    size,
                    status.as_ptr(),
                );
                libraries.check(done.result())?;
                libraries.finish()?;
            }
            read_status(&status)?;
        }
        let mut image = vec![0.0; self.m];
        vector.read(&mut image)?;
        Ok(image)
    }

    fn solve(&self, x: &mut [f64], transposed: bool) -> Result<()> {
        use blas_sys::{cublasDiagType_t, cublasFillMode_t, cublasOperation_t};
        let libraries = self.libraries()?;
        let Libraries { ordinal, context, blas, .. } = *libraries;
        if x.len() != self.m {
            return Err(failure(ordinal, format!("{} unknowns of {} columns", x.len(), self.m)));
        }
        if transposed {
            self.empty().for_each(|k| x[k] = 0.0);
        }
        let vector = Memory::of(x, context)?;
        let operation = if transposed { cublasOperation_t::CUBLAS_OP_T } else { cublasOperation_t::CUBLAS_OP_N };
        // SAFETY: as in `decompose`; the vector has m elements.
        unsafe {
            let done = blas_sys::cublasDtrsv_v2(
                blas,
                cublasFillMode_t::CUBLAS_FILL_MODE_UPPER,
                operation,
                cublasDiagType_t::CUBLAS_DIAG_NON_UNIT,
                self.m as c_int,
                self.pointer as *const f64,
                self.n as c_int,
                vector.as_ptr(),
                1,
            );
            libraries.check(done.result())?;
            libraries.finish()?;
        }
        vector.read(x)?;
        if !transposed {
            self.empty().for_each(|k| x[k] = 0.0);
        }
        Ok(())
    }

    fn column_norms(&self) -> [&[f64]; 2] {
        self.norms.each_ref().map(Vec::as_slice)
    }
}
