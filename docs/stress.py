"""Stress of maps with the default settings of firebox sammon, above the best of ten starts.

python3 docs/stress.py FIREBOX SEED

FIREBOX is the program. SEED draws the points, and is that of the program. The ten starts are that of the default and nine
random ones, each run by itself to a tolerance of 1e-7.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def heavy_tails(random):
    """600 points of 8 columns of t-distributed numbers with 1.5 degrees of freedom."""
    return random.standard_t(1.5, (600, 8)), []


def outlier(random):
    """599 normal points of 5 columns, and one at 1e6."""
    return np.vstack([random.normal(size=(599, 5)), np.full(5, 1e6)]), []


def pairs(random):
    """30 pairs of normal points of 5 columns, 1e-4 apart."""
    first = random.normal(size=(30, 5))
    return np.vstack([first, first + 1e-4 * random.normal(size=first.shape)]), []


def missing(random):
    """Distances of 300 normal points of 5 columns, of which 30 % are missing."""
    points = random.normal(size=(300, 5))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    is_missing = np.triu(random.random(distances.shape) < 0.3, 1)
    distances[is_missing | is_missing.T] = np.nan
    return distances, ["--metric", "precomputed"]


def wine(_):
    """The wines of scikit-learn, standardised, to one dimension."""
    from sklearn.datasets import load_wine

    points = load_wine().data
    return (points - points.mean(0)) / points.std(0), ["--dims", "1"]


def digits(_):
    """The handwritten digits of scikit-learn."""
    from sklearn.datasets import load_digits

    return load_digits().data, []


def main(program, seed):
    for of in heavy_tails, outlier, pairs, missing, wine, digits:
        values, options = of(np.random.default_rng(int(seed)))
        with tempfile.TemporaryDirectory() as folder:
            table, report = f"{folder}/rows.npy", f"{folder}/report.json"
            np.save(table, values)

            def stress(*more):
                command = [program, "sammon", table, *options, *more, "--report", report, "--quiet"]
                start = time.time()
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
                return json.loads(Path(report).read_text())["result"]["stress"], time.time() - start

            own, seconds = stress("--seed", seed)
            alone = ["--restarts", "0", "--tolerance", "1e-7", "--no-quality"]
            starts = [["--start", "random", "--seed", str(start)] for start in range(9)]
            best = min(stress(*start, *alone)[0] for start in [["--seed", seed], *starts])
        print(f"{of.__name__}: E {own:.6g}, {100 * (own / best - 1):+.3f} % of the best of ten, {seconds:.2f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
