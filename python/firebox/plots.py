"""Plots of what was fitted, with Matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Colour of noise.
_NOISE = "#767676"
#: Leaves of a tree that is drawn; more are joined.
_LEAVES = 60
#: Points beyond which a file of vectors has them as one picture.
_MANY = 2000
#: Points of a side of a heat map.
_SIDE = 201


def axes(ax: Axes | None) -> Axes:
    """The given axes, or new ones."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plots need Matplotlib: pip install matplotlib") from None
    return plt.subplots(layout="constrained")[1]


def _colours(count: int) -> Any:
    """Colours that the colour-blind can tell apart, or for many an ordered map."""
    import matplotlib

    few = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#7f3c8d", "#999933"]
    return few if count <= len(few) else matplotlib.colormaps["turbo"](np.linspace(0.05, 0.95, count))


def scatter(places: np.ndarray, classes: Any, ax: Axes | None) -> Axes:
    """Points in the plane of two columns, or of the two principal axes of more, coloured by their class; -1 is noise."""
    ax = axes(ax)
    if places.shape[1] > 2:
        places, shares = _principal(places)
        for axis, name, share in zip((ax.xaxis, ax.yaxis), ("first", "second"), shares):
            axis.set_label_text(f"{name} principal axis ({share:.0%} of the variance)")
    x, y = places[:, 0], places[:, 1] if places.shape[1] > 1 else np.zeros(len(places))
    many = len(places) > _MANY
    if classes is None:
        ax.scatter(x, y, s=8, color=_colours(1)[0], rasterized=many)
    else:
        classes = np.asarray(classes)
        if classes.shape != (len(places),):
            raise ValueError(f"there are {classes.shape} classes for {len(places)} points")
        names = [name for name in np.unique(classes) if name != -1]
        if (classes == -1).any():
            ax.scatter(x[classes == -1], y[classes == -1], s=8, color=_NOISE, marker="x", label="noise", rasterized=many)
        for name, colour in zip(names, _colours(len(names))):
            own = classes == name
            ax.scatter(x[own], y[own], s=8, color=colour, label=str(name), rasterized=many)
        if len(names) <= 12:
            ax.legend(markerscale=2)
    ax.set_aspect("equal", adjustable="datalim")
    return ax


def _principal(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Places (n, 2) along the two axes of the largest variance, and their shares of it."""
    centred = places - places.mean(axis=0)
    variances, vectors = np.linalg.eigh(centred.T @ centred)
    return centred @ vectors[:, :-3:-1], variances[:-3:-1] / max(variances.sum(), np.finfo(float).tiny)


def tree(linkage: np.ndarray, labels: np.ndarray, ax: Axes | None) -> Axes:
    """The tree of a clustering; a branch whose points other than noise are of one cluster has its colour."""
    from scipy.cluster.hierarchy import dendrogram

    mixed = -2
    own = list(labels)
    for left, right in linkage[:, :2].astype(int):
        pair = {own[left], own[right]} - {-1}
        own.append(pair.pop() if len(pair) == 1 else (mixed if pair else -1))
    colours = _colours(int(labels.max()) + 1)

    def colour(node: int) -> str:
        import matplotlib.colors

        return matplotlib.colors.to_hex(colours[own[node]]) if own[node] >= 0 else _NOISE

    ax = axes(ax)
    dendrogram(linkage, p=_LEAVES, truncate_mode="lastp", link_color_func=colour, no_labels=True, ax=ax)
    ax.set_ylabel("1 - agreement")
    return ax


def curves(loss: np.ndarray, validation: np.ndarray | None, best: int, ax: Axes | None) -> Axes:
    """Losses of a training, and the pass whose network was kept."""
    ax = axes(ax)
    passes = np.arange(1, len(loss) + 1)
    first, second = _colours(2)[:2]
    ax.plot(passes, loss, color=first, label="training")
    if validation is not None:
        ax.plot(passes, validation, color=second, label="validation")
        ax.axvline(best, color=_NOISE, linestyle=":", label="kept")
    ax.set_yscale("log")
    ax.set_xlabel("pass")
    ax.set_ylabel("loss")
    ax.legend()
    return ax


def heat_map(solution: Any, name: str, ax: Axes | None) -> Axes:
    """A solution, called `name`, over its domain: a curve in one dimension, a heat map with contours in two."""
    low, high = solution.bounds
    if len(low) > 2:
        raise ValueError(f"a plot has one or two dimensions, and the solution {len(low)}: plot its values on a section")
    ax = axes(ax)
    lines = [np.linspace(start, end, _SIDE) for start, end in zip(low, high)]
    points = np.stack([axis.ravel() for axis in np.meshgrid(*lines)], axis=1)
    values = np.where(solution.contains(points), solution(points), np.nan)
    if len(low) == 1:
        ax.plot(lines[0], values, color=_colours(1)[0])
        ax.set(xlabel=solution.coordinates[0], ylabel=name)
        return ax
    values = np.ma.masked_invalid(values.reshape(_SIDE, _SIDE))
    # A mesh of vectors would be a file of tens of megabytes.
    mesh = ax.pcolormesh(*lines, values, shading="nearest", cmap="viridis", rasterized=True)
    ax.contour(*lines, values, levels=10, colors="white", linewidths=0.5)
    ax.figure.colorbar(mesh, ax=ax, label=name)
    ax.set(xlabel=solution.coordinates[0], ylabel=solution.coordinates[1], aspect="equal")
    return ax


def as_html(summary: dict[str, Any], draw: Any = None) -> str:
    """A table of figures, and the plot that `draw` draws into axes, if it is given and Matplotlib is there."""
    import html
    import io

    shown = {key: f"{value:.4g}" if isinstance(value, float) else str(value) for key, value in summary.items()}
    rows = "".join(f"<tr><th>{html.escape(key)}</th><td>{html.escape(value)}</td></tr>" for key, value in shown.items())
    picture = ""
    if draw is None:
        return f"<table>{rows}</table>"
    try:
        from matplotlib.figure import Figure
    except ImportError:
        pass
    else:
        figure = Figure(figsize=(4.5, 3.2), layout="constrained")
        draw(figure.subplots())
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
        picture = out.getvalue()[out.getvalue().index("<svg") :]
    return f"<table>{rows}</table>{picture}"
