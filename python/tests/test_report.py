"""Interactive reports."""

from __future__ import annotations

import html
import json
import pickle
import re

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

import firebox


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def data_of(page: str) -> dict:
    return json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', page)[1])


def test_report_of_clusters(iris, tmp_path):
    x, y = iris
    ocnn = firebox.OCNN(n_clusters=3).fit(x)
    ocnn.report(tmp_path / "a.html")
    data = data_of((tmp_path / "a.html").read_text())
    assert (data["kind"], data["rows"], data["classes"]) == ("ocnn", 150, None)
    assert [column["name"] for column in data["columns"]] == ["PC 1 (92 %)", "PC 2 (5 %)", "C1", "C2"]
    assert data["clusters"]["levels"][data["clusters"]["chosen"]]["clusters"] == 3
    assert data["command"] == "OCNN(n_clusters=3).fit(X)"
    assert ["n_clusters", "3"] in data["settings"] and ["rows", "150"] in data["facts"]

    names = np.array(["</script>", "b", "c"])[y]
    ocnn.report(tmp_path / "b.html", y=names, columns=4)
    page = (tmp_path / "b.html").read_text()
    data = data_of(page)
    assert data["classes"]["names"] == ["</script>", "b", "c"] and len(data["columns"]) == 6
    assert page.count("</script>") == 2
    with pytest.raises(ValueError, match="y has 5 rows, and the fit had 150"):
        ocnn.report(tmp_path / "c.html", y=y[:5])
    assert not (tmp_path / "c.html").exists()


def test_rows_of_weight_zero_are_left_out(iris, tmp_path):
    x, y = iris
    weights = np.ones(150)
    weights[:20] = 0
    ocnn = firebox.OCNN().fit(x, sample_weight=weights)
    ocnn.report(tmp_path / "a.html", y=y)
    assert data_of((tmp_path / "a.html").read_text())["rows"] == 130


def test_report_without_columns(iris, tmp_path):
    x = iris[0]
    distances = np.linalg.norm(x[:, None] - x, axis=2)
    ocnn = firebox.OCNN(metric="precomputed").fit(distances)
    ocnn.report(tmp_path / "a.html")
    assert data_of((tmp_path / "a.html").read_text())["columns"] == []
    with pytest.raises(ValueError, match="X: distances"):
        ocnn.report(tmp_path / "b.html", X=distances)


def test_missing_classes_are_a_class(iris, tmp_path):
    y = ["a", None, float("nan"), *["b"] * 147]
    firebox.OCNN().fit(iris[0]).report(tmp_path / "a.html", y=y)
    assert data_of((tmp_path / "a.html").read_text())["classes"]["names"] == ["a", "missing", "b"]


def test_report_of_a_map(iris, tmp_path):
    x, y = iris
    sammon = firebox.Sammon().fit(x)
    sammon.report(tmp_path / "a.html", y=y)
    data = data_of((tmp_path / "a.html").read_text())
    assert [column["name"] for column in data["columns"]] == ["y1", "y2", "C1", "C2"]
    assert data["map"]["stress"] == sammon.stress_ and data["classes"]["name"] == "y"


def test_a_notebook_shows_the_report_in_a_frame(iris):
    ocnn = firebox.OCNN(n_clusters=3).fit(iris[0])
    shown = ocnn._repr_mimebundle_()["text/html"]
    page = html.unescape(re.search(r'srcdoc="(.*?)"', shown, re.DOTALL)[1])
    assert data_of(page)["rows"] == 150 and "<td>3</td>" in shown


def test_a_display_does_not_fail(iris):
    x = iris[0].copy()
    ocnn = firebox.OCNN().fit(x)
    x[0, 0] = np.nan
    assert "<svg" in ocnn._repr_mimebundle_()["text/html"]
    with pytest.raises(ValueError, match="NaN"):
        ocnn.report("never.html")


def test_pickles_have_no_report(iris, tmp_path):
    ocnn = pickle.loads(pickle.dumps(firebox.OCNN(n_clusters=3).fit(iris[0])))
    with pytest.raises(ValueError, match="there is no report"):
        ocnn.report(tmp_path / "a.html")
    assert "<svg" in ocnn._repr_mimebundle_()["text/html"]
    with pytest.raises(NotFittedError):
        firebox.OCNN().report(tmp_path / "a.html")
    with pytest.raises(ValueError, match="there is no report"):
        firebox.OCNN(mode="paper", threshold=0.5).fit(iris[0]).report(tmp_path / "a.html")


@pytest.mark.parametrize("options", [{}, {"mode": "paper", "options": {"neurons": 64}}])
def test_report_of_a_solution(options, tmp_path):
    solution = firebox.RBFSolver(**options).solve(firebox.Problem.named("poisson-sine"))
    solution.report(tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    data = data_of(page)
    assert data["kind"] == "rbf" and data["title"].startswith("poisson-sine: ")
    assert data["solution"]["axes"] == ["x", "y"] and "<title>poisson-sine: " in page
    assert "<iframe" in solution._repr_html_()
    with pytest.raises(ValueError, match="there is no report"):
        pickle.loads(pickle.dumps(solution)).report(tmp_path / "b.html")


def test_a_report_that_cannot_be_written_leaves_nothing(iris, tmp_path):
    with pytest.raises((OSError, RuntimeError)):
        firebox.OCNN().fit(iris[0]).report(tmp_path)
    with pytest.raises(OSError):
        firebox.OCNN().fit(iris[0]).report(tmp_path / "none" / "a.html")
    assert list(tmp_path.iterdir()) == []


def test_report_of_classes(iris, tmp_path):
    x, y = iris
    names = np.array(["setosa", "<b>", "virginica"])[y]
    network = firebox.MLPClassifier((8,), max_iter=20).fit(x, names)
    network.report(tmp_path / "a.html", x, names)
    data = data_of((tmp_path / "a.html").read_text())
    assert data["kind"] == "perceptron" and sorted(data["classes"]["names"]) == ["<b>", "setosa", "virginica"]
    assert len(data["network"]["training"]["loss"]) == network.n_iter_
    assert f"accuracy {100 * network.score(x, names):.1f} %" in data["title"]
    with pytest.raises(ValueError, match="not among"):
        network.report(tmp_path / "b.html", x, y)
    pickle.loads(pickle.dumps(network)).report(tmp_path / "c.html", x, names)
    assert data_of((tmp_path / "c.html").read_text())["network"]["training"] is None


def test_report_of_numbers(iris, tmp_path):
    x, _ = iris
    network = firebox.MLPRegressor((8,), max_iter=20).fit(x[:, :2], x[:, 2:])
    network.report(tmp_path / "a.html", x[:, :2], x[:, 2:])
    data = data_of((tmp_path / "a.html").read_text())
    assert data["kind"] == "regression"
    assert [column["name"] for column in data["columns"]] == ["y1", "predicted y1", "y2", "predicted y2"]
