//! cubek's matrix products, on scalar units, and on tensor cores for f16 and bf16.

use burn::tensor::DType;
use burn_cubecl::{CubeRuntime, tensor::CubeTensor};
use cubecl::{
    ir::{AddressType, BarrierLevel, ElemType, FloatKind, OpaqueType, StorageType},
    prelude::*,
};
use cubek_matmul::{
    components::tile::TileMatmulKind,
    definition::{AvailableVectorSizes, MatmulElems, MatmulGlobalElems, MatmulProblem, MatmulSetupError},
    launch::launch_tiling::launch_ref,
    routines::{
        BlueprintStrategy, Routine, TileSizeSelection,
        double_buffering::{CyclicDoubleBufferingAlgorithm, DoubleBufferingArgs},
        double_unit::{DoubleUnitAlgorithm, DoubleUnitSelectionArgs},
    },
};
use cubek_std::InputBinding;
use firebox_backends::kernel::launch;

/// Reason for refusing k = 1: cubek mistakes a single column, whose strides are 1 and 1, for a row, and its results are
/// wrong.
const ONE_COLUMN: &str = "a matrix of one column has the strides of a row";

/// Units on which cubek multiplies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Units {
    Scalar,
    Tensor,
}

fn on_scalar_units() -> BlueprintStrategy<(), DoubleUnitAlgorithm> {
    BlueprintStrategy::Inferred(DoubleUnitSelectionArgs { tile_size: TileSizeSelection::MaxTileSize })
}

fn on_tensor_cores() -> BlueprintStrategy<(), CyclicDoubleBufferingAlgorithm> {
    BlueprintStrategy::Inferred(DoubleBufferingArgs { tile_matmul: TileMatmulKind::Mma, specialized: false })
}

/// Returns true if the device has tensor cores for factors of this type, f32 meaning TF32, with accumulators in f32.
pub(super) fn has_tensor_cores<R: CubeRuntime>(device: &R::Device, dtype: DType) -> bool {
    let kind = match dtype {
        DType::F32 => FloatKind::TF32,
        DType::F16 => FloatKind::F16,
        DType::BF16 => FloatKind::BF16,
        _ => return false,
    };
    let factor = StorageType::Scalar(ElemType::Float(kind));
    let accumulator = StorageType::Scalar(ElemType::Float(FloatKind::F32));
    let client = R::client(device);
    let properties = client.properties();
    // The TF32 kernel fills shared memory by asynchronous copies.
    if dtype == DType::F32 && !properties.supports_type(OpaqueType::Barrier(BarrierLevel::Cube)) {
        return false;
    }
    properties
        .features
        .matmul
        .mma
        .iter()
        .any(|it| it.a_type == factor && it.b_type == factor && it.cd_type == accumulator)
}

/// Reason why cubek has no kernel for dense matrices `[n, k]` and `[k, m]`; `None` if it has one.
pub(super) fn refusal<R: CubeRuntime>(
    device: &R::Device,
    dtype: DType,
    size: [usize; 3],
    units: Units,
) -> Option<String> {
    if size[1] == 1 {
        return Some(ONE_COLUMN.into());
    }
    let client = R::client(device);
    let planned = match units {
        Units::Scalar => plan::<R, _>(&client, dtype, size, &on_scalar_units()),
        Units::Tensor => plan::<R, _>(&client, dtype, size, &on_tensor_cores()),
    };
    planned.err().map(|error| error.to_string().trim().into())
}

/// cubek's checks before a launch.
#[allow(clippy::result_large_err)] // cubek's error type.
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

/// A·B, or `None` if cubek has no kernel for it.
pub(super) fn product<R: CubeRuntime>(
    left: &CubeTensor<R>,
    right: &CubeTensor<R>,
    units: Units,
) -> Option<CubeTensor<R>> {
    let ([n, k], [_, m]): ([usize; 2], [usize; 2]) = (left.meta.shape().dims(), right.meta.shape().dims());
    if k == 1 {
        return None;
    }
    let dtype = left.dtype;
    let out = launch::output(left, [n, m], dtype);
    let mut elements =
        MatmulElems::from_globals(&MatmulGlobalElems { lhs: dtype.into(), rhs: dtype.into(), out: dtype.into() });
    let input = |matrix: &CubeTensor<R>| InputBinding::new(matrix.clone().binding(), dtype.into());
    let (client, left, right, target) = (&left.client, input(left), input(right), out.clone().binding());
    // Routines by their types: cubek's `Strategy` compiles the kernels of all its routines.
    let launched = match units {
        Units::Scalar => launch_ref(client, left, right, target, &on_scalar_units(), &mut elements),
        Units::Tensor => launch_ref(client, left, right, target, &on_tensor_cores(), &mut elements),
    };
    launched.is_ok().then_some(out)
}
