//! QR decompositions by cuSOLVER, and solutions of triangular systems by cuBLAS, loaded at run time.

use std::{
    collections::BTreeMap,
    ffi::{c_int, c_void},
    ptr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use burn::tensor::DType;
use burn_cubecl::tensor::CubeTensor;
use cubecl::cuda::CudaRuntime;
use cudarc::{
    cublas::{result as blas, sys as blas_sys},
    cusolver::{result as solver, sys},
    driver::result as driver,
};
use firebox_core::{Result, tensor::widened};

use super::CudaContext;
use crate::{
    backend::Cuda,
    kernel::{launch, triangle},
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
    context: CudaContext,
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
        let context = CudaContext::enter(ordinal, PHASE)?;
        let libraries = Arc::new(Mutex::new(Self {
            context,
            solver: context.checked(solver::dn_create())?,
            parameters: context.checked(solver::dn_create_params())?,
            blas: context.checked(blas::create_handle())?,
        }));
        open.insert(ordinal, libraries.clone());
        Ok(libraries)
    }
}

/// Memory of the device outside CubeCL's pool.
struct Memory {
    pointer: u64,
    context: CudaContext,
}

impl Memory {
    /// Uninitialised memory; the context is current.
    fn new(bytes: usize, context: CudaContext) -> Result<Self> {
        // SAFETY: the memory is written before it is read.
        let pointer = unsafe { driver::malloc_sync(bytes.max(1)) };
        let what = |error| context.failure(format!("{bytes} bytes of workspace could not be allocated: {error}"));
        Ok(Self { pointer: pointer.map_err(what)?, context })
    }

    fn of<T>(values: &[T], context: CudaContext) -> Result<Self> {
        let memory = Self::new(size_of_val(values), context)?;
        // SAFETY: the memory has the size of the values.
        context.checked(unsafe { driver::memcpy_htod_sync(memory.pointer, values) })?;
        Ok(memory)
    }

    /// Reads the first values.
    fn read<T>(&self, values: &mut [T]) -> Result<()> {
        // SAFETY: the callers read what has been written, of the same type and not more.
        self.context.checked(unsafe { driver::memcpy_dtoh_sync(values, self.pointer) })
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
        let [m, n] = packed.meta.shape().dims();
        let libraries = Libraries::open(packed.device.index)?;
        let context = lock(&libraries).context;
        context.activate()?;
        if packed.dtype != DType::F64 || n < m || c_int::try_from(n).is_err() {
            return Err(context.failure(format!("{n} × {m} of {:?} are no tall matrix of f64", packed.dtype)));
        }
        // The libraries use another stream than CubeCL.
        let pointer = context.address(&packed)?;
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
            context.checked(unsafe { driver::memcpy_htod_sync(diagonal, &[1.0]) })?;
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
            context.checked(size.result())?;
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
            context.checked(done.result())?;
            context.finish()?;
            read_status(&status)
        }
    }
}

/// Fails if a call of cuSOLVER reported a wrong argument.
fn read_status(status: &Memory) -> Result<()> {
    let mut found = [0 as c_int];
    status.read(&mut found)?;
    if found[0] == 0 { Ok(()) } else { Err(status.context.failure(format!("cuSOLVER ended with status {}", found[0]))) }
}

impl DeviceQr for CudaQr {
    fn image(&self, b: &[f64]) -> Result<Vec<f64>> {
        let libraries = self.libraries()?;
        let Libraries { context, solver, .. } = *libraries;
        if b.len() != self.n {
            return Err(context.failure(format!("{} right-hand sides of {} rows", b.len(), self.n)));
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
                context.checked(sized.result())?;
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
                context.checked(done.result())?;
                context.finish()?;
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
        let Libraries { context, blas, .. } = *libraries;
        if x.len() != self.m {
            return Err(context.failure(format!("{} unknowns of {} columns", x.len(), self.m)));
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
            context.checked(done.result())?;
            context.finish()?;
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
