"""Interactive reports: one HTML file that needs no network."""

from __future__ import annotations

import contextlib
import html
import inspect
import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import _firebox, plots
from ._compute import column_names
from ._data import on_host, validated

#: Largest report that a notebook shows in a frame, since notebooks save it.
_FRAME_BYTES = 4_000_000


class About:
    """The description of a run with the parameters that `owner` has now; `call` repeats it."""

    def __init__(self, run: _firebox.Run, owner: Any, call: str) -> None:
        self.call = call
        self.facts = [
            ("version", _firebox.__version__),
            ("backend", run.backend),
            ("device", run.device),
            ("precision", owner.precision),
        ]
        self.settings = [(name, str(value)) for name, value in parameters(owner).items()]

    def json(self, summary: str, facts: Sequence[tuple[str, str]] = ()) -> str:
        """The description as JSON, with more facts."""
        own = {"command": self.call, "facts": [*self.facts, *facts], "settings": self.settings}
        return json.dumps({"summary": summary} | own)


class Fit:
    """A fit or a solution, as its report describes it: the Rust object that makes the page, and the facts of the run."""

    def __init__(self, run: _firebox.Run, report: _firebox.Report, owner: Any, call: str) -> None:
        self.report, self.about = report, About(run, owner, call)

    def page(self, summary: str, *, name: str = "", facts: Sequence[tuple[str, str]] = (), **rows: Any) -> str:
        seconds = ("seconds", f"{self.report.seconds:.3f}")
        return self.report.render(self.about.json(summary, [*facts, seconds]), name, **rows)


def write(path: str | os.PathLike[str], page: str) -> None:
    """Writes a page; a file that is there already is replaced when the page is complete."""
    _firebox.write_page(os.path.realpath(os.fsdecode(path)), page)


def parameters(owner: Any) -> dict[str, Any]:
    """The parameters of an estimator or a solver, by their names in its constructor."""
    return {name: getattr(owner, name) for name in inspect.signature(type(owner).__init__).parameters if name != "self"}


def constructor_of(owner: Any) -> str:
    """The call that makes an equal estimator or solver: the parameters that differ from their defaults."""
    defaults = inspect.signature(type(owner).__init__).parameters
    values = parameters(owner).items()
    given = (f"{name}={value!r}" for name, value in values if repr(value) != repr(defaults[name].default))
    return f"{type(owner).__name__}({', '.join(given)})"


def as_html(owner: Any, figures: dict[str, Any], draw: Any) -> str:
    """The figures with the report in a frame, or with a plot by `draw` if there is no report or it is too large."""
    page = ""
    if getattr(owner, "_fit", None) is not None:
        # A display must not fail, for instance because the rows of the fit were changed since.
        with contextlib.suppress(Exception):
            page = owner._page()
    if not 0 < len(page) <= _FRAME_BYTES:
        return plots.as_html(figures, draw)
    frame = (
        f'<iframe title="Report of {type(owner).__name__}" srcdoc="{html.escape(page)}" loading="lazy" '
        'sandbox="allow-scripts allow-downloads" style="width: 100%; height: 48rem; border: 1px solid #888"></iframe>'
    )
    return plots.as_html(figures) + frame


def _classes(y: Any) -> tuple[list[str], np.ndarray]:
    """Names of classes by first appearance, and the class of each row; missing values are a class."""
    numbers: dict[str, int] = {}
    labels = np.asarray(on_host(y)).ravel().tolist()
    # NaN alone differs from itself.
    texts = ("missing" if label is None or label != label else str(label) for label in labels)
    codes = np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.int64)
    return list(numbers), codes


class Reports:
    """Interactive reports of an estimator of rows, by its attribute `_fit`, which pickles leave out."""

    _fit: Fit | None
    #: The rows of the fit by reference, if they are columns of numbers, and those of weight above 0 if others exist.
    _rows: np.ndarray | None
    _kept: np.ndarray | None
    _shape: tuple[int, int]
    _has_columns: bool

    def _keep_fit(self, run: _firebox.Run, report: _firebox.Report, X: Any, kept: np.ndarray | None = None) -> None:
        self._fit = Fit(run, report, self, f"{constructor_of(self)}.fit(X)")
        self._has_columns = isinstance(X, np.ndarray) and getattr(self, "metric", None) != "precomputed"
        self._rows, self._kept, self._shape = X if self._has_columns else None, kept, X.shape

    def report(self, path: str | os.PathLike[str], X: Any = None, y: Any = None, columns: int = 2) -> None:
        """Writes an interactive report: one HTML file that opens in a browser, without a network.

        Parameters
        ----------
        path : path
            The file, which is replaced if it exists.
        X : array of shape (n, d) or frame, optional
            The rows of the fit, if they should not be shown as they are now in the array that was fitted.
        y : array of shape (n,), optional
            Classes to compare with.
        columns : int, default=2
            Columns of ``X`` in the report, the first ones.

        Raises
        ------
        ValueError
            For rows of another number, and if the fit was loaded from a pickle, which has no report.
        """
        write(path, self._page(X, y, columns))

    def _page(self, X: Any = None, y: Any = None, columns: int = 2) -> str:
        check_is_fitted(self)
        fit = getattr(self, "_fit", None)
        if fit is None:
            raise ValueError("there is no report: mode = 'auto' has one, and pickles and copies of a fit do not keep it")
        if columns < 0:
            raise ValueError(f"columns = {columns}: must be at least 0")
        if X is not None and not self._has_columns:
            raise ValueError("X: distances and sparse rows are no columns of a report: leave it out")
        rows = self._rows if X is None else validated(self, X, reset=False)
        count = self._shape[0]
        names = codes = None
        if y is not None:
            names, codes = _classes(y)
        for name, given in (("X", rows), ("y", codes)):
            if given is not None and len(given) != count:
                raise ValueError(f"{name} has {len(given)} rows, and the fit had {count}")
        if self._kept is not None:
            rows = None if rows is None else np.ascontiguousarray(rows[self._kept])
            codes = None if codes is None else codes[self._kept]
        return fit.page(
            self._summary(),
            facts=[("rows", str(count if self._kept is None else int(self._kept.sum()))), ("columns", str(self._shape[1]))],
            x=rows,
            names=column_names(self),
            columns=columns,
            y=None if codes is None else codes.tolist(),
            y_names=names,
        )

    def _summary(self) -> str:
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        # The rows belong to the caller, and a page can be larger than the model.
        state = super().__getstate__()  # type: ignore[misc]
        return {name: value for name, value in state.items() if name not in ("_fit", "_rows")}
