"""Clusters, maps, equations and perceptrons by published neural methods.

``OCNN`` clusters, ``Sammon`` maps to few dimensions, ``MLPClassifier`` and ``MLPRegressor`` learn classes and numbers: they are
scikit-learn estimators. ``RBFSolver`` solves the partial differential equation of a ``Problem``. All compute in Rust, on
the CPU or on a GPU, with the same bits for the same seed, backend and device.
"""

from ._compute import FireboxWarning
from ._data import as_kind
from ._firebox import __version__, backends
from .ocnn import OCNN
from .pde import RBFSolver, Solution
from .perceptron import MLPClassifier, MLPRegressor
from .problem import Problem
from .sammon import Sammon

__all__ = [
    "OCNN",
    "FireboxWarning",
    "MLPClassifier",
    "MLPRegressor",
    "Problem",
    "RBFSolver",
    "Sammon",
    "Solution",
    "__version__",
    "as_kind",
    "backends",
]
