//! CubeCL's cache of compiled kernels and autotuning results, in the user's cache folder.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

use cubecl::config::{CubeClRuntimeConfig, RuntimeConfig, autotune::AutotuneLogLevel, cache::CacheConfig};

/// Age since the last use at which kernel caches of other builds are deleted.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);

/// Configures CubeCL unless it is already configured. Must be called before any device is used.
///
/// Its logs are off; the environment variables `CUBECL_…` turn them on. No `cubecl.toml` is read, since one in the
/// current folder may belong to another program.
pub(crate) fn configure() {
    let mut config = CubeClRuntimeConfig::default();
    config.autotune.logger.level = AutotuneLogLevel::Disabled;
    match cache_folder() {
        Some(folder) => {
            config.compilation.cache = kernel_folder(&folder).map(CacheConfig::File);
            config.autotune.cache = CacheConfig::File(folder);
        }
        // A folder of this name cannot be created, which CubeCL treats as "no cache".
        None => config.autotune.cache = CacheConfig::File(PathBuf::from("\0")),
    }
    let config = config.override_from_env();
    CubeClRuntimeConfig::storage().lock().get_or_insert_with(|| config.into());
}

/// Creates and returns `$XDG_CACHE_HOME/firebox`, `~/.cache/firebox` or the platform's equivalent. `None` if that
/// fails.
fn cache_folder() -> Option<PathBuf> {
    let folder = dirs::cache_dir()?.join("firebox");
    fs::create_dir_all(&folder).ok()?;
    Some(folder)
}

/// Creates and returns the folder for compiled kernels of this build on this machine's GPU model.
///
/// CubeCL identifies kernels by name only. Since code differs between builds and GPU models, each build has its own
/// folder, and machines with several GPU models have no cache.
fn kernel_folder(folder: &Path) -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?.metadata().ok()?;
    let built = program.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let models = gpu_models();
    if models.len() > 1 {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    (built, program.len(), models).hash(&mut hasher);
    let root = folder.join("kernels");
    let current = root.join(format!("{:016x}", hasher.finish()));
    remove_stale(&root, &current);
    fs::create_dir_all(&current).ok()?;
    // The modification time of this file is the time of last use.
    fs::write(current.join("used"), "").ok()?;
    Some(current)
}

/// Returns the distinct models of the NVIDIA GPUs from `/proc`, without initialising the driver.
fn gpu_models() -> Vec<String> {
    let gpus = fs::read_dir("/proc/driver/nvidia/gpus").into_iter().flatten().flatten();
    let mut models: Vec<String> = gpus
        .filter_map(|gpu| fs::read_to_string(gpu.path().join("information")).ok())
        .filter_map(|text| text.lines().find(|line| line.starts_with("Model:")).map(String::from))
        .collect();
    models.sort();
    models.dedup();
    models
}

/// Deletes the kernel folders below `root`, except `current`, that have not been used for [`MAX_AGE`].
fn remove_stale(root: &Path, current: &Path) {
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let path = entry.path();
        let used = fs::metadata(path.join("used")).and_then(|used| used.modified());
        if path != current && used.is_ok_and(|used| used.elapsed().is_ok_and(|age| age > MAX_AGE)) {
            let _ = fs::remove_dir_all(path);
        }
    }
}
