"""Threads, interrupts, progress, memory."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import firebox


def normal(*shape):
    return np.random.default_rng(0).normal(size=shape)


def test_an_interrupt_stops_a_fit_within_a_second():
    x = normal(20_000, 8)
    # Python ignores the signal if its parent does, as shells do for programs in the background.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    sent = []

    def interrupt():
        time.sleep(0.5)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            firebox.Sammon(tol=0, max_iter=100_000, time_limit=60).fit(x)
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - sent[0] < 1


def test_other_threads_run_meanwhile():
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    start = time.monotonic()
    firebox.OCNN().fit(normal(20_000, 4))
    took = time.monotonic() - start
    done.set()
    thread.join()
    assert counted[0] > 20 * took


def test_fits_in_several_threads_are_equal():
    x, labels = normal(2_000, 3), {}

    def fit(at):
        labels[at] = firebox.OCNN().fit_predict(x)

    threads = [threading.Thread(target=fit, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(labels[0], labels[at]) for at in range(4))


def test_the_number_of_threads_does_not_change_the_result():
    x = normal(3_000, 3)
    one, many = (firebox.OCNN(n_jobs=jobs).fit(x) for jobs in (1, 2))
    assert np.array_equal(one.linkage_, many.linkage_)


def test_progress_is_shown_and_logged(capsys, caplog):
    with caplog.at_level(logging.DEBUG, logger="firebox"):
        firebox.Sammon(verbose=True).fit(normal(200, 5))
    assert "Sammon" in capsys.readouterr().err
    assert any("Sammon" in record.getMessage() for record in caplog.records)


def test_notices_are_warnings():
    x = normal(300, 2)
    x[:, 1] *= 1e-6
    with pytest.warns(firebox.FireboxWarning):
        firebox.OCNN().fit(x)


def test_a_result_that_falls_short_is_a_warning():
    with pytest.warns(firebox.FireboxWarning, match="not resolved"):
        solution = firebox.RBFSolver(neurons=150).solve(firebox.Problem.named("wave-front"))
    assert solution.resolved is False


def test_prediction_does_not_copy_all_rows():
    code = """
import resource, numpy as np, firebox
x = np.zeros((1 << 21, 128), dtype=np.float32)
x[:, 0] = np.arange(len(x)) % 7
network = firebox.MLPClassifier((8,), max_iter=2, backend="ndarray").fit(x[:1000], x[:1000, 0] > 3)
x += 1
network.predict(x[:100_000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
network.predict(x)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20)
"""
    grown = float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
    # The rows are 1 GiB; their probabilities and classes 64 MiB.
    assert grown < 0.35, f"{grown} GiB"


def test_import_is_quick():
    code = """
import time, numpy, sklearn.base
import sklearn.utils.validation, sklearn.utils.multiclass
start = time.process_time()
import firebox
print(time.process_time() - start)
"""
    runs = [float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout) for _ in range(3)]
    assert min(runs) < 0.2, runs
