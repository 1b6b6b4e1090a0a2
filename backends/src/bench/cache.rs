//! Size of the last-level cache, and rotation of inputs so that calls find cold caches.

/// Cache size in bytes assumed for a GPU of unknown cache size.
#[cfg(feature = "cube")]
const DEFAULT_GPU: f64 = 64e6;
/// Cache size in bytes assumed for a CPU of unknown cache size.
const DEFAULT_CPU: f64 = 32e6;
/// Maximum number of sets of inputs.
const MAX_SETS: usize = 16;
/// Minimum number of units per call at which a cold cache is negligible, as each unit reads the inputs again.
const MANY_UNITS: usize = 16;

/// Number of sets of inputs, of `resident` bytes each, that calls rotate through. They fill the cache more than twice,
/// so that each call reads from memory, within [`MAX_SETS`] and `limit` bytes; one suffices from [`MANY_UNITS`] on.
pub(super) fn sets(resident: f64, units: usize, cache: f64, limit: Option<u64>) -> usize {
    if units >= MANY_UNITS {
        return 1;
    }
    let limit = limit.map_or(f64::INFINITY, |limit| limit as f64);
    let filling = (2.0 * cache / resident.max(1.0)).floor() + 1.0;
    filling.min(limit / resident.max(1.0)).clamp(1.0, MAX_SETS as f64) as usize
}

/// Lower bound of memory traffic per unit, in bytes, of the `bytes` that a unit reads and writes: 0 if all `sets` stay
/// in the cache, and once per call of `units` units if one set does.
pub(super) fn memory_traffic(bytes: f64, resident: f64, sets: usize, units: usize, cache: f64) -> f64 {
    if sets as f64 * bytes.max(resident) <= cache {
        0.0
    } else if bytes.max(resident) <= cache {
        bytes / units as f64
    } else {
        bytes
    }
}

/// Size of the CPU's largest cache in bytes.
pub(super) fn cpu() -> f64 {
    let sizes = (0..8).filter_map(|level| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{level}/size");
        kibibytes(std::fs::read_to_string(path).ok()?.trim())
    });
    sizes.reduce(f64::max).unwrap_or(DEFAULT_CPU)
}

/// Parses a size such as `36608K` to bytes.
fn kibibytes(text: &str) -> Option<f64> {
    text.strip_suffix('K')?.parse::<f64>().ok().map(|size| size * 1024.0)
}

/// Size of a GPU's second-level cache in bytes; on a software renderer, of the CPU's largest cache.
#[cfg(feature = "cube")]
pub(super) fn gpu<R: burn_cubecl::CubeRuntime>(device: &R::Device) -> f64 {
    let device = device as &dyn std::any::Any;
    #[cfg(feature = "cuda")]
    if let Some(cuda) = device.downcast_ref::<burn_cuda::CudaDevice>() {
        return crate::device::cuda::cache(cuda.index).map_or(DEFAULT_GPU, |bytes| bytes as f64);
    }
    #[cfg(feature = "wgpu")]
    if let Some(burn_wgpu::WgpuDevice::Cpu) = device.downcast_ref::<burn_wgpu::WgpuDevice>() {
        return cpu();
    }
    let _ = device;
    DEFAULT_GPU
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_fill_the_cache_more_than_twice() {
        for (resident, limit, expected) in [
            (250.0, None, 1),
            (201.0, None, 1),
            (200.0, None, 2),
            (100.0, None, 3),
            (50.0, None, 5),
            (1.0, None, 16),
            (0.0, None, 16),
            (50.0, Some(160), 3),
            (50.0, Some(10), 1),
        ] {
            assert_eq!(super::sets(resident, MANY_UNITS, 100.0, limit), 1);
            let sets = sets(resident, 1, 100.0, limit);
            assert_eq!(sets, expected, "{resident} {limit:?}");
            let filled = sets as f64 * resident > 200.0;
            assert!(filled || sets == MAX_SETS || limit.is_some(), "{resident}");
        }
    }

    #[test]
    fn cached_bytes_cause_no_memory_traffic() {
        for (bytes, resident, sets, units, expected) in [
            (300.0, 300.0, 1, 1, 300.0),
            (300.0, 300.0, 1, 8, 300.0),
            (60.0, 60.0, 4, 1, 60.0),
            (60.0, 60.0, 4, 8, 7.5),
            (60.0, 60.0, 1, 512, 0.0),
            (5.0, 5.0, 16, 1, 0.0),
            (5.0, 300.0, 1, 1, 5.0),
            (300.0, 5.0, 16, 30, 300.0),
        ] {
            assert_eq!(
                memory_traffic(bytes, resident, sets, units, 100.0),
                expected,
                "{bytes} {resident} {sets} {units}"
            );
        }
    }

    #[test]
    fn cache_sizes_in_kibibytes_are_parsed() {
        assert_eq!([kibibytes("48K"), kibibytes("?"), kibibytes("")], [Some(49152.0), None, None]);
        assert!(cpu() > 0.0);
    }
}
