"""Interactive reports: one HTML file that needs no network."""

from __future__ import annotations

import contextlib
import html
import json
import os
from typing import Any

import numpy as np

from . import _firebox, plots
from ._data import on_host, validated

#: Largest report that a notebook shows in a frame, since notebooks save it.
_FRAME_BYTES = 4_000_000


class Fit:
    """What the report of a fit needs besides the fit itself: its rows, by reference, and its facts."""

    def __init__(self, run: _firebox.Run, report: _firebox.Report, owner: Any, X: Any, kept: np.ndarray | None = None) -> None:
        self.report, self.kept = report, kept
        has_columns = isinstance(X, np.ndarray) and getattr(owner, "metric", None) != "precomputed"
        self.rows = X if has_columns else None
        self.facts = [
            ("version", _firebox.__version__),
            ("rows", str(X.shape[0])),
            ("columns", str(X.shape[1])),
            ("backend", run.backend),
            ("device", run.device),
            ("precision", owner.precision),
            ("seconds", f"{report.seconds:.3f}"),
        ]


class Reports:
    """Interactive reports of an estimator with the attribute `_fit`."""

    _fit: Fit

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
        page = self._page(X, y, columns)
        part = f"{os.fspath(path)}.part"
        try:
            with open(part, "w", encoding="utf-8") as file:
                file.write(page)
            os.replace(part, path)
        except OSError:
            with contextlib.suppress(OSError):
                os.remove(part)
            raise

    def _page(self, X: Any = None, y: Any = None, columns: int = 2) -> str:
        fit = getattr(self, "_fit", None)
        if fit is None:
            raise ValueError("there is no report: pickles and copies of a fit do not have it, and mode = 'paper' has none. Call fit")
        rows = fit.rows if X is None else validated(self, X, reset=False)
        count = int(fit.facts[1][1])
        names = codes = None
        if y is not None:
            values, codes = np.unique(np.asarray(on_host(y)), return_inverse=True)
            names, codes = [str(value) for value in values], codes.ravel()
        for name, given in (("X", rows), ("y", codes)):
            if given is not None and len(given) != count:
                raise ValueError(f"{name} has {len(given)} rows, and the fit had {count}")
        if fit.kept is not None:
            rows = None if rows is None else np.ascontiguousarray(rows[fit.kept])
            codes = None if codes is None else codes[fit.kept]
        columns_of = getattr(self, "feature_names_in_", None)
        about = {
            "summary": self._summary(),
            "command": f"{self!r}.fit(X)",
            "facts": fit.facts,
            "settings": [(name, str(value)) for name, value in self.get_params().items()],  # type: ignore[attr-defined]
        }
        return fit.report.render(
            json.dumps(about),
            rows,
            None if columns_of is None else [str(name) for name in columns_of],
            columns,
            None if codes is None else codes.tolist(),
            names,
        )

    def _summary(self) -> str:
        raise NotImplementedError

    def _as_html(self, figures: dict[str, Any], draw: Any) -> str:
        """The figures, with the report in a frame, or with a plot if there is no report or it is too large."""
        page = self._page() if getattr(self, "_fit", None) is not None else ""
        if not 0 < len(page) <= _FRAME_BYTES:
            return plots.as_html(figures, draw)
        frame = (
            f'<iframe title="Report of {type(self).__name__}" srcdoc="{html.escape(page)}" loading="lazy" '
            'sandbox="allow-scripts allow-downloads" style="width: 100%; height: 48rem; border: 1px solid #888"></iframe>'
        )
        return plots.as_html(figures) + frame

    def __getstate__(self) -> dict[str, Any]:
        # The rows belong to the caller, and a page can be larger than the model.
        state = super().__getstate__()  # type: ignore[misc]
        return {name: value for name, value in state.items() if name != "_fit"}
