//! A step of Adam in place, parallel over blocks.

use firebox_backends::cpu::{Isa, Loop, Real, SimdLevel};
use rayon::prelude::*;

use crate::types::AdamStep;

/// Elements of a block, whose five arrays of f32 stay in a second-level cache.
const BLOCK: usize = 1 << 13;

struct Adam<'a, E> {
    parameters: &'a mut [E],
    gradient: &'a [E],
    first: &'a mut [E],
    second: &'a mut [E],
    average: &'a mut [E],
    step: AdamStep,
}

impl<E: Real> Loop for Adam<'_, E> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Self { parameters, gradient, first, second, average, step } = self;
        let [beta_1, beta_2] = step.betas.map(E::from_f64);
        let [rest_1, rest_2] = step.betas.map(|beta| E::from_f64(1.0 - beta));
        let (decay, rate, epsilon) = (E::from_f64(step.decay), E::from_f64(step.rate), E::from_f64(step.epsilon));
        let (share, rest) = (E::from_f64(step.share), E::from_f64(1.0 - step.share));
        let moments = first.iter_mut().zip(second).zip(average);
        for ((theta, &g), ((m, v), mean)) in parameters.iter_mut().zip(gradient).zip(moments) {
            let g = g + *theta * decay;
            *m = *m * beta_1 + g * rest_1;
            *v = *v * beta_2 + g * g * rest_2;
            *theta = *theta - *m * rate * (v.sqrt() + epsilon).recip::<I>();
            *mean = *mean * rest + *theta * share;
        }
    }
}

/// Takes a step of parameters, first and second moment and average, in this order; all arrays have one length.
pub(super) fn adam<E: Real>(
    level: SimdLevel,
    [parameters, first, second, average]: &mut [Vec<E>; 4],
    gradient: &[E],
    step: AdamStep,
) {
    let moments = first.par_chunks_mut(BLOCK).zip(second.par_chunks_mut(BLOCK)).zip(average.par_chunks_mut(BLOCK));
    let blocks = parameters.par_chunks_mut(BLOCK).zip(gradient.par_chunks(BLOCK)).zip(moments);
    blocks.for_each(|((parameters, gradient), ((first, second), average))| {
        level.run(Adam { parameters, gradient, first, second, average, step });
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use firebox_backends::cpu::gain;

    #[test]
    fn simd_speeds_up_steps() {
        let mut state = [0.1f32, 0.2, 0.3, 0.4].map(|value| vec![value; 1 << 14]);
        let gradient = vec![0.5; 1 << 14];
        let step = AdamStep { betas: [0.9, 0.999], decay: 0.01, rate: 1e-3, epsilon: 1e-5, share: 0.1 };
        let gain = gain(|level| adam(level, &mut state, &gradient, step));
        println!("{gain:?}");
        assert!(gain.is_none_or(|gain| gain > 1.2), "{gain:?}");
    }
}
