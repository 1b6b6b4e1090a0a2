"""Solutions of partial differential equations without a mesh, by networks of Gaussians."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _report, plots
from ._compute import FireboxWarning, Run, options_of
from ._data import FLOATS, on_host
from .problem import Problem


class _Evaluated:
    """Functions over the domain of a problem."""

    _problem: Problem

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

    def _points(self, x: Any) -> np.ndarray:
        x = np.ascontiguousarray(on_host(x))
        if x.dtype not in FLOATS:
            x = x.astype(np.float64)
        return x.reshape(-1, len(self.coordinates)) if x.ndim == 1 else x


class Component(_Evaluated):
    """One unknown of a solution: a sum of Gaussians, with its derivatives.

    Attributes
    ----------
    name : str
        Name of the unknown.
    relative_l2 : float or None
        Relative L2 error, if the exact solution is known.
    n_neurons : int
        Gaussians of the unknown.
    """

    def __init__(self, name: str, function: Any, problem: Problem, relative_l2: float | None) -> None:
        self.name = name
        self.relative_l2 = relative_l2
        self.n_neurons = function.neurons
        self._function = function
        self._problem = problem

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

    def plot(self, ax: Any = None) -> Any:
        """Draws the unknown over its domain, of one or two dimensions. Returns Matplotlib's axes."""
        return plots.heat_map(self, self.name, ax)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_function": self._function.networks}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._function = self._problem._parsed.restored(state["_function"])

    def __repr__(self) -> str:
        error = "" if self.relative_l2 is None else f", relative_l2={self.relative_l2}"
        return f"Component({self.name!r}, n_neurons={self.n_neurons}{error})"


class Solution(_Evaluated):
    """A solution: a sum of Gaussians for each unknown, with its derivatives. It pickles with its problem, whose callables must
    pickle.

    Values have an axis of unknowns after that of points if there are several; ``solution["u"]`` is one of them, a
    :class:`Component`, and iteration gives their names.

    Attributes
    ----------
    unknowns : list of str
        Names of the unknowns that are functions: solutions, then fields.
    resolved : bool or None
        Whether the estimate of the error is at most the target, or above it by the noise of data only; None in the mode paper.
    estimate : float or None
        Estimate of the relative L2 error of all unknowns.
    relative_l2 : float or None
        Relative L2 error of all unknowns, if the exact solution is known.
    parameters, standard_errors : dict of str to float
        Numbers that were found from data, and the standard deviations of their errors.
    noise : list of float
        Standard deviation of the noise of each entry of data.
    n_neurons : int
        Gaussians of the network.
    """

    def __init__(self, functions: list[Any], problem: Problem, result: dict[str, Any]) -> None:
        self._functions = functions
        self._problem = problem
        self.unknowns = problem.unknowns
        self.n_neurons = sum(function.neurons for function in functions)
        self.resolved = result.pop("resolved", None)
        self.estimate = result.pop("estimate", None)
        self.relative_l2 = result.pop("relative_l2", None)
        self._errors = result.pop("relative_l2_each", None) or [self.relative_l2] * len(functions)
        numbers = result.pop("numbers", [])
        self.parameters = {name: value for name, value, _ in numbers}
        self.standard_errors = {name: error for name, _, error in numbers}
        self.noise = result.pop("noise", [])
        self.diagnostics = result
        self._fit: _report.Fit | None = None

    def __getitem__(self, unknown: str) -> Component:
        """One unknown."""
        if unknown not in self.unknowns:
            raise KeyError(f"there is no unknown {unknown!r}: give one of {', '.join(self.unknowns)}")
        at = self.unknowns.index(unknown)
        return Component(unknown, self._functions[at], self._problem, self._errors[at])

    def __iter__(self) -> Iterator[str]:
        return iter(self.unknowns)

    def __contains__(self, unknown: object) -> bool:
        return unknown in self.unknowns

    def __call__(self, x: Any) -> np.ndarray:
        """Values of shape (n,), or (n, k) of k unknowns, at points of shape (n, d)."""
        return self.evaluate(x)

    def evaluate(self, x: Any) -> np.ndarray:
        """Values of shape (n,), or (n, k) of k unknowns, at points of shape (n, d)."""
        return self._each("evaluate", x)

    def gradient(self, x: Any) -> np.ndarray:
        """Gradients of shape (n, d), or (n, k, d) of k unknowns, at points of shape (n, d)."""
        return self._each("gradient", x)

    def laplacian(self, x: Any) -> np.ndarray:
        """Laplacians of shape (n,), or (n, k) of k unknowns, at points of shape (n, d)."""
        return self._each("laplacian", x)

    def _each(self, of: str, x: Any) -> np.ndarray:
        points = self._points(x)
        values = [getattr(function, of)(points) for function in self._functions]
        return values[0] if len(values) == 1 else np.stack(values, axis=1)

    def plot(self, ax: Any = None) -> Any:
        """Draws the first unknown over its domain, of one or two dimensions. Returns Matplotlib's axes."""
        return self[self.unknowns[0]].plot(ax)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes an interactive report: one HTML file that opens in a browser, without a network.

        Raises
        ------
        ValueError
            If the solution was loaded from a pickle, or has several unknowns or parameters, and no report.
        """
        _report.write(path, self._page())

    def _page(self) -> str:
        if getattr(self, "_fit", None) is None:
            raise ValueError(
                "there is no report: pickles of a solution do not have it, nor have solutions of several unknowns or with "
                "parameters. Solve a problem of one unknown"
            )
        error = self.estimate if self.relative_l2 is None else self.relative_l2
        known = "estimate of the relative L2 error" if self.relative_l2 is None else "relative L2 error"
        shown = "" if error is None else f", {known} {error:.1e}"
        resolved = "not resolved: " if self.resolved is False else ""
        return self._fit.page(f"{resolved}{self.n_neurons} neurons{shown}", name=self._problem.name)

    def _repr_html_(self) -> str:
        figures = {"neurons": self.n_neurons, "estimate of the error": self.estimate, "error": self.relative_l2}
        figures = {name: value for name, value in figures.items() if value is not None}
        for name, value in self.parameters.items():
            figures[name] = f"{value:.4g} ± {self.standard_errors[name]:.1g}"
        return _report.as_html(self, figures, self.plot if len(self.coordinates) <= 2 else None)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_functions": [function.networks for function in self._functions], "_fit": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._functions = [self._problem._parsed.restored(networks) for networks in state["_functions"]]

    def __repr__(self) -> str:
        figures = {"n_neurons": self.n_neurons, "estimate": self.estimate, "relative_l2": self.relative_l2}
        figures |= self.parameters
        return f"Solution({', '.join(f'{name}={value}' for name, value in figures.items() if value is not None)})"


class RBFSolver:
    """Solves partial differential equations without a mesh.

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
            result, functions, report = solve(run, options)
            call = f"{_report.constructor_of(self)}.solve(problem)"
            fit = None if report is None else _report.Fit(run, report, self, call)
        solution = Solution(functions, problem, dict(result))
        solution._fit = fit
        if solution.resolved is False:
            text = f"not resolved: the estimate of the error is {solution.estimate:.1e}, above {self.target_error:.1e}"
            warnings.warn(text, FireboxWarning, stacklevel=2)
        return solution
