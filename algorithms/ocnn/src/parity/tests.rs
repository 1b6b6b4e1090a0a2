//! The checks of graph operations on NdArray, for its loops and the default bodies.

use burn_ndarray::NdArray;

use super::*;
use crate::ops::OcnnOps;

fn check_all<B: OcnnOps>(suite: fn() -> Suite<B>) {
    let device = B::Device::default();
    for (k, shape) in shapes().into_iter().enumerate() {
        for case in graph::cases::<B>() {
            let problem = Problem::new(suite(), &device, shape, k as u64);
            if let Err(what) = (case.check)(&problem) {
                panic!("{}, {}, {shape}: {what}", suite().name, case.name);
            }
        }
    }
}

#[test]
fn graph_operations_of_ndarray() {
    check_all::<NdArray<f32>>(Suite::backend);
    check_all::<NdArray<f64>>(Suite::backend);
}

#[test]
fn graph_operations_of_default_bodies() {
    check_all::<NdArray<f32>>(Suite::tensor_operations);
}
