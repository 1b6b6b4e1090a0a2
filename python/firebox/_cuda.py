"""Rows in the memory of a CUDA device, by CUDA's array interface."""

from __future__ import annotations

from typing import Any, NamedTuple

import sklearn

from ._data import on_host

#: The type of CUDA's devices in DLPack.
_CUDA = 2


class CudaRows(NamedTuple):
    """Rows of 32-bit floats of Torch or CuPy, in C order."""

    array: Any
    ordinal: int
    address: int

    @classmethod
    def of(cls, X: Any) -> CudaRows | None:
        """`X` as rows on a device, or None for any other array."""
        if type(X).__module__.split(".")[0] not in ("torch", "cupy"):
            return None
        X = X.detach() if hasattr(X, "detach") else X
        kind, ordinal = X.__dlpack_device__()
        if kind != _CUDA:
            return None
        interface = X.__cuda_array_interface__
        is_dense = interface.get("strides") is None and len(interface["shape"]) == 2 and 0 not in interface["shape"]
        if interface["typestr"] != "<f4" or not is_dense or interface.get("mask") is not None:
            return None
        return cls(X, ordinal, interface["data"][0])

    def empty(self, columns: int) -> Any:
        """New rows of `columns` 32-bit floats on the device, as many as these."""
        shape = (len(self.array), columns)
        if hasattr(self.array, "new_empty"):
            return self.array.new_empty(shape)
        import cupy

        with self.array.device:
            return cupy.empty(shape, dtype=cupy.float32)


def stays_on_device() -> bool:
    """True if results are to be arrays of the input's library: scikit-learn's ``array_api_dispatch``."""
    return bool(sklearn.get_config()["array_api_dispatch"])


def as_requested(values: Any) -> Any:
    """Results on a device as they are if that is requested, else as an array of NumPy."""
    return values if stays_on_device() else on_host(values)
