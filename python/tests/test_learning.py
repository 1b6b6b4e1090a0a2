"""Perceptrons and solutions."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import train_test_split

import firebox


def test_digits_are_learned():
    x, y = load_digits(return_X_y=True)
    train, test, y_train, y_test = train_test_split(x, y, test_size=0.2, random_state=0)
    network = firebox.MLPClassifier().fit(train, y_train)
    assert network.score(test, y_test) > 0.96
    assert np.allclose(network.predict_proba(test).sum(axis=1), 1)
    assert [weights.shape for weights in network.coefs_] == [(64, 128), (128, 64), (64, 10)]


def test_batches_are_learned_one_after_the_other():
    x, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    x, y = x[order], np.array(["a", "b", "c"])[y[order]]
    network = firebox.MLPClassifier((16,), batch_size=16)
    for _ in range(30):
        for rows in np.array_split(np.arange(len(x)), 3):
            network.partial_fit(x[rows], y[rows], classes=["a", "b", "c"])
    assert network.score(x, y) > 0.9
    numbers = firebox.MLPRegressor((16,), batch_size=16)
    for _ in range(60):
        numbers.partial_fit(x[:, :3], x[:, 3])
    assert numbers.score(x[:, :3], x[:, 3]) > 0.8


def test_rare_classes_have_weights():
    random = np.random.default_rng(0)
    x = np.concatenate([random.normal(0, 1, (950, 2)), random.normal(1.5, 1, (50, 2))])
    y = np.repeat([0, 1], [950, 50])
    plain, balanced, rare = (
        firebox.MLPClassifier((8,), class_weight=weight).fit(x, y).predict(x).mean()
        for weight in (None, "balanced", {0: 1.0, 1: 1e-6})
    )
    assert rare == 0 < balanced and plain < balanced


def test_several_numbers():
    x = np.random.default_rng(0).uniform(-2, 2, (600, 2))
    y = np.stack([np.sin(x[:, 0]), x[:, 0] * x[:, 1]], axis=1)
    assert firebox.MLPRegressor().fit(x, y).score(x, y) > 0.97
