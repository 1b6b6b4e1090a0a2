// ---- places.js: where rows are along the axes of a plot ----

/** An axis with the middle and half of its range, which it may have already. */
function scaled(axis) {
  if (axis.half) return axis;
  const [low, high] = rangeOf(axis.values) ?? [0, 0];
  // Halves first: the whole range can overflow.
  const half = high / 2 - low / 2;
  return { ...axis, middle: low / 2 + high / 2, half: half > 0 ? half : Math.max(1, Math.abs(low) * 0.05) };
}

/** Both coordinates of a row without a place: far outside. */
const NOWHERE = 1e6;

/** Places of points in [−1, 1] on both axes; NOWHERE if a value is missing or infinite. */
function placesOf(axes) {
  const rows = axes[0].values.length;
  const places = new Float32Array(2 * rows).fill(NOWHERE);
  for (let row = 0; row < rows; row++) {
    const [x, y] = axes.map(({ values, middle, half }) => (values[row] - middle) / half);
    if (!Number.isFinite(x + y)) continue;
    places[2 * row] = clamped(x, -1, 1);
    places[2 * row + 1] = clamped(y, -1, 1);
  }
  return places;
}
