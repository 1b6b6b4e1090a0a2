"""The extension module, which the classes of ``firebox`` call."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__version__: str

def backends() -> list[dict[str, Any]]:
    """The backends and devices, each with its name, and its device or the reason why it is missing."""

class Run:
    backend: str
    device: str
    cuda_ordinal: int | None
    def __init__(
        self,
        backend: str = "auto",
        precision: str = "float32",
        seed: int = 0,
        memory_limit: int | None = None,
        threads: int | None = None,
        progress: Callable[[str, int, int], None] | None = None,
        notice: Callable[[str], None] | None = None,
    ) -> None: ...

class Report:
    seconds: float
    def render(
        self,
        about: str,
        name: str = "",
        x: NDArray[Any] | None = None,
        names: list[str] | None = None,
        columns: int = 2,
        y: list[int] | None = None,
        y_names: list[str] | None = None,
    ) -> str: ...

def write_page(path: str, page: str) -> None: ...

class OcnnModel:
    def predict(self, run: Run, x: NDArray[Any]) -> NDArray[np.int64]: ...
    def predict_sparse(
        self,
        run: Run,
        data: NDArray[np.float64],
        indices: NDArray[np.uint32],
        indptr: NDArray[np.int64],
        columns: int,
    ) -> NDArray[np.int64]: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> OcnnModel: ...

def fit_ocnn(
    run: Run,
    options: str,
    x: NDArray[Any],
    precomputed: bool = False,
    weights: NDArray[np.uint32] | None = None,
    names: list[str] | None = None,
) -> tuple[dict[str, Any], OcnnModel | None, Report]: ...
def fit_sparse_ocnn(
    run: Run,
    options: str,
    data: NDArray[np.float64],
    indices: NDArray[np.uint32],
    indptr: NDArray[np.int64],
    columns: int,
) -> tuple[dict[str, Any], OcnnModel, Report]: ...
def fit_paper_ocnn(run: Run, options: str, x: NDArray[Any]) -> tuple[NDArray[np.int64], float]: ...

class SammonModel:
    def transform(self, run: Run, x: NDArray[Any], precomputed: bool = False) -> NDArray[np.float64]: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> SammonModel: ...

def fit_sammon(
    run: Run,
    options: str,
    x: NDArray[Any],
    precomputed: bool = False,
    start: NDArray[Any] | None = None,
    names: list[str] | None = None,
) -> tuple[dict[str, Any], SammonModel, Report]: ...

class MlpTraining: ...

class Mlp:
    def report(
        self,
        run: Run,
        about: str,
        x: NDArray[Any],
        codes: NDArray[np.int64] | None = None,
        classes: list[str] | None = None,
        targets: NDArray[Any] | None = None,
        training: MlpTraining | None = None,
        names: list[str] | None = None,
    ) -> str: ...
    layers: list[tuple[NDArray[np.float64], list[float] | None]]
    outputs: int
    def predict(self, run: Run, x: NDArray[Any]) -> NDArray[np.float64]: ...
    def predict_on_device(self, run: Run, source: int, shape: tuple[int, int], target: int) -> None: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Mlp: ...

def fit_mlp(
    run: Run,
    options: str,
    x: NDArray[Any],
    codes: NDArray[np.int64] | None = None,
    n_classes: int = 0,
    targets: NDArray[Any] | None = None,
    class_weights: NDArray[np.float64] | None = None,
    initial: Mlp | None = None,
    names: list[str] | None = None,
) -> tuple[dict[str, Any], Mlp, MlpTraining]: ...

class RbfFunction:
    dims: int
    neurons: int
    networks: list[bytes]
    def evaluate(self, x: NDArray[Any]) -> NDArray[np.float64]: ...
    def gradient(self, x: NDArray[Any]) -> NDArray[np.float64]: ...
    def laplacian(self, x: NDArray[Any]) -> NDArray[np.float64]: ...

class _Function(Protocol):
    name: str
    def __call__(self, points: NDArray[np.float64]) -> NDArray[np.float64]: ...

#: The unknown, points, values and the standard deviation of their noise.
Measured = tuple[str, NDArray[np.float64], NDArray[np.float64], float | None]

class RbfProblem:
    name: str
    functions: list[str]
    coordinates: list[str]
    bounds: tuple[list[float], list[float]]
    @staticmethod
    def parse(
        text: str, functions: Sequence[_Function] = (), data: Sequence[Measured] = ()
    ) -> RbfProblem: ...
    @staticmethod
    def parse_file(text: str, path: str) -> RbfProblem: ...
    @staticmethod
    def read(path: str) -> RbfProblem: ...
    @staticmethod
    def named(name: str) -> RbfProblem: ...
    @staticmethod
    def names() -> list[str]: ...
    def contains(self, x: NDArray[np.float64]) -> NDArray[np.bool_]: ...
    def restored(self, networks: list[bytes]) -> RbfFunction: ...
    def solve_adaptive(self, run: Run, options: str) -> tuple[dict[str, Any], list[RbfFunction], Report | None]: ...
    def solve_paper(self, run: Run, options: str) -> tuple[dict[str, Any], list[RbfFunction], Report | None]: ...
