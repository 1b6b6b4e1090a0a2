//! The paper's matrix product: a cube of 16 × 16 units computes 16 × 16 results, staging tiles of both matrices in shared
//! memory, with bounds checks for sizes that are no multiples of 16. Bias and sigmoid are fused.

use burn_cubecl::{CubeRuntime, FloatElement, tensor::CubeTensor};
use cubecl::prelude::*;
use firebox_backends::kernel::launch;

use crate::{ops::cube::sigmoid::logistic, types::Sigmoid};

/// Units along each axis of a cube.
const SIDE: u32 = 16;
/// Pitch of a staged row: one element of padding puts the elements of a column into different banks.
const PITCH: u32 = SIDE + 1;

/// Compile-time variant of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Form {
    /// A is column-major.
    left_transposed: bool,
    /// B is column-major.
    right_transposed: bool,
    bias: bool,
    sigmoid: bool,
}

/// Stages the tile at (row, column) of a matrix of `rows` × `columns`, padded with 0. Neighbouring units in x read
/// neighbouring addresses.
#[cube]
fn stage<F: Float>(
    from: &Array<F>,
    to: &mut SharedMemory<F>,
    row: u32,
    column: u32,
    rows: u32,
    columns: u32,
    pitch: usize,
    #[comptime] transposed: bool,
) {
    let r = if comptime!(transposed) { UNIT_POS_X } else { UNIT_POS_Y };
    let c = if comptime!(transposed) { UNIT_POS_Y } else { UNIT_POS_X };
    let inside = row + r < rows && column + c < columns;
    let i = (row + r).min(rows - 1) as usize;
    let j = (column + c).min(columns - 1) as usize;
    let at = if comptime!(transposed) { j * pitch + i } else { i * pitch + j };
    to[(r * PITCH + c) as usize] = select(inside, from[at], F::new(0.0));
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn tile_kernel<F: Float + CubeElement, A: Float + CubeElement>(
    left: &Array<F>,
    right: &Array<F>,
    bias: &Array<F>,
    out: &mut Array<F>,
    n: u32,
    k: u32,
    m: u32,
    left_pitch: usize,
    right_pitch: usize,
    location: A,
    steepness: A,
    #[comptime] form: Form,
) {
    let across = m.div_ceil(SIDE) as usize;
    let row = (CUBE_POS / across) as u32 * SIDE;
    let column = (CUBE_POS % across) as u32 * SIDE;
    // `row` is uniform in the cube, whose units all leave here.
    if row >= n {
        terminate!();
    }
    let mut a = SharedMemory::<F>::new(comptime!((SIDE * PITCH) as usize));
    let mut b = SharedMemory::<F>::new(comptime!((SIDE * PITCH) as usize));
    let mut sum = A::new(0.0);
    for start in range_stepped(0u32, k, SIDE) {
        stage::<F>(left, &mut a, row, start, n, k, left_pitch, comptime!(form.left_transposed));
        stage::<F>(right, &mut b, start, column, k, m, right_pitch, comptime!(form.right_transposed));
        sync_cube();
        for l in 0..SIDE {
            let of_row = A::cast_from(a[(UNIT_POS_Y * PITCH + l) as usize]);
            let of_column = A::cast_from(b[(l * PITCH + UNIT_POS_X) as usize]);
            sum += of_row * of_column;
        }
        // The next iteration overwrites the tiles.
        sync_cube();
    }
    let (i, j) = (row + UNIT_POS_Y, column + UNIT_POS_X);
    if i < n && j < m {
        if comptime!(form.bias) {
            sum += A::cast_from(bias[j as usize]);
        }
        if comptime!(form.sigmoid) {
            sum = logistic::<A, Const<1>>(Vector::<A, Const<1>>::new(sum), location, steepness)[0];
        }
        out[i as usize * m as usize + j as usize] = F::cast_from(sum);
    }
}

/// The matrix in row-major or column-major layout, its pitch in elements, and whether it is column-major.
fn with_layout<R: CubeRuntime>(matrix: CubeTensor<R>) -> (CubeTensor<R>, usize, bool) {
    let ([rows, columns], strides) = (matrix.meta.shape().dims(), matrix.meta.strides().to_vec());
    if strides[1] == 1 && strides[0] >= columns {
        return (matrix, strides[0], false);
    }
    if strides[0] == 1 && strides[1] >= rows {
        return (matrix, strides[1], true);
    }
    (launch::dense(matrix), columns, false)
}

/// A·B + b, or the sigmoid of it.
pub(super) fn product<R: CubeRuntime, F: FloatElement, A: FloatElement>(
    left: CubeTensor<R>,
    right: CubeTensor<R>,
    bias: Option<CubeTensor<R>>,
    sigmoid: Option<Sigmoid>,
) -> CubeTensor<R> {
    let ([n, k], [_, m]): ([usize; 2], [usize; 2]) = (left.meta.shape().dims(), right.meta.shape().dims());
    let out = launch::output(&left, [n, m], left.dtype);
    if n * m == 0 {
        return out;
    }
    let client = left.client.clone();
    let (left, left_pitch, left_transposed) = with_layout(left);
    let (right, right_pitch, right_transposed) = with_layout(right);
    let form = Form { left_transposed, right_transposed, bias: bias.is_some(), sigmoid: sigmoid.is_some() };
    let sigmoid = sigmoid.unwrap_or_default();
    let address = launch::address(&[&left, &right, &out]);
    // Without a bias the argument is not read: any buffer will do.
    let bias = bias.map_or_else(|| right.clone(), launch::dense);
    let tiles = n.div_ceil(SIDE as usize) * m.div_ceil(SIDE as usize);
    // SAFETY: cubes past the last row of tiles terminate, reads are clamped to the matrices, and writes are bounded by n
    // and m.
    unsafe {
        tile_kernel::launch_unchecked::<F, A, R>(
            &client,
            launch::cubes_for(&client, tiles, 1),
            CubeDim::new_2d(SIDE, SIDE),
            address,
            left.into_array_arg(),
            right.into_array_arg(),
            bias.into_array_arg(),
            out.clone().into_array_arg(),
            n as u32,
            k as u32,
            m as u32,
            left_pitch,
            right_pitch,
            A::from_elem(sigmoid.location),
            A::from_elem(sigmoid.steepness()),
            form,
        );
    }
    out
}
