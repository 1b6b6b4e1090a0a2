from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="session")
def program():
    """Runs the command firebox, which FIREBOX_PROGRAM names, on the CPU."""
    path = os.environ.get("FIREBOX_PROGRAM")
    if path is None:
        pytest.skip("FIREBOX_PROGRAM does not name the command firebox")

    def run(*args: object) -> str:
        command = [path, *map(str, args), "--backend", "ndarray", "--quiet"]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    return run


@pytest.fixture(scope="session")
def target():
    """The set Target: 770 points in six classes."""
    file = Path(__file__).parents[2] / "examples/data/target.csv"
    table = np.loadtxt(file, delimiter=",", skiprows=1)
    return file, np.ascontiguousarray(table[:, :2]), table[:, 2].astype(int)
