// ---- rows.js: the rows of a page: texts for display and files, colours, and the tools above the plot ----

/** Most columns in a tooltip; texts come first. */
const MOST_LINES = 12;
/** Most classes in the key of their colours. */
const MOST_KEYS = 24;

/** Columns and classes of the data, unpacked, and the texts of rows. */
function rowTable(data) {
  const columns = data.columns.map(columnOf);
  const classes = data.classes && { ...data.classes, of: arrayOf(Uint32Array, data.classes.of) };
  const texts = data.texts.map(({ name, values }) => ({
    name,
    fileOf: (row) => field(values[row]),
    textOf: (row) => values[row],
  }));
  /** Fields of a row in tooltips and files. */
  const fields = [...texts, ...columns];
  return {
    columns,
    classes,
    texts,
    /** Names and values in the tooltip of a row, without its class. */
    linesOf: (row) => [
      ['row', row],
      ...fields.slice(0, MOST_LINES).map(({ name, textOf }) => [name, textOf(row)]),
    ],
    classLines: (row) => (classes ? [[classes.name, classes.names[classes.of[row]]]] : []),
    /** The CSV file of rows, with more fields at the end. */
    fileOf(rows, ...more) {
      const all = [...fields, ...more];
      const head = ['row', ...all.map(({ name }) => field(name))];
      const lineOf = (row) => [row, ...all.map(({ fileOf }) => fileOf(row))];
      return [head, ...rows.map(lineOf)].map((line) => `${line.join(',')}\n`).join('');
    },
    /** The columns of both axes of a plot. A single column is drawn over its rows. */
    axesOf(among, chosen) {
      if (among.length > 1) return chosen.map((i) => among[i]);
      return [among[0], { name: 'row', values: Array.from({ length: data.rows }, (_, row) => row), isRow: true }];
    },
  };
}

/** Looks of all rows, and the key that explains them. `shapeOf(row)` is the shape of markers whose colours are numbers. */
function rowColours(rows, classes, shapeOf) {
  const key = element('div.key');
  const looks = new Uint8Array(rows * LOOK.bytes);
  setSizes(null);

  /** Sizes by a byte for each row, or equal ones. */
  function setSizes(sizes) {
    for (let row = 0; row < rows; row++) looks[row * LOOK.bytes + LOOK.size] = sizes ? sizes[row] : USUAL_SIZE;
  }

  function paint(lookOf, ...keys) {
    for (let row = 0; row < rows; row++) {
      const { colour, shape } = lookOf(row);
      const at = row * LOOK.bytes;
      looks.set(colour, at);
      looks[at + LOOK.shape] = shape;
    }
    key.replaceChildren(...keys);
  }

  /** Colours by groups with these looks; rows of none are noise. */
  function paintGroups(groups, looksOfGroups) {
    const noise = noiseLook();
    paint((row) => looksOfGroups[groups[row]] ?? noise);
  }

  function paintClasses() {
    const all = looksOf(classes.names.length);
    paintGroups(classes.of, all);
    key.append(...all.slice(0, MOST_KEYS).map((look, i) => element('span', {}, swatch(look), ` ${classes.names[i]}`)));
    if (all.length > MOST_KEYS) key.append(`and ${grouped(all.length - MOST_KEYS)} more`);
  }

  /** Colours by numbers, `unit` each. */
  function paintValues(name, values, unit = 1) {
    const [low, high] = rangeOf(values) ?? [0, 0];
    const shades = Array.from({ length: 256 }, (_, i) => visibleViridis(i / 255));
    const half = high > low ? high / 2 - low / 2 : 1;
    // Enough digits to tell both ends apart.
    const digits = 4 + Math.max(0, Math.ceil(Math.log10(Math.max(Math.abs(low), Math.abs(high), 1e-9) / half / 2)));
    paint(
      (row) => ({
        colour: shades[Math.round(255 * ((values[row] / 2 - low / 2) / half))] ?? NOISE[theme.name],
        shape: shapeOf(row),
      }),
      element('span', {}, name),
      rounded(low * unit, digits),
      ramp(visibleViridis),
      rounded(high * unit, digits)
    );
  }

  return { key, looks, setSizes, paint, paintGroups, paintClasses, paintValues };
}

/** Select boxes for x and y; `change` is called after one has changed `chosen`. */
function axisChoices(columns, chosen, change) {
  const names = columns.map(({ name }) => name);
  return ['x', 'y'].map((label, axis) =>
    choice(label, names, chosen[axis], (i) => {
      chosen[axis] = i;
      change();
    })
  );
}

/** Select boxes on the left, and on the right what moves the plot and selects in it. */
function plotTools(scatter, choices, reset = scatter.home, more = []) {
  const lasso = button(
    'Lasso',
    () => {
      const on = lasso.getAttribute('aria-pressed') !== 'true';
      lasso.setAttribute('aria-pressed', on);
      scatter.setLasso(on);
    },
    { 'aria-pressed': 'false', title: 'Select by drawing around points (or hold Shift)' }
  );
  const buttons = [
    button('\u2212', scatter.wider, { 'aria-label': 'Zoom out' }),
    button('+', scatter.closer, { 'aria-label': 'Zoom in' }),
    button('Reset', reset, { title: 'Show all points (double click)' }),
  ];
  return element('div.tools', {}, ...choices, element('div.row.last', {}, ...more, lasso, ...buttons));
}
