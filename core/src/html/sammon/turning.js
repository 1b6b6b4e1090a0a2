// ---- turning.js: a map of three dimensions, seen from any side ----

/** Turn of the view in radians by a drag of one pixel. */
const TURN_PER_PIXEL = 0.008;

/** A weighted sum of axes: "0.87 y1 + 0.5 y3". */
function sumText(weights, names) {
  const terms = weights.flatMap((weight, i) => {
    const size = Number(Math.abs(weight).toFixed(2));
    return size ? [[weight < 0 ? '\u2212' : '+', size === 1 ? names[i] : `${size} ${names[i]}`]] : [];
  });
  const text = terms.map(([sign, term]) => `${sign} ${term}`).join(' ');
  return text.replace(/^\+ /, '').replace(/^\u2212 /, '\u2212');
}

/** Axes of a view that turns around the middle of three columns, with the same range from each side. */
function turningAxes(columns) {
  const middles = columns.map(({ values }) => {
    const [low, high] = rangeOf(values) ?? [0, 0];
    return low / 2 + high / 2;
  });
  const dot = (weights, partOf) => weights.reduce((sum, weight, i) => sum + weight * partOf(i), 0);
  const names = columns.map(({ name }) => name);
  const rows = columns[0].values.length;
  let half = 0;
  for (let row = 0; row < rows; row++)
    half = Math.max(half, Math.hypot(...columns.map(({ values }, i) => values[row] - middles[i])) || 0);
  /** Directions to the right, up and to the viewer, as weights of the columns. */
  let sides = [];

  /** Turns one direction towards another. */
  function rotate(from, towards, angle) {
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    const [a, b] = [sides[from], sides[towards]];
    sides[from] = a.map((weight, i) => cos * weight + sin * b[i]);
    sides[towards] = b.map((weight, i) => cos * weight - sin * a[i]);
  }

  const unit = (axis) => [0, 1, 2].map((i) => Number(i === axis));
  return {
    /** Looks at two columns. */
    face([x, y]) {
      sides = [unit(x), unit(y), unit(x === y ? (x + 1) % 3 : 3 - x - y)];
    },
    /** Turns to the right and up by angles; the front follows. */
    turn(right, up) {
      // Of a column against itself there is no view to turn.
      if (String(sides[0]) === String(sides[1])) {
        sides = [sides[0], sides[2], unit((sides[2].indexOf(1) + 1) % 3)];
      }
      rotate(0, 2, right);
      rotate(1, 2, up);
    },
    get axes() {
      return sides.slice(0, 2).map((weights) => ({
        name: sumText(weights, names),
        values: Float64Array.from({ length: rows }, (_, row) => dot(weights, (i) => columns[i].values[row])),
        middle: dot(weights, (i) => middles[i]),
        half: half || 1,
      }));
    },
  };
}
