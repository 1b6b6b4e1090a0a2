//! How good predictions are: by class, and by number.

use firebox_core::Communicator;

use firebox_core::scaling::exponent;

/// Counts of true classes (rows) against predicted ones (columns).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confusion {
    classes: usize,
    counts: Vec<u64>,
}

impl Confusion {
    /// Counts pairs of a true class and a predicted one, both below `classes`.
    pub fn new(classes: usize, pairs: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let mut counts = vec![0; classes * classes];
        pairs.into_iter().for_each(|(wanted, found)| counts[wanted * classes + found] += 1);
        Self { classes, counts }
    }

    /// Adds what other ranks counted of theirs.
    pub(crate) fn of_all(mut self, ranks: &dyn Communicator) -> Self {
        // Whole numbers below 2⁵³ are exact.
        let mut counts: Vec<f64> = self.counts.iter().map(|&count| count as f64).collect();
        ranks.all_sum(&mut counts);
        self.counts = counts.into_iter().map(|count| count as u64).collect();
        self
    }

    /// Instances by true class, one row each, and predicted one.
    pub fn rows(&self) -> std::slice::Chunks<'_, u64> {
        self.counts.chunks(self.classes.max(1))
    }

    fn right(&self, class: usize) -> u64 {
        self.counts[class * self.classes + class]
    }

    /// The share that is right; `None` of none.
    pub fn accuracy(&self) -> Option<f64> {
        let total: u64 = self.counts.iter().sum();
        let right: u64 = (0..self.classes).map(|class| self.right(class)).sum();
        (total > 0).then(|| right as f64 / total as f64)
    }

    /// The mean over classes of F₁ = 2·right/(true + predicted); of the classes that occur, truly or predicted, as
    /// scikit-learn has it. `None` of none.
    pub fn macro_f1(&self) -> Option<f64> {
        let score = |class: usize| {
            let truly: u64 = self.counts[class * self.classes..(class + 1) * self.classes].iter().sum();
            let predicted: u64 = self.rows().map(|row| row[class]).sum();
            (truly + predicted > 0).then(|| 2.0 * self.right(class) as f64 / (truly + predicted) as f64)
        };
        let scores: Vec<f64> = (0..self.classes).filter_map(score).collect();
        (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64)
    }
}

/// Root mean square error, in the unit of the numbers; `None` of none.
pub fn rmse(wanted: &[f64], found: &[f64]) -> Option<f64> {
    let (sum, scale) = squares(wanted.iter().zip(found).map(|(a, b)| [*a, *b]));
    (!wanted.is_empty()).then(|| (sum / wanted.len() as f64).sqrt() * scale)
}

/// R² = 1 − Σ(y − f)²/Σ(y − mean y)²; `None` where all y are one number, or there are none.
pub fn r2(wanted: &[f64], found: &[f64]) -> Option<f64> {
    let scale = 2f64.powi(-exponent(wanted.iter().fold(0.0, |most, y| most.max(y.abs()))));
    let mean = wanted.iter().map(|y| y * scale).sum::<f64>() / wanted.len() as f64;
    let (total, unit) = squares(wanted.iter().map(|y| [*y * scale, mean]));
    let (left, other) = squares(wanted.iter().zip(found).map(|(a, b)| [a * scale, b * scale]));
    (total > 0.0).then(|| 1.0 - left / total * (other / unit).powi(2))
}

/// Σ(a − b)² of differences divided by a power of two, so that no square overflows or underflows, and that power.
fn squares(pairs: impl Iterator<Item = [f64; 2]> + Clone) -> (f64, f64) {
    let largest = pairs.clone().fold(0.0f64, |most, [a, b]| most.max((a - b).abs()));
    let exponent = exponent(largest);
    let scale = 2f64.powi(-exponent);
    let sum = pairs.map(|[a, b]| ((a - b) * scale) * ((a - b) * scale)).sum();
    (sum, 2f64.powi(exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As scikit-learn defines accuracy_score, f1_score(average="macro") and r2_score; the last two lists are its example.
    #[test]
    fn metrics_are_those_of_scikit_learn() {
        let confusion = Confusion::new(3, [(0, 0), (0, 1), (1, 1), (1, 1), (2, 0), (2, 2)]);
        assert_eq!(confusion.rows().collect::<Vec<_>>(), [[1, 1, 0], [0, 2, 0], [1, 0, 1]]);
        assert_eq!(confusion.accuracy(), Some(4.0 / 6.0));
        assert!((confusion.macro_f1().unwrap() - (0.5 + 0.8 + 2.0 / 3.0) / 3.0).abs() < 1e-15);
        assert_eq!((Confusion::new(2, []).accuracy(), Confusion::new(2, []).macro_f1()), (None, None));
        // A class that never occurs does not count.
        assert_eq!(Confusion::new(3, [(0, 0), (1, 1)]).macro_f1(), Some(1.0));
        let (wanted, found) = ([3.0, -0.5, 2.0, 7.0], [2.5, 0.0, 2.0, 8.0]);
        assert!((r2(&wanted, &found).unwrap() - 0.948_608_137_044_967_9).abs() < 1e-15);
        assert!((rmse(&wanted, &found).unwrap() - 0.375f64.sqrt()).abs() < 1e-15);
        assert_eq!((r2(&[1.0, 1.0], &[1.0, 2.0]), rmse(&[], &[])), (None, None));
        for scale in [-900, -560, 560, 900].map(|it| 2f64.powi(it)) {
            let [big, close] = [wanted, found].map(|of| of.map(|x| x * scale));
            assert_eq!(rmse(&big, &close), rmse(&wanted, &found).map(|it| it * scale));
            assert_eq!(r2(&big, &close), r2(&wanted, &found));
        }
    }
}
