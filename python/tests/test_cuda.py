"""Rows in the memory of a CUDA device, with Torch; skipped without one."""

import numpy as np
import pytest

import firebox

torch = pytest.importorskip("torch")
found = [entry for entry in firebox.backends() if entry["name"].startswith("cuda") and entry["device"]]
pytestmark = pytest.mark.skipif(not (found and torch.cuda.is_available()), reason="no CUDA device, or a wheel without CUDA")


@pytest.fixture(scope="module")
def blobs():
    """Rows of three classes around (0, 0), (8, 8) and (16, 16)."""
    classes = np.arange(300) % 3
    return np.random.default_rng(0).normal(size=(300, 2)) + 8.0 * classes[:, None], classes


@pytest.fixture(scope="module")
def network(blobs):
    return firebox.MLPClassifier((16,), backend="cuda").fit(*blobs)


def test_rows_on_a_device_are_predicted_there(network, blobs, monkeypatch):
    x = blobs[0].astype(np.float32)
    expected = network.predict_proba(x)
    rows = torch.tensor(x, device="cuda")
    monkeypatch.setattr(firebox.perceptron, "validated", None)  # The way through the host.
    assert np.abs(network.predict_proba(rows) - expected).max() < 1e-4
    assert np.array_equal(network.predict(rows), network.classes_[expected.argmax(axis=1)])


def test_results_stay_on_the_device_if_that_is_requested(network, blobs, monkeypatch):
    monkeypatch.setattr(firebox.perceptron, "stays_on_device", lambda: True)
    monkeypatch.setattr(firebox._cuda, "stays_on_device", lambda: True)
    rows = torch.tensor(blobs[0], dtype=torch.float32, device="cuda", requires_grad=True)
    labels, probabilities = network.predict(rows), network.predict_proba(rows)
    assert labels.device == probabilities.device == rows.device
    assert torch.equal(labels.cpu(), torch.tensor(network.predict(blobs[0])))
    regressor = firebox.MLPRegressor((16,), backend="cuda").fit(rows, rows[:, 0])
    assert regressor.predict(rows).device == rows.device


def test_other_rows_go_through_the_host(network, blobs):
    expected = network.predict_proba(blobs[0])
    wide = torch.tensor(blobs[0], device="cuda")
    for rows in (wide, wide.T.contiguous().T, wide.float()[::1, :].T.contiguous().T):
        assert np.abs(network.predict_proba(rows) - expected).max() < 1e-4
    spoilt = wide.float()
    spoilt[3, 1] = float("nan")
    with pytest.raises(ValueError, match="row 4"):
        network.predict(spoilt)
    with pytest.raises(ValueError, match="features"):
        network.predict(wide.float()[:, :1].contiguous())
