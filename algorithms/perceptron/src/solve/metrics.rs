//! Probabilities, losses and metrics of predictions, on the host.

use firebox_core::{Communicator, scaling::exponent};

/// Softmax of rows of `classes` logits.
pub(crate) fn probabilities(logits: &[f64], classes: usize) -> Vec<f64> {
    logits
        .chunks(classes.max(1))
        .flat_map(|row| {
            let max = row.iter().fold(f64::NEG_INFINITY, |max, x| max.max(*x));
            let powers: Vec<f64> = row.iter().map(|x| (x - max).exp()).collect();
            let sum: f64 = powers.iter().sum();
            powers.into_iter().map(move |power| power / sum)
        })
        .collect()
}

/// Class with the largest logit of each row, the first of equals.
pub(crate) fn argmax(logits: &[f64], classes: usize) -> Vec<usize> {
    let best = |row: &[f64]| (1..row.len()).fold(0, |best, at| if row[at] > row[best] { at } else { best });
    logits.chunks(classes.max(1)).map(best).collect()
}

/// −ln p of a class from a row of logits, finite even if p underflows.
pub(crate) fn cross_entropy(logits: &[f64], class: usize) -> f64 {
    let max = logits.iter().fold(f64::NEG_INFINITY, |max, x| max.max(*x));
    logits.iter().map(|x| (x - max).exp()).sum::<f64>().ln() + max - logits[class]
}

/// Confusion matrix: true classes by row, predicted classes by column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confusion {
    classes: usize,
    counts: Vec<u64>,
}

impl Confusion {
    /// Counts pairs of a true and a predicted class, both below `classes`.
    pub fn new(classes: usize, pairs: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let mut counts = vec![0; classes * classes];
        pairs.into_iter().for_each(|(actual, predicted)| counts[actual * classes + predicted] += 1);
        Self { classes, counts }
    }

    /// Sums the counts of all ranks.
    pub(crate) fn all_reduce(mut self, ranks: &dyn Communicator) -> Self {
        // Integers below 2⁵³ are exact.
        let mut counts: Vec<f64> = self.counts.iter().map(|&count| count as f64).collect();
        ranks.all_sum(&mut counts);
        self.counts = counts.into_iter().map(|count| count as u64).collect();
        self
    }

    /// Counts by predicted class, one row per true class.
    pub fn rows(&self) -> std::slice::Chunks<'_, u64> {
        self.counts.chunks(self.classes.max(1))
    }

    fn correct(&self, class: usize) -> u64 {
        self.counts[class * self.classes + class]
    }

    /// Fraction of correct predictions; `None` without instances.
    pub fn accuracy(&self) -> Option<f64> {
        let total: u64 = self.counts.iter().sum();
        let correct: u64 = (0..self.classes).map(|class| self.correct(class)).sum();
        (total > 0).then(|| correct as f64 / total as f64)
    }

    /// Macro-averaged F₁ = 2·correct/(true + predicted) over the classes that occur, true or predicted, as in scikit-learn;
    /// `None` without instances.
    pub fn macro_f1(&self) -> Option<f64> {
        let score = |class: usize| {
            let actual: u64 = self.counts[class * self.classes..(class + 1) * self.classes].iter().sum();
            let predicted: u64 = self.rows().map(|row| row[class]).sum();
            (actual + predicted > 0).then(|| 2.0 * self.correct(class) as f64 / (actual + predicted) as f64)
        };
        let scores: Vec<f64> = (0..self.classes).filter_map(score).collect();
        (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64)
    }
}

/// Root mean square error, in the unit of the numbers; `None` without numbers.
pub fn rmse(actual: &[f64], predicted: &[f64]) -> Option<f64> {
    let (sum, scale) = squares(actual.iter().zip(predicted).map(|(a, b)| [*a, *b]));
    (!actual.is_empty()).then(|| (sum / actual.len() as f64).sqrt() * scale)
}

/// R² = 1 − Σ(y − f)²/Σ(y − mean y)²; `None` for constant or no y.
pub fn r2(actual: &[f64], predicted: &[f64]) -> Option<f64> {
    let scale = 2f64.powi(-exponent(actual.iter().fold(0.0, |max, y| max.max(y.abs()))));
    let mean = actual.iter().map(|y| y * scale).sum::<f64>() / actual.len() as f64;
    let (total, unit) = squares(actual.iter().map(|y| [*y * scale, mean]));
    let (residual, residual_unit) = squares(actual.iter().zip(predicted).map(|(a, b)| [a * scale, b * scale]));
    (total > 0.0).then(|| 1.0 - residual / total * (residual_unit / unit).powi(2))
}

/// Σ((a − b)/s)², and the power of two s that keeps the squares from overflow and underflow.
fn squares(pairs: impl Iterator<Item = [f64; 2]> + Clone) -> (f64, f64) {
    let largest = pairs.clone().fold(0.0f64, |max, [a, b]| max.max((a - b).abs()));
    let exponent = exponent(largest);
    let scale = 2f64.powi(-exponent);
    let sum = pairs.map(|[a, b]| ((a - b) * scale) * ((a - b) * scale)).sum();
    (sum, 2f64.powi(exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// accuracy_score, f1_score(average="macro") and r2_score of scikit-learn, the last with its documentation's example.
    #[test]
    fn metrics_agree_with_scikit_learn() {
        let confusion = Confusion::new(3, [(0, 0), (0, 1), (1, 1), (1, 1), (2, 0), (2, 2)]);
        assert_eq!(confusion.rows().collect::<Vec<_>>(), [[1, 1, 0], [0, 2, 0], [1, 0, 1]]);
        assert_eq!(confusion.accuracy(), Some(4.0 / 6.0));
        assert!((confusion.macro_f1().unwrap() - (0.5 + 0.8 + 2.0 / 3.0) / 3.0).abs() < 1e-15);
        assert_eq!((Confusion::new(2, []).accuracy(), Confusion::new(2, []).macro_f1()), (None, None));
        // A class that does not occur is left out of the mean.
        assert_eq!(Confusion::new(3, [(0, 0), (1, 1)]).macro_f1(), Some(1.0));
        let (actual, predicted) = ([3.0, -0.5, 2.0, 7.0], [2.5, 0.0, 2.0, 8.0]);
        assert!((r2(&actual, &predicted).unwrap() - 0.948_608_137_044_967_9).abs() < 1e-15);
        assert!((rmse(&actual, &predicted).unwrap() - 0.375f64.sqrt()).abs() < 1e-15);
        assert_eq!((r2(&[1.0, 1.0], &[1.0, 2.0]), rmse(&[], &[])), (None, None));
        for scale in [-900, -560, 560, 900].map(|it| 2f64.powi(it)) {
            let [big, close] = [actual, predicted].map(|of| of.map(|x| x * scale));
            assert_eq!(rmse(&big, &close), rmse(&actual, &predicted).map(|it| it * scale));
            assert_eq!(r2(&big, &close), r2(&actual, &predicted));
        }
    }
}
