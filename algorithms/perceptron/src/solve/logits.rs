//! Softmax, argmax and cross-entropy of logits on the host.

/// Softmax of rows of `classes` logits.
pub fn probabilities(logits: &[f64], classes: usize) -> Vec<f64> {
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
pub fn argmax(logits: &[f64], classes: usize) -> Vec<usize> {
    let best = |row: &[f64]| (1..row.len()).fold(0, |best, at| if row[at] > row[best] { at } else { best });
    logits.chunks(classes.max(1)).map(best).collect()
}

/// −ln p of a class from a row of logits, finite even if p underflows.
pub(crate) fn cross_entropy(logits: &[f64], class: usize) -> f64 {
    let max = logits.iter().fold(f64::NEG_INFINITY, |max, x| max.max(*x));
    logits.iter().map(|x| (x - max).exp()).sum::<f64>().ln() + max - logits[class]
}
