//! Products by cubek: its kernels on scalar units, and on tensor cores for f16 and bf16.

use burn::tensor::DType;
use burn_cubecl::{CubeRuntime, tensor::CubeTensor};
use cubecl::{
    ir::{AddressType, BarrierLevel, ElemType, FloatKind, OpaqueType, StorageType},
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

/// A column's strides are 1 and 1, which cubek takes for a row's: the results are wrong.
const ONE: &str = "a matrix of one column lies like one of one row";

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
    let properties = client.properties();
    // The kernel for f32 fills shared memory by asynchronous copies.
    if dtype == DType::F32 && !properties.supports_type(OpaqueType::Barrier(BarrierLevel::Cube)) {
        return false;
    }
    properties.features.matmul.mma.iter().any(|it| it.a_type == wanted && it.b_type == wanted && it.cd_type == sums)
}

/// Why cubek has no kernel for dense matrices `[n, k]` and `[k, m]`, if it has none.
pub(super) fn refusal<R: CubeRuntime>(
    device: &R::Device,
    dtype: DType,
    size: [usize; 3],
    units: Units,
) -> Option<String> {
    if size[1] == 1 {
        return Some(ONE.into());
    }
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
    let ([n, k], [_, m]): ([usize; 2], [usize; 2]) = (left.meta.shape().dims(), right.meta.shape().dims());
    if k == 1 {
        return None;
    }
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
