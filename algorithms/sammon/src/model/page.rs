//! The interactive report of a map.

use firebox_core::{
    Result,
    html::{Column, Kind, Page, RowTable, encode},
};
use serde_json::{Map, json};

use super::map::{SammonMap, axis_names};
use crate::ops::SammonOps;

impl<B: SammonOps> SammonMap<B> {
    /// The interactive report of the map of these rows.
    ///
    /// # Errors
    ///
    /// [`Error::Input`](firebox_core::Error::Input) for numbers that a page cannot hold.
    pub fn page(&self, table: RowTable) -> Result<Page> {
        let dims = self.config().dims;
        let place = |axis: usize| self.coordinates.iter().skip(axis).step_by(dims).copied();
        let places = axis_names(dims).into_iter().enumerate().map(|(axis, name)| Column::new(name, place(axis)));
        let pairs = || self.shepard.iter();
        let rows = |side: usize| encode::indices(pairs().map(|pair| pair.rows[side] as u64));
        let (unit, interval) = self.history_interval();
        let content = json!({
            "dims": dims,
            "stress": self.stress,
            "point_stress": self.point_stress.as_ref().map(|stress| encode::scaled(stress.iter().copied())),
            "shepard": {
                "first": rows(0)?,
                "second": rows(1)?,
                "source": encode::scaled(pairs().map(|pair| pair.source)),
                "target": encode::scaled(pairs().map(|pair| pair.target)),
            },
            "convergence": { "unit": unit, "interval": interval, "stress": self.history },
        });
        Ok(Page {
            kind: Kind::Sammon,
            title: format!("Sammon mapping, E = {:.6}", self.stress),
            table: RowTable {
                rows: self.coordinates.len() / dims,
                columns: places.chain(table.columns).collect(),
                ..table
            },
            content: Map::from_iter([("map".into(), content)]),
        })
    }
}
