//! The hot loops of all algorithms on the CPU, watched from commit to commit: `cargo bench`, or `cargo bench -- ocnn` for
//! some. The cases are those of `firebox bench kernels`, which measures them on every backend, against the ceilings.

use std::time::Instant;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use firebox_cli::{Algorithms, Listing, Program};
use firebox_core::{Context, kernels::Prepared};

fn kernels(criterion: &mut Criterion) {
    let context = Context::<Listing>::new(Default::default());
    for plugin in Algorithms.listing() {
        let mut group = criterion.benchmark_group(plugin.command().get_name());
        group.sample_size(10);
        for kernel in plugin.kernels() {
            // The CPU lacks some ways, such as storage in f16; Criterion cannot leave out what it has begun.
            let exists = |size: &Vec<usize>| matches!(kernel.prepare(size, &context), Ok(Some(_)));
            if !kernel.sizes.first().is_some_and(exists) {
                continue;
            }
            let name = [Some(kernel.case), kernel.variant].into_iter().flatten().collect::<Vec<_>>().join(": ");
            for size in &kernel.sizes {
                let numbers = size.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
                // Only what the filter leaves is prepared.
                let mut prepared: Option<Option<Prepared>> = None;
                group.bench_function(BenchmarkId::new(&name, numbers), |bencher| {
                    let prepared = prepared.get_or_insert_with(|| kernel.prepare(size, &context).ok().flatten());
                    bencher.iter_custom(|times| {
                        let start = Instant::now();
                        let Some(prepared) = prepared else { return start.elapsed() };
                        (0..times).for_each(|_| (prepared.call)());
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
