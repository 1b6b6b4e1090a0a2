//! Products by cubek: its kernel on scalar units, on tensor cores, and f32 in three parts on tensor cores (3×TF32).

#![allow(missing_docs)] // `#[cube]` writes companions that cannot be documented.

use burn::tensor::DType;
use burn_cubecl::{CubeRuntime, tensor::CubeTensor};
use cubecl::{
    ir::{AddressType, ElemType, FloatKind, StorageType},
    prelude::*,
};
use cubek_matmul::{
    components::tile::TileMatmulKind,
    definition::{AvailableVectorSizes, MatmulElems, MatmulGlobalElems, MatmulProblem, MatmulSetupError},
    launch::{Strategy, launch_ref},
    routines::{
        BlueprintStrategy, Routine, TileSizeSelection,
        double_buffering::{CyclicDoubleBufferingAlgorithm, DoubleBufferingArgs},
        double_unit::{DoubleUnitAlgorithm, DoubleUnitSelectionArgs},
    },
};
use cubek_std::InputBinding;
use firebox_backends::kernel::launch;

/// Units of a cube that splits numbers.
const UNITS: u32 = 256;

/// Which units multiply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Units {
    Scalar,
    Tensor,
}

impl Units {
    fn strategy(self) -> Strategy {
        match self {
            Self::Scalar => Strategy::DoubleUnit(on_scalar_units()),
            Self::Tensor => Strategy::DoubleCyclicMma(on_tensor_cores()),
        }
    }
}

fn on_scalar_units() -> BlueprintStrategy<(), DoubleUnitAlgorithm> {
    BlueprintStrategy::Inferred(DoubleUnitSelectionArgs { tile_size: TileSizeSelection::MaxTileSize })
}

fn on_tensor_cores() -> BlueprintStrategy<(), CyclicDoubleBufferingAlgorithm> {
    BlueprintStrategy::Inferred(DoubleBufferingArgs { tile_matmul: TileMatmulKind::Mma, specialized: false })
}

/// Whether the device's tensor cores take numbers of this type and add them up in f32; f32 is taken as TF32.
pub(super) fn has_tensor_cores<R: CubeRuntime>(device: &R::Device, dtype: DType) -> bool {
    let kind = match dtype {
        DType::F32 => FloatKind::TF32,
        DType::F16 => FloatKind::F16,
        DType::BF16 => FloatKind::BF16,
        _ => return false,
    };
    let wanted = StorageType::Scalar(ElemType::Float(kind));
    let sums = StorageType::Scalar(ElemType::Float(FloatKind::F32));
    let client = R::client(device);
    let matmul = &client.properties().features.matmul;
    matmul.mma.iter().any(|it| it.a_type == wanted && it.b_type == wanted && it.cd_type == sums)
}

/// Why cubek has no kernel for dense matrices `[n, k]` and `[k, m]`, if it has none.
pub(super) fn refusal<R: CubeRuntime>(
    device: &R::Device,
    dtype: DType,
    size: [usize; 3],
    units: Units,
) -> Option<String> {
    let client = R::client(device);
    let planned = match units {
        Units::Scalar => plan::<R, _>(&client, dtype, size, &on_scalar_units()),
        Units::Tensor => plan::<R, _>(&client, dtype, size, &on_tensor_cores()),
    };
    planned.err().map(|error| error.to_string().trim().into())
}

/// What cubek asks before it launches.
#[allow(clippy::result_large_err)] // As cubek has it.
fn plan<R: CubeRuntime, A: Routine<()>>(
    client: &ComputeClient<R>,
    dtype: DType,
    [n, k, m]: [usize; 3],
    strategy: &BlueprintStrategy<(), A>,
) -> Result<(), MatmulSetupError> {
    let problem = MatmulProblem::from_shapes_and_strides(
        [n, k].into(),
        [k, m].into(),
        [n, m].into(),
        [k, 1].into(),
        [m, 1].into(),
        [m, 1].into(),
        MatmulGlobalElems { lhs: dtype.into(), rhs: dtype.into(), out: dtype.into() },
        AddressType::default(),
        None,
        None,
    )?;
    let widths = AvailableVectorSizes::from_type_sizes(client, dtype.size(), dtype.size(), dtype.size())
        .filter_lhs_with_tensor(&problem.lhs_strides, &problem.lhs_shape, problem.lhs_layout)
        .filter_rhs_with_tensor(&problem.rhs_strides, &problem.rhs_shape, problem.rhs_layout)
        .filter_out_with_tensor(&problem.out_strides, &problem.out_shape)
        .pick_max()?;
    let settings = A::device_settings(client, widths);
    let blueprint = A::expand_blueprint(&problem, &settings, strategy)?;
    A::prepare(&problem, &settings, blueprint).map(drop)
}

/// A·B, or nothing where cubek has no kernel for it.
pub(super) fn product<R: CubeRuntime>(
    left: &CubeTensor<R>,
    right: &CubeTensor<R>,
    units: Units,
) -> Option<CubeTensor<R>> {
    let ([n, _], [_, m]): ([usize; 2], [usize; 2]) = (left.meta.shape().dims(), right.meta.shape().dims());
    let dtype = left.dtype;
    let out = launch::output(left, [n, m], dtype);
    let mut elements =
        MatmulElems::from_globals(&MatmulGlobalElems { lhs: dtype.into(), rhs: dtype.into(), out: dtype.into() });
    let launched = launch_ref(
        &units.strategy(),
        &left.client,
        InputBinding::new(left.clone().binding(), dtype.into()),
        InputBinding::new(right.clone().binding(), dtype.into()),
        out.clone().binding(),
        &mut elements,
    );
    launched.is_ok().then_some(out)
}

/// Writes x as h + l to three places, `part` apart: h rounds x to the 11 bits of TF32, l is what is left of it. The
/// middle place gets l if `low_middle`, else the last.
#[cube(launch_unchecked, address_type = "dynamic")]
fn split_kernel(
    from: &Array<f32>,
    to: &mut Array<f32>,
    columns: usize,
    pitch: usize,
    part: usize,
    count: usize,
    #[comptime] low_middle: bool,
) {
    let at = CUBE_POS * CUBE_DIM as usize + UNIT_POS as usize;
    if at < count {
        let x = from[at];
        let bits = u32::reinterpret(x);
        let high = f32::reinterpret((bits + 0x1000u32) & 0xFFFF_E000u32);
        let low = x - high;
        let place = at / columns * pitch + at % columns;
        to[place] = high;
        to[place + part] = if comptime!(low_middle) { low } else { high };
        to[place + 2 * part] = if comptime!(low_middle) { high } else { low };
    }
}

/// The parts of A `[n, k]` side by side `[n, 3k]` as h, h, l, or those of B `[k, m]` below each other `[3k, m]` as
/// h, l, h: the product of both is that of A and B less that of what is left of either, 2⁻²² of it.
fn split<R: CubeRuntime>(matrix: CubeTensor<R>, beside: bool) -> CubeTensor<R> {
    let matrix = launch::dense(matrix);
    let [rows, columns]: [usize; 2] = matrix.meta.shape().dims();
    let count = rows * columns;
    let (shape, pitch, part) =
        if beside { ([rows, 3 * columns], 3 * columns, columns) } else { ([3 * rows, columns], columns, count) };
    let out = launch::output(&matrix, shape, DType::F32);
    let client = matrix.client.clone();
    let units = launch::units_within(&client, UNITS);
    // SAFETY: the kernel guards its number against `count`, and `to` has three times as many.
    unsafe {
        split_kernel::launch_unchecked::<R>(
            &client,
            launch::cubes_for(&client, count, units),
            CubeDim::new_1d(units),
            launch::address(&[&out]),
            matrix.into_array_arg(),
            out.clone().into_array_arg(),
            columns,
            pitch,
            part,
            count,
            !beside,
        );
    }
    out
}

/// A·B of f32 on tensor cores, as precise as f32.
pub(super) fn in_parts<R: CubeRuntime>(left: &CubeTensor<R>, right: &CubeTensor<R>) -> Option<CubeTensor<R>> {
    product(&split(left.clone(), true), &split(right.clone(), false), Units::Tensor)
}
