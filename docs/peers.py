"""Figures of the README for the programs that people use now.

python3 docs/peers.py data         writes digits.csv, the handwritten digits of scikit-learn
python3 docs/peers.py clusters     scikit-learn's HDBSCAN
python3 docs/peers.py map          scikit-learn's MDS, as Sammon's stress E
python3 docs/peers.py perceptron   scikit-learn's MLPClassifier
python3 docs/peers.py equation     DeepXDE, with JAX: pip install deepxde jax flax optax
python3 docs/peers.py estimators   the same tasks by Firebox's Python package: pip install ./python
"""

import os
import sys
import time

import numpy as np


def timed(run):
    start = time.time()
    return run(), f"{time.time() - start:.2f} s"


def digits():
    from sklearn.datasets import load_digits

    return load_digits(return_X_y=True)


def data():
    points, classes = digits()
    names = ",".join(f"p{column}" for column in range(64)) + ",label"
    np.savetxt("digits.csv", np.c_[points, classes], fmt="%d", delimiter=",", header=names, comments="")


def clusters():
    from sklearn.cluster import HDBSCAN
    from sklearn.metrics import adjusted_rand_score

    points, classes = digits()
    for size in 5, 15:
        labels, seconds = timed(lambda: HDBSCAN(min_cluster_size=size, copy=True).fit_predict(points))
        print(f"HDBSCAN({size}): ARI {adjusted_rand_score(classes, labels):.4f}, {labels.max() + 1} clusters, {seconds}")


def map():
    from scipy.spatial.distance import pdist
    from sklearn.manifold import MDS

    points, _ = digits()
    source = pdist(points)
    for start, seed in [("classical_mds", 0), *(("random", seed) for seed in range(5))]:
        mds = MDS(n_components=2, n_init=1, init=start, random_state=seed)
        places, seconds = timed(lambda: mds.fit_transform(points))
        found = pdist(places)
        found *= found.sum() / (found**2 / source).sum()  # the scale of least E
        print(f"MDS from {start}, seed {seed}: E {((source - found) ** 2 / source).sum() / source.sum():.5f}, {seconds}")


def perceptron():
    from sklearn.model_selection import train_test_split
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    for name, scaling in ("as they are", []), ("scaled", [StandardScaler()]):
        scores = []
        for seed in range(5):
            points, test, classes, expected = train_test_split(*digits(), test_size=0.2, random_state=seed)
            model = make_pipeline(*scaling, MLPClassifier(random_state=seed))
            _, seconds = timed(lambda: model.fit(points, classes))
            scores.append(model.score(test, expected))
        print(f"MLPClassifier, columns {name}: mean accuracy {np.mean(scores):.4f}, the last in {seconds}")


def equation():
    os.environ["DDE_BACKEND"] = "jax"
    import deepxde as dde
    import jax.numpy as jnp

    dde.config.set_random_seed(0)

    def residual(x, u):
        second = [dde.grad.hessian(u, x, i=axis, j=axis)[0] for axis in (0, 1)]
        return second[0] + second[1] - jnp.sin(x[:, 0:1]) * jnp.sin(x[:, 1:2])

    square = dde.geometry.Rectangle([0, 0], [np.pi, np.pi])
    condition = dde.icbc.DirichletBC(square, lambda x: 0, lambda _, on: on)
    problem = dde.data.PDE(square, residual, condition, num_domain=1200, num_boundary=120)
    model = dde.Model(problem, dde.nn.FNN([2] + [32] * 3 + [1], "tanh", "Glorot uniform"))

    def train():
        for rate, steps in (1e-3, 15000), (1e-4, 5000):
            model.compile("adam", lr=rate)
            model.train(iterations=steps, display_every=5000)

    start = time.process_time()
    _, seconds = timed(train)
    processor = time.process_time() - start
    grid = np.linspace(0, np.pi, 101)
    points = np.stack(np.meshgrid(grid, grid), -1).reshape(-1, 2)
    exact = -0.5 * np.sin(points[:, 0:1]) * np.sin(points[:, 1:2])
    error = np.linalg.norm(model.predict(points) - exact) / np.linalg.norm(exact)
    print(f"DeepXDE: relative L2 error {error:.1e}, {seconds}, {processor:.0f} s of the processor")


def estimators():
    from firebox import OCNN, MLPClassifier, Problem, RBFSolver, Sammon
    from sklearn.metrics import adjusted_rand_score
    from sklearn.model_selection import train_test_split

    points, classes = digits()
    ocnn, seconds = timed(lambda: OCNN().fit(points))
    score = adjusted_rand_score(classes, ocnn.labels_)
    print(f"OCNN: ARI {score:.4f}, {ocnn.n_clusters_} clusters, {seconds}")
    sammon, seconds = timed(lambda: Sammon().fit(points))
    print(f"Sammon: E {sammon.stress_:.5f}, {seconds}")
    scores = []
    for seed in range(5):
        rows, test, targets, expected = train_test_split(points, classes, test_size=0.2, random_state=seed)
        model, seconds = timed(lambda: MLPClassifier(random_state=seed).fit(rows, targets))
        scores.append(model.score(test, expected))
    print(f"MLPClassifier: mean accuracy {np.mean(scores):.4f}, the last in {seconds}")
    solution, seconds = timed(lambda: RBFSolver().solve(Problem.named("poisson-sine")))
    print(f"RBFSolver: relative L2 error {solution.relative_l2:.1e}, estimated as {solution.estimate:.1e}, {seconds}")


if __name__ == "__main__":
    {run.__name__: run for run in (data, clusters, map, perceptron, equation, estimators)}[sys.argv[1]]()
