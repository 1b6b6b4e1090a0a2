//! The interactive report of clusters.

use firebox_core::{
    Result,
    html::{Kind, Page, RowTable, encode},
};
use serde_json::{Map, Value, json};

use super::Clustering;
use crate::solve::auto::Level;

impl Clustering {
    /// The interactive report of the clusters; `table` has the clustered rows, which have weights if `weighted`.
    ///
    /// # Errors
    ///
    /// [`Error::Input`](firebox_core::Error::Input) for numbers that a page cannot hold.
    pub fn page(&self, table: RowTable, weighted: bool) -> Result<Page> {
        let levels = self.levels();
        let (count, noise) = (self.count(), self.noise());
        let plural = |count| if count == 1 { "" } else { "s" };
        let title = format!("{count} cluster{}, {noise} noise point{}", plural(count), plural(noise));
        let joins = &levels.tree.joins;
        let mut heights = vec![0.0; levels.tree.leaves.len()];
        heights.extend(joins.iter().map(|join| 1.0 - join.agreement));
        let each = levels.levels.iter().enumerate().map(|(cuts, it)| level(self, levels.levels.len(), cuts, it));
        let clusters = json!({
            "chosen": levels.chosen,
            "weighted": weighted,
            "pieces": encode::indices(levels.components.iter().map(|&it| it.into()))?,
            "levels": each.collect::<Result<Vec<_>>>()?,
            "chance": {
                "evidence": self.evidence,
                "chance": self.chance,
                "probability": self.probability,
            },
            "outlier": encode::fractions(self.outliers.iter().copied()),
            "tree": {
                "leaves": levels.tree.leaves.len(),
                "heights": heights,
                "joins": joins.iter().map(|join| [join.first, join.second]).collect::<Vec<_>>(),
            },
        });
        Ok(Page {
            kind: Kind::Ocnn,
            title,
            table: RowTable { rows: levels.components.len(), ..table },
            content: Map::from_iter([("clusters".into(), clusters)]),
        })
    }
}

/// One of `levels` levels, after `cuts` cuts; a level by itself has no step.
fn level(clustering: &Clustering, levels: usize, cuts: usize, level: &Level) -> Result<Value> {
    let step = cuts.checked_sub(1).and_then(|step| clustering.steps.get(step)).filter(|_| levels > 1);
    Ok(json!({
        "clusters": level.sizes.len(),
        "labels": encode::labels(level.labels.iter().copied())?,
        "noise": encode::bits(&level.noise),
        "sizes": level.sizes,
        "silhouettes": level.silhouettes,
        "noise_points": clustering.points as u64 - level.sizes.iter().sum::<u64>(),
        "contrast": step.map(|step| step.contrast),
        "probability": step.map(|step| step.probability),
        "score": step.map(|step| step.score),
    }))
}
