// Reports with made-up data, as Rust would write them: the same template, scripts and policy.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/** The parts of the page; elsewhere if the tests were copied. */
const folder = process.env.FIREBOX_HTML
  ? pathToFileURL(`${process.env.FIREBOX_HTML}/`)
  : new URL('../../core/src/html/', import.meta.url);
/** The scripts that every page has first. */
const SHARED = ['shared/data', 'shared/elements', 'shared/theme', 'shared/axes'];
/** The scripts of pages that have a scatter plot of rows, and of those of a network. */
const ROWS = [...inFolder('rows', 'looks points density places'), 'shared/nearest', ...inFolder('rows', 'scatter selection rows')];
const NETWORK = ['shared/logarithm', ...inFolder('perceptron', 'stepped curves pictures examples weights network')];
/** The scripts of each kind of page, which come next. */
const KINDS = {
  ocnn: [...ROWS, ...inFolder('ocnn', 'clusters blocks dendrogram tree levels ocnn')],
  sammon: [...ROWS, 'sammon/shepard', 'shared/logarithm', ...inFolder('sammon', 'convergence turning sammon')],
  rbf: ['shared/logarithm', ...inFolder('rbf', 'lines field contours paint heatmap plane rbf')],
  perceptron: [...NETWORK, ...inFolder('perceptron', 'matrix calibration perceptron')],
  regression: [...NETWORK, 'shared/nearest', ...inFolder('perceptron', 'parity regression')],
};
/** The style sheet of each kind of page, after that of all pages. */
const STYLES = {
  ocnn: 'rows/rows.css',
  sammon: 'rows/rows.css',
  rbf: 'rbf/field.css',
  perceptron: 'perceptron/network.css',
  regression: 'perceptron/network.css',
};

function inFolder(folder, names) {
  return names.split(' ').map((name) => `${folder}/${name}`);
}

const read = (name) => readFileSync(new URL(name, folder), 'utf8');
const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const escaped = (text) => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
export const base64 = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString('base64');

/** Code without indentation and without the lines that are comments, as `code` in html/mod.rs. */
const code = (text, change) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => !/^(\/\/|\/\*|\*\/|\* |\*$|$)/.test(line))
    .map(change)
    .map((line) => (/[{},;([]$/.test(line) ? line : `${line}\n`))
    .join('');
/** A script as `minified` in html/mod.rs makes it. */
const minified = (script) =>
  code(script, (line) => {
    const shortened = line.replace(/^const /, 'let ');
    const isPlain = [1, 3].includes(line.split('`').length) && !line.replaceAll(' / ', '').includes('/');
    return isPlain ? withoutSpaces(shortened) : shortened;
  });
/** A line without the spaces around punctuation outside of strings, as `without_spaces` in html/mod.rs makes it. */
function withoutSpaces(line) {
  const isNeedless = (at) => {
    const around = [line[at - 1] ?? '', line[at + 1] ?? ''];
    return around.some((sign) => sign && '{}()[];,=<>?:&|!*/%+-'.includes(sign)) && !around.every((sign) => /[+-]/.test(sign));
  };
  return line.replace(/(['"`])(?:\\.|(?!\1)[^\\])*\1| /g, (part, _, at) => (part === ' ' && isNeedless(at) ? '' : part));
}
/** The script of a kind of page. */
export const scriptOf = (kind) => minified([...SHARED, ...KINDS[kind], 'shared/page'].map((name) => read(`${name}.js`)).join(''));
/** A line of a style sheet as `dense` in html/mod.rs makes it. */
const dense = (line) => line.replaceAll(' {', '{').replaceAll(' }', '}').replace(/([:;,{]) /g, '$1');
/** The style sheet of a kind of page. */
export const styleOf = (kind) => code(['shared/page.css', STYLES[kind]].map(read).join(''), dense);

/** The page of a report's data. */
export function pageOf(data) {
  const script = scriptOf(data.kind);
  const style = styleOf(data.kind);
  const values = {
    title: escaped(data.title),
    'style|safe': style,
    'script|safe': script,
    'data|safe': JSON.stringify(data).replaceAll('<', '\\u003c'),
    policy: escaped(
      `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; ` +
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    ),
  };
  return read('shared/page.html').replace(/\{\{ (.*?) \}\}/g, (_, name) => values[name]);
}

/** Numbers in [0, 1) that are the same in every run. */
export function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A column as Rust stores it: offset and scale from its finite range, and 32-bit parts between them. */
export function stored(values) {
  const finite = values.filter(Number.isFinite);
  const [low, high] = [
    finite.reduce((a, b) => Math.min(a, b), Infinity),
    finite.reduce((a, b) => Math.max(a, b), -Infinity),
  ];
  const [offset, half] = low <= high ? [0.5 * low + 0.5 * high, 0.5 * high - 0.5 * low] : [0, 1];
  const scale = half > 0 ? half : 1;
  return { offset, scale, values: base64(Float32Array.from(values, (value) => (value - offset) / scale)) };
}

/** Numbers as Rust stores them in a unit that is their largest magnitude. */
function scaled(values) {
  const unit = Array.from(values).reduce((largest, value) => Math.max(largest, Math.abs(value)), 0) || 1;
  return { unit, values: base64(Float32Array.from(values, (value) => value / unit)) };
}

/** These numbers, by the definition of the data. */
export function scaledValues({ unit, values }) {
  const bytes = Uint8Array.from(Buffer.from(values, 'base64'));
  return Float64Array.from(new Float32Array(bytes.buffer), (value) => unit * value);
}

/** The number that a page has of a row, by the definition of the data. */
export function valuesOf({ offset, scale, values }) {
  const bytes = Uint8Array.from(Buffer.from(values, 'base64'));
  return Float64Array.from(new Float32Array(bytes.buffer), (part) => offset + scale * part);
}

export const HOSTILE = '</script><img src=x onerror=alert(1)>';

/**
 * A clustering of `rows` points around `pieces` centres, of which neighbouring ones join level by level, with noise.
 * `columns` is the number of columns, and `classes` whether there are any, or how many. With `holes` some values are missing,
 * and the last column has one value. `offset` moves all columns, `weights` has one of each row, `texts` are columns of text,
 * and without `joins` there is no tree.
 */
export function clusteringData({
  rows = 400,
  pieces = 8,
  columns = 2,
  classes = true,
  seed = 1,
  levels = Math.min(pieces, 6),
  noiseShare = 0.03,
  holes = false,
  offset = 0,
  weights = null,
  texts = [],
  joins: hasJoins = true,
  contrasts = [null, 4.1, 3.4, 0.8, 0.7, 0.5],
} = {}) {
  const random = randomNumbers(seed);
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const centres = Array.from({ length: pieces }, (_, i) =>
    Array.from({ length: Math.max(columns, 2) }, (_, c) =>
      c === 0
        ? 4 * Math.cos((2 * Math.PI * i) / pieces)
        : c === 1
          ? 3 * Math.sin((2 * Math.PI * i) / pieces)
          : random() * 10
    )
  );
  const of = Uint32Array.from({ length: rows }, (_, row) =>
    hasJoins ? Math.floor(random() ** 1.5 * pieces) : row % pieces
  );
  const isNoise = Array.from({ length: rows }, () => rows > 1 && random() < noiseShare);
  const values = Array.from({ length: columns }, (_, c) =>
    Float64Array.from(of, (piece, row) => {
      const value = isNoise[row] ? random() * 14 - 7 : centres[piece][c] + 0.45 * normal();
      return offset ? offset + Math.round(1000 * value) / 1000 : Math.fround(value);
    })
  );
  if (holes) {
    values.at(-1).fill(7);
    for (let row = 0; row < rows; row += 10) values[0][row] = [NaN, Infinity][(row / 10) % 2];
  }
  const noiseAt = (level) => {
    const bits = new Uint8Array(Math.ceil(rows / 8));
    // A few more rows are noise at finer levels.
    for (let row = 0; row < rows; row++)
      if (isNoise[row] || (rows > 1 && row % 97 < level)) bits[row >> 3] |= 1 << (row & 7);
    return bits;
  };
  const levelOf = (level) => {
    const clusters = level + 1;
    const labels = Int32Array.from({ length: pieces }, (_, piece) => Math.floor((piece * clusters) / pieces));
    const noise = noiseAt(level);
    const sizes = new Array(clusters).fill(0);
    let noisePoints = 0;
    of.forEach((piece, row) => {
      const weight = weights?.[row] ?? 1;
      if ((noise[row >> 3] >> (row & 7)) & 1) noisePoints += weight;
      else sizes[labels[piece]] += weight;
    });
    const contrast = level === 0 || !contrasts.length ? null : (contrasts[level] ?? 0.5 / (level - 4));
    return {
      clusters,
      labels: base64(labels),
      noise: base64(noise),
      sizes,
      noise_points: noisePoints,
      silhouettes: sizes.map((_, i) => (clusters > 1 ? 0.9 - 0.4 * i : null)),
      contrast,
      probability: contrast && Math.exp(-3 * contrast),
      score: contrast && contrast * 0.8,
    };
  };
  const joins = [];
  // Neighbours join in pairs, then pairs of these, until one is left.
  let open = Array.from({ length: pieces }, (_, i) => i);
  const heights = new Array(pieces).fill(0);
  while (hasJoins && open.length > 1) {
    const next = [];
    for (let i = 0; i < open.length; i += 2) {
      if (i + 1 === open.length) next.push(open[i]);
      else {
        next.push(pieces + joins.length);
        joins.push([open[i], open[i + 1]]);
        heights.push(heights.at(-1) === 0 ? 0.2 : heights.at(-1) + 0.7 / pieces);
      }
    }
    open = next;
  }
  const classNames =
    classes === true ? ['north', 'south', HOSTILE] : Array.from({ length: classes || 0 }, (_, i) => `class ${i}`);
  return {
    kind: 'ocnn',
    title: 'points.csv: 3 clusters',
    summary: [
      `3 clusters and some noise points among ${rows} (evidence 3.20, by chance up to 1.40; probability by chance 1.0e-6)`,
      'chosen with score 2.72; next are 2 clusters (score 2.10) and 4 clusters (score 0.64)',
    ].join('\n'),
    command: 'firebox ocnn points.csv --label label',
    facts: [
      ['version', '0.1.0'],
      ['device', 'ndarray, two threads'],
      ['seconds', '0.12'],
    ],
    settings: [
      ['seed', '0'],
      ['mode', 'auto'],
      ['neighbours', '24, 48'],
    ],
    rows,
    columns: values.map((column, c) => ({
      name: ['x', 'y', `a "quoted", name ${HOSTILE}`, 'z', 'w'][c] ?? `C${c + 1}`,
      ...stored(column),
    })),
    texts,
    classes: classes
      ? {
          name: 'label',
          names: classNames,
          of: base64(Uint32Array.from(of, (piece, row) => (classes === true ? piece : row) % classNames.length)),
        }
      : null,
    clusters: {
      chosen: Math.min(2, levels - 1),
      weighted: weights !== null,
      pieces: base64(of),
      levels: Array.from({ length: levels }, (_, level) => levelOf(level)),
      chance: { evidence: 3.2, chance: 1.4, probability: 1e-6 },
      outlier: base64(Uint8Array.from(isNoise, (noise) => 255 * (noise ? 0.6 + 0.4 * random() : 0.3 * random() ** 2))),
      tree: { leaves: pieces, heights, joins },
    },
  };
}

/**
 * A map of `rows` points of a bent sheet in four columns, in `dims` dimensions. Its pairs are all or the first 5000; their
 * distances and the stress of the points are those of the map.
 */
export function mapData({
  rows = 120,
  dims = 2,
  classes = true,
  stress = true,
  texts = [],
  seed = 1,
  history = Array.from({ length: 61 }, (_, i) => 0.02 + 0.6 * Math.exp(-i / 6)),
  unit = 'iteration',
  interval = 1,
} = {}) {
  const random = randomNumbers(seed);
  const points = Array.from({ length: rows }, () => {
    const [a, b] = [3 * random(), 2 * random()];
    return [2 * Math.sin(a), 2 * Math.cos(a), b, 0.3 * random()];
  });
  const placeOf = ([x, y, z, w]) => [1.9 * Math.atan2(x, y) - 3, z - 1, x - w].slice(0, dims).map(Math.fround);
  const places = points.map(placeOf);
  const apart = (of, i, j) => Math.fround(Math.hypot(...of[i].map((value, c) => value - of[j][c])));
  const pairs = { first: [], second: [], source: [], target: [] };
  const parts = new Float32Array(rows);
  let sum = 0;
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < i; j++) {
      const [source, target] = [apart(points, i, j), apart(places, i, j)];
      sum += source;
      for (const row of [i, j]) parts[row] += (source - target) ** 2 / source / 2;
      if (pairs.first.length === 5000) continue;
      Object.entries({ first: j, second: i, source, target }).forEach(([name, value]) => pairs[name].push(value));
    }
  const columnsOf = (values, names) => names.map((name, c) => ({ name, ...stored(values.map((row) => row[c])) }));
  return {
    kind: 'sammon',
    title: 'sheet.csv: Sammon mapping, E = 0.020033',
    summary: `map of ${rows} points, E = 0.020033 after ${history.length - 1} iterations (converged)`,
    command: 'firebox sammon sheet.csv --label label',
    facts: [['version', '0.1.0']],
    settings: [['seed', '0']],
    rows,
    columns: [
      ...columnsOf(
        places,
        places[0].map((_, axis) => `y${axis + 1}`)
      ),
      ...columnsOf(points, ['a', 'b', 'c', `d ${HOSTILE}`]),
    ],
    texts,
    classes: classes
      ? {
          name: 'label',
          names: ['inner', 'outer', HOSTILE],
          of: base64(Uint32Array.from(points, ([x, y]) => Math.floor(Math.atan2(x, y)))),
        }
      : null,
    map: {
      dims,
      stress: 0.020033,
      point_stress: stress ? scaled(parts.map((part) => (sum ? part / sum : 0))) : null,
      shepard: {
        first: base64(Uint32Array.from(pairs.first)),
        second: base64(Uint32Array.from(pairs.second)),
        source: scaled(pairs.source),
        target: scaled(pairs.target),
      },
      convergence: { unit, interval, stress: history },
    },
  };
}
