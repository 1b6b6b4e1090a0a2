"""Learns the handwritten digits, and shows the rows that it is least sure of."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from firebox import MLPClassifier

X, y = load_digits(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
network = MLPClassifier().fit(X, y)
print(f"accuracy on rows kept aside: {network.score(X_test, y_test):.3f}")
confidence = network.predict_proba(X_test).max(axis=1)
for row in np.argsort(confidence)[:5]:
    predicted = network.predict(X_test[row : row + 1])[0]
    print(f"row {row}: {predicted} with probability {confidence[row]:.2f}, in truth {y_test[row]}")
