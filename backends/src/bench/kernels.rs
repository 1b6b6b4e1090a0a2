//! `firebox bench kernels`: the hot loops of all algorithms, each by itself, beside what the device does at best.

use std::collections::BTreeSet;

use firebox_core::{
    Context, Error, Result,
    kernels::{Kernel, Least},
};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    at_least_one,
    cache::{moved, sets},
    ceilings::{Ceilings, Rates, Resource},
    timed::{Timed, time},
};

/// The case of rows that tell what the device does at best.
pub const CEILINGS: &str = "ceilings";

/// What to measure.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// Only these cases.
    pub cases: Vec<String>,
    /// Only these numbers of points.
    pub points: Vec<usize>,
    /// No more points than this.
    pub max_points: Option<usize>,
    /// Also what a CPU takes long for.
    pub large: bool,
    /// Timings of each; the median is given.
    pub repeats: usize,
}

/// One case at one size, measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KernelRow {
    /// Whose hot loop it is; none for ceilings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<String>,
    /// What was measured.
    pub case: String,
    /// Which way, or which ceiling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// Points first.
    pub size: Vec<usize>,
    /// Milliseconds of what the case names, the median.
    pub ms: f64,
    /// The shortest.
    pub min_ms: f64,
    /// The longest.
    pub max_ms: f64,
    /// How often it was measured.
    pub repeats: usize,
    /// Calls of each timing.
    pub calls: usize,
    /// What the case names, so many times in a call.
    pub units: usize,
    /// Sets of inputs that took turns.
    pub sets: usize,
    /// Bytes that one has to move between the processor and memory at least.
    pub bytes: f64,
    /// Floating-point operations, likewise.
    pub flops: f64,
    /// Exponentials, likewise.
    pub exps: f64,
    /// Reciprocal square roots, likewise.
    pub roots: f64,
    /// 10⁹ of those bytes in a second.
    pub gb_s: f64,
    /// 10⁹ of those operations in a second, those of tensor cores included.
    pub gflop_s: f64,
    /// 10⁹ of those exponentials and roots in a second.
    pub gexp_s: f64,
    /// The time that this takes at best on this device, over the time that it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// What the best time would be spent on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Resource>,
    /// More about it.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
}

/// A plugin's name and its kernels.
pub type Named<B> = (String, Vec<Kernel<B>>);

/// Measures what `choice` chooses of `kernels`; each row goes to `row` as soon as it is known, the ceilings with the first,
/// so that what is refused has no row at all. What the device cannot hold is left out with a notice. Fails if a case is not there, or if there was nothing to measure.
pub fn measure<B: Ceilings>(
    kernels: &[Named<B>],
    choice: &Choice,
    context: &Context<B>,
    row: &mut dyn FnMut(KernelRow),
) -> Result<()> {
    at_least_one(&[("repeats", choice.repeats)])?;
    known(kernels, &choice.cases)?;
    let wanted = |case: &str| choice.cases.is_empty() || choice.cases.iter().any(|it| it == case);
    let chosen: Vec<(&str, &Kernel<B>, Vec<usize>)> = kernels
        .iter()
        .flat_map(|(name, kernels)| kernels.iter().map(move |kernel| (name.as_str(), kernel)))
        .filter(|(_, kernel)| wanted(kernel.case))
        .flat_map(|(name, kernel)| sizes(kernel, choice).into_iter().map(move |size| (name, kernel, size)))
        .collect();
    if chosen.is_empty() && !choice.cases.iter().any(|case| case == CEILINGS) {
        let (field, value) = ("max_points", choice.max_points.unwrap_or_default().to_string());
        return Err(Error::Config {
            field,
            value,
            reason: "no case that was chosen has a size as small as that".into(),
        });
    }
    let mut ceilings = Vec::new();
    let rates = Rates::measure(context, choice.repeats, |probe, timed| {
        let ceiling = KernelRow::new(CEILINGS, vec![probe.count], timed, &probe.work.least, choice.repeats);
        ceilings.push(KernelRow { variant: Some(probe.name.into()), ..ceiling });
    })?;
    if chosen.is_empty() {
        ceilings.drain(..).for_each(&mut *row);
    }
    let (mut any, mut refusal) = (chosen.is_empty(), None);
    for (name, kernel, size) in chosen {
        match one(kernel, &size, &rates, choice, context) {
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

/// Fails if one of `cases` is none of the kernels', with a list of those.
fn known<B: Ceilings>(kernels: &[Named<B>], cases: &[String]) -> Result<()> {
    let there: BTreeSet<&str> = kernels.iter().flat_map(|(_, kernels)| kernels.iter().map(|it| it.case)).collect();
    match cases.iter().find(|case| *case != CEILINGS && !there.contains(case.as_str())) {
        None => Ok(()),
        Some(wrong) => {
            let all: Vec<String> = there.into_iter().chain([CEILINGS]).map(|case| format!("'{case}'")).collect();
            Err(Error::input(format!("there is no case '{wrong}'"), format!("the cases are {}", all.join(", "))))
        }
    }
}

/// The sizes of a kernel that are wanted: of the chosen numbers of points, or else its own. A number of points that it has
/// no size of takes the place of its first size's.
fn sizes<B: Ceilings>(kernel: &Kernel<B>, choice: &Choice) -> Vec<Vec<usize>> {
    let own = kernel.sizes.iter().chain(kernel.large.iter().filter(|_| choice.large));
    let most = choice.max_points.unwrap_or(usize::MAX);
    if choice.points.is_empty() {
        return own.filter(|size| size[0] <= most).cloned().collect();
    }
    let all = || kernel.sizes.iter().chain(&kernel.large);
    let with = |&points: &usize| {
        let there: Vec<_> = all().filter(|size| size[0] == points).cloned().collect();
        let other = all().next().map(|first| [&[points], &first[1..]].concat());
        if there.is_empty() { other.into_iter().collect() } else { there }
    };
    choice.points.iter().filter(|&&points| points <= most).flat_map(with).collect()
}

/// Measures one case at one size; none if the device has no such way.
fn one<B: Ceilings>(
    kernel: &Kernel<B>,
    size: &[usize],
    rates: &Rates,
    choice: &Choice,
    context: &Context<B>,
) -> Result<Option<KernelRow>> {
    let cache = B::cache(&context.device);
    let Some(first) = kernel.prepare(size, context)? else { return Ok(None) };
    let count = sets(first.resident, first.units, cache, context.memory_limit);
    let (units, resident, details) = (first.units, first.resident, first.details.clone());
    let (least, otherwise) = (first.least, first.otherwise);
    let mut prepared = vec![first];
    while prepared.len() < count {
        match kernel.prepare(size, context) {
            Ok(Some(another)) => prepared.push(another),
            // Those there are will do.
            Ok(None) | Err(Error::Memory { .. }) => break,
            Err(error) => return Err(error),
        }
    }
    let timed = time(context, &mut prepared, choice.repeats)?;
    let mut row = KernelRow::new(kernel.case, size.to_vec(), timed, &least, choice.repeats);
    let bound = |least: Least| {
        let bytes = moved(least.bytes, resident, prepared.len(), units, cache);
        rates.bound(&Least { bytes, ..least })
    };
    let bounds = [Some(least), otherwise].into_iter().flatten().filter_map(bound);
    if let Some((ms, of)) = bounds.min_by(|a, b| a.0.total_cmp(&b.0)) {
        (row.share, row.limit) = (Some(ms / timed.median), Some(of));
    }
    Ok(Some(KernelRow { variant: kernel.variant.map(Into::into), units, sets: prepared.len(), details, ..row }))
}

impl KernelRow {
    fn new(case: &str, size: Vec<usize>, timed: Timed, least: &Least, repeats: usize) -> Self {
        let Timed { median: ms, min: min_ms, max: max_ms, calls } = timed;
        let giga = |amount: f64| if ms > 0.0 { amount / ms / 1e6 } else { 0.0 };
        Self {
            algorithm: None,
            case: case.into(),
            variant: None,
            size,
            ms,
            min_ms,
            max_ms,
            repeats,
            calls,
            units: 1,
            sets: 1,
            bytes: least.bytes,
            flops: least.flops + least.products,
            exps: least.exps,
            roots: least.roots,
            gb_s: giga(least.bytes),
            gflop_s: giga(least.flops + least.products),
            gexp_s: giga(least.exps + least.roots),
            share: None,
            limit: None,
            details: Map::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use burn_ndarray::NdArray;
    use firebox_core::kernels::Prepared;

    use super::*;

    type B = NdArray<f32>;

    fn kernels() -> Vec<Named<B>> {
        let least = Least { bytes: 100.0, ..Least::default() };
        let nap = || std::thread::sleep(std::time::Duration::from_micros(100));
        let plain = Kernel::new("nap", &[[10, 2], [20, 3]], move |_, _| Ok(Some(Prepared::new(1e12, least, nap))));
        let none = Kernel::new("nap", &[[10, 2]], |_, _| Ok(None)).variant("of none");
        let help = || Error::Memory {
            device: "toy".into(),
            purpose: "a nap".into(),
            needed: 2,
            available: 1,
            limit: "are free",
            help: String::new(),
        };
        let huge = Kernel::new("sleep", &[[10]], move |_, _| Err(help()));
        vec![("toy".into(), vec![plain.large(&[[99, 4]]), none, huge])]
    }

    fn rows(choice: Choice) -> Result<Vec<KernelRow>> {
        let mut rows = Vec::new();
        let context = Context { memory_limit: Some(1 << 22), ..Context::new(Default::default()) };
        measure(&kernels(), &Choice { repeats: 1, ..choice }, &context, &mut |row| rows.push(row)).map(|()| rows)
    }

    #[test]
    fn sizes_are_those_of_the_points_asked_for() {
        let kernels = kernels();
        let of = |points: &[usize], max_points, large| {
            let choice = Choice { points: points.to_vec(), max_points, large, ..Choice::default() };
            sizes(&kernels[0].1[0], &choice)
        };
        assert_eq!(of(&[], None, false), [[10, 2], [20, 3]]);
        assert_eq!(of(&[], None, true), [[10, 2], [20, 3], [99, 4]]);
        assert_eq!(of(&[], Some(15), true), [[10, 2]]);
        assert_eq!(of(&[20, 99, 7], None, false), [[20, 3], [99, 4], [7, 2]]);
        assert_eq!(of(&[20, 99, 7], Some(30), false), [[20, 3], [7, 2]]);
    }

    #[test]
    fn rows_come_after_the_ceilings_and_what_does_not_fit_is_left_out() {
        let rows = rows(Choice { max_points: Some(10), ..Choice::default() }).unwrap();
        let cases: Vec<&str> = rows.iter().map(|row| row.case.as_str()).collect();
        assert_eq!(cases, [CEILINGS, CEILINGS, CEILINGS, CEILINGS, CEILINGS, "nap"]);
        let nap = &rows[5];
        assert_eq!((nap.algorithm.as_deref(), nap.size.as_slice(), nap.sets), (Some("toy"), [10, 2].as_slice(), 1));
        assert!(nap.ms >= 0.1 && nap.share.unwrap() < 1.0 && nap.limit == Some(Resource::Memory), "{nap:?}");
        assert!(rows[..5].iter().all(|row| row.gb_s + row.gflop_s + row.gexp_s > 0.0), "{rows:?}");
    }

    #[test]
    fn what_cannot_be_measured_is_refused() {
        let cases = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let wrong = rows(Choice { cases: cases(&["nap", "step"]), ..Choice::default() }).unwrap_err();
        assert!(wrong.to_string().contains("'step'"), "{wrong}");
        assert!(wrong.help().is_some_and(|help| help.contains("'nap', 'sleep', 'ceilings'")), "{:?}", wrong.help());
        let few = rows(Choice { cases: cases(&["nap"]), max_points: Some(5), ..Choice::default() }).unwrap_err();
        assert!(few.to_string().starts_with("max_points = 5"), "{few}");
        let all = rows(Choice { max_points: Some(1), ..Choice::default() }).unwrap_err();
        assert!(all.to_string().starts_with("max_points = 1"), "{all}");
        let large = rows(Choice { cases: cases(&["sleep"]), ..Choice::default() }).unwrap_err();
        assert!(matches!(large, Error::Memory { .. }), "{large}");
        assert_eq!(rows(Choice { cases: cases(&[CEILINGS]), ..Choice::default() }).unwrap().len(), 5);
    }
}
