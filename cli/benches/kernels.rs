//! Criterion benchmarks of all hot loops on the CPU, for comparing commits: `cargo bench`, or `cargo bench -- ocnn` for
//! a subset. The cases are those of `firebox bench kernels`, which measures them on any backend against its ceilings.

use std::time::Instant;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use firebox_backends::{Choice, Device, bench::Prepared};
use firebox_cli::Program;
use firebox_core::{Precision, Session};

fn kernels(criterion: &mut Criterion) {
    let Ok(device) = Device::find(Choice::NdArray, Precision::F32) else { return };
    for plugin in Program::firebox().plugins() {
        let mut group = criterion.benchmark_group(plugin.command().get_name());
        group.sample_size(10);
        let kernels = plugin.bench().map(|bench| bench.kernels(&device, &Session::default()));
        for kernel in kernels.into_iter().flatten() {
            // The CPU lacks some variants, such as f16 storage. Criterion cannot skip a benchmark once it has begun.
            let is_supported = |size: &Vec<usize>| matches!(kernel.prepare(size), Ok(Some(_)));
            if !kernel.sizes.first().is_some_and(is_supported) {
                continue;
            }
            let name = [Some(kernel.case), kernel.variant].into_iter().flatten().collect::<Vec<_>>().join(": ");
            for size in &kernel.sizes {
                let label = size.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
                // Prepared lazily: benchmarks that the filter excludes need no inputs.
                let mut prepared: Option<Option<Prepared>> = None;
                group.bench_function(BenchmarkId::new(&name, label), |bencher| {
                    let prepared = prepared.get_or_insert_with(|| kernel.prepare(size).ok().flatten());
                    bencher.iter_custom(|iterations| {
                        let start = Instant::now();
                        let Some(prepared) = prepared else { return start.elapsed() };
                        (0..iterations).for_each(|_| (prepared.call)());
                        start.elapsed() / prepared.units as u32
                    });
                });
            }
        }
        group.finish();
    }
}

criterion_group!(benches, kernels);
criterion_main!(benches);
