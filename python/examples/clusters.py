"""Clusters the handwritten digits without their number, and compares them with the true ones."""

from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from firebox import OCNN

X, y = load_digits(return_X_y=True)
ocnn = OCNN().fit(X)
print(f"{ocnn.n_clusters_} clusters, {(ocnn.labels_ == -1).sum()} points of noise")
print(f"adjusted Rand index with the true classes: {adjusted_rand_score(y, ocnn.labels_):.3f}")
print(f"probability of such clusters without structure: {ocnn.p_value_:.1g}")
