//! The parts of a tree, which have a colour each.

/// The part of a tree that is drawn, which determines its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Branch {
    /// Points of one cluster, by its rank.
    Cluster(usize),
    /// Noise alone.
    Noise,
    /// Points of several clusters.
    #[default]
    Between,
}

impl Branch {
    /// The branch that two branches make: noise is part of any cluster.
    pub fn joined(self, other: Self) -> Self {
        match (self, other) {
            (first, second) if first == second => first,
            (Self::Noise, other) | (other, Self::Noise) => other,
            _ => Self::Between,
        }
    }

    /// Name in a legend, with the number of points of a cluster or of the noise.
    pub fn name(self, sizes: &[usize], noise: usize) -> String {
        match self {
            Self::Cluster(rank) => format!("{rank} ({})", grouped(sizes.get(rank).copied().unwrap_or(0))),
            Self::Noise => format!("noise ({})", grouped(noise)),
            Self::Between => "between clusters".into(),
        }
    }
}

/// Digits in groups of three.
pub(super) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join("\u{a0}")
}
