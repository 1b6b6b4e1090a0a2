"""Partial differential equations, their domains and their conditions."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _firebox
from ._data import on_host


class Problem:
    """Partial differential equations of second order, linear or not, on a domain with boundary conditions.

    The tables are those of a problem file (TOML), as dictionaries. A function is a string such as ``"sin(x)*sin(y)"``, a
    number, or a callable that takes points of shape (n, d) and returns values of shape (n,): coefficients and right-hand
    sides of equations, values, coefficients and directions of boundary conditions, jumps, the exact solution, and the
    start of an iteration. Callables are called on the thread that solves, and Ctrl-C takes effect between their calls.

    Parameters
    ----------
    domain : dict
        ``{"type": "box", "low": [0, 0], "high": [1, 1]}``; also disc, ball, polygon, extrusion, union, intersection and
        difference.
    equation : dict or list of dict
        Coefficients of the derivatives, and the right-hand side: ``{"laplacian": 1, "rhs": "x*y"}``. Or a residual, a
        formula that is 0: ``{"residual": "u_t + u*u_x - 0.1*u_xx"}``. It is a string, and may be nonlinear. A list has an
        equation for each of several `unknowns`.
    boundary : list of dict, optional
        Conditions, of which the first that applies counts; one that never applies is an error:
        ``[{"condition": "dirichlet", "value": 0}]``. Of several unknowns, ``"of": "u"`` or ``"of": ["u", "v"]`` names those
        that a condition is for. It can be left out if `data` determine the solution.
    coordinates : list of str, optional
        Names of the coordinates; x, y, z by default.
    constants : dict, optional
        Constants of the expressions.
    exact : str, float or callable, or list of these, optional
        Exact solution, against which the error is measured; of several unknowns a list, then fields and parameters.
    initial : str, float or callable, or list of these, optional
        First u of the iteration for a nonlinear equation; 0 by default.
    continuation : dict, optional
        A constant with its values from an easier problem to this one, ``{"nu": [1, 0.1, 0.01]}``: the iteration with each starts from the
        solution before.
    unknown : str, default="u"
        Name of the solution in residuals and terms.
    unknowns : list of str, optional
        Names of the solutions of several equations, instead of `unknown`.
    parameters : dict, optional
        Numbers to find from `data`, with the values from which the iteration starts: ``{"D": 0.5}``.
    fields : dict, optional
        Functions to find from `data`, with their starts: ``{"a": 1}`` for a function of all coordinates, ``{"a(x)": 1}`` for one
        of some.
    data : list of dict, optional
        Measured values: ``{"x": points, "values": values}`` of shapes (n, d) and (n,); ``"of"`` names the unknown, the first by
        default, and ``"noise"`` is the standard deviation of the values' noise, estimated by default.
    region : list of dict, optional
        Parts of the domain with equations of their own.
    time : dict, optional
        Slabs of time, ``{"slabs": "auto"}``.
    name : str, optional

    Raises
    ------
    ValueError
        For a problem that is not complete or that names something unknown, for `initial` if all equations are linear, and for
        both `unknown` and `unknowns`.

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
        equation: dict[str, Any] | list[dict[str, Any]],
        boundary: list[dict[str, Any]] | None = None,
        *,
        coordinates: list[str] | None = None,
        constants: dict[str, Any] | None = None,
        exact: Any = None,
        initial: Any = None,
        continuation: dict[str, list[Any]] | None = None,
        unknown: str = "u",
        unknowns: list[str] | None = None,
        parameters: dict[str, float] | None = None,
        fields: dict[str, Any] | None = None,
        data: list[dict[str, Any]] | None = None,
        region: list[dict[str, Any]] | None = None,
        time: dict[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        if coordinates is None and isinstance(domain.get("low"), (list, tuple)):
            dims: int | None = len(domain["low"])
        else:
            dims = None
        if unknowns is None:
            names = [unknown]
        elif unknown != "u":
            raise ValueError("unknown and unknowns exclude each other: name all solutions in unknowns")
        elif not unknowns:
            raise ValueError("unknowns is empty: name the solutions, or leave it out")
        else:
            names = list(unknowns)
        if data is not None and not (isinstance(data, (list, tuple)) and all(isinstance(it, dict) for it in data)):
            raise ValueError("data is not a list of dictionaries: give data=[{'x': points, 'values': values}]")
        if boundary is None and not data:
            raise ValueError("there is no boundary condition: give boundary, or data that determine the solution")
        tables = {
            "name": name,
            "dims": dims,
            "coordinates": coordinates,
            "unknowns": None if names == ["u"] else names,
            "parameters": parameters,
            "fields": fields,
            "exact": exact,
            "initial": initial,
            "continuation": continuation,
            "constants": constants,
            "domain": domain,
            "equation": equation,
            "boundary": [] if boundary is None else boundary,
            "region": region,
            "time": time,
        }
        given = {key: value for key, value in tables.items() if value is not None}
        functions: list[_Function] = []
        text = "\n".join(f"{key} = {_toml(value, key, functions)}" for key, value in given.items())
        measured = [_measured(entry, f"data[{at}]", names) for at, entry in enumerate(data or [])]
        self._parsed = _firebox.RbfProblem.parse(text, functions, measured)

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
        """A built-in problem, one of ``Problem.names()``."""
        return cls._of(_firebox.RbfProblem.named(name))

    @staticmethod
    def names() -> list[str]:
        """Names of the built-in problems."""
        return list(_firebox.RbfProblem.names())

    @property
    def name(self) -> str:
        """Name of the problem."""
        return self._parsed.name

    @property
    def unknowns(self) -> list[str]:
        """Names of the unknowns that are functions of the coordinates: solutions, then fields."""
        return self._parsed.functions

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


def _measured(entry: dict[str, Any], name: str, unknowns: list[str]) -> _firebox.Measured:
    """The unknown, the points, the values and the noise of an entry of `data`."""
    if other := next((key for key in entry if key not in ("of", "x", "values", "noise")), None):
        raise ValueError(f"{name} has no key {other!r}: give x, values, of and noise")
    if missing := next((key for key in ("x", "values") if key not in entry), None):
        raise ValueError(f"{name} has no key {missing!r}: give x of shape (n, d) and values of shape (n,)")
    if "of" not in entry and len(unknowns) > 1:
        raise ValueError(f"{name} has no key 'of': name the unknown, one of {', '.join(unknowns)}")
    points = np.ascontiguousarray(_floats(entry["x"], f"x of {name} is"))
    values = np.ascontiguousarray(_floats(entry["values"], f"values of {name} are"))
    points = points[:, np.newaxis] if points.ndim == 1 else points
    if values.ndim != 1 or points.ndim != 2 or len(points) != len(values):
        raise ValueError(f"{name} has x of shape {points.shape} and values of shape {values.shape}: give (n, d) and (n,)")
    noise = entry.get("noise")
    return str(entry.get("of", unknowns[0])), points, values, None if noise is None else float(noise)


def _floats(found: Any, what: str) -> np.ndarray:
    """An array of floats, in which masked entries are NaN; `what` begins the error for other values."""
    found = on_host(found)
    if found is None or np.iscomplexobj(found):
        raise ValueError(f"{what} {'nothing' if found is None else 'complex numbers'}: give real numbers")
    if isinstance(found, np.ma.MaskedArray):
        found = found.astype(np.float64).filled(np.nan)
    return np.asarray(found, dtype=np.float64)


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
        values = _floats(self.function(points), f"the function {self.name} returned")
        if values.ndim == 0:
            return np.full(len(points), values)
        if values.shape != (len(points),):
            expected = f"one value a point, of shape ({len(points)},)"
            raise ValueError(f"the function {self.name} returned shape {values.shape}: return {expected}")
        return np.ascontiguousarray(values)
