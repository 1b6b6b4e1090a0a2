"""The same results as the command, from the same rows and seed."""

from __future__ import annotations

import json

import numpy as np
import pytest

import firebox


@pytest.mark.parametrize("seed", [0, 7])
def test_clusters(program, target, tmp_path, seed):
    file, points, _ = target
    out = tmp_path / "clusters.npy"
    program("ocnn", file, "--label", "label", "--seed", seed, "-o", out)
    ocnn = firebox.OCNN(backend="ndarray", random_state=seed).fit(points)
    assert np.array_equal(ocnn.labels_, np.load(out).ravel())


def test_map(program, target, tmp_path):
    file, points, _ = target
    out, report = tmp_path / "map.npy", tmp_path / "report.json"
    program("sammon", file, "--drop", "label", "--seed", 3, "-o", out, "--report", report)
    sammon = firebox.Sammon(backend="ndarray", random_state=3).fit(points)
    assert np.array_equal(sammon.embedding_, np.load(out))
    assert sammon.stress_ == json.loads(report.read_text())["result"]["stress"]
    assert sammon.stress_error_ == 0 and sammon.point_stress_.shape == (len(points),)


def test_network(program, target, tmp_path):
    file, points, classes = target
    model, out = tmp_path / "model.safetensors", tmp_path / "predicted.npy"
    program("perceptron", "train", file, "--label", "label", "--seed", 5, "--test", 0, "-m", model)
    program("predict", file, "--drop", "label", "--model", model, "-o", out)
    network = firebox.MLPClassifier(backend="ndarray", random_state=5).fit(points, classes)
    assert np.array_equal(network.predict(points), np.load(out).ravel())


def test_solution(program, tmp_path):
    report = tmp_path / "report.json"
    program("rbf", "--problem", "poisson-disc", "--seed", 2, "--report", report)
    solution = firebox.RBFSolver(backend="ndarray", random_state=2).solve(firebox.Problem.named("poisson-disc"))
    result = json.loads(report.read_text())["result"]
    assert solution.estimate == result["estimate"]
