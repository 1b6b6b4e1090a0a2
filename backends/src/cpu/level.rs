//! Dispatch of hot loops to instruction sets.

/// A hot loop, compiled once for each [`SimdLevel`].
///
/// `run` and everything it calls must be `#[inline(always)]`: the function it is inlined into determines the
/// instruction set.
pub trait Loop {
    /// Result of the loop; `()` if it writes into a borrowed slice.
    type Output;

    /// Body of the loop.
    fn run<I: Isa>(self) -> Self::Output;
}

/// Compile-time properties of an instruction set, for the body of a [`Loop`].
pub trait Isa {
    /// `true` if a fused multiply–add is one instruction.
    const FUSED: bool;

    /// Estimates 1/√x of positive normal numbers within a relative error of 2⁻¹⁴, if that is one instruction.
    #[inline(always)]
    fn estimate_recip_sqrt(_x: [f32; 16]) -> Option<[f32; 16]> {
        None
    }
}

/// Instruction set that the compilation target guarantees.
struct Baseline;
impl Isa for Baseline {
    const FUSED: bool = cfg!(any(target_arch = "aarch64", target_feature = "fma"));
}

#[cfg(target_arch = "x86_64")]
struct Fused;
#[cfg(target_arch = "x86_64")]
impl Isa for Fused {
    const FUSED: bool = true;
}

#[cfg(target_arch = "x86_64")]
struct Wide;
#[cfg(target_arch = "x86_64")]
impl Isa for Wide {
    const FUSED: bool = true;

    #[inline(always)]
    fn estimate_recip_sqrt(x: [f32; 16]) -> Option<[f32; 16]> {
        use std::{
            arch::x86_64::{__m512, _mm512_rsqrt14_ps},
            mem::transmute,
        };
        // SAFETY: both types are 16 floats; only `run_avx512` calls this, on machines with the instruction.
        Some(unsafe { transmute::<__m512, [f32; 16]>(_mm512_rsqrt14_ps(transmute::<[f32; 16], __m512>(x))) })
    }
}

/// An instruction set of this machine. Levels differ in rounding: on x86-64 the baseline rounds multiply–adds twice,
/// and AVX-512 has its own estimates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimdLevel(Set);

// Private, so that a `SimdLevel` proves that the machine supports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Set {
    Baseline,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

#[cfg(target_arch = "x86_64")]
macro_rules! detected {
    ($($feature:tt)*) => { $(is_x86_feature_detected!($feature))&&* };
}

impl SimdLevel {
    /// Returns the fastest level of this machine.
    pub fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            // `is_x86_feature_detected` reads a cached word. AVX-512 is used from Ice Lake and Zen 4 on: earlier
            // processors reduce their clock for it and lack the population count.
            if detected!("avx512f" "avx512bw" "avx512cd" "avx512dq" "avx512vl" "avx512vpopcntdq") && Self::has_avx2() {
                return Self(Set::Avx512);
            }
            if Self::has_avx2() {
                return Self(Set::Avx2);
            }
        }
        Self(Set::Baseline)
    }

    #[cfg(target_arch = "x86_64")]
    fn has_avx2() -> bool {
        detected!("avx2" "fma" "bmi1" "bmi2" "lzcnt" "popcnt")
    }

    /// Returns all levels of this machine, the fastest first and the baseline last.
    pub fn all() -> Vec<Self> {
        let mut levels = vec![Self::best()];
        #[cfg(target_arch = "x86_64")]
        if Self::best() == Self(Set::Avx512) {
            levels.push(Self(Set::Avx2));
        }
        if Self::best() != Self(Set::Baseline) {
            levels.push(Self(Set::Baseline));
        }
        levels
    }

    /// Name in reports: `"avx512"`, `"avx2"` or `"baseline"`.
    pub fn name(self) -> &'static str {
        match self.0 {
            Set::Baseline => "baseline",
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => "avx512",
        }
    }

    /// Runs the loop as compiled for this level.
    #[inline]
    pub fn run<L: Loop>(self, body: L) -> L::Output {
        match self.0 {
            Set::Baseline => run_baseline(body),
            // SAFETY: only `best` and `all` create a `SimdLevel`, after detecting its features.
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => unsafe { run_avx2(body) },
            // SAFETY: only `best` and `all` create a `SimdLevel`, after detecting its features.
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => unsafe { run_avx512(body) },
        }
    }
}

/// Not inlined: each caller would contain its own copy of the loop.
#[inline(never)]
fn run_baseline<L: Loop>(body: L) -> L::Output {
    body.run::<Baseline>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn run_avx2<L: Loop>(body: L) -> L::Output {
    body.run::<Fused>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vpopcntdq")]
#[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
fn run_avx512<L: Loop>(body: L) -> L::Output {
    body.run::<Wide>()
}
