//! [Model files](firebox_core::model_file) of clusterings: `counts` `[n]` and `labels` `[n]`, −1 for noise written as the
//! number of clusters; of points `points` `[n, d]`, of sparse rows `starts` `[n + 1]`, `indices` and `values`.

use std::path::Path;

use firebox_core::{
    Error, Result, atomic,
    data::{Schema, SparseRows},
    memory,
    model_file::{ModelArrays, decode, encode, require},
};
use serde::{Deserialize, Serialize};

use crate::{
    config::Distance,
    solve::auto::{OcnnModel, metric_space::MetricSpace, model::Space, sparse_space::SparseSpace},
};

/// Name of the algorithm in the format.
const NAME: &str = "ocnn";
/// Version of the format.
const VERSION: u32 = 1;

/// Everything but arrays.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    schema: Schema,
    clusters: usize,
    reach: Option<f64>,
    space: Kind,
}

/// The kind of points.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
enum Kind {
    Points { distance: Distance, unit: f64 },
    Sparse { columns: usize },
}

impl OcnnModel {
    /// Content of a model file.
    ///
    /// # Errors
    /// [`Error::Input`] if distances or a graph were clustered, to which new points have no distances.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let (n, clusters) = (self.counts.len(), self.count());
        let mut arrays = ModelArrays::default();
        let space = match &self.space {
            Space::Metric(MetricSpace { distance, values, unit, d }) => {
                arrays.put("points", &[n, *d], &values[..]);
                Kind::Points { distance: *distance, unit: *unit }
            }
            Space::Sparse(SparseSpace { rows }) => {
                let (mut starts, mut indices, mut values) = (vec![0.0], Vec::new(), Vec::new());
                for (columns, numbers) in (0..n).map(|i| rows.row(i)) {
                    indices.extend(columns.iter().map(|&column| f64::from(column)));
                    values.extend_from_slice(numbers);
                    starts.push(values.len() as f64);
                }
                let count = values.len();
                arrays.put("starts", &[n + 1], starts);
                arrays.put("indices", &[count], indices);
                arrays.put("values", &[count], values);
                Kind::Sparse { columns: rows.columns() }
            }
            Space::Absent => {
                let what = "distances have no coordinates, so that there is no model that could predict new points";
                return Err(Error::input(what, "cluster points, or leave out `model`"));
            }
        };
        let number = |&label: &i64| if label < 0 { clusters as f64 } else { label as f64 };
        arrays.put("counts", &[n], self.counts.iter().map(|&count| f64::from(count)).collect::<Vec<_>>());
        arrays.put("labels", &[n], self.labels.iter().map(number).collect::<Vec<_>>());
        let description = Description { schema: self.schema.clone(), clusters, reach: self.reach, space };
        encode(NAME, VERSION, &description, arrays)
    }

    /// Inverse of [`to_bytes`](Self::to_bytes), bit for bit.
    ///
    /// # Errors
    /// [`Error::Input`] for any other content.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (description, mut arrays) = decode::<Description>(bytes, NAME, VERSION)?;
        let Description { schema, clusters, reach, space } = description;
        let n = arrays.shape("counts")?.iter().product::<usize>();
        require(n > 0, "it has no points")?;
        let counts = arrays.take_whole("counts", &[n], 1 << 32)?;
        let total = counts.iter().try_fold(0u64, |sum, &count| sum.checked_add(count).filter(|_| count > 0));
        require(total.is_some_and(|total| total < 1 << 32), "its counts are 0 or have too large a sum")?;
        require(clusters <= n, "it has more clusters than points")?;
        let labels = arrays.take_whole("labels", &[n], clusters as u64 + 1)?;
        require(clusters == count(&labels, clusters), "it has clusters without points")?;
        require(reach.is_none_or(|reach| reach >= 0.0 && reach.is_finite()), "its reach is below 0")?;
        require(schema.is_consistent(), "its columns and their preparation do not match")?;
        let space = match space {
            Kind::Points { distance, unit } => {
                let d = arrays.shape("points")?.get(1).copied().unwrap_or(0);
                require(unit.is_normal() && unit > 0.0, "its unit is not positive")?;
                let space = MetricSpace { distance, values: arrays.take("points", &[n, d])?, unit, d };
                let haversine = distance == Distance::Haversine;
                require(d > 0 && (!haversine || d == 3), "its points have a wrong number of coordinates")?;
                require(schema.names.len() == space.columns(), "its columns do not match its points")?;
                Space::Metric(space)
            }
            Kind::Sparse { columns } => {
                let nonzeros = arrays.shape("values")?.iter().product::<usize>();
                let starts = arrays.take_whole("starts", &[n + 1], nonzeros as u64 + 1)?;
                let indices = arrays.take_whole("indices", &[nonzeros], 1 << 32)?;
                let starts = starts.into_iter().map(|start| start as usize).collect();
                let indices = indices.into_iter().map(|column| column as u32).collect();
                let values = arrays.take("values", &[nonzeros])?;
                Space::Sparse(SparseSpace { rows: SparseRows::new(starts, indices, values, columns)? })
            }
        };
        arrays.finish()?;
        let labels = labels.into_iter().map(|label| if label == clusters as u64 { -1 } else { label as i64 }).collect();
        let counts = counts.into_iter().map(|count| count as u32).collect();
        Ok(Self { schema, space, counts, labels, reach })
    }

    /// Writes a model file, whole or not at all.
    ///
    /// # Errors
    /// As [`to_bytes`](Self::to_bytes), and [`Error::Io`] if the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let bytes = self.to_bytes()?;
        atomic::write(path.as_ref(), |out| out.write_all(&bytes))
    }

    /// Reads a model file.
    ///
    /// # Errors
    /// As [`from_bytes`](Self::from_bytes), and [`Error::Io`] if the file cannot be read.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::from_bytes(&memory::read_file(path)?).map_err(|error| error.in_file(path))
    }
}

/// The number of clusters that points have.
fn count(labels: &[u64], clusters: usize) -> usize {
    let last = labels.iter().filter(|&&label| label < clusters as u64).max();
    last.map_or(0, |&last| last as usize + 1)
}

#[cfg(test)]
mod tests {
    use burn_ndarray::NdArray;
    use firebox_core::{
        Context,
        data::{Distances, Points, generate},
    };

    use super::*;
    use crate::{config::OcnnConfig, model::OcnnInput};

    type B = NdArray<f32>;

    fn fit(input: impl Into<OcnnInput<B>>, distance: Distance, assign_all: bool) -> OcnnModel {
        let config = OcnnConfig::new().with_distance(distance).with_assign_all(assign_all);
        let context = Context::<B>::new(Default::default());
        config.init().unwrap().fit_with(input, &context).unwrap().into_parts().1
    }

    fn sparse(rows: usize) -> SparseRows {
        let starts = (0..=rows).map(|i| 2 * i).collect();
        let indices = (0..rows as u32).flat_map(|i| [i % 2 * 5, i % 2 * 5 + 1 + i % 3]).collect();
        let values = (0..2 * rows).map(|i| 1.0 + (i * 7 % 11) as f64).collect();
        SparseRows::new(starts, indices, values, 12).unwrap()
    }

    fn set() -> Points {
        generate(firebox_core::data::Shape::Hepta, None, None, 1).unwrap()
    }

    #[test]
    fn models_round_trip_and_predict_as_before() {
        let context = Context::<B>::new(Default::default());
        let mut points = set();
        points.labels = None;
        let places: Vec<f64> = points.iter().flat_map(|row| [row[0] * 10.0, row[1] * 20.0]).collect();
        for (input, new, distance, assign_all) in [
            (points.clone(), points.clone(), Distance::Euclidean, false),
            (points.clone(), points.clone(), Distance::Manhattan, true),
            (points.clone(), points, Distance::Cosine, false),
            (Points::new(places.clone(), 2).unwrap(), Points::new(places, 2).unwrap(), Distance::Haversine, true),
        ] {
            let model = fit(input, distance, assign_all);
            let again = OcnnModel::from_bytes(&model.to_bytes().unwrap()).unwrap();
            assert_eq!(again, model, "{distance:?}");
            assert_eq!(again.to_bytes().unwrap(), model.to_bytes().unwrap());
            let shifted = Points::new(new.values.iter().map(|x| x + 0.01).collect(), new.columns).unwrap();
            let expected = model.predict_with::<B>(shifted.clone(), &context).unwrap();
            assert_eq!(again.predict_with::<B>(shifted, &context).unwrap(), expected);
        }
        let model = fit(sparse(60), Distance::Cosine, false);
        let again = OcnnModel::from_bytes(&model.to_bytes().unwrap()).unwrap();
        assert_eq!(again, model);
        let expected = model.predict_with::<B>(sparse(7), &context).unwrap();
        assert_eq!(again.predict_with::<B>(sparse(7), &context).unwrap(), expected);
    }

    #[test]
    fn distances_have_no_model() {
        let points = set();
        let between = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        let matrix = points.iter().flat_map(|a| points.iter().map(move |b| between(a, b))).collect();
        let model = fit(Distances::new(matrix, points.rows, points.rows).unwrap(), Distance::Euclidean, false);
        assert!(model.to_bytes().unwrap_err().to_string().contains("no coordinates"));
    }

    #[test]
    fn contradictory_models_are_refused() {
        let refused = |change: fn(&mut OcnnModel)| {
            let mut model = fit(set(), Distance::Euclidean, false);
            change(&mut model);
            let error = OcnnModel::from_bytes(&model.to_bytes().unwrap()).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            error.to_string()
        };
        assert!(refused(|model| model.counts[0] = 0).contains("counts are 0"));
        assert!(refused(|model| model.counts[0] = u32::MAX).contains("too large a sum"));
        assert!(refused(|model| model.reach = Some(-1.0)).contains("reach is below 0"));
        assert!(refused(|model| model.schema.names.truncate(1)).contains("do not match its points"));
        assert!(
            refused(|model| match &mut model.space {
                Space::Metric(space) => space.values[3] = f64::NAN,
                _ => unreachable!("points"),
            })
            .contains("tensor points contains NaN")
        );
        assert!(
            refused(|model| match &mut model.space {
                Space::Metric(space) => space.unit = 0.0,
                _ => unreachable!("points"),
            })
            .contains("unit is not positive")
        );
        let bytes = fit(set(), Distance::Euclidean, false).to_bytes().unwrap();
        for cut in (0..bytes.len()).step_by(13) {
            assert!(OcnnModel::from_bytes(&bytes[..cut]).is_err());
        }
    }
}
