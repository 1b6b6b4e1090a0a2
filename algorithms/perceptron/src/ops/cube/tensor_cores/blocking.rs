//! Partition of a product into cubes, planes, tiles and stages.

use cubecl::ir::HardwareProperties;

/// Elements of a vector.
pub(super) const WIDTH: usize = 4;
/// Vectors along k per stage: a staged row of 128 bytes covers all banks of shared memory.
pub(super) const DEPTH: u32 = 8;
/// Units per plane.
pub(super) const PLANE: u32 = 32;

/// Planes of a cube, tiles of 16 × 8 results of a plane, and stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Blocking {
    pub(super) planes: [u32; 2],
    pub(super) tiles: [u32; 2],
    /// Stages in shared memory: one is being consumed, and one is spare so that planes need not wait for each other. With
    /// four, 199 TFLOP/s at 8192 × 4096 × 4096 on an H200 in TF32.
    pub(super) stages: u32,
}

impl Blocking {
    pub(super) fn units(self) -> u32 {
        self.planes[0] * self.planes[1] * PLANE
    }

    pub(super) fn rows(self) -> u32 {
        self.planes[0] * self.tiles[0] * 16
    }

    pub(super) fn columns(self) -> u32 {
        self.planes[1] * self.tiles[1] * 8
    }

    /// Stages being filled.
    pub(super) fn ahead(self) -> u32 {
        self.stages - 2
    }

    /// Bytes of shared memory.
    pub(super) fn bytes(self) -> usize {
        (self.stages * (self.rows() + self.columns()) * DEPTH) as usize * WIDTH * size_of::<f32>()
    }

    /// Blocking for a result of n × m.
    pub(super) fn of(n: usize, m: usize, split: bool, hardware: &HardwareProperties) -> Self {
        // Two accumulators per result leave registers for half as many results.
        let large = Self { planes: [2, 4], tiles: if split { [4, 4] } else { [4, 8] }, stages: 4 };
        let small = Self { planes: [2, 2], tiles: [2, 4], stages: 4 };
        // Few products per element read, so that the number of stages in flight determines the speed.
        let narrow = Self { planes: [4, 1], tiles: [1, 2], stages: 8 };
        let available = hardware.max_shared_memory_size;
        let narrow = if narrow.bytes() <= available { narrow } else { Self { stages: 4, ..narrow } };
        let cubes = n.div_ceil(large.rows() as usize) * m.div_ceil(large.columns() as usize);
        let occupied = cubes >= hardware.num_streaming_multiprocessors.unwrap_or(1) as usize;
        match m {
            _ if m <= narrow.columns() as usize => narrow,
            _ if occupied && large.bytes() <= available => large,
            _ => small,
        }
    }
}

/// Compile-time variant of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Form {
    pub(super) blocking: Blocking,
    /// f32 split into two TF32 parts.
    pub(super) split: bool,
    /// n is a multiple of a cube's rows, m of its columns.
    pub(super) whole: [bool; 2],
    /// k is no multiple of a stage.
    pub(super) ragged: bool,
    pub(super) bias: bool,
    pub(super) sigmoid: bool,
    /// Results per write.
    pub(super) width: usize,
}
