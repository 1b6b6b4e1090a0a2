//! Pairs of tiles within reach; steps skip all others.
//!
//! A weight below the smallest normal f32, e^−87.34, counts as 0. In Morton order most tiles are farther apart than
//! that: in a plane with the scale of the spacing, a neuron has about 550 others within reach, for 16 000 as for 100
//! 000 points.

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn::tensor::DType;
use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

/// Squared distance at which a weight vanishes, rounding included.
const VANISHED: f32 = 88.0;

/// Bounding boxes of tiles of `span` neurons: smallest and largest coordinates, `boxes` `[2, d, tiles]`.
#[cube(launch_unchecked, address_type = "dynamic")]
fn bound<F: Float + CubeElement>(points: &Array<F>, boxes: &mut Array<F>, n: u32, tiles: u32, span: u32, d: u32) {
    let item = CUBE_POS_X * CUBE_DIM_X + UNIT_POS_X;
    if item < tiles * d {
        let column = item / tiles * n;
        let first = item % tiles * span;
        let mut low = points[(column + first) as usize];
        let mut high = low;
        for i in first..(first + span).min(n) {
            let x = points[(column + i) as usize];
            low = low.min(x);
            high = high.max(x);
        }
        boxes[item as usize] = low;
        boxes[(tiles * d + item) as usize] = high;
    }
}

/// Bit c of word w of row t: whether tile 32·w + c is within reach of tile t.
#[cube(launch_unchecked, address_type = "dynamic")]
fn find<F: Float + CubeElement>(boxes: &Array<F>, words: &mut Array<u32>, tiles: u32, width: u32, #[comptime] d: u32) {
    let item = CUBE_POS_X * CUBE_DIM_X + UNIT_POS_X;
    if item < tiles * width {
        let own = item / width;
        let first = item % width * 32;
        let mut word = 0u32;
        for c in 0..(tiles - first).min(32) {
            let mut square = F::new(0.0);
            #[unroll]
            for k in 0..d {
                let low = k * tiles;
                let high = comptime!(k + d) * tiles;
                let below = boxes[(low + first + c) as usize] - boxes[(high + own) as usize];
                let above = boxes[(low + own) as usize] - boxes[(high + first + c) as usize];
                let gap = below.max(above).max(F::new(0.0));
                square += gap * gap;
            }
            word |= select(square < F::new(comptime!(VANISHED)), 1u32, 0u32) << c;
        }
        words[item as usize] = word;
    }
}

/// The reach of tiles as rows of bits on the device.
#[derive(Clone)]
pub(super) struct Reach<R: CubeRuntime> {
    /// `[tiles, width]`
    pub(super) words: CubeTensor<R>,
    /// Words per row.
    pub(super) width: u32,
    /// Neurons per tile; 0 if no tiles are skipped.
    pub(super) span: u32,
}

impl<R: CubeRuntime> Reach<R> {
    /// The reach among tiles of `span` neurons at dense, non-empty points `[d, n]`; with `span` = 0 a placeholder.
    pub(super) fn new<F: FloatElement>(points: &CubeTensor<R>, span: u32) -> Self {
        if span == 0 {
            return Self { words: launch::output(points, [1], DType::I32), width: 0, span };
        }
        let [d, n] = points.meta.shape().dims().map(|size: usize| size as u32);
        let tiles = n.div_ceil(span);
        let width = tiles.div_ceil(32);
        let boxes = launch::output(points, [2, d as usize, tiles as usize], points.dtype);
        let words = launch::output(points, [tiles as usize, width as usize], DType::I32);
        let client = &points.client;
        let units = launch::units_within(client, 64);
        // SAFETY: both kernels guard their items, and clamp a tile's neurons to n.
        unsafe {
            bound::launch_unchecked::<F, R>(
                client,
                CubeCount::Static((tiles * d).div_ceil(units), 1, 1),
                CubeDim::new_1d(units),
                launch::address(&[points]),
                points.clone().into_array_arg(),
                boxes.clone().into_array_arg(),
                n,
                tiles,
                span,
                d,
            );
            find::launch_unchecked::<F, R>(
                client,
                CubeCount::Static((tiles * width).div_ceil(units), 1, 1),
                CubeDim::new_1d(units),
                launch::address(&[&words]),
                boxes.into_array_arg(),
                words.clone().into_array_arg(),
                tiles,
                width,
                d,
            );
        }
        Self { words, width, span }
    }
}
