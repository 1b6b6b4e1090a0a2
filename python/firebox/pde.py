"""Partial differential equations without a mesh, by networks of Gaussians."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _firebox, _report, plots
from ._compute import FireboxWarning, Run, options_of
from ._data import FLOATS, on_host


class Problem:
    """A partial differential equation of second order, linear or not, on a domain with boundary conditions.

    The tables are those of a problem file (TOML), as dictionaries. A function is a string such as ``"sin(x)*sin(y)"``, a
    number, or a callable that takes points of shape (n, d) and returns values of shape (n,): coefficients and right-hand
    sides of equations, values, coefficients and directions of boundary conditions, jumps, the exact solution, and the
    start of an iteration. Callables are called on the thread that solves, and Ctrl-C takes effect between their calls.

    Parameters
    ----------
    domain : dict
        ``{"type": "box", "low": [0, 0], "high": [1, 1]}``; also disc, ball, polygon, extrusion, union, intersection and
        difference.
    equation : dict
        Coefficients of the derivatives, and the right-hand side: ``{"laplacian": 1, "rhs": "x*y"}``. Or a residual, a
        formula that is 0: ``{"residual": "u_t + u*u_x - 0.1*u_xx"}``. It is a string, and may be nonlinear.
    boundary : list of dict
        Conditions, of which the first that applies counts; one that never applies is an error: ``[{"condition": "dirichlet", "value": 0}]``.
    coordinates : list of str, optional
        Names of the coordinates; x, y, z by default.
    constants : dict, optional
        Constants of the expressions.
    exact : str, float or callable, optional
        Exact solution, against which the error is measured.
    initial : str, float or callable, optional
        First u of the iteration for a nonlinear equation; 0 by default.
    unknown : str, default="u"
        Name of the solution in residuals and terms.
    region : list of dict, optional
        Parts of the domain with equations of their own.
    time : dict, optional
        Slabs of time, ``{"slabs": "auto"}``.
    name : str, optional

    Raises
    ------
    ValueError
        For a problem that is not complete or that names something unknown, and for `initial` if all equations are linear.

    Examples
    --------
    >>> from firebox import Problem
    >>> Problem(
    ...     domain={"type": "box", "low": [0, 0], "high": ["pi", "pi"]},
    ...     equation={"laplacian": 1, "rhs": "sin(x)*sin(y)"},
    ...     boundary=[{"condition": "dirichlet", "value": 0}],
    ... )
    Problem('problem', coordinates=['x', 'y'])
    """

    def __init__(
        self,
        domain: dict[str, Any],
        equation: dict[str, Any],
        boundary: list[dict[str, Any]],
        *,
        coordinates: list[str] | None = None,
        constants: dict[str, Any] | None = None,
        exact: Any = None,
        initial: Any = None,
        unknown: str = "u",
        region: list[dict[str, Any]] | None = None,
        time: dict[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        if coordinates is None and isinstance(domain.get("low"), (list, tuple)):
            dims: int | None = len(domain["low"])
        else:
            dims = None
        tables = {
            "name": name,
            "dims": dims,
            "coordinates": coordinates,
            "unknowns": None if unknown == "u" else [unknown],
            "exact": exact,
            "initial": initial,
            "constants": constants,
            "domain": domain,
            "equation": equation,
            "boundary": boundary,
            "region": region,
            "time": time,
        }
        given = {key: value for key, value in tables.items() if value is not None}
        functions: list[_Function] = []
        text = "\n".join(f"{key} = {_toml(value, key, functions)}" for key, value in given.items())
        self._parsed = _firebox.RbfProblem.parse(text, functions)

    @classmethod
    def _of(cls, parsed: _firebox.RbfProblem) -> Problem:
        problem = cls.__new__(cls)
        problem._parsed = parsed
        return problem

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Problem:
        """The problem of a file."""
        return cls._of(_firebox.RbfProblem.read(os.fspath(path)))

    @classmethod
    def parse(cls, text: str) -> Problem:
        """The problem of the text of a file."""
        return cls._of(_firebox.RbfProblem.parse(text))

    @classmethod
    def named(cls, name: str) -> Problem:
        """A built-in problem, one of ``Problem.names()`` with a single unknown."""
        return cls._of(_firebox.RbfProblem.named(name))

    @staticmethod
    def names() -> list[str]:
        """Names of the built-in problems; those of several unknowns are solved by the command alone."""
        return list(_firebox.RbfProblem.names())

    @property
    def name(self) -> str:
        """Name of the problem."""
        return self._parsed.name

    @property
    def coordinates(self) -> list[str]:
        """Names of the coordinates."""
        return self._parsed.coordinates

    @property
    def bounds(self) -> tuple[list[float], list[float]]:
        """Least and largest coordinates of the domain."""
        return self._parsed.bounds

    def contains(self, x: Any) -> np.ndarray:
        """Whether points of shape (n, d) are in the domain, shape (n,)."""
        return self._parsed.contains(np.ascontiguousarray(on_host(x), dtype=np.float64))

    def __repr__(self) -> str:
        return f"Problem({self.name!r}, coordinates={self.coordinates!r})"


def _toml(value: Any, name: str, functions: list[_Function]) -> str:
    """The value `name` of a problem file, in which a callable is its index in `functions`, to which it is added."""
    if callable(value):
        functions.append(_Function(value, name))
        return f"{{ function = {len(functions) - 1} }}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        if not math.isfinite(value):
            raise ValueError(f"a problem has the number {value}, which is not finite")
        return repr(float(value))
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    if isinstance(value, dict):
        entries = (
            f"{_toml(str(key), name, functions)} = {_toml(entry, f'{name}.{key}', functions)}"
            for key, entry in value.items()
        )
        return "{ " + ", ".join(entries) + " }"
    if isinstance(value, (list, tuple, np.ndarray)):
        return "[" + ", ".join(_toml(entry, f"{name}[{at}]", functions) for at, entry in enumerate(value)) + "]"
    kind = type(value).__name__
    raise ValueError(f"{name} is of type {kind}: give a number, a string, a callable, a list or a dictionary")


class _Function:
    """A callable of points whose values are checked."""

    def __init__(self, function: Callable[[np.ndarray], Any], name: str) -> None:
        self.function = function
        self.name = name

    def __call__(self, points: np.ndarray) -> np.ndarray:
        found = on_host(self.function(points))
        if found is None or np.iscomplexobj(found):
            kind = "nothing" if found is None else "complex numbers"
            raise ValueError(f"the function {self.name} returned {kind}: return one number a point")
        if isinstance(found, np.ma.MaskedArray):
            found = found.astype(np.float64).filled(np.nan)
        values = np.asarray(found, dtype=np.float64)
        if values.ndim == 0:
            return np.full(len(points), values)
        if values.shape != (len(points),):
            expected = f"one value a point, of shape ({len(points)},)"
            raise ValueError(f"the function {self.name} returned shape {values.shape}: return {expected}")
        return np.ascontiguousarray(values)


class Solution:
    """A solution u: a sum of Gaussians, with its derivatives. It pickles with its problem, whose callables must pickle.

    Attributes
    ----------
    resolved : bool or None
        Whether the estimate of the error is at most the target; None in the mode paper.
    estimate : float or None
        Estimate of the relative L2 error.
    relative_l2 : float or None
        Relative L2 error, if the exact solution is known.
    n_neurons : int
        Gaussians of the network.
    """

    def __init__(self, function: Any, problem: Problem, result: dict[str, Any]) -> None:
        self._function = function
        self._problem = problem
        self.n_neurons = function.neurons
        self.resolved = result.pop("resolved", None)
        self.estimate = result.pop("estimate", None)
        self.relative_l2 = result.pop("relative_l2", None)
        self.diagnostics = result
        self._fit: _report.Fit | None = None

    def __call__(self, x: Any) -> np.ndarray:
        """Values of shape (n,) at points of shape (n, d)."""
        return self.evaluate(x)

    def evaluate(self, x: Any) -> np.ndarray:
        """Values of shape (n,) at points of shape (n, d)."""
        return self._function.evaluate(self._points(x))

    def gradient(self, x: Any) -> np.ndarray:
        """Gradients of shape (n, d) at points of shape (n, d)."""
        return self._function.gradient(self._points(x))

    def laplacian(self, x: Any) -> np.ndarray:
        """Laplacians of shape (n,) at points of shape (n, d)."""
        return self._function.laplacian(self._points(x))

    @property
    def coordinates(self) -> list[str]:
        """Names of the coordinates."""
        return self._problem.coordinates

    @property
    def bounds(self) -> tuple[list[float], list[float]]:
        """Least and largest coordinates of the domain."""
        return self._problem.bounds

    def contains(self, x: Any) -> np.ndarray:
        """Whether points of shape (n, d) are in the domain, shape (n,)."""
        return self._problem.contains(self._points(x))

    def plot(self, ax: Any = None) -> Any:
        """Draws u over its domain, of one or two dimensions. Returns Matplotlib's axes."""
        return plots.heat_map(self, ax)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes an interactive report: one HTML file that opens in a browser, without a network.

        Raises
        ------
        ValueError
            If the solution was loaded from a pickle, which has no report.
        """
        _report.write(path, self._page())

    def _page(self) -> str:
        if getattr(self, "_fit", None) is None:
            raise ValueError("there is no report: pickles of a solution do not have it. Solve the problem")
        error = self.estimate if self.relative_l2 is None else self.relative_l2
        known = "estimate of the relative L2 error" if self.relative_l2 is None else "relative L2 error"
        shown = "" if error is None else f", {known} {error:.1e}"
        resolved = "not resolved: " if self.resolved is False else ""
        return self._fit.page(f"{resolved}{self.n_neurons} neurons{shown}", name=self._problem.name)

    def _repr_html_(self) -> str:
        figures = {"neurons": self.n_neurons, "estimate of the error": self.estimate, "error": self.relative_l2}
        figures = {name: value for name, value in figures.items() if value is not None}
        return _report.as_html(self, figures, self.plot if len(self.coordinates) <= 2 else None)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_function": self._function.networks, "_fit": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._function = self._problem._parsed.restored(state["_function"])

    def _points(self, x: Any) -> np.ndarray:
        x = np.ascontiguousarray(on_host(x))
        if x.dtype not in FLOATS:
            x = x.astype(np.float64)
        return x.reshape(-1, self._function.dims) if x.ndim == 1 else x

    def __repr__(self) -> str:
        figures = {"n_neurons": self.n_neurons, "estimate": self.estimate, "relative_l2": self.relative_l2}
        return f"Solution({', '.join(f'{name}={value}' for name, value in figures.items() if value is not None)})"


class RBFSolver:
    """Solves a partial differential equation without a mesh.

    Parameters
    ----------
    mode : {"auto", "paper"}, default="auto"
        ``"auto"`` grows a network until the estimate of its error is at most `target_error`; ``"paper"`` is the paper's
        network of given size.
    target_error : float, default=1e-6
        Relative L2 error of the solution.
    max_neurons : int, default=4096
        Most neurons of the network that grows.
    neurons : int, optional
        Neurons of the network.
    width : float, optional
        Width of the Gaussians, in sides of their cells.
    time_limit : float, optional
        Seconds after which the solver ends with what it has.
    options : dict, optional
        Further parameters of ``mode="paper"``, by the names of the command's report, such as ``{"shape": "lm"}``.
    random_state, backend, precision, n_jobs, memory_limit, verbose
        As of :class:`firebox.OCNN`.

    Examples
    --------
    >>> from firebox import Problem, RBFSolver
    >>> u = RBFSolver().solve(Problem.named("poisson-sine"))
    >>> u.resolved, u.relative_l2 < 1e-6
    (True, True)
    """

    #: Parameters of both modes by their names in Rust.
    _options = {"neurons": "neurons", "width": "width", "time_limit": "time_limit"}

    def __init__(
        self,
        *,
        mode: str = "auto",
        target_error: float = 1e-6,
        max_neurons: int = 4096,
        neurons: int | None = None,
        width: float | None = None,
        time_limit: float | None = None,
        options: dict[str, Any] | None = None,
        random_state: Any = 0,
        backend: str = "auto",
        precision: str = "float32",
        n_jobs: int | None = None,
        memory_limit: int | None = None,
        verbose: bool = False,
    ) -> None:
        if mode not in ("auto", "paper"):
            raise ValueError(f"mode = {mode!r}: must be 'auto' or 'paper'")
        if mode == "auto" and options:
            raise ValueError("options are for mode = 'paper': leave them out")
        self.mode = mode
        self.target_error = target_error
        self.max_neurons = max_neurons
        self.neurons = neurons
        self.width = width
        self.time_limit = time_limit
        self.options = options
        self.random_state = random_state
        self.backend = backend
        self.precision = precision
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.verbose = verbose

    def solve(self, problem: Problem) -> Solution:
        """Solves a problem.

        Raises
        ------
        ValueError
            For a parameter out of its range, or a problem that is not finite somewhere.
        RuntimeError
            If there is no solution, for instance within the time limit.
        Exception
            That of a callable of the problem.

        Notes
        -----
        A network that does not reach `target_error` is a :class:`firebox.FireboxWarning`, and ``resolved`` is False.
        """
        if self.mode == "auto":
            solve = problem._parsed.solve_adaptive
            own = {"target_error": self.target_error, "max_neurons": self.max_neurons}
        else:
            solve, own = problem._parsed.solve_paper, self.options or {}
        options = options_of(self, **own)
        with Run(self, self.random_state) as run:
            result, function, report = solve(run, options)
            fit = _report.Fit(run, report, self, f"{_report.constructor_of(self)}.solve(problem)")
        solution = Solution(function, problem, dict(result))
        solution._fit = fit
        if solution.resolved is False:
            text = f"not resolved: the estimate of the error is {solution.estimate:.1e}, above {self.target_error:.1e}"
            warnings.warn(text, FireboxWarning, stacklevel=2)
        return solution
