"""Plots, and what a notebook shows."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_iris

import firebox

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def test_plots_of_clusters(iris):
    x, _ = iris
    ocnn = firebox.OCNN(n_clusters=3).fit(x)
    ax = ocnn.plot(x)
    assert len(ax.collections) >= 3
    # Iris has 92 % of its variance along one axis, and 5 % along another.
    assert (ax.get_xlabel(), ax.get_ylabel()) == tuple(
        f"{name} principal axis ({share} of the variance)" for name, share in (("first", "92%"), ("second", "5%"))
    )
    assert ocnn.plot(x[:, :2]).get_xlabel() == ""
    assert ocnn.plot_tree().get_ylabel() == "1 - agreement"
    page = ocnn._repr_mimebundle_()["text/html"]
    assert "<td>3</td>" in page and "<iframe" in page


def test_plots_of_a_map(iris):
    x, y = iris
    sammon = firebox.Sammon().fit(x)
    ax = sammon.plot(np.array(["a", "b", "c"])[y])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b", "c"]
    assert "<iframe" in sammon._repr_mimebundle_()["text/html"]
    with pytest.raises(ValueError, match="classes"):
        sammon.plot(y[:5])


def test_plots_of_a_network(iris):
    network = firebox.MLPClassifier((8,), max_iter=9).fit(*iris)
    assert network.plot().get_yscale() == "log"
    assert "<svg" in network._repr_mimebundle_()["text/html"]


def test_plots_of_solutions():
    disc = firebox.RBFSolver().solve(firebox.Problem.named("poisson-disc"))
    assert disc.bounds == ([-1.0, -1.0], [1.0, 1.0])
    assert disc.contains([[0.9, 0.9], [0.1, 0.2]]).tolist() == [False, True]
    assert disc.plot().get_xlabel() == "x"
    assert "<iframe" in disc._repr_html_() and "neurons" in disc._repr_html_()
    line = firebox.Problem(
        domain={"type": "box", "low": [0], "high": [1]},
        equation={"laplacian": 1, "rhs": 1},
        boundary=[{"condition": "dirichlet", "value": 0}],
    )
    assert len(firebox.RBFSolver().solve(line).plot().lines) == 1
    cube = firebox.RBFSolver(target_error=1e-3).solve(firebox.Problem.named("poisson-cube"))
    with pytest.raises(ValueError, match="one or two dimensions"):
        cube.plot()
