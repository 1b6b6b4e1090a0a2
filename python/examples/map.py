"""Maps the handwritten digits to the plane, and places rows that the map has not seen."""

from sklearn.datasets import load_digits

from firebox import Sammon

X, _ = load_digits(return_X_y=True)
sammon = Sammon().fit(X[:-10])
print(f"stress {sammon.stress_:.4f}, trustworthiness {sammon.trustworthiness_:.3f}")
print("places of ten more rows:")
print(sammon.transform(X[-10:]).round(2))
