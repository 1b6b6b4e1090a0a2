#!/usr/bin/env python3
"""Draws errors of RBF networks against their estimates, at every level of the automatic mode.

    firebox rbf --problem peak --backend ndarray --report reports/peak.json -o peak.csv
    python3 docs/estimates.py estimates.svg reports/*.json

Reads the reports of runs with a known exact solution, writes a plot, and prints the number of levels, the largest error over
its estimate, and the levels where that exceeds 2. An estimate of 1 states that the error may be as large as the solution,
so that such levels are drawn and not judged.
"""

import json
import math
import sys

LOW, HIGH = -11, 1
SIDE, MARGIN = 480, 60


def levels(report):
    """Pairs of estimate and error of a report's levels.

    >>> levels({"result": {"levels": [{"estimate": 0.1, "error": 0.01}, {"estimate": 1.0, "error": None}]}})
    [(0.1, 0.01)]
    """
    return [(it["estimate"], it["error"]) for it in report["result"]["levels"] if it.get("error")]


def place(value):
    """Position of a value on an axis from LOW to HIGH decades, in [0, 1].

    >>> place(10.0**LOW), place(1e99)
    (0.0, 1.0)
    """
    return min(max((math.log10(value) - LOW) / (HIGH - LOW), 0.0), 1.0)


def plot(pairs):
    """The plot as SVG."""
    x = lambda value: MARGIN + SIDE * place(value)
    y = lambda value: MARGIN / 2 + SIDE * (1 - place(value))
    size = SIDE + 1.5 * MARGIN
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{size}" height="{size}" font-family="sans-serif" font-size="12">']
    out.append(f'<rect width="{size}" height="{size}" fill="#FFFFFF"/>')
    for decade in range(LOW, HIGH + 1, 2):
        value, label = 10.0**decade, f'1e{decade}' if decade else "1"
        out.append(f'<path d="M{x(value):.1f} {y(10.0**LOW):.1f}V{y(10.0**HIGH):.1f}M{x(10.0**LOW):.1f} {y(value):.1f}H{x(10.0**HIGH):.1f}" stroke="#DDDDDD"/>')
        out.append(f'<text x="{x(value):.1f}" y="{y(10.0**LOW) + 16:.1f}" text-anchor="middle">{label}</text>')
        out.append(f'<text x="{MARGIN - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{label}</text>')
    for factor, dash in ((1, ""), (2, ' stroke-dasharray="5 4"')):
        ends = [(10.0**LOW, factor * 10.0**LOW), (10.0**HIGH / factor, 10.0**HIGH)]
        line = "L".join(f"{x(a):.1f} {y(b):.1f}" for a, b in ends)
        out.append(f'<path d="M{line}" stroke="#888888" fill="none"{dash}/>')
    for estimate, error in pairs:
        out.append(f'<circle cx="{x(estimate):.1f}" cy="{y(error):.1f}" r="2.5" fill="#0072B2" fill-opacity="0.6"/>')
    out.append(f'<text x="{MARGIN + SIDE / 2}" y="{size - 22}" text-anchor="middle">estimate of the relative L2 error</text>')
    out.append(f'<text transform="translate(14 {MARGIN / 2 + SIDE / 2}) rotate(-90)" text-anchor="middle">relative L2 error</text>')
    out.append(f'<text x="{x(2e-11):.1f}" y="{y(1.0):.1f}">error = 2 × estimate (dashed)</text>')
    return "\n".join(out + ["</svg>", ""])


def main(target, paths):
    pairs, worst = [], 0.0
    for path in paths:
        with open(path, encoding="utf-8") as file:
            found = levels(json.load(file))
        pairs += found
        for estimate, error in found:
            if estimate < 1:
                worst = max(worst, error / estimate)
                if error > 2 * estimate:
                    print(f"{path}: error {error:.1e}, estimate {estimate:.1e}")
    with open(target, "w", encoding="utf-8") as file:
        file.write(plot(pairs))
    print(f"{len(pairs)} levels of {len(paths)} runs, {sum(it[0] < 1 for it in pairs)} with an estimate below 1: the largest error over its estimate is {worst:.2f}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
