//! The last cache before memory, and how inputs are rotated past it.

use std::any::Any;

use burn_cubecl::CubeRuntime;

/// Taken for a GPU that does not tell.
const GPU: f64 = 64e6;
/// Taken for a CPU that does not tell.
const CPU: f64 = 32e6;
/// The most sets of inputs that take turns.
const MOST: usize = 16;
/// A call of so many units reads its inputs so often that it does not matter where it finds them first.
const MANY: usize = 16;

/// How many sets of inputs of so many bytes take turns: as many as fill the cache more than twice, so that each call finds
/// its own in memory; 16 at most, no more than `limit` bytes of them, and one if a call does 16 units or more.
pub(super) fn sets(resident: f64, units: usize, cache: f64, limit: Option<u64>) -> usize {
    if units >= MANY {
        return 1;
    }
    let room = limit.map_or(f64::INFINITY, |limit| limit as f64);
    let wanted = (2.0 * cache / resident.max(1.0)).floor() + 1.0;
    wanted.min(room / resident.max(1.0)).clamp(1.0, MOST as f64) as usize
}

/// What of `bytes`, which a unit moves, has to come from memory or go there at least, if so many `sets` take turns whose calls do
/// `units` units: nothing if all sets stay in the cache, and once a call what stays there between units.
pub(super) fn moved(bytes: f64, resident: f64, sets: usize, units: usize, cache: f64) -> f64 {
    if sets as f64 * bytes.max(resident) <= cache {
        0.0
    } else if bytes.max(resident) <= cache {
        bytes / units as f64
    } else {
        bytes
    }
}

/// Bytes of the CPU's largest cache.
pub(super) fn cpu() -> f64 {
    let sizes = (0..8).filter_map(|level| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{level}/size");
        kibibytes(std::fs::read_to_string(path).ok()?.trim())
    });
    sizes.fold(None, |most: Option<f64>, size| Some(most.map_or(size, |most| most.max(size)))).unwrap_or(CPU)
}

/// Reads `36608K`.
fn kibibytes(text: &str) -> Option<f64> {
    text.strip_suffix('K')?.parse::<f64>().ok().map(|size| size * 1024.0)
}

/// Bytes of a GPU's second-level cache.
pub(super) fn gpu<R: CubeRuntime>(device: &R::Device) -> f64 {
    let device = device as &dyn Any;
    #[cfg(feature = "cuda")]
    if let Some(cuda) = device.downcast_ref::<burn_cuda::CudaDevice>() {
        return crate::device::cuda::cache(cuda.index).map_or(GPU, |bytes| bytes as f64);
    }
    #[cfg(feature = "wgpu")]
    if let Some(burn_wgpu::WgpuDevice::Cpu) = device.downcast_ref::<burn_wgpu::WgpuDevice>() {
        return cpu();
    }
    let _ = device;
    GPU
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
            assert_eq!(super::sets(resident, MANY, 100.0, limit), 1);
            let sets = sets(resident, 1, 100.0, limit);
            assert_eq!(sets, expected, "{resident} {limit:?}");
            let past = sets as f64 * resident > 200.0;
            assert!(past || sets == MOST || limit.is_some(), "{resident}");
        }
    }

    #[test]
    fn what_stays_in_the_cache_is_not_moved() {
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
            assert_eq!(moved(bytes, resident, sets, units, 100.0), expected, "{bytes} {resident} {sets} {units}");
        }
    }

    #[test]
    fn sizes_are_read_as_the_kernel_writes_them() {
        assert_eq!([kibibytes("48K"), kibibytes("?"), kibibytes("")], [Some(49152.0), None, None]);
        assert!(cpu() > 0.0);
    }
}
