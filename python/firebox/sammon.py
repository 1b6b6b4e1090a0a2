"""Maps of distances to few dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from . import _firebox, plots
from ._compute import Run, column_names, options_of
from ._data import FLOATS, on_host, validated
from ._report import Reports, as_html


class Sammon(Reports, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Maps points to few dimensions so that their distances are kept, by Sammon's stress.

    Minimises E = 1/Σδ · Σ(δ - d)²/δ over all pairs of points, δ their distance in the input and d that in the map.

    Parameters
    ----------
    n_components : int, default=2
        Dimensions of the map.
    metric : {"euclidean", "manhattan", "cosine", "correlation", "precomputed"}, default="euclidean"
        Distance of two points; ``"precomputed"`` takes a matrix ``(n, n)``, in which NaN and infinity are missing.
    power : float, default=1.0
        p of the weights δ^(-p): 0 is raw stress, 1 Sammon's, 2 elastic scaling's.
    solver : {"lbfgs", "jacobi", "gd"}, default="lbfgs"
        Solver; ``"gd"`` is the paper's.
    init : {"pca", "random", "first"} or array of shape (n, n_components), default="pca"
        Start of the map.
    n_restarts : int, optional
        Further runs, of which the best is kept; by the number of points by default.
    max_iter : int, default=1000
        Iterations of a run.
    tol : float, default=3e-5
        Stop when 10 iterations together lower the stress by less than this share.
    memory : {"auto", "cached", "cached-f16", "recomputed", "sampled"}, default="auto"
        Storage of the distances; ``"sampled"`` takes time and memory of n.
    time_limit : float, optional
        Seconds after which a run stops.
    quality : bool, default=True
        Measure trustworthiness and continuity.
    exact_quality : bool, default=False
        Take all pairs of points for the measures, in time of n², instead of random samples: for the stress with
        ``memory="sampled"``, and for trustworthiness and continuity of many points.
    point_stress : bool, default=False
        Take all pairs for the stress, so that ``point_stress_`` is known with ``memory="sampled"``.
    random_state : int, RandomState or None, default=0
        The same int has the same result as the command's ``--seed``.
    backend, precision, n_jobs, memory_limit, verbose
        As of :class:`firebox.OCNN`.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components)
        The map, in the unit of the input.
    stress_ : float
        Sammon's stress E.
    stress_error_ : float
        Standard error of E if it is estimated from a sample of pairs, otherwise 0.
    kruskal_stress_ : float
        Kruskal's stress-1.
    point_stress_ : ndarray of shape (n,) or None
        Contribution of each point to E; None if E is estimated from a sample of pairs.
    trustworthiness_, continuity_ : float or None
        Shares of neighbours that the map keeps.
    n_iter_ : int
        Iterations of the best run.
    stop_ : str
        Why the best run ended.

    Examples
    --------
    >>> from firebox import Sammon
    >>> square = [[0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]]
    >>> Sammon().fit(square).stress_ < 1e-6
    True
    """

    #: Parameters by their names in Rust.
    _options = {
        "dims": "n_components",
        "power": "power",
        "solver": "solver",
        "restarts": "n_restarts",
        "iterations": "max_iter",
        "tolerance": "tol",
        "memory": "memory",
        "time_limit": "time_limit",
        "quality": "quality",
        "exact_quality": "exact_quality",
        "point_stress": "point_stress",
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric: str = "euclidean",
        power: float = 1.0,
        solver: str = "lbfgs",
        init: Any = "pca",
        n_restarts: int | None = None,
        max_iter: int = 1000,
        tol: float = 3e-5,
        memory: str = "auto",
        time_limit: float | None = None,
        quality: bool = True,
        exact_quality: bool = False,
        point_stress: bool = False,
        random_state: Any = 0,
        backend: str = "auto",
        precision: str = "float32",
        n_jobs: int | None = None,
        memory_limit: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.metric = metric
        self.power = power
        self.solver = solver
        self.init = init
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.memory = memory
        self.time_limit = time_limit
        self.quality = quality
        self.exact_quality = exact_quality
        self.point_stress = point_stress
        self.random_state = random_state
        self.backend = backend
        self.precision = precision
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Sammon:
        """Maps points.

        Parameters
        ----------
        X : array of shape (n, d) or frame
            Points; distances ``(n, n)`` with ``metric="precomputed"``.
        y : ignored

        Returns
        -------
        self
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Maps points, and returns ``embedding_``."""
        del y
        X = validated(self, X, ensure_min_samples=2, ensure_all_finite=self._finite())
        start = None
        if not isinstance(self.init, str):
            start = check_array(on_host(self.init), dtype=FLOATS, order="C")
            if start.shape != (len(X), self.n_components):
                raise ValueError(f"init has shape {start.shape}, not {(len(X), self.n_components)}")
        precomputed = self.metric == "precomputed"
        options = options_of(
            self, metric=None if precomputed else self.metric, start=self.init if start is None else "given"
        )
        with Run(self, self.random_state) as run:
            result, self._model, report = _firebox.fit_sammon(run, options, X, precomputed, start, column_names(self))
        for name, value in result.items():
            setattr(self, f"{name}_", value)
        self._keep_fit(run, report, X)
        return self.embedding_

    def transform(self, X: Any) -> np.ndarray:
        """Places points in the map, which stays as it is.

        Parameters
        ----------
        X : array of shape (m, d) or frame
            Points of the same columns; with ``metric="precomputed"`` their distances ``(m, n)`` to the points of the fit.

        Returns
        -------
        places : ndarray of shape (m, n_components)
            Each point's place of least stress; a point of the fit has its place.
        """
        check_is_fitted(self, "embedding_")
        X = validated(self, X, reset=False, ensure_all_finite=self._finite())
        with Run(self) as run:
            return self._model.transform(run, X, self.metric == "precomputed")

    def plot(self, classes: Any = None, ax: Any = None) -> Any:
        """Draws the map, coloured by ``classes`` of shape (n,) if given. Returns Matplotlib's axes."""
        check_is_fitted(self, "embedding_")
        return plots.scatter(self.embedding_, classes, ax)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)
        if hasattr(self, "embedding_"):
            figures = {"stress E": self.stress_, "trustworthiness": self.trustworthiness_}
            bundle["text/html"] = bundle.get("text/html", "") + as_html(self, figures, lambda ax: self.plot(ax=ax))
        return bundle

    def _summary(self) -> str:
        quality = "" if self.trustworthiness_ is None else f", trustworthiness {self.trustworthiness_:.4g}"
        return f"stress E = {self.stress_:.6g} after {self.n_iter_} iterations{quality}"

    def _finite(self) -> bool:
        return self.metric != "precomputed"

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = tags.input_tags.allow_nan = self.metric == "precomputed"
        return tags
