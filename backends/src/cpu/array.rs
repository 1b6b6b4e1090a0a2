//! Arrays made element by element within hot loops.

use std::mem::{MaybeUninit, transmute_copy};

/// [`std::array::from_fn`] and `array::map` for hot loops: the compiler may leave those as calls, which are compiled for the
/// baseline.
#[inline(always)]
pub fn array<T: Copy, const N: usize>(mut of: impl FnMut(usize) -> T) -> [T; N] {
    let mut all = [const { MaybeUninit::<T>::uninit() }; N];
    for (i, one) in all.iter_mut().enumerate() {
        one.write(of(i));
    }
    // SAFETY: all elements are written, and the types have one layout.
    unsafe { transmute_copy::<[MaybeUninit<T>; N], [T; N]>(&all) }
}

#[cfg(test)]
mod tests {
    use super::array;

    #[test]
    fn elements_are_those_of_their_indices() {
        assert_eq!(array::<_, 4>(|i| i * i), [0, 1, 4, 9]);
        assert!(array::<usize, 0>(|i| i).is_empty());
    }
}
