"""The example scripts run, and print what they promise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize(
    ("name", "printed"),
    [("clusters", "clusters,"), ("map", "stress 0.11"), ("network", "accuracy"), ("equation", "du/dx")],
)
def test_example(name, printed):
    script = EXAMPLES / f"{name}.py"
    result = subprocess.run([sys.executable, script], check=True, capture_output=True, text=True)
    assert printed in result.stdout
