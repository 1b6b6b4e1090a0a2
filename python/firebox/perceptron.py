"""Multilayer perceptrons."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _firebox, _report, plots
from ._compute import Run, column_names, options_of
from ._cuda import CudaRows, as_requested, stays_on_device
from ._data import as_kind, on_host, validated

_PARAMETERS = """
    Parameters
    ----------
    hidden_layer_sizes : sequence of int, default=(128, 64)
        Neurons of each hidden layer; empty for a linear model.
    activation : {"relu", "gelu", "sigmoid", "tanh"}, optional
        Activation of the hidden layers; by default relu for classes and gelu for numbers.
    solver : {"adam", "sgd"}, default="adam"
        Method of the steps.
    alpha : float, optional
        λ: λ/2 times the sum of all squared weights is added to the loss; by the number of rows by default.
    batch_size : int, optional
        Rows of a step; by the number of rows by default.
    learning_rate_init : float, default=0.01
        Length of a step.
    momentum : float, default=0.9
        Share of the last step that the next one goes on with (sgd).
    max_iter : int, default=300
        Passes over the rows.
    averaging : float, optional
        Passes over which the weights of the steps are averaged; by default 10, or 5 where rows × weights exceed 4e8.
    validation_fraction : float, default=0.1
        Share of the rows that early stopping uses; with 0 training never stops early.
    n_iter_no_change : int, optional
        Passes without a lower loss on those rows after which training stops; by default as `averaging`.
    standardise : {"none", "standard", "robust", "common"}, optional
        Scale of the columns: as they are; (x − mean)/standard deviation; (x − median)/interquartile range; or one scale of
        all columns. By default ``"common"`` if they share a scale, and ``"standard"`` otherwise.
    time_limit : float, optional
        Seconds after which training stops, at the end of a pass.
    random_state : int, RandomState or None, default=0
        The same int has the same result as the command's ``--seed``, with its ``--test 0``.
    backend, precision, n_jobs, memory_limit, verbose
        As of :class:`firebox.OCNN`.
"""


class _Mlp(BaseEstimator):
    """Parameters and training of both perceptrons."""

    #: Parameters by their names in Rust.
    _options = {
        "hidden": "hidden_layer_sizes",
        "activation": "activation",
        "optimizer": "solver",
        "weight_decay": "alpha",
        "batch": "batch_size",
        "learning_rate": "learning_rate_init",
        "momentum": "momentum",
        "epochs": "max_iter",
        "averaging": "averaging",
        "validation": "validation_fraction",
        "patience": "n_iter_no_change",
        "standardise": "standardise",
        "time_limit": "time_limit",
    }

    def __init__(
        self,
        hidden_layer_sizes: Any = (128, 64),
        *,
        activation: str | None = None,
        solver: str = "adam",
        alpha: float | None = None,
        batch_size: int | None = None,
        learning_rate_init: float = 0.01,
        momentum: float = 0.9,
        max_iter: int = 300,
        averaging: float | None = None,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        standardise: str | None = None,
        time_limit: float | None = None,
        random_state: Any = 0,
        backend: str = "auto",
        precision: str = "float32",
        n_jobs: int | None = None,
        memory_limit: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.solver = solver
        self.alpha = alpha
        self.batch_size = batch_size
        self.learning_rate_init = learning_rate_init
        self.momentum = momentum
        self.max_iter = max_iter
        self.averaging = averaging
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.standardise = standardise
        self.time_limit = time_limit
        self.random_state = random_state
        self.backend = backend
        self.precision = precision
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.verbose = verbose

    def _train(
        self, X: np.ndarray, task: str, initial: Any = None, passes: dict[str, Any] | None = None, **targets: Any
    ) -> None:
        hidden = np.atleast_1d(np.asarray(self.hidden_layer_sizes))
        options = options_of(self, task=task, test=0.0, **({"hidden": hidden} | (passes or {})))
        with Run(self, self.random_state) as run:
            names = column_names(self)
            result, self._model, self._training = _firebox.fit_mlp(run, options, X, initial=initial, names=names, **targets)
        for name, value in result.items():
            setattr(self, f"{name}_", value)

    def _outputs(self, X: Any) -> Any:
        """Outputs (n, m) of the network, as 32-bit floats on the device if the rows are on that of the backend."""
        check_is_fitted(self, "_model")
        rows = CudaRows.of(X)
        with Run(self) as run:
            if rows is None or rows.ordinal != run.cuda_ordinal:
                return self._model.predict(run, validated(self, X, reset=False))
            validate_data(self, X, reset=False, skip_check_array=True)
            outputs = rows.empty(self._model.outputs)
            target = CudaRows.of(outputs)
            self._model.predict_on_device(run, rows.address, tuple(rows.array.shape), target.address)
            return outputs

    @property
    def coefs_(self) -> list[np.ndarray]:
        """Weights ``(inputs, neurons)`` of each layer, for scaled inputs."""
        return [weights for weights, _ in self._model.layers]

    @property
    def intercepts_(self) -> list[np.ndarray]:
        """Biases ``(neurons,)`` of each layer."""
        return [np.asarray(bias) for _, bias in self._model.layers]


    def plot(self, ax: Any = None) -> Any:
        """Draws the losses of the training. Returns Matplotlib's axes."""
        check_is_fitted(self, "_model")
        return plots.curves(self.loss_curve_, self.validation_losses_, self.best_epoch_, ax)

    def report(self, path: str | os.PathLike[str], X: Any, y: Any) -> None:
        """Writes an interactive report of the predictions of rows, best those of a test: one HTML file without a network.

        Parameters
        ----------
        path : path
            The file, which is replaced if it exists.
        X : array of shape (n, k)
            Rows.
        y : array of shape (n,) or (n, t)
            Their classes or numbers.
        """
        check_is_fitted(self, "_model")
        X, known = self._known(X, y)
        with Run(self) as run:
            about = _report.About(run, self, f"{_report.constructor_of(self)}.fit(X, y)")
            facts = [("rows", str(len(X))), ("columns", str(X.shape[1]))]
            summary = f"the network of pass {self.best_epoch_} of {self.n_iter_}, with predictions of {len(X)} rows"
            training, names = getattr(self, "_training", None), column_names(self)
            page = self._model.report(run, about.json(summary, facts), X, training=training, names=names, **known)
        _report.write(path, page)

    def _known(self, X: Any, y: Any) -> tuple[np.ndarray, dict[str, Any]]:
        """Checked rows, and their targets as keywords of `_firebox.Mlp.report`."""
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        # The history of a training belongs to the process that trained.
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_training"}

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)
        if hasattr(self, "_model"):
            figures = {"passes": self.n_iter_, "loss": f"{self.loss_curve_[self.best_epoch_ - 1]:.4g}"}
            bundle["text/html"] = bundle.get("text/html", "") + plots.as_html(figures, self.plot)
        return bundle


#: Options of a call of partial_fit: one pass over all rows, whose weights are the network.
_ONE_PASS = {"epochs": 1, "validation": 0.0, "averaging": 0.0}


class MLPClassifier(ClassifierMixin, _Mlp):
    __doc__ = f"""Multilayer perceptron that learns classes, by cross-entropy.
{_PARAMETERS}    class_weight : dict, "balanced" or None, default=None
        Weights of the classes in the loss; balanced ones are n/(K·n_c).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_iter_, best_epoch_ : int
        Passes, and that of the network that was kept.
    loss_curve_ : ndarray
        Loss of each pass.
    validation_losses_, validation_scores_ : ndarray or None
        Loss and accuracy of each pass on the rows of early stopping.
    coefs_, intercepts_ : list of ndarray
        Weights and biases of the layers, for scaled inputs.

    Examples
    --------
    >>> from firebox import MLPClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> MLPClassifier().fit(X, y).score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        hidden_layer_sizes: Any = (128, 64),
        *,
        activation: str | None = None,
        solver: str = "adam",
        alpha: float | None = None,
        batch_size: int | None = None,
        learning_rate_init: float = 0.01,
        momentum: float = 0.9,
        max_iter: int = 300,
        averaging: float | None = None,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        standardise: str | None = None,
        class_weight: Any = None,
        time_limit: float | None = None,
        random_state: Any = 0,
        backend: str = "auto",
        precision: str = "float32",
        n_jobs: int | None = None,
        memory_limit: int | None = None,
        verbose: bool = False,
    ) -> None:
        own = {name: value for name, value in locals().items() if name not in ("self", "class_weight", "__class__")}
        super().__init__(**own)
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any) -> MLPClassifier:
        """Trains on rows ``X`` of shape (n, k) with classes ``y`` of shape (n,)."""
        X, y = validated(self, X, y, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError("all rows are of one class: give rows of at least two classes")
        self._learn(X, y)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> MLPClassifier:
        """Trains one pass over a batch of rows, from the network so far.

        Parameters
        ----------
        X : array of shape (n, k)
        y : array of shape (n,)
        classes : array of shape (n_classes,)
            All classes; needed in the first call only.

        Notes
        -----
        The scale of the columns is that of the first batch, and the moments of Adam start anew in each call.
        """
        first = not hasattr(self, "_model")
        X, y = validated(self, X, y, reset=first)
        check_classification_targets(y)
        if first:
            if classes is None:
                raise ValueError("classes is missing: the first call of partial_fit needs all classes")
            self.classes_ = np.unique(on_host(classes))
        elif classes is not None and not np.array_equal(self.classes_, np.unique(on_host(classes))):
            raise ValueError(f"classes = {classes!r} differ from those of the first call, {self.classes_!r}")
        self._check_known(y)
        self._learn(X, y, None if first else self._model, _ONE_PASS)
        return self

    def _check_known(self, y: np.ndarray) -> None:
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(f"y has the classes {unknown.tolist()}, which are not among {self.classes_.tolist()}")

    def _learn(self, X: np.ndarray, y: np.ndarray, initial: Any = None, passes: dict[str, Any] | None = None) -> None:
        codes = np.searchsorted(self.classes_, y).astype(np.int64)
        weights = None
        if self.class_weight is not None:
            weights = compute_class_weight(self.class_weight, classes=np.unique(y), y=y)
            every = np.ones(len(self.classes_))
            every[np.unique(codes)] = weights
            weights = every
        self._train(
            X, "classification", initial, passes, codes=codes, n_classes=len(self.classes_), class_weights=weights
        )

    def _known(self, X: Any, y: Any) -> tuple[np.ndarray, dict[str, Any]]:
        X, y = validated(self, X, y, reset=False)
        self._check_known(y)
        codes = np.searchsorted(self.classes_, y).astype(np.int64)
        return X, {"codes": codes, "classes": [str(name) for name in self.classes_]}

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of shape (n, n_classes) of the classes, in the order of ``classes_``."""
        return as_requested(self._outputs(X))

    def predict(self, X: Any) -> np.ndarray:
        """Most probable classes of shape (n,)."""
        most = self._outputs(X).argmax(axis=1)
        # Libraries for devices have no arrays of text.
        if stays_on_device() and not isinstance(most, np.ndarray) and self.classes_.dtype.kind in "biuf":
            return as_kind(self.classes_, X)[most]
        return self.classes_[on_host(most)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of the predictions of rows ``X`` of shape (n, k) whose classes are ``y`` of shape (n,)."""
        return super().score(X, on_host(y), on_host(sample_weight))


class MLPRegressor(RegressorMixin, _Mlp):
    __doc__ = f"""Multilayer perceptron that learns numbers, by mean squared error.
{_PARAMETERS}
    Attributes
    ----------
    n_iter_, best_epoch_ : int
        Passes, and that of the network that was kept.
    loss_curve_ : ndarray
        Loss of each pass, of standardised numbers.
    validation_losses_ : ndarray or None
        Loss of each pass on the rows of early stopping.
    coefs_, intercepts_ : list of ndarray
        Weights and biases of the layers, for scaled inputs.

    Examples
    --------
    >>> import numpy as np
    >>> from firebox import MLPRegressor
    >>> x = np.linspace(-2, 2, 400).reshape(-1, 1)
    >>> MLPRegressor().fit(x, np.sin(x[:, 0])).score(x, np.sin(x[:, 0])) > 0.99
    True
    """

    def fit(self, X: Any, y: Any) -> MLPRegressor:
        """Trains on rows ``X`` of shape (n, k) with numbers ``y`` of shape (n,) or (n, t)."""
        return self._learn(*self._checked(X, y, reset=True))

    def partial_fit(self, X: Any, y: Any) -> MLPRegressor:
        """Trains one pass over a batch of rows, from the network so far.

        The scales of the columns are those of the first batch, and the moments of Adam start anew in each call.
        """
        first = not hasattr(self, "_model")
        X, y = self._checked(X, y, reset=first)
        return self._learn(X, y, None if first else self._model, _ONE_PASS)

    def _checked(self, X: Any, y: Any, reset: bool) -> tuple[np.ndarray, np.ndarray]:
        X, y = validated(self, X, y, multi_output=True, y_numeric=True, ensure_min_samples=2, reset=reset)
        return X, np.ascontiguousarray(y, dtype=np.float64)

    def _learn(
        self, X: np.ndarray, y: np.ndarray, initial: Any = None, passes: dict[str, Any] | None = None
    ) -> MLPRegressor:
        self._is_vector = y.ndim == 1
        self._train(X, "regression", initial, passes, targets=y.reshape(len(y), -1))
        return self

    def _known(self, X: Any, y: Any) -> tuple[np.ndarray, dict[str, Any]]:
        X, y = self._checked(X, y, reset=False)
        return X, {"targets": y.reshape(len(y), -1)}

    def predict(self, X: Any) -> np.ndarray:
        """Numbers of shape (n,) or (n, t), as those of the fit."""
        outputs = as_requested(self._outputs(X))
        return outputs[:, 0] if self._is_vector else outputs

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of the predictions of rows ``X`` of shape (n, k) whose numbers are ``y`` of shape (n,) or (n, m)."""
        return super().score(X, on_host(y), on_host(sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
