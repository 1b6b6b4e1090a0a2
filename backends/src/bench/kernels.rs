//! `firebox bench kernels`: single hot loops of all algorithms, compared with the ceilings of the device.

use std::collections::BTreeSet;

use firebox_core::{Context, Error, Result, Session};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    at_least_one,
    cache::{memory_traffic, sets},
    case::{Kernel, LowerBound},
    ceilings::{Ceilings, Rates, Resource},
    timed::{Timed, time},
};
use crate::{Device, with_context};

/// Case name of the rows of the ceilings.
pub const CEILINGS: &str = "ceilings";

/// Cases and sizes to be measured.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Names of cases; all if empty.
    pub cases: Vec<String>,
    /// Numbers of points; those of each case if empty.
    pub points: Vec<usize>,
    /// Maximum number of points.
    pub max_points: Option<usize>,
    /// Includes the large sizes of cases.
    pub large: bool,
    /// Number of timings, of which the median is reported.
    pub repeats: usize,
}

/// Measurement of one case at one size.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct KernelRow {
    /// Name of the algorithm; `None` for ceilings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<String>,
    /// Name of the case.
    pub case: String,
    /// Name of the variant or the ceiling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Problem size, with the number of points first.
    pub size: Vec<usize>,
    /// Median time per unit in milliseconds.
    pub ms: f64,
    /// Shortest time per unit in milliseconds.
    pub min_ms: f64,
    /// Longest time per unit in milliseconds.
    pub max_ms: f64,
    /// Number of timings.
    pub repeats: usize,
    /// Number of calls per timing.
    pub calls: usize,
    /// Number of units of work per call.
    pub units: usize,
    /// Number of sets of inputs that calls rotated through.
    pub sets: usize,
    /// Lower bound of bytes read and written per unit, with cold caches.
    pub bytes: f64,
    /// Lower bound of floating-point operations per unit, including those of tensor cores.
    pub flops: f64,
    /// Lower bound of exponentials per unit.
    pub exps: f64,
    /// Lower bound of reciprocal square roots per unit.
    pub roots: f64,
    /// `bytes` in 10⁹ per second.
    pub gb_s: f64,
    /// `flops` in 10⁹ per second.
    pub gflop_s: f64,
    /// `exps` and `roots` in 10⁹ per second.
    pub gexp_s: f64,
    /// Shortest possible time by the ceilings, divided by the measured time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Resource that limits the shortest possible time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Resource>,
    /// Further entries.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
}

/// Measures the selected `kernels`, listed by the names of their algorithms; each row is passed to `row` as soon as it
/// is measured. The ceilings precede the first row, so that a refused run has no output. Sizes that do not fit into
/// memory are skipped with a notice.
///
/// # Errors
/// [`Error::Input`] for an unknown case, [`Error::Config`] for an empty selection, [`Error::Memory`] if no size fits.
pub fn measure(
    kernels: &[(String, Vec<Kernel>)],
    selection: &Selection,
    device: &Device,
    session: &Session,
    row: &mut dyn FnMut(KernelRow),
) -> Result<()> {
    with_context!(device, session, |context| measure_on(kernels, selection, context, row))
}

fn measure_on<B: Ceilings>(
    kernels: &[(String, Vec<Kernel>)],
    selection: &Selection,
    context: &Context<B>,
    row: &mut dyn FnMut(KernelRow),
) -> Result<()> {
    at_least_one(&[("repeats", selection.repeats)])?;
    check_cases(kernels, &selection.cases)?;
    let is_selected = |case: &str| selection.cases.is_empty() || selection.cases.iter().any(|name| name == case);
    let selected: Vec<(&str, &Kernel, Vec<usize>)> = kernels
        .iter()
        .flat_map(|(name, kernels)| kernels.iter().map(move |kernel| (name.as_str(), kernel)))
        .filter(|(_, kernel)| is_selected(kernel.case))
        .flat_map(|(name, kernel)| sizes(kernel, selection).into_iter().map(move |size| (name, kernel, size)))
        .collect();
    if selected.is_empty() && !selection.cases.iter().any(|case| case == CEILINGS) {
        let (field, value) = ("max_points", selection.max_points.unwrap_or_default().to_string());
        return Err(Error::Config { field, value, reason: "all sizes of the selected cases are larger".into() });
    }
    let mut ceilings = Vec::new();
    let rates = Rates::measure(context, selection.repeats, |probe, timed| {
        let ceiling = KernelRow::new(CEILINGS, vec![probe.count], timed, &probe.work.lower_bound, selection.repeats);
        ceilings.push(KernelRow { variant: Some(probe.name.into()), ..ceiling });
    })?;
    if selected.is_empty() {
        ceilings.drain(..).for_each(&mut *row);
    }
    let (mut any, mut refusal) = (selected.is_empty(), None);
    for (name, kernel, size) in selected {
        match measure_size(kernel, &size, &rates, selection, context) {
            Ok(Some(measured)) => {
                any = true;
                ceilings.drain(..).for_each(&mut *row);
                row(KernelRow { algorithm: Some(name.into()), ..measured });
            }
            Ok(None) => {}
            Err(error @ Error::Memory { .. }) => {
                context.observer.notice(&format!("left out: {}: {error}", kernel.case));
                refusal.get_or_insert(error);
            }
            Err(error) => return Err(error),
        }
    }
    match refusal {
        Some(refusal) if !any => Err(refusal),
        _ => Ok(()),
    }
}

/// Fails if one of `cases` is unknown, with a list of all cases.
fn check_cases(kernels: &[(String, Vec<Kernel>)], cases: &[String]) -> Result<()> {
    let known: BTreeSet<&str> = kernels.iter().flat_map(|(_, kernels)| kernels.iter().map(|it| it.case)).collect();
    match cases.iter().find(|case| *case != CEILINGS && !known.contains(case.as_str())) {
        None => Ok(()),
        Some(unknown) => {
            let all: Vec<String> = known.into_iter().chain([CEILINGS]).map(|case| format!("'{case}'")).collect();
            Err(Error::input(format!("unknown case '{unknown}'"), format!("the cases are {}", all.join(", "))))
        }
    }
}

/// Selected sizes of a kernel: those with the selected numbers of points, or else its own. A number of points without a
/// size replaces that of the kernel's first size.
fn sizes(kernel: &Kernel, selection: &Selection) -> Vec<Vec<usize>> {
    let own = kernel.sizes.iter().chain(kernel.large.iter().filter(|_| selection.large));
    let max_points = selection.max_points.unwrap_or(usize::MAX);
    if selection.points.is_empty() {
        return own.filter(|size| size[0] <= max_points).cloned().collect();
    }
    let all = || kernel.sizes.iter().chain(&kernel.large);
    let with = |&points: &usize| {
        let existing: Vec<_> = all().filter(|size| size[0] == points).cloned().collect();
        let derived = all().next().map(|first| [&[points], &first[1..]].concat());
        if existing.is_empty() { derived.into_iter().collect() } else { existing }
    };
    selection.points.iter().filter(|&&points| points <= max_points).flat_map(with).collect()
}

/// Measures one case at one size; `None` if the device does not support the variant.
fn measure_size<B: Ceilings>(
    kernel: &Kernel,
    size: &[usize],
    rates: &Rates,
    selection: &Selection,
    context: &Context<B>,
) -> Result<Option<KernelRow>> {
    let cache = B::cache(&context.device);
    let Some(first) = kernel.prepare(size)? else { return Ok(None) };
    let count = sets(first.resident, first.units, cache, context.memory_limit);
    let (units, resident, details) = (first.units, first.resident, first.details.clone());
    let (lower_bound, alternative) = (first.lower_bound, first.alternative);
    let mut prepared = vec![first];
    while prepared.len() < count {
        match kernel.prepare(size) {
            Ok(Some(another)) => prepared.push(another),
            // Fewer sets suffice.
            Ok(None) | Err(Error::Memory { .. }) => break,
            Err(error) => return Err(error),
        }
    }
    let timed = time(context, &mut prepared, selection.repeats)?;
    let mut row = KernelRow::new(kernel.case, size.to_vec(), timed, &lower_bound, selection.repeats);
    let bound = |lower_bound: LowerBound| {
        let bytes = memory_traffic(lower_bound.bytes, resident, prepared.len(), units, cache);
        rates.bound(&LowerBound { bytes, ..lower_bound })
    };
    let bounds = [Some(lower_bound), alternative].into_iter().flatten().filter_map(bound);
    if let Some((ms, resource)) = bounds.min_by(|a, b| a.0.total_cmp(&b.0)) {
        (row.share, row.limit) = (Some(ms / timed.median), Some(resource));
    }
    Ok(Some(KernelRow { variant: kernel.variant.map(Into::into), units, sets: prepared.len(), details, ..row }))
}

impl KernelRow {
    fn new(case: &str, size: Vec<usize>, timed: Timed, lower_bound: &LowerBound, repeats: usize) -> Self {
        let Timed { median: ms, min: min_ms, max: max_ms, calls } = timed;
        let giga = |amount: f64| if ms > 0.0 { amount / ms / 1e6 } else { 0.0 };
        let LowerBound { bytes, flops, exps, roots, products } = *lower_bound;
        Self {
            case: case.into(),
            size,
            ms,
            min_ms,
            max_ms,
            repeats,
            calls,
            units: 1,
            sets: 1,
            bytes,
            flops: flops + products,
            exps,
            roots,
            gb_s: giga(bytes),
            gflop_s: giga(flops + products),
            gexp_s: giga(exps + roots),
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::case::Prepared, *};
    use burn_ndarray::NdArray;

    type B = NdArray<f32>;

    fn kernels() -> Vec<(String, Vec<Kernel>)> {
        let lower_bound = LowerBound { bytes: 100.0, ..LowerBound::default() };
        let nap = || std::thread::sleep(std::time::Duration::from_micros(100));
        let context = &Context::<B>::new(Default::default());
        let plain = Kernel::new("nap", &[[10, 2], [20, 3]], context, move |_, _| {
            Ok(Some(Prepared::new(1e12, lower_bound, nap)))
        });
        let none = Kernel::new("nap", &[[10, 2]], context, |_, _| Ok(None)).variant("unsupported");
        let refusal = || Error::Memory {
            device: "toy".into(),
            purpose: "a nap".into(),
            needed: 2,
            available: 1,
            limit: "are free",
            help: String::new(),
        };
        let huge = Kernel::new("sleep", &[[10]], context, move |_, _| Err(refusal()));
        vec![("toy".into(), vec![plain.large(&[[99, 4]]), none, huge])]
    }

    fn rows(selection: Selection) -> Result<Vec<KernelRow>> {
        let mut rows = Vec::new();
        let mut context = Context::<B>::new(Default::default());
        context.memory_limit = Some(1 << 22);
        measure_on(&kernels(), &Selection { repeats: 1, ..selection }, &context, &mut |row| rows.push(row))
            .map(|()| rows)
    }

    #[test]
    fn sizes_follow_the_selected_points() {
        let kernels = kernels();
        let selected = |points: &[usize], max_points, large| {
            let selection = Selection { points: points.to_vec(), max_points, large, ..Selection::default() };
            sizes(&kernels[0].1[0], &selection)
        };
        assert_eq!(selected(&[], None, false), [[10, 2], [20, 3]]);
        assert_eq!(selected(&[], None, true), [[10, 2], [20, 3], [99, 4]]);
        assert_eq!(selected(&[], Some(15), true), [[10, 2]]);
        assert_eq!(selected(&[20, 99, 7], None, false), [[20, 3], [99, 4], [7, 2]]);
        assert_eq!(selected(&[20, 99, 7], Some(30), false), [[20, 3], [7, 2]]);
    }

    #[test]
    fn ceilings_precede_rows_and_sizes_that_do_not_fit_are_skipped() {
        let rows = rows(Selection { max_points: Some(10), ..Selection::default() }).unwrap();
        let cases: Vec<&str> = rows.iter().map(|row| row.case.as_str()).collect();
        assert_eq!(cases, [CEILINGS, CEILINGS, CEILINGS, CEILINGS, CEILINGS, "nap"]);
        let nap = &rows[5];
        assert_eq!((nap.algorithm.as_deref(), nap.size.as_slice(), nap.sets), (Some("toy"), [10, 2].as_slice(), 1));
        assert!(nap.ms >= 0.1 && nap.share.unwrap() < 1.0 && nap.limit == Some(Resource::Memory), "{nap:?}");
        assert!(rows[..5].iter().all(|row| row.gb_s + row.gflop_s + row.gexp_s > 0.0), "{rows:?}");
    }

    #[test]
    fn selections_without_a_measurable_size_are_refused() {
        let cases = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let unknown = rows(Selection { cases: cases(&["nap", "step"]), ..Selection::default() }).unwrap_err();
        assert!(unknown.to_string().contains("'step'"), "{unknown}");
        assert!(unknown.help().is_some_and(|help| help.contains("'nap', 'sleep', 'ceilings'")), "{:?}", unknown.help());
        let few = rows(Selection { cases: cases(&["nap"]), max_points: Some(5), ..Selection::default() }).unwrap_err();
        assert!(few.to_string().starts_with("max_points = 5"), "{few}");
        let all = rows(Selection { max_points: Some(1), ..Selection::default() }).unwrap_err();
        assert!(all.to_string().starts_with("max_points = 1"), "{all}");
        let large = rows(Selection { cases: cases(&["sleep"]), ..Selection::default() }).unwrap_err();
        assert!(matches!(large, Error::Memory { .. }), "{large}");
        assert_eq!(rows(Selection { cases: cases(&[CEILINGS]), ..Selection::default() }).unwrap().len(), 5);
    }
}
