// Reports of solutions with made-up data, as Rust would write them.
import { HOSTILE, base64, stored } from './sample.mjs';

/** A function of one to four coordinates, linear along each but the first. */
export const solutionAt = (point) => Math.sin(2 * point[0]) * (1 + point.slice(1).reduce((sum, x) => sum + x, 0));

/**
 * A solution on a grid over [0, 2] × [0, 1] × …, or on the disc inside its first two axes. Its error is 1e-6 of u at the
 * third power, its residual the first coordinate minus 1 by 1e-5, so that both have either sign. `offset` moves all
 * coordinates. `regions` are three: where the coordinates' sum is below 1, a ball around 1.5 and 0.5s, and the rest. `slabs` is
 * the number of slabs of time in the page.
 */
export function solutionData({
  dims = 2,
  side = [0, 101, 101, 17, 9][dims],
  disc = false,
  exact = true,
  residual = true,
  time = null,
  name = HOSTILE,
  accuracy = exact,
  estimate = [3e-7, 1e-6],
  cycles = false,
  offset = 0,
  regions = false,
  slabs = 0,
} = {}) {
  const axes = ['x', 'y', 'z', 'w'].slice(0, dims);
  if (time !== null) axes[time] = 't';
  const [low, high] = [axes.map(() => 0), axes.map((_, axis) => (axis ? 1 : 2))];
  const points = Array.from({ length: side ** dims }, (_, node) =>
    axes.map((_, axis) => (high[axis] * (Math.floor(node / side ** axis) % side)) / (side - 1))
  );
  const distanceOf = ([x, y]) => (disc ? Math.hypot(x - 1, y - 0.5) - 0.45 : -1);
  const diagonal = Math.hypot(...axes.map((_, axis) => high[axis] / (side - 1)));
  const field = (name, of, reach = 1e-9) => ({
    name,
    ...stored(points.map((point) => (distanceOf(point) <= reach ? of(point) : NaN))),
  });
  const share = (point) => Math.min(Math.max(distanceOf(point) / (3 * diagonal) + 0.5, 0), 1);
  const slope = (point) => {
    const factor = 1 + point.slice(1).reduce((sum, x) => sum + x, 0);
    return Math.hypot(2 * Math.cos(2 * point[0]) * factor, ...point.slice(1).map(() => Math.sin(2 * point[0])));
  };
  const nearest = points.map((point) => {
    const sum = (point.reduce((all, x) => all + x, 0) - 1) / Math.sqrt(dims);
    const ball = Math.hypot(...point.map((x, axis) => x - (axis ? 0.5 : 1.5))) - 0.25;
    const distances = [sum, ball, Math.max(-sum, -ball)];
    const [least, next] = [...distances].sort((a, b) => a - b);
    // As at the outer boundary of two regions that overlap.
    const isOuter = dims === 2 && point[0] === 0;
    return { of: distances.indexOf(least), depth: isOuter ? 0 : Math.min((next - least) / (2 * diagonal), 1) };
  });
  const growthOf = (estimates) => ({
    x: 'neurons',
    y: 'relative to u',
    series: [
      { name: 'estimate of the error', points: estimates },
      { name: 'change since the level before', points: estimates.slice(1) },
    ],
  });
  const slabOf = (k) => ({
    from: offset + k / slabs,
    to: offset + (k + 1) / slabs,
    // The last one is unknown, which is worse than all others.
    estimate: [[1e-7, 4e-6, 2e-7, null][k], 1e-6 / slabs],
    convergence: growthOf([
      [81, 0.01 / (k + 1)],
      [200 + k, 1e-4 / (k + 1)],
    ]),
    chosen: [
      ['neurons', `${200 + k}`],
      ['stability constant', '1.2'],
    ],
  });
  const inside = points.filter((point, node) => node % 7 === 0 && distanceOf(point) < 0);
  const marks = (list) => ({ count: list.length, places: base64(Float32Array.from(list.flat(), (x) => x + offset)) });
  const growth = [81, 163, 300].map((neurons, i) => [neurons, 10 ** (-2 - 2 * i)]);
  return {
    kind: 'rbf',
    title: `sample: 300 neurons`,
    summary: 'resolved: the relative L2 error is about 3.0e-7\n300 neurons in 3 levels',
    command: 'firebox rbf --problem sample',
    facts: [['version', '0.1.0']],
    settings: [['target_error', '1e-6']],
    rows: 0,
    columns: [],
    texts: [],
    classes: null,
    solution: {
      name,
      axes,
      time,
      low: low.map((x) => x + offset),
      high: high.map((x) => x + offset),
      side,
      u: field('u', solutionAt, diagonal),
      error: exact ? field('error', (point) => 1e-6 * solutionAt(point) ** 3) : null,
      gradient: field('gradient', slope, diagonal),
      residual: residual ? field('residual', ([x]) => 1e-5 * (x - 1)) : null,
      regions: regions
        ? {
            of: base64(Uint8Array.from(nearest, ({ of }) => of)),
            depth: base64(Uint8Array.from(nearest, ({ depth }) => Math.round(255 * depth))),
          }
        : null,
      distance: disc ? base64(Uint8Array.from(points, (point) => Math.round(255 * share(point)))) : null,
      centres: { ...marks(inside), widths: base64(new Float32Array(inside.length * dims).fill(0.3)) },
      inside: { ...marks(inside), count: 3 * inside.length },
      boundary: marks([low, high]),
      convergence: cycles
        ? {
            x: 'cycle',
            y: 'root mean square residual',
            series: [
              {
                name: 'inside',
                points: [
                  [1, 0.1],
                  [2, null],
                ],
              },
            ],
          }
        : growthOf(growth),
      slabs: slabs ? { axis: dims - 1, count: slabs + 8, shown: Array.from({ length: slabs }, (_, k) => slabOf(k)) } : null,
      accuracy: accuracy ? { relative_l2: 2e-7, max_error: 1e-6 } : null,
      estimate,
      chosen: [
        ['neurons', '300'],
        ['width of the neurons', '6.60 sides of a cell'],
      ],
    },
  };
}
