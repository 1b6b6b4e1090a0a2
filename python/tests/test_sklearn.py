"""Scikit-learn's own checks of estimators, none of which is expected to fail."""

from __future__ import annotations

import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import firebox

ESTIMATORS = [firebox.OCNN(), firebox.Sammon(), firebox.MLPClassifier(), firebox.MLPRegressor()]


@parametrize_with_checks(ESTIMATORS)
@pytest.mark.filterwarnings("ignore::firebox.FireboxWarning")
def test_check(estimator, check):
    check(estimator)


def test_grid_search_in_a_pipeline():
    x, y = load_iris(return_X_y=True)
    network = firebox.MLPClassifier((16,), n_jobs=1)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), network), {"mlpclassifier__learning_rate_init": [0.003, 0.03]}, cv=3, n_jobs=2
    )
    assert search.fit(x, y).best_score_ > 0.9


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_clones_have_equal_parameters(estimator):
    assert clone(estimator).get_params() == estimator.get_params()


def test_names_of_columns_are_kept():
    frame, y = load_iris(return_X_y=True, as_frame=True)
    network = firebox.MLPClassifier((8,), max_iter=20).fit(frame, y)
    assert list(network.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names"):
        network.predict(frame.rename(columns={frame.columns[0]: "other"}))
    places = firebox.Sammon().set_output(transform="pandas").fit_transform(frame)
    assert list(places.columns) == ["sammon0", "sammon1"]
