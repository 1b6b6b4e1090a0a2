//! [Model files](firebox_core::model_file) of maps: `embedding` `[k, n]`; of features `points` `[n, d]`, `centre` `[d]` and
//! `counts` `[n]`, nondimensional; of distances `index` `[N]`.

use std::path::Path;

use firebox_core::{
    Result, atomic,
    data::Schema,
    memory,
    model_file::{ModelArrays, bad, decode, encode, require},
};
use serde::{Deserialize, Serialize};

use crate::{
    config::SammonConfig,
    solve::{
        fitted::{Fitted, FittedDistances, FittedPoints, SammonModel},
        nondimensional::FeatureScaling,
    },
    types::Metric,
};

/// Name of the algorithm in the format.
const NAME: &str = "sammon";
/// Version of the format.
const VERSION: u32 = 1;

/// Everything but arrays.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    schema: Schema,
    dims: usize,
    metric: Metric,
    power: f64,
    unit: f64,
    /// `None` for a map of distances.
    features: Option<Scaling>,
}

/// Scaling of features: (x/largest − centre)·factor.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Scaling {
    largest: f64,
    factor: f64,
}

impl SammonModel {
    /// Content of a model file.
    ///
    /// # Errors
    /// If the description cannot be written as JSON.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut arrays = ModelArrays::default();
        let (unit, embedding, n, features) = match &self.fitted {
            Fitted::Features(FittedPoints { values, d, scaling, counts, unit, embedding }) => {
                let n = counts.len();
                arrays.put("points", &[n, *d], &values[..]);
                arrays.put("centre", &[*d], &scaling.centre[..]);
                arrays.put("counts", &[n], &counts[..]);
                (*unit, embedding, n, Some(Scaling { largest: scaling.largest, factor: scaling.factor }))
            }
            Fitted::Distances(FittedDistances { index, points, unit, embedding }) => {
                let index: Vec<f64> = index.iter().map(|&point| f64::from(point)).collect();
                arrays.put("index", &[index.len()], index);
                (*unit, embedding, *points, None)
            }
        };
        arrays.put("embedding", &[embedding.len() / n, n], &embedding[..]);
        let (schema, dims, metric, power) = (self.schema.clone(), self.dims, self.metric, self.power);
        encode(NAME, VERSION, &Description { schema, dims, metric, power, unit, features }, arrays)
    }

    /// Inverse of [`to_bytes`](Self::to_bytes), bit for bit.
    ///
    /// # Errors
    /// [`Error::Input`](firebox_core::Error::Input) for any other content.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (description, mut arrays) = decode::<Description>(bytes, NAME, VERSION)?;
        let Description { schema, dims, metric, power, unit, features } = description;
        SammonConfig::new(dims).with_power(power).validate().map_err(bad)?;
        let positive = |x: f64| x > 0.0 && x.is_normal();
        require(unit > 0.0 && unit.is_finite(), "its unit is not positive")?;
        require(schema.is_consistent(), "its columns and their preparation do not match")?;
        let (k, n) = match arrays.shape("embedding")? {
            &[k, n] => (k, n),
            _ => (0, 0),
        };
        require((1..=dims).contains(&k) && n > 0, "its embedding has a wrong shape")?;
        let embedding = arrays.take("embedding", &[k, n])?;
        let fitted = match features {
            Some(Scaling { largest, factor }) => {
                let d = schema.names.len();
                require(d > 0, "its points have no coordinates")?;
                require(positive(largest) && positive(factor), "its scaling is not positive")?;
                let counts = arrays.take_whole("counts", &[n], 1 << 32)?;
                require(!counts.contains(&0), "its counts are 0")?;
                let scaling = FeatureScaling { metric, largest, centre: arrays.take("centre", &[d])?, factor };
                let values = arrays.take("points", &[n, d])?;
                let counts = counts.into_iter().map(|count| count as f64).collect();
                Fitted::Features(FittedPoints { values, d, scaling, counts, unit, embedding })
            }
            None => {
                let rows = arrays.shape("index")?.iter().product::<usize>();
                let index = arrays.take_whole("index", &[rows], n as u64)?;
                let mut seen = vec![false; n];
                index.iter().for_each(|&point| seen[point as usize] = true);
                require(!seen.contains(&false), "it has distinct points without points of the input")?;
                let index = index.into_iter().map(|point| point as u32).collect();
                Fitted::Distances(FittedDistances { index, points: n, unit, embedding })
            }
        };
        arrays.finish()?;
        Ok(Self { schema, dims, metric, power, fitted })
    }

    /// Writes a model file, whole or not at all.
    ///
    /// # Errors
    /// As [`to_bytes`](Self::to_bytes), and [`Error::Io`](firebox_core::Error::Io) if the file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let bytes = self.to_bytes()?;
        atomic::write(path.as_ref(), |out| out.write_all(&bytes))
    }

    /// Reads a model file.
    ///
    /// # Errors
    /// As [`from_bytes`](Self::from_bytes), and [`Error::Io`](firebox_core::Error::Io) if the file cannot be read.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::from_bytes(&memory::read_file(path)?).map_err(|error| error.in_file(path))
    }
}

#[cfg(test)]
mod tests {
    use burn_ndarray::NdArray;
    use firebox_core::{
        Context,
        data::{Distances, Points},
        random::Random,
    };

    use super::*;
    use crate::model::sammon::SammonInput;

    type B = NdArray<f32>;

    fn points(n: usize, seed: u64) -> Points {
        let mut random = Random::new(seed, 1);
        Points::new((0..n * 3).map(|_| random.normal()).collect(), 3).unwrap()
    }

    fn fit(config: SammonConfig, input: impl Into<SammonInput<B>>) -> SammonModel {
        let context = Context::<B>::new(Default::default());
        config.init().unwrap().fit_with(input, &context).unwrap().model().clone()
    }

    #[test]
    fn models_round_trip_and_place_as_before() {
        let context = Context::<B>::new(Default::default());
        for metric in [Metric::Euclidean, Metric::Manhattan, Metric::Cosine, Metric::Correlation] {
            // The second set has equal points, the third two points.
            for (n, dims) in [(20, 2), (21, 1), (2, 3)] {
                let mut data = points(n, 7);
                if n == 21 {
                    data.values.copy_within(0..3, 60);
                }
                let model = fit(SammonConfig::new(dims).with_metric(metric), data);
                let again = SammonModel::from_bytes(&model.to_bytes().unwrap()).unwrap();
                assert_eq!(again, model);
                assert_eq!(again.to_bytes().unwrap(), model.to_bytes().unwrap());
                let new = points(4, 9);
                let expected = model.transform_with::<B>(&new, &context).unwrap();
                assert_eq!(again.transform_with::<B>(&new, &context).unwrap(), expected);
            }
        }
    }

    #[test]
    fn maps_of_distances_round_trip() {
        let context = Context::<B>::new(Default::default());
        let distance = |i: usize, j: usize| if i / 2 == j / 2 { 0.0 } else { i.abs_diff(j) as f64 };
        let matrix = (0..12).flat_map(|i| (0..12).map(move |j| distance(i, j))).collect();
        let model = fit(SammonConfig::new(2), Distances::new(matrix, 12, 12).unwrap());
        let again = SammonModel::from_bytes(&model.to_bytes().unwrap()).unwrap();
        assert_eq!((again.distances(), &again), (Some(12), &model));
        let new: Vec<f64> = (0..12).map(|j| 1.5 + j as f64).collect();
        let expected = model.transform_distances::<B>(&new, &context).unwrap();
        assert_eq!(again.transform_distances::<B>(&new, &context).unwrap(), expected);
    }

    #[test]
    fn contradictory_models_are_refused() {
        let refused = |change: fn(&mut SammonModel, &mut FittedPoints)| {
            let mut model = fit(SammonConfig::new(2), points(8, 3));
            let Fitted::Features(mut fitted) = model.fitted.clone() else { unreachable!("features") };
            change(&mut model, &mut fitted);
            model.fitted = Fitted::Features(fitted);
            let error = SammonModel::from_bytes(&model.to_bytes().unwrap()).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            error.to_string()
        };
        assert!(refused(|model, _| model.dims = 0).contains("dims = 0"));
        assert!(refused(|model, _| model.dims = 1).contains("embedding has a wrong shape"));
        assert!(refused(|model, _| model.power = -1.0).contains("power = -1"));
        assert!(refused(|model, _| model.schema.names.truncate(2)).contains("shape"));
        assert!(refused(|_, points| points.unit = 0.0).contains("unit is not positive"));
        assert!(refused(|_, points| points.counts[1] = 0.0).contains("counts are 0"));
        assert!(refused(|_, points| points.counts[1] = 0.5).contains("not whole"));
        assert!(refused(|_, points| points.scaling.factor = -1.0).contains("scaling is not positive"));
        assert!(refused(|_, points| points.values[4] = f64::NAN).contains("contains NaN"));
    }
}
