// ---- field.js: functions on a regular grid: slices, interpolation, scales of colours ----

/** Values of the distance's byte up to which a place is in the domain or on its boundary. */
const EDGE_BYTE = 128;
/** Up to which it is more than a cell away from the boundary. */
const CLEAR_BYTE = 40;
/** Precision of stored values, relative to the largest. */
const STORED = 1e-7;
/** From blue over the background to orange, distinguishable with any colour vision. */
const DIVERGING = {
  light: '#0a3f78 #2f78b7 #9cc6e4 #f6f6f6 #f3bd86 #cf6f1a #7c3605'.split(' ').map(rgb),
  dark: '#a6d4ff #4a97da #22527f #22262c #7d4716 #d97a22 #ffcb8c'.split(' ').map(rgb),
};
/** Share of values below the least one of a logarithmic scale, and its longest range. */
const LEAST_SHARE = 0.02;
const LONGEST_RANGE = 1e8;
/** Largest size from which on it is the default, in medians. */
const UNEVEN = 30;
/** Values that are sorted to find it, at most. */
const SORTED = 20000;

/** Digits of numbers in a range, so that those far from 0 differ as clearly as those near it do with `digits`. */
function digitsIn(low, high, digits = 4) {
  const ratio = Math.max(Math.abs(low), Math.abs(high)) / (high - low);
  return Math.min(digits + Math.max(0, Math.ceil(Math.log10(ratio))), 17);
}

/** The grid of a solution and its fields, unpacked. Nodes are numbered with the first axis running fastest. */
function gridOf(solution) {
  const { axes, low, high, side } = solution;
  const dims = axes.length;
  const strides = axes.map((_, axis) => side ** axis);
  const distance = solution.distance && bytesOf(solution.distance);
  const steps = axes.map((_, axis) => (high[axis] - low[axis]) / (side - 1));
  const isInside = (node) => !distance || distance[node] <= EDGE_BYTE;

  /** A field by its name; values outside the domain have no part in its range. */
  function fieldOf(name, label, signed, column) {
    if (!column) return [];
    const { values } = column.values instanceof Float64Array ? column : columnOf(column);
    const inner = distance ? values.filter((_, node) => isInside(node)) : values;
    const range = rangeOf(inner);
    return range ? [{ name, label, signed, values, range, ...sizesOf(inner) }] : [];
  }

  /** Values in which those no larger than the rounding of 32 bits are 0. */
  function cleaned(values) {
    const range = rangeOf(values) ?? [0, 0];
    const least = STORED * Math.max(-range[0], range[1]);
    return values.map((value) => (Math.abs(value) < least ? 0 : value));
  }

  const u = fieldOf('u', 'u', false, { values: cleaned(columnOf(solution.u).values) });
  const error = fieldOf('error', 'error', true, solution.error);
  const exact = error.length
    ? fieldOf('exact', 'exact', false, {
        values: cleaned(u[0].values.map((value, node) => value - error[0].values[node])),
      })
    : [];
  const gradient = fieldOf('gradient', dims === 1 ? `|du/d${axes[0]}|` : '|∇u|', false, solution.gradient);
  const residual = fieldOf('residual', 'residual', true, solution.residual);
  return {
    dims,
    names: axes,
    low,
    high,
    side,
    steps,
    distance,
    regions: solution.regions && [bytesOf(solution.regions.of), bytesOf(solution.regions.depth)],
    fields: [...u, ...exact, ...error, ...gradient, ...residual],
    coordinate: (axis, at) => low[axis] + steps[axis] * at,
    /** A coordinate for people, and for files. */
    textOf: (axis, value, digits) => rounded(value, digitsIn(low[axis], high[axis], digits)),
    fileOf: (axis, value) => String(Number(value.toPrecision(digitsIn(low[axis], high[axis], 7)))),
    /** The values of all nodes on a plane, or on a line if there is one axis; `at` has the index along all axes. */
    slice(values, [first, second], at) {
      const base = at.reduce((sum, i, axis) => (axis === first || axis === second ? sum : sum + i * strides[axis]), 0);
      const rows = second === undefined ? 1 : side;
      const found = new values.constructor(side * rows);
      for (let j = 0; j < rows; j++)
        for (let i = 0; i < side; i++)
          found[j * side + i] = values[base + i * strides[first] + (rows === 1 ? 0 : j * strides[second])];
      return found;
    },
  };
}

/** The least size of most values, and their median, above 0; 0 if there are none. */
function sizesOf(values) {
  const every = Math.ceil(values.length / SORTED);
  const sizes = values
    .filter((_, i) => i % every === 0)
    .map(Math.abs)
    .filter((size) => size > 0 && size < Infinity)
    .sort();
  const [least = 0, median = 0] = [LEAST_SHARE, 0.5].map((share) => sizes[Math.floor(share * sizes.length)]);
  return { least, median };
}

/**
 * The value between the nodes of a slice of `side` × `side`, linear along both axes. Where a node has none, those of its
 * cell that have one count.
 */
function between(values, side, x, y) {
  const i = clamped(Math.floor(x), 0, side - 2);
  const j = clamped(Math.floor(y), 0, side - 2);
  const first = j * side + i;
  const [right, up] = [x - i, y - j];
  const sum =
    (values[first] * (1 - right) + values[first + 1] * right) * (1 - up) +
    (values[first + side] * (1 - right) + values[first + side + 1] * right) * up;
  if (sum === sum) return sum;
  let [total, weights] = [0, 0];
  for (const [node, weight] of [
    [first, (1 - right) * (1 - up)],
    [first + 1, right * (1 - up)],
    [first + side, (1 - right) * up],
    [first + side + 1, right * up],
  ])
    if (Number.isFinite(values[node])) {
      // A node with a value counts at the edge of its cell, too.
      total += (weight + 1e-9) * values[node];
      weights += weight + 1e-9;
    }
  return weights ? total / weights : NaN;
}

/** True if a logarithmic scale of a field shows more than a linear one could. */
function hasLogScale({ name, range: [low, high], least }) {
  return least > 0 && (['error', 'residual', 'gradient'].includes(name) || (low > 0 && high > 100 * low));
}

/** True if a linear scale would have the colour of 0 nearly everywhere. */
function isUneven({ signed, range, median }) {
  return signed && Math.max(-range[0], range[1]) > UNEVEN * median;
}

/**
 * The scale of a field: `share` maps a value to a fraction from 0 to 1, `colour` that to a colour. A logarithmic one is of
 * sizes; a linear one of signed values has 0 in the middle.
 */
function scaleOf({ label, signed, range, least }, isLog) {
  const most = Math.max(Math.abs(range[0]), Math.abs(range[1]));
  if (isLog && least > 0) {
    const low = clamped(least, most / LONGEST_RANGE, most / 2);
    const decades = Math.log(most / low);
    return {
      label: signed ? `size of the ${label}` : label,
      ends: [low, most],
      ticks: (count) => logTicksOf(low, most, count),
      share: (value) => Math.log(Math.abs(value) / low) / decades,
      colour: viridis,
      size: Math.abs,
    };
  }
  // A constant has room around it.
  const room = range[0] === range[1] ? Math.abs(range[0]) || 1 : 0;
  const [low, high] = signed ? [-(most || 1), most || 1] : [range[0] - room, range[1] + room];
  return {
    label,
    ends: [low, high],
    ticks: (count) => ticksOf(low, high, count),
    share: (value) => (value - low) / (high - low),
    colour: signed ? (share) => blended(DIVERGING[theme.name], share) : viridis,
    size: (value) => value,
  };
}
