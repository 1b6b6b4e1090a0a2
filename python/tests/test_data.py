"""Kinds of input, and what is refused."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import is_valid_linkage
from scipy.spatial.distance import squareform, pdist
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import firebox


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)


def test_clusters_of_frames_and_arrays_are_equal(blobs):
    x, _ = blobs
    labels = firebox.OCNN().fit_predict(x)
    names = ["a", "b"]
    for other in [pd.DataFrame(x, columns=names), pl.DataFrame(x, schema=names), np.asfortranarray(x), x[::1, ::1]]:
        ocnn = firebox.OCNN().fit(other)
        assert np.array_equal(ocnn.labels_, labels)
    assert is_valid_linkage(ocnn.linkage_)
    assert ocnn.probabilities_.min() >= 0 and ocnn.probabilities_.max() <= 1


class Exported:
    """An array of another library: nothing but DLPack."""

    def __init__(self, values):
        self.values = values

    def __dlpack__(self, **arguments):
        return self.values.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


def test_arrays_of_other_libraries(blobs):
    x, y = blobs
    labels = firebox.OCNN().fit(x).predict(x[:9])
    ocnn = firebox.OCNN().fit(Exported(x))
    assert np.array_equal(ocnn.predict(Exported(x[:9])), labels)
    network = firebox.MLPClassifier((4,), max_iter=5).fit(Exported(x), Exported(y))
    assert network.score(x, y) > 0.9


def test_tensors_of_torch(blobs):
    torch = pytest.importorskip("torch")
    x, _ = blobs
    ocnn = firebox.OCNN().fit(x)
    labels = ocnn.predict(x[:9])
    found = firebox.as_kind(ocnn.predict(torch.from_numpy(x[:9]).requires_grad_()), torch.zeros(1))
    assert isinstance(found, torch.Tensor) and found.tolist() == labels.tolist()


class OnDevice:
    """An array that only its own library can copy to the host, as those of CuPy."""

    def __init__(self, of):
        self.of = np.asarray(of)

    __cuda_array_interface__ = {"version": 3}

    def get(self):
        return self.of

    def __array__(self, *args, **kwargs):
        raise TypeError("implicit conversion")

    def __len__(self):
        raise TypeError("no length")


def test_arrays_on_a_device_are_taken_everywhere(blobs):
    x, y = blobs
    weights, start = np.arange(300) % 3, x[:, :2] * 2.0
    assert np.array_equal(
        firebox.OCNN().fit(OnDevice(x), sample_weight=OnDevice(weights)).labels_,
        firebox.OCNN().fit(x, sample_weight=weights).labels_,
    )
    assert np.array_equal(
        firebox.Sammon(init=OnDevice(start), max_iter=3).fit(OnDevice(x)).embedding_,
        firebox.Sammon(init=start, max_iter=3).fit(x).embedding_,
    )
    network = firebox.MLPClassifier((8,), max_iter=5).fit(OnDevice(x), OnDevice(y))
    network.partial_fit(OnDevice(x), OnDevice(y), classes=OnDevice(np.unique(y)))
    assert network.score(OnDevice(x), OnDevice(y)) == network.score(x, y)
    regressor = firebox.MLPRegressor((8,), max_iter=5).fit(OnDevice(x), OnDevice(x[:, 0]))
    assert regressor.score(OnDevice(x), OnDevice(x[:, 0])) == regressor.score(x, x[:, 0])
    problem = firebox.Problem(
        {"type": "box", "low": [0, 0], "high": [1, 1]},
        {"laplacian": 1, "rhs": lambda points: OnDevice(points[:, 0])},
        [{"condition": "dirichlet", "value": 0}],
    )
    u = firebox.RBFSolver().solve(problem)
    at = np.full((2, 2), 0.5)
    assert np.array_equal(u(OnDevice(at)), u(at))


def test_results_as_the_kind_of_the_input(blobs):
    x, _ = blobs
    frame = pd.DataFrame(x, index=np.arange(300) + 7)
    sammon = firebox.Sammon(max_iter=2).fit(x)
    series, table = (firebox.as_kind(values, frame) for values in (x[:, 0], sammon.embedding_))
    assert series.index.equals(frame.index) and table.shape == (300, 2)
    assert isinstance(firebox.as_kind(x[:, 0], pl.DataFrame(x)), pl.Series)
    assert firebox.as_kind(x, x) is x


def test_a_problem_is_read_once(tmp_path):
    file = tmp_path / "problem.toml"
    text = """dims = 1
domain = { type = "box", low = [0], high = [1] }
equation = { laplacian = 1, rhs = "2" }
boundary = [{ condition = "dirichlet", value = "x^2" }]
"""
    file.write_text(text)
    problem = firebox.Problem.read(file)
    file.write_text(text.replace('"2"', '"3"'))
    solution = firebox.RBFSolver().solve(problem)
    assert abs(solution([[0.5]])[0] - 0.25) < 1e-5
    file.unlink()
    for other in (firebox.Problem.parse(text), problem):
        again = pickle.loads(pickle.dumps(other))
        assert again.bounds == problem.bounds and again.coordinates == ["x"]
    assert pickle.loads(pickle.dumps(solution))([[0.5]]) == solution([[0.5]])


def test_distances(blobs):
    x, classes = blobs
    distances = squareform(pdist(x))
    ocnn = firebox.OCNN(metric="precomputed").fit(distances)
    assert adjusted_rand_score(ocnn.labels_, classes) > 0.95
    with pytest.raises(ValueError, match="precomputed"):
        ocnn.predict(distances)
    some = distances.copy()
    some[3, 4] = some[4, 3] = np.nan
    sammon = firebox.Sammon(metric="precomputed").fit(some)
    assert sammon.stress_ < 1e-3
    assert np.allclose(sammon.transform(distances[:5]), sammon.embedding_[:5], atol=1e-3)


def test_sparse_rows():
    rows = np.random.default_rng(0).random((200, 30)) * np.repeat(np.eye(2, 30).cumsum(1)[:, ::-1], 100, axis=0)
    rows[:100, :15] = 0
    rows[100:, 15:] = 0
    x = sparse.csr_array(rows + np.where(np.arange(200)[:, None] < 100, np.eye(30)[20], np.eye(30)[3]))
    ocnn = firebox.OCNN(metric="cosine", n_clusters=2).fit(x)
    assert set(ocnn.predict(x)) <= {-1, 0, 1}
    with pytest.raises(TypeError, match="[Ss]parse"):
        firebox.OCNN().fit(x)


def test_weights_are_repetitions(blobs):
    x, _ = blobs
    weights = np.arange(len(x)) % 3
    weighted = firebox.OCNN().fit(x, sample_weight=weights)
    repeated = firebox.OCNN().fit(np.repeat(x, weights, axis=0))
    assert np.array_equal(np.repeat(weighted.labels_, weights), repeated.labels_)
    with pytest.raises(ValueError, match="whole numbers"):
        firebox.OCNN().fit(x, sample_weight=np.full(len(x), 0.5))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: firebox.OCNN(n_clusters=0).fit(x), "n_clusters = 0: must be at least 1\nchange `n_clusters`"),
        (lambda x: firebox.OCNN(n_clusters=-1).fit(x), "n_clusters = -1: must be a whole number of at least 0"),
        (lambda x: firebox.OCNN(n_clusters=2.5).fit(x), "n_clusters = 2.5: must be a whole number of at least 0"),
        (lambda x: firebox.OCNN(threshold="x").fit(x), "threshold = 'x': must be a number"),
        (lambda x: firebox.OCNN(min_cluster_size=-1).fit(x), "min_cluster_size = -1: must be a whole number"),
        (lambda x: firebox.RBFSolver(target_error="x").solve(firebox.Problem.named("peak")), "must be a number"),
        (lambda x: firebox.OCNN(n_clusters=2, threshold=0.5).fit(x), "exclude each other"),
        (lambda x: firebox.OCNN(mode="other").fit(x), "mode = 'other'"),
        (lambda x: firebox.OCNN(metric="other").fit(x), "metric = 'other'"),
        (lambda x: firebox.OCNN(mode="paper").fit(x), "threshold is missing"),
        (lambda x: firebox.OCNN(mode="paper", threshold=0.7, sweep=True).fit(x), "sweep = True is for mode = 'auto'"),
        (lambda x: firebox.OCNN(sync="phase").fit(x), "sync = 'phase' is for mode = 'paper'"),
        (lambda x: firebox.OCNN(backend="abacus").fit(x), "unknown backend 'abacus'"),
        (lambda x: firebox.OCNN(precision="half").fit(x), "precision = \"half\""),
        (lambda x: firebox.OCNN(random_state=-1).fit(x), "random_state = -1"),
        (lambda x: firebox.OCNN(n_jobs=0).fit(x), "n_jobs = 0"),
        (lambda x: firebox.OCNN().fit(np.full_like(x, np.nan)), "NaN"),
        (lambda x: firebox.OCNN().fit(np.ones((5, 2))), "all 5 points are equal"),
        (lambda x: firebox.Sammon(0).fit(x), "n_components = 0"),
        (lambda x: firebox.Sammon(solver="other").fit(x), "solver = \"other\""),
        (lambda x: firebox.Sammon(init=np.zeros((3, 2))).fit(x), "init has shape"),
        (lambda x: firebox.MLPClassifier((0,)).fit(x, x[:, 0] > 0), "hidden"),
        (lambda x: firebox.MLPClassifier("x").fit(x, x[:, 0] > 0), "hidden_layer_sizes = [\"x\"]: must be a whole number"),
        (lambda x: firebox.MLPClassifier(learning_rate_init=0).fit(x, x[:, 0] > 0), "learning_rate_init = 0"),
        (lambda x: firebox.MLPClassifier().fit(x, np.zeros(len(x))), "one class"),
        (lambda x: firebox.MLPClassifier().partial_fit(x, x[:, 0] > 0), "classes is missing"),
        (lambda x: firebox.RBFSolver(target_error=2).solve(firebox.Problem.named("peak")), "target_error = 2"),
        (lambda x: firebox.Problem.named("other"), "other"),
        (lambda x: firebox.Problem.parse("domain = 1"), "line 1"),
        (lambda x: firebox.RBFSolver().solve(firebox.Problem.named("peak")).evaluate(np.zeros((1, 3))), "3 coordinates"),
    ],
)
def test_bad_input_is_refused(blobs, make, message):
    with pytest.raises(ValueError) as error:
        make(blobs[0])
    assert message in str(error.value)


def test_memory_limit(blobs):
    with pytest.raises(MemoryError, match="memory_limit"):
        firebox.OCNN(memory_limit=10).fit(blobs[0])


def test_models_are_read_by_another_process(blobs, tmp_path):
    x, y = blobs
    fitted = [firebox.OCNN().fit(x), firebox.Sammon().fit(x), firebox.MLPClassifier((8,), max_iter=5).fit(x, y)]
    expected = [fitted[0].predict(x[:9]), fitted[1].transform(x[:9]), fitted[2].predict_proba(x[:9])]
    file = tmp_path / "models.pickle"
    file.write_bytes(pickle.dumps((fitted, expected, x[:9])))
    code = f"""
import pickle, numpy as np
(ocnn, sammon, network), expected, x = pickle.load(open({str(file)!r}, "rb"))
for result, before in zip([ocnn.predict(x), sammon.transform(x), network.predict_proba(x)], expected):
    assert np.array_equal(result, before)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
