//! Where CubeCL keeps compiled kernels and what it tuned: the user's cache folder, not the nearest `target`.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

use cubecl::config::{CubeClRuntimeConfig, RuntimeConfig, autotune::AutotuneLogLevel, cache::CacheConfig};

/// Kernels of programs that have not run for so long are thrown away.
const KEEP: Duration = Duration::from_secs(30 * 24 * 3600);

/// Configures CubeCL, unless something else did already. Has to come before any device is touched.
///
/// Its logs are off (the environment variables `CUBECL_…` turn them on), and no `cubecl.toml` is read: one that
/// happens to lie in the current folder is another program's.
pub(crate) fn configure() {
    let mut config = CubeClRuntimeConfig::default();
    config.autotune.logger.level = AutotuneLogLevel::Disabled;
    match folder() {
        Some(folder) => {
            config.compilation.cache = kernels(&folder).map(CacheConfig::File);
            config.autotune.cache = CacheConfig::File(folder);
        }
        // No system can make a folder of this name, which CubeCL takes for "no cache".
        None => config.autotune.cache = CacheConfig::File(PathBuf::from("\0")),
    }
    let config = config.override_from_env();
    CubeClRuntimeConfig::storage().lock().get_or_insert_with(|| config.into());
}

/// `$XDG_CACHE_HOME/firebox`, `~/.cache/firebox` or what the platform has instead, if it can be made.
fn folder() -> Option<PathBuf> {
    let folder = dirs::cache_dir()?.join("firebox");
    fs::create_dir_all(&folder).ok()?;
    Some(folder)
}

/// The folder for the compiled kernels of this very program on this machine's GPUs.
///
/// CubeCL looks a kernel up by its name alone. The same name is another kernel in another build, and compiled for
/// one GPU it need not run on another, so each build has a folder of its own, and a machine with GPUs of several
/// models has none.
fn kernels(folder: &Path) -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?.metadata().ok()?;
    let built = program.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let models = gpu_models();
    if models.len() > 1 {
        return None;
    }
    let mut hasher = DefaultHasher::new();
    (built, program.len(), models).hash(&mut hasher);
    let root = folder.join("kernels");
    let own = root.join(format!("{:016x}", hasher.finish()));
    throw_old_away(&root, &own);
    fs::create_dir_all(&own).ok()?;
    // The folder's time tells when it was last used.
    fs::write(own.join("used"), "").ok()?;
    Some(own)
}

/// The models of the NVIDIA GPUs here, as far as the driver tells without being started.
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

fn throw_old_away(root: &Path, own: &Path) {
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let path = entry.path();
        let used = fs::metadata(path.join("used")).and_then(|used| used.modified());
        if path != own && used.is_ok_and(|used| used.elapsed().is_ok_and(|age| age > KEEP)) {
            let _ = fs::remove_dir_all(path);
        }
    }
}
