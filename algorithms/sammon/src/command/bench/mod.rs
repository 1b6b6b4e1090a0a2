//! `firebox bench sammon`, and the cases of `firebox bench kernels` and `firebox bench cost`.

mod cases;
mod paper;
mod tables;

pub(crate) use self::tables::SammonBench;
