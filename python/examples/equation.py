"""Solves Poisson's equation on a plate with a hole, and prints the solution and its slope along a line."""

import numpy as np

from firebox import Problem, RBFSolver

problem = Problem(
    domain={
        "type": "difference",
        "parts": [
            {"type": "box", "name": "plate", "low": [-1, -1], "high": [1, 1]},
            {"type": "disc", "name": "hole", "centre": [0, 0], "radius": 0.3},
        ],
    },
    equation={"laplacian": 1, "rhs": 0},
    boundary=[
        {"on": "hole", "condition": "dirichlet", "value": 1},
        {"condition": "dirichlet", "value": "x"},
    ],
)
u = RBFSolver(target_error=1e-5).solve(problem)
print(u)
points = np.column_stack([np.linspace(0.3, 1, 8), np.zeros(8)])
for (x, _), value, (slope, _) in zip(points, u(points), u.gradient(points)):
    print(f"x = {x:.1f}: u = {value:.4f}, du/dx = {slope:.4f}")
