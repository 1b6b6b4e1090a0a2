// ---- sammon.js: the page of a Sammon map ----

/** Points in the list of those with the largest shares of the stress. */
const MOST_WORST = 10;
/** Columns that a pair's tooltip has of both rows. */
const PAIR_LINES = 6;
/** A press of a button turns the map by this angle. */
const TURN = Math.PI / 12;

/** Rows by their stress, the largest first, with their shares of the sum. */
function worstOf(stress) {
  const worst = [];
  let sum = 0;
  stress.forEach((value, row) => {
    if (!(value > 0)) return;
    sum += value;
    if (worst.length === MOST_WORST && value <= stress[worst.at(-1)]) return;
    const at = worst.findIndex((other) => stress[other] < value);
    worst.splice(at < 0 ? worst.length : at, 0, row);
    worst.length = Math.min(worst.length, MOST_WORST);
  });
  return worst.map((row) => ({ row, share: stress[row] / sum }));
}

/** The list of these rows; `nameOf(row)` names one, `highlight(row)` gets the one at the pointer or focus, or −1. */
function worstList(worst, { nameOf, highlight, select }) {
  const itemOf = ({ row, share }) => {
    const percent = `${(100 * share).toFixed(share < 0.001 ? 3 : 1)} %`;
    const bar = element('span.bar');
    Object.assign(bar.style, { width: `${(100 * share) / worst[0].share}%`, background: 'var(--accent)' });
    const label = `Row ${row}${nameOf(row) && `, ${nameOf(row)}`}: ${percent} of the stress. Select.`;
    const made = button('', () => select(row), { 'aria-label': label, title: nameOf(row) });
    made.append(
      element('span.name', {}, String(row)),
      element('span.text', {}, nameOf(row)),
      element('span.grow', {}, bar),
      figure(percent)
    );
    listen(made, { 'pointerenter focus': () => highlight(row), 'pointerleave blur': () => highlight(-1) });
    return element('li', {}, made);
  };
  return element('ol.sizes', {}, ...worst.map(itemOf));
}

/** Builds the page of a map in `main`, and returns what tests look at. */
PAGES.sammon = (data, main) => {
  const { map } = data;
  const table = rowTable(data);
  const { classes } = table;
  const places = table.columns.slice(0, map.dims);
  const stress = map.point_stress === null ? null : scaledNumbers(map.point_stress);
  const stressText = { name: 'stress', fileOf: (row) => String(Number(stress[row].toPrecision(7))) };
  const pairs = pairsOf(map.shepard);
  const colours = rowColours(data.rows, classes, () => SHAPE.circle);
  const state = { axes: [0, Math.min(1, map.dims - 1)], colouring: 0 };
  const turning = map.dims === 3 ? turningAxes(places) : null;
  turning?.face(state.axes);
  let turned = [0, 0];

  const scatter = scatterPlot(axesNow(), {
    linesOf,
    select: (marks) => selection.set(marks, 'inside the outline'),
    plain: location.hash === '#2d',
    isMap: true,
    turn: turning && ((x, y) => turn(x * TURN_PER_PIXEL, -y * TURN_PER_PIXEL)),
  });
  const shepard = pairs.count ? shepardPlot(pairs, { linesOf: linesOfPair, mark: scatter.setRings }) : null;
  const selection = rowSelection({
    fileOf: (rows) => table.fileOf(rows, ...(stress ? [stressText] : [])),
    show(marks) {
      scatter.setMarks(marks);
      shepard?.setMarks(marks);
    },
    hint: 'Hold Shift and drag around points.',
  });
  const convergence = map.convergence.stress.some((value) => value > 0) ? convergencePlot(map.convergence) : null;
  const colourings = [
    ...(classes ? [{ name: `class (${classes.name})`, paint: colours.paintClasses }] : []),
    ...(stress ? [{ name: 'stress of the point', paint: () => colours.paintValues('stress of the point', stress) }] : []),
    ...table.columns.map(({ name, values }) => ({ name, paint: () => colours.paintValues(name, values) })),
  ];

  function axesNow() {
    return turning ? turning.axes : table.axesOf(places, state.axes);
  }

  // ---- Texts ----

  /** Names and values in the tooltip of a row. */
  function linesOf(row) {
    const share = stress ? [['stress', rounded(stress[row])]] : [];
    return [...table.linesOf(row), ...table.classLines(row), ...share];
  }

  /** Names and values of both rows of a pair. */
  function linesOfPair(pair) {
    const both = pairs.rowsOf(pair);
    const inputs = table.columns
      .slice(map.dims)
      .map(({ name, values }) => ({ name, textOf: (row) => rounded(values[row]) }));
    const fields = [...table.texts, ...inputs].slice(0, PAIR_LINES);
    const lines = [['rows', (row) => String(row)], ...fields.map(({ name, textOf }) => [name, textOf])];
    if (classes) lines.push([classes.name, (row) => classes.names[classes.of[row]]]);
    return [
      ...lines.map(([name, textOf]) => [name, both.map(textOf).join(' \u00b7 ')]),
      ['distance in the source', rounded(pairs.source[pair])],
      ['distance in the map', rounded(pairs.target[pair])],
    ];
  }

  function nameOf(row) {
    return [...table.texts.map(({ textOf }) => textOf(row)), ...table.classLines(row).map(([, name]) => name)].join(', ');
  }

  function describe() {
    const [x, y] = axesNow();
    const colour = colourings[state.colouring].name;
    scatter.describe(`Map of ${counted(data.rows, 'row')}, ${x.name} against ${y.name}, coloured by ${colour}`);
  }

  // ---- Changes ----

  function recolour() {
    colourings[state.colouring].paint();
    scatter.setLooks(colours.looks);
    describe();
  }

  function setAxes() {
    turning?.face(state.axes);
    scatter.setAxes(axesNow());
    describe();
  }

  const turnSoon = oncePerFrame(() => {
    turning.turn(...turned);
    turned = [0, 0];
    scatter.setAxes(axesNow(), true);
    describe();
  });

  function turn(right, up) {
    turned = [turned[0] + right, turned[1] + up];
    turnSoon();
  }

  function highlight(row) {
    if (row >= 0) scatter.setRings([row]);
    else if (shepard) shepard.update();
    else scatter.setRings([]);
  }

  function selectRow(row) {
    const marks = new Uint8Array(data.rows);
    marks[row] = 1;
    selection.set(marks, `row ${row}`);
  }

  // ---- The parts of the page ----

  function turnButtons() {
    const help = 'or drag with Alt or the right button';
    return [
      ['\u21bb', 'Turn to the right', TURN, 0],
      ['\u2912', 'Turn up', 0, TURN],
    ].map(([sign, name, right, up]) =>
      button(sign, () => turn(right, up), { 'aria-label': name, title: `${name} (${help})` })
    );
  }

  function tools() {
    const names = colourings.map(({ name }) => name);
    const colour = choice('Colour', names, 0, (i) => {
      state.colouring = i;
      recolour();
    });
    const choices = map.dims > 2 ? axisChoices(places, state.axes, setAxes) : [];
    return plotTools(scatter, [...choices, colour], turning ? setAxes : scatter.home, turning ? turnButtons() : []);
  }

  function worstPart() {
    const worst = stress ? worstOf(stress) : [];
    if (!worst.length) return [];
    const share = worst.reduce((sum, one) => sum + one.share, 0);
    const text = `These ${counted(worst.length, 'row')} have ${rounded(100 * share, 2)} % of the stress.`;
    const list = worstList(worst, { nameOf, highlight, select: selectRow });
    return [section('Largest shares of the stress', element('p.note', {}, text), list)];
  }

  const note = (text) => element('p.note', {}, text);
  const diagram = shepard
    ? [note(shepardText(pairs)), shepard.element]
    : [note('There are no pairs of rows to compare.')];
  main.append(
    element('section.points', { 'aria-label': 'Map' }, tools(), scatter.element, colours.key, scatter.missing, selection.element),
    element(
      'div.side',
      {},
      section('Shepard diagram', ...diagram),
      ...(convergence ? [section('Convergence', convergence.element)] : []),
      ...worstPart()
    )
  );
  setAxes();
  recolour();
  selection.set(null);
  theme.listeners.push(() => {
    recolour();
    scatter.draw();
    shepard?.redraw();
    convergence?.redraw();
  });
  return { state, scatter, selection, shepard, pairs };
};
