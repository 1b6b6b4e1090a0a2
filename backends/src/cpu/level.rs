//! Which instruction set runs a hot loop.

/// A hot loop, compiled once for each [`Level`].
///
/// `run` must be `#[inline(always)]`, as must all it calls: the instruction set is that of the function it is inlined
/// into.
pub trait Loop {
    /// What the loop returns; `()` for a loop that writes into a slice it borrows.
    type Output;

    /// The body.
    fn run<I: Isa>(self) -> Self::Output;
}

/// What the body of a [`Loop`] knows of the instruction set at compile time.
pub trait Isa {
    /// Whether a fused multiply–add is one instruction.
    const FUSED: bool;

    /// 1/√x of positive normal numbers, each off by 2⁻¹⁴ relatively at most, where that is one instruction.
    #[inline(always)]
    fn estimate_recip_sqrt(_x: [f32; 16]) -> Option<[f32; 16]> {
        None
    }
}

/// What the target always has.
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
        // SAFETY: 16 floats each; only `run_avx512` runs this, on a machine that has the instruction.
        Some(unsafe { transmute::<__m512, [f32; 16]>(_mm512_rsqrt14_ps(transmute::<[f32; 16], __m512>(x))) })
    }
}

/// An instruction set that this machine has. Their results differ in rounding: the baseline rounds twice in a
/// multiply–add on x86-64, and AVX-512 has estimates of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level(Set);

// Private, so that holding a `Level` proves that the machine has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Set {
    Baseline,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// The fastest level of this machine.
    pub fn best() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            // `is_x86_feature_detected` reads a cached word. AVX-512 means Ice Lake or Zen 4 and later: those before
            // slow down their clock for it and lack the population count.
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512cd")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vpopcntdq")
                && Self::has_avx2()
            {
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
        is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt")
    }

    /// Every level of this machine, the fastest first; the last is the baseline.
    pub fn all() -> Vec<Self> {
        #[cfg(target_arch = "x86_64")]
        {
            let mut levels = Vec::with_capacity(3);
            if Self::best() == Self(Set::Avx512) {
                levels.push(Self(Set::Avx512));
            }
            if Self::has_avx2() {
                levels.push(Self(Set::Avx2));
            }
            levels.push(Self(Set::Baseline));
            levels
        }
        #[cfg(not(target_arch = "x86_64"))]
        vec![Self(Set::Baseline)]
    }

    /// The name a report gives it: `"avx512"`, `"avx2"` or `"baseline"`.
    pub fn name(self) -> &'static str {
        match self.0 {
            Set::Baseline => "baseline",
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => "avx512",
        }
    }

    /// Runs the body compiled for this level.
    #[inline]
    pub fn run<L: Loop>(self, body: L) -> L::Output {
        match self.0 {
            Set::Baseline => body.run::<Baseline>(),
            // SAFETY: a `Level` is made by `best` and `all` only, which have asked the machine for these features.
            #[cfg(target_arch = "x86_64")]
            Set::Avx2 => unsafe { run_avx2(body) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Set::Avx512 => unsafe { run_avx512(body) },
        }
    }
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
