"""Input as arrays of NumPy, also of other libraries, and results as the kind of the input."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

#: Data types of arrays that are passed on without a conversion.
FLOATS = (np.float64, np.float32)


def validated(estimator: Any, X: Any, *y: Any, **checks: Any) -> Any:
    """`X`, or `X` and `y`, as contiguous arrays that scikit-learn has validated for `estimator`."""
    return validate_data(estimator, on_host(X), *map(on_host, y), dtype=FLOATS, order="C", **checks)


def on_host(X: Any) -> Any:
    """`X` as something that scikit-learn validates: an array of NumPy for arrays with DLPack or CUDA's array interface.

    Arrays in the host's memory are not copied.
    """
    if isinstance(X, np.ndarray) or hasattr(X, "__dataframe__") or hasattr(X, "iloc"):
        return X
    if hasattr(X, "detach"):  # Torch exports no tensor that records gradients.
        X = X.detach()
    if hasattr(X, "__dlpack_device__"):
        try:
            return np.from_dlpack(X)
        except (BufferError, RuntimeError, TypeError):
            pass  # On a device, or of a kind that NumPy lacks.
    for copy in ("cpu", "get"):  # Torch, CuPy.
        if hasattr(X, "__cuda_array_interface__") and hasattr(X, copy):
            return np.asarray(getattr(X, copy)())
    if hasattr(X, "__cuda_array_interface__") and not hasattr(X, "__array__"):
        try:
            import cupy
        except ImportError:
            raise ValueError("the array is on a CUDA device: copy it to the host, or install CuPy") from None
        return cupy.asnumpy(cupy.asarray(X))
    return X


def as_kind(values: np.ndarray, like: Any) -> Any:
    """Results as the kind of the input they belong to.

    Parameters
    ----------
    values : ndarray of shape (n,) or (n, k)
        Such as ``labels_`` or ``embedding_``.
    like : array or frame of n rows
        The input.

    Returns
    -------
    values
        A Series or a DataFrame with the index of a pandas frame, one of polars, a tensor of Torch or an array of CuPy on
        the same device; for any other input ``values`` itself.

    Examples
    --------
    >>> import pandas as pd
    >>> from firebox import OCNN, as_kind
    >>> frame = pd.DataFrame({"x": [0.0, 0.1, 9.0, 9.1]}, index=["a", "b", "c", "d"])
    >>> as_kind(OCNN(n_clusters=2).fit_predict(frame), frame)["a"] == 0
    True
    """
    library = type(like).__module__.split(".")[0]
    if library == "pandas":
        import pandas

        return (pandas.Series if values.ndim == 1 else pandas.DataFrame)(values, index=like.index)
    if library == "polars":
        import polars

        return polars.Series(values) if values.ndim == 1 else polars.DataFrame(values)
    if library == "torch":
        import torch

        return torch.tensor(values, device=like.device)
    if library == "cupy":
        import cupy

        with like.device:
            return cupy.asarray(values)
    return values
