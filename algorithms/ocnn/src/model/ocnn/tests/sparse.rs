//! Sparse rows: topics of texts, agreement with dense points, refused parameters.

use firebox_core::data::SparseRows;

use super::*;
use crate::solve::auto::sparse_space::tests::sparse;

/// Counts of words in documents, row-major: topic i % `topics` of document i has 100 words of its own, and half of a
/// document's words are common to all topics. Words are as frequent as the inverse of their rank.
fn documents(count: usize, topics: usize, seed: u64) -> (Vec<f64>, usize) {
    const OWN: usize = 100;
    const COMMON: usize = 300;
    let (mut random, d) = (Random::new(seed, 0), COMMON + topics * OWN);
    let mut values = vec![0.0; count * d];
    for i in 0..count {
        for _ in 0..60 + i % 40 {
            let mut word = |words: usize| (((words + 1) as f64).powf(random.unit()) as usize - 1).min(words - 1);
            let (own, common) = (COMMON + i % topics * OWN + word(OWN), word(COMMON));
            values[i * d + own] += 1.0;
            values[i * d + common] += 1.0;
        }
    }
    (values, d)
}

fn cosine() -> OcnnConfig {
    auto().with_distance(Distance::Cosine).with_assign_all(true)
}

#[test]
fn texts_are_clustered_by_topic_as_dense_points_are() {
    for (count, topics) in [(300, 3), (1000, 5)] {
        let (values, d) = documents(count, topics, 11);
        let truth: Vec<i64> = (0..count).map(|i| (i % topics) as i64).collect();
        let found = fit(&cosine(), sparse(&values, d), 3);
        assert!(ari(&found, &truth) > 0.99, "{topics} topics: {} clusters", found.count());
        let dense = fit(&cosine(), Points::new(values, d).unwrap(), 3);
        assert_eq!(found.labels, dense.labels);
        assert_eq!(found.graphs, dense.graphs);
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-6 * b;
        assert!(found.scales.iter().zip(&dense.scales).all(near), "{:?} {:?}", found.scales, dense.scales);
    }
}

#[test]
fn rows_without_neighbours_are_noise() {
    let (mut values, d) = documents(200, 2, 12);
    // A document of one word that no other has.
    values.chunks_mut(d).for_each(|row| row[0] = 0.0);
    values[..d].fill(0.0);
    values[0] = 1.0;
    let found = fit(&auto().with_distance(Distance::Cosine), sparse(&values, d), 3);
    let truth: Vec<i64> = (1..200).map(|i| i % 2).collect();
    assert_eq!((found.labels[0], found.outliers[0]), (-1, 1.0));
    assert!(adjusted_rand_index(&found.labels[1..], &truth).unwrap() > 0.9, "{} clusters", found.count());
    // No document has a word of another.
    for n in [1, 2, 40] {
        let apart = SparseRows::new((0..=n).collect(), (0..n as u32).collect(), vec![1.0; n], n).unwrap();
        let found = fit(&auto().with_distance(Distance::Cosine), apart, 3);
        assert_eq!((found.labels.len(), found.parts), (n, n));
    }
}

#[test]
fn other_distances_modes_and_new_points_are_refused() {
    let (values, d) = documents(100, 2, 13);
    let rows = sparse(&values, d);
    let context = Context::<B>::new(Default::default());
    for distance in [Distance::Euclidean, Distance::Manhattan, Distance::Haversine] {
        let error = try_fit(&auto().with_distance(distance), rows.clone(), 0).unwrap_err();
        assert!(error.to_string().contains("their only distance is the cosine"), "{error}");
        assert!(error.help().unwrap().contains("`metric = cosine`"));
    }
    let error = try_fit(&cosine(), sparse(&[1.0, 0.0, 0.0, 0.0], 2), 0).unwrap_err().to_string();
    assert!(error.starts_with("row 2: a vector of zeros has no direction"), "{error}");
    let error = try_fit(&cosine().with_neighbours(Some(100)), rows.clone(), 0).unwrap_err();
    assert!(matches!(error, Error::Config { field: "neighbours", .. }), "{error}");
    let fitted = try_fit(&cosine(), rows.clone(), 0).unwrap();
    for (new, message) in [
        (OcnnInput::from(Points::new(values, d).unwrap()), "the new points are dense, the others are sparse rows"),
        (sparse(&[1.0, 2.0], 2).into(), "the new points have 2 columns, the others 500"),
        (sparse(&vec![0.0; d], d).into(), "row 1: a vector of zeros has no direction"),
        (OcnnInput::from(rows.clone()).with_weights(vec![1; 100]), "the new points have weights"),
    ] {
        let error = fitted.predict_with(new, &context).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
    let error = crate::PaperOcnn::new(0.8).fit_with(rows, &context).unwrap_err().to_string();
    assert!(error.contains("needs dense points, not sparse rows"), "{error}");
}

#[test]
fn new_rows_have_the_clusters_of_dense_points() {
    let context = Context::<B>::new(Default::default());
    let ((old, d), (mut new, _)) = (documents(400, 3, 14), documents(60, 3, 15));
    new[..d].copy_from_slice(&old[..d]);
    for config in [cosine(), cosine().with_assign_all(false)] {
        let fitted = try_fit(&config, sparse(&old, d), 3).unwrap();
        let dense = try_fit(&config, Points::new(old.clone(), d).unwrap(), 3).unwrap();
        let found = fitted.predict_with(sparse(&new, d), &context).unwrap();
        assert_eq!(found, dense.predict_with(Points::new(new.clone(), d).unwrap(), &context).unwrap());
        assert_eq!(found[0], fitted.clustering().labels[0]);
        let own = fitted.predict_with(sparse(&old, d), &context).unwrap();
        assert_eq!(own, fitted.clustering().labels);
    }
    // A word that no clustered document has.
    let (mut rare, mut one) = (old.clone(), vec![0.0; d]);
    rare.chunks_mut(d).for_each(|row| row[d - 1] = 0.0);
    one[d - 1] = 1.0;
    let fitted = try_fit(&cosine(), sparse(&rare, d), 3).unwrap();
    assert_eq!(fitted.predict_with(sparse(&one, d), &context).unwrap(), [-1]);
}
