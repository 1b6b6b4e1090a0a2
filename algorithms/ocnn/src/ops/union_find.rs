//! Links as rows of bits, and the union of partitions.

use firebox_backends::cpu::UnionFind;

/// Positions of the set bits in words of 32, ascending.
pub(crate) fn set_bits(words: &[i32]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(w, &word)| {
        let mut rest = word as u32;
        std::iter::from_fn(move || {
            (rest != 0).then(|| {
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                w * 32 + bit as usize
            })
        })
    })
}

/// Roots of the union of several partitions of `n` members, each given by the roots of all members, one after the other.
pub(crate) fn union(n: usize, roots: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let sets = UnionFind::new(n);
    roots.into_iter().enumerate().for_each(|(at, root)| {
        sets.join((at % n) as u32, root);
    });
    sets.into_roots()
}
