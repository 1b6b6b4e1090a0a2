"""Clustering by the synchronisation of an oscillatory chaotic neural network."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from . import _firebox, plots
from ._compute import Run, column_names, number, options_of, whole
from ._data import on_host, validated
from ._report import Reports, as_html

_DISTANCES = ("euclidean", "manhattan", "cosine", "haversine", "precomputed")
_ONLY_PAPER = ("sync", "epsilon", "scale", "self_coupling")
_ONLY_AUTO = ("n_neighbors", "min_cluster_size", "assign_all", "n_runs", "sweep", "n_clusters")


class OCNN(Reports, ClusterMixin, BaseEstimator):
    """Clusters by the synchronisation of an oscillatory chaotic neural network, without their number.

    Each point is a neuron, coupled to its neighbours by weights that fall with their distance. Points that belong together
    come to oscillate together; the clusters are cut from the tree of their agreement. Points without structure are one
    cluster.

    Parameters
    ----------
    n_clusters : int, optional
        Number of clusters; chosen from the tree by default.
    threshold : float, optional
        In (0, 1). With ``mode="auto"`` the tree is cut at every edge of at most this agreement; ``mode="paper"`` needs it:
        neurons are linked if in step at more than this share of the steps.
    mode : {"auto", "paper"}, default="auto"
        The paper's network couples all pairs, and finds components instead of a tree.
    metric : {"euclidean", "manhattan", "cosine", "haversine", "precomputed"}, default="euclidean"
        Distance of two points. Sparse rows need ``"cosine"``; ``"haversine"`` takes latitude and longitude in degrees;
        ``"precomputed"`` takes a matrix of distances ``(n, n)``.
    n_neighbors : int, optional
        Neighbours in the first graph; by the number of points and their dimension by default.
    min_cluster_size : int, optional
        Smallest cluster; by the number of points by default.
    assign_all : bool, default=False
        No noise: each point belongs to the cluster that it hangs on.
    n_runs : int, default=1
        Runs from successive seeds, whose agreement with the first is ``stability_``.
    sweep : bool, default=False
        Try larger graphs too, for clusters that overlap.
    steps, transient : int, optional
        Steps of the simulation that count, and before those.
    sync : {"phase", "fragmentary"}, optional
        When two neurons of the paper's network are in step; fragmentary synchronisation needs `epsilon`.
    epsilon : float, optional
        Distance of outputs that counts as in step.
    scale : "delaunay", int or float, optional
        Scale of the paper's weights: the mean distance to Delaunay neighbours or to that many nearest ones, or a length.
    self_coupling : bool, optional
        Couples each neuron of the paper's network with itself.
    random_state : int, RandomState or None, default=0
        The same int has the same result as the command's ``--seed``.
    backend : str, default="auto"
        ``"ndarray"``, ``"wgpu"`` or ``"cuda"``, with an index such as ``"cuda:1"``; ``firebox.backends()`` lists them.
    precision : {"float32", "float64"}, default="float32"
        Precision of the simulation.
    n_jobs : int, optional
        Threads; all cores by default.
    memory_limit : int, optional
        Upper bound of the bytes on the device.
    verbose : bool, default=False
        Show progress.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Cluster of each point, from 0 by first appearance; -1 is noise.
    n_clusters_ : int
        Number of clusters.
    probabilities_ : ndarray of shape (n,)
        Share of the own cluster in each point, 0 for noise.
    outlier_scores_ : ndarray of shape (n,)
        1 - membership/median of the cluster, in [0, 1].
    memberships_ : ndarray of shape (n,)
        Mean mutual information, in bits, of a point with its neighbours in its cluster.
    linkage_ : ndarray of shape (n - 1, 4)
        The tree as SciPy's linkage matrix.
    exemplars_ : ndarray of shape (n_clusters_,)
        Index of the point of largest membership in each cluster.
    p_value_ : float
        Probability that points without structure have at least this evidence of it.

    Examples
    --------
    >>> from firebox import OCNN
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> OCNN().fit(X).n_clusters_
    3
    """

    #: Parameters of ``mode="auto"`` by their names in Rust.
    _options = {
        "neighbours": "n_neighbors",
        "steps": "steps",
        "transient": "transient",
        "min_size": "min_cluster_size",
        "assign_all": "assign_all",
        "seeds": "n_runs",
        "sweep": "sweep",
    }
    _other_names = {"clusters": "n_clusters", "distance": "metric"}

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        threshold: float | None = None,
        mode: str = "auto",
        metric: str = "euclidean",
        n_neighbors: int | None = None,
        min_cluster_size: int | None = None,
        assign_all: bool = False,
        n_runs: int = 1,
        sweep: bool = False,
        steps: int | None = None,
        transient: int | None = None,
        sync: str | None = None,
        epsilon: float | None = None,
        scale: str | int | float | None = None,
        self_coupling: bool | None = None,
        random_state: Any = 0,
        backend: str = "auto",
        precision: str = "float32",
        n_jobs: int | None = None,
        memory_limit: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.threshold = threshold
        self.mode = mode
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.min_cluster_size = min_cluster_size
        self.assign_all = assign_all
        self.n_runs = n_runs
        self.sweep = sweep
        self.steps = steps
        self.transient = transient
        self.sync = sync
        self.epsilon = epsilon
        self.scale = scale
        self.self_coupling = self_coupling
        self.random_state = random_state
        self.backend = backend
        self.precision = precision
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> OCNN:
        """Clusters points.

        Parameters
        ----------
        X : array of shape (n, d), frame, or sparse matrix with ``metric="cosine"``
            Points; distances ``(n, n)`` with ``metric="precomputed"``.
        y : ignored
        sample_weight : array of shape (n,), optional
            Whole numbers: a weight of m is m equal points, and a weight of 0 leaves the point out; its label is the
            predicted one.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For an invalid parameter or input; the message says which, and what to do.
        """
        del y
        if self.mode not in ("auto", "paper"):
            raise ValueError(f"mode = {self.mode!r}: must be 'auto' or 'paper'")
        if self.metric not in _DISTANCES:
            raise ValueError(f"metric = {self.metric!r}: must be one of {', '.join(map(repr, _DISTANCES))}")
        X = validated(self, X, accept_sparse=self._accepts(), ensure_min_samples=2, reset=True)
        with Run(self, self.random_state) as run:
            if self.mode == "paper":
                return self._fit_paper(run, X, sample_weight)
            return self._fit_auto(run, X, sample_weight)

    def _fit_auto(self, run: _firebox.Run, X: Any, sample_weight: Any) -> OCNN:
        self._refuse(_ONLY_PAPER, "is for mode = 'paper'")
        if self.n_clusters is not None and self.threshold is not None:
            raise ValueError("n_clusters and threshold exclude each other: leave one out")
        cut = None
        if self.n_clusters is not None:
            cut = {"clusters": whole(self.n_clusters, "n_clusters")}
        elif self.threshold is not None:
            cut = {"threshold": number(self.threshold, "threshold")}
        precomputed = self.metric == "precomputed"
        options = options_of(self, distance=None if precomputed else self.metric, cut=cut)
        kept, weights = _weights(sample_weight, X, precomputed or sparse.issparse(X))
        if sparse.issparse(X):
            result, self._model, report = _firebox.fit_sparse_ocnn(run, options, *_csr(X))
        else:
            rows = X if kept is None else np.ascontiguousarray(X[kept])
            names = column_names(self)
            result, self._model, report = _firebox.fit_ocnn(run, options, rows, precomputed, weights, names)
        for name, value in result.items():
            setattr(self, f"{name}_", value)
        self._keep_fit(run, report, X, kept)
        if kept is not None:
            self._spread(run, X, kept)
        return self

    def _spread(self, run: _firebox.Run, X: np.ndarray, kept: np.ndarray) -> None:
        """Results of all rows from those of the kept ones; the others have predicted labels."""
        for name in ("labels_", "probabilities_", "memberships_", "outlier_scores_"):
            values = getattr(self, name)
            spread = np.zeros(len(X), dtype=values.dtype)
            spread[kept] = values
            setattr(self, name, spread)
        self.exemplars_ = np.flatnonzero(kept)[self.exemplars_]
        self.labels_[~kept] = self._model.predict(run, np.ascontiguousarray(X[~kept]))

    def _fit_paper(self, run: _firebox.Run, X: Any, sample_weight: Any) -> OCNN:
        self._refuse(_ONLY_AUTO, "is for mode = 'auto'")
        if self.metric != "euclidean":
            raise ValueError(f"metric = {self.metric!r}: mode = 'paper' has euclidean distances")
        if sample_weight is not None:
            raise ValueError("mode = 'paper' takes no sample_weight: repeat the points")
        if self.threshold is None:
            raise ValueError("threshold is missing: mode = 'paper' needs it, between 0 and 1")
        scale = self.scale
        if isinstance(scale, (int, np.integer)):
            scale = {"nearest": {"k": int(scale)}}
        elif scale is not None and scale != "delaunay":
            scale = {"fixed": float(scale)}
        names = ("threshold", "sync", "epsilon", "steps", "transient", "self_coupling")
        options = options_of(None, scale=scale, **{name: getattr(self, name) for name in names})
        self.labels_, self.scale_ = _firebox.fit_paper_ocnn(run, options, X)
        self.n_clusters_ = int(self.labels_.max()) + 1
        self._model = self._fit = self._rows = None
        return self

    def _refuse(self, names: tuple[str, ...], reason: str) -> None:
        defaults = OCNN().get_params()
        for name in names:
            if getattr(self, name) != defaults[name]:
                raise ValueError(f"{name} = {getattr(self, name)!r} {reason}: leave it out")

    def predict(self, X: Any) -> np.ndarray:
        """Clusters of new points.

        The cluster of an equal point, else the one of largest weight among the 16 nearest clustered points; -1 is noise.

        Parameters
        ----------
        X : array of shape (m, d), frame, or sparse matrix
            New points, of the same columns.

        Returns
        -------
        labels : ndarray of shape (m,)
        """
        check_is_fitted(self, "labels_")
        if self._model is None:
            raise ValueError(
                "new points have no distances to those of the fit: predict needs mode = 'auto' and a metric other than "
                "'precomputed'"
            )
        X = validated(self, X, accept_sparse=self._accepts(), reset=False)
        with Run(self) as run:
            if sparse.issparse(X):
                return self._model.predict_sparse(run, *_csr(X))
            return self._model.predict(run, X)

    def plot(self, X: Any, ax: Any = None) -> Any:
        """Draws the rows ``X`` of the fit, in the plane of their principal axes if they have more than two columns.

        Returns
        -------
        ax : matplotlib.axes.Axes
        """
        check_is_fitted(self, "labels_")
        return plots.scatter(np.asarray(on_host(X), dtype=np.float64), self.labels_, ax)

    def plot_tree(self, ax: Any = None) -> Any:
        """Draws the tree, with the branches of each cluster in its colour. Returns Matplotlib's axes."""
        check_is_fitted(self, "linkage_")
        return plots.tree(self.linkage_, self.labels_, ax)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)
        if hasattr(self, "linkage_"):
            figures = {
                "clusters": self.n_clusters_,
                "noise": int((self.labels_ == -1).sum()),
                "probability without structure": f"{self.p_value_:.2g}",
            }
            bundle["text/html"] = bundle.get("text/html", "") + as_html(self, figures, self.plot_tree)
        return bundle

    def _summary(self) -> str:
        return f"{self.n_clusters_} clusters, probability without structure {self.p_value_:.2g}"

    def _accepts(self) -> str | bool:
        return "csr" if self.metric == "cosine" and self.mode == "auto" else False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.input_tags.sparse = bool(self._accepts())
        return tags


def _csr(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    X = X.tocsr()
    X.sum_duplicates()
    data = np.ascontiguousarray(X.data, dtype=np.float64)
    return data, X.indices.astype(np.uint32), X.indptr.astype(np.int64), X.shape[1]


def _weights(sample_weight: Any, X: Any, refused: bool) -> tuple[np.ndarray | None, np.ndarray | None]:
    """The rows of weight above 0 if others exist, and the weights of those."""
    if sample_weight is None:
        return None, None
    if refused:
        raise ValueError("sample_weight needs dense points: repeat the points instead")
    weights = _check_sample_weight(on_host(sample_weight), X, dtype=np.float64)
    if not (np.all(weights >= 0) and np.all(weights == np.floor(weights)) and weights.sum() < 2**32):
        raise ValueError("sample_weight must have whole numbers from 0 with a sum below 2**32: a weight of m is m equal points")
    kept = weights > 0
    if kept.all():
        return None, weights.astype(np.uint32)
    return kept, weights[kept].astype(np.uint32)
