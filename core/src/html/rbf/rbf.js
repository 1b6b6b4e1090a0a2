// ---- rbf.js: the page of a solution of an equation ----

/** Samples of a cut. */
const CUT_SAMPLES = 201;
/** Time of a slice that is played, in milliseconds. */
const PLAY_MS = 120;
/** Names of fields in the box that chooses one. */
const LONG_NAMES = { error: 'error (u − exact)', residual: 'residual of the equation' };
/** Name of the layer of the interfaces of regions, which is shown from the start. */
const INTERFACES = 'Interfaces';
/** Marks of another plane that count as being on it are at most this many steps of the grid from it. */
const NEAR = 1;

/** Places of marks, unpacked: `count` is of all of them, of which the page may have some. */
function marksOf({ count, places, widths = null }, dims) {
  const values = arrayOf(Float32Array, places);
  return { count, kept: values.length / dims, places: values, widths: widths && arrayOf(Float32Array, widths) };
}

/** Names of a solution's marks, and how they look. */
function layersOf(solution, grid) {
  const { dims, regions } = grid;
  const [centres, inside, boundary] = [solution.centres, solution.inside, solution.boundary].map((marks) =>
    marksOf(marks, dims)
  );
  return [
    { name: 'Centres', marks: { ...centres, widths: null }, shape: 'circle' },
    ...(dims > 1 ? [{ name: 'Widths', marks: centres, shape: 'ellipse' }] : []),
    { name: 'Points inside', marks: inside, shape: 'dot' },
    { name: 'Points on boundaries', marks: boundary, shape: 'square' },
    ...(regions ? [{ name: INTERFACES, marks: { kept: 1, count: 1, places: dims > 1 ? [] : crossingsOf(grid) } }] : []),
  ].filter(({ marks }) => marks.kept > 0);
}

/** Places of the interfaces in one dimension. */
function crossingsOf({ regions: [of, depth], coordinate }) {
  const places = [];
  for (let i = 1; i < of.length; i++)
    if (of[i] !== of[i - 1]) places.push(coordinate(0, i - depth[i] / (depth[i - 1] + depth[i] || 1)));
  return places;
}

/** A check box with a label. */
function checkBox(label, checked, change) {
  const box = element('input', { type: 'checkbox', checked });
  box.addEventListener('change', () => change(box.checked));
  return { box, element: element('label.choice', {}, box, label) };
}

/** The curves of the growth or of the cycles, which have places of their own, over common ones. */
function convergenceCurves({ x, y, series }, estimate) {
  const xs = [...new Set(series.flatMap(({ points }) => points.map(([at]) => at)))].sort((a, b) => a - b);
  const curves = series.map(({ name, points }) => {
    const of = new Map(points.map(([at, value]) => [at, value ?? NaN]));
    return { name, values: xs.map((at) => of.get(at) ?? NaN) };
  });
  const level = estimate && { value: estimate[1], name: `target ${rounded(estimate[1], 2)}` };
  return { x, y, xs, series: curves, isLog: true, level, marks: xs.length < 40 };
}

/** The rows of a table of names and values. */
function rowsOf(values) {
  return values.map(([name, value]) =>
    element('tr', {}, element('th', { scope: 'row' }, name), element('td', {}, value))
  );
}

/** A box that chooses a slab of time, first the one with the largest estimate, whose curves and figures are shown. */
function slabParts({ axis, count, shown }, grid, plot) {
  const body = element('tbody', {});
  const estimates = shown.map(({ estimate }) => estimate[0] ?? 1);
  const names = shown.map(({ from, to }, i) => {
    const ends = [from, to].map((end) => grid.textOf(axis, end)).join(' to ');
    return `${grid.names[axis]} = ${ends}: estimate ${estimateText(estimates[i])}`;
  });
  const set = (i) => {
    plot.set(convergenceCurves(shown[i].convergence, shown[i].estimate));
    body.replaceChildren(...rowsOf(shown[i].chosen));
  };
  const worst = estimates.indexOf(Math.max(...estimates));
  const box = choice('Slab', names, worst, set);
  box.title = 'Estimates of the error that arises in a slab; the target of each is an equal share';
  if (shown.length < count) box.title += `. ${shown.length} of ${count} slabs, those with the largest estimates`;
  set(worst);
  return [box, plot.element, element('table', {}, body)];
}

const estimateText = (error) => (error < 1 ? rounded(error, 2) : 'unknown');

/** The sections beside the plot: the error, the convergence, and what was chosen. */
function solutionParts(solution, grid) {
  const { estimate, accuracy, convergence, slabs, chosen } = solution;
  const number = (value, text) => element('div', {}, element('div.number', {}, value), element('div.note', {}, text));
  const numbers = [];
  if (estimate) {
    // JSON has null for NaN and infinity.
    const [error, target] = [estimate[0] ?? NaN, estimate[1]];
    const reached = `the target of ${rounded(target, 2)} is ${error <= target ? 'reached' : 'not reached'}`;
    numbers.push(number(estimateText(error), `estimate of the relative L2 error: ${reached}`));
  }
  if (accuracy) {
    numbers.push(number(rounded(accuracy.relative_l2 ?? NaN, 2), 'relative L2 error against the exact solution'));
    numbers.push(number(rounded(accuracy.max_error ?? NaN, 2), 'largest error'));
  }
  const parts = numbers.length ? [section('Error', element('div.numbers', {}, ...numbers))] : [];
  const redraws = [];
  if (convergence?.series.length) {
    const isGrowth = convergence.x === 'neurons';
    const plot = linesPlot({ name: isGrowth ? 'Growth of the network' : 'Residuals by cycle' });
    const shown = slabs ? slabParts(slabs, grid, plot) : [plot.element];
    if (!slabs) plot.set(convergenceCurves(convergence, estimate));
    parts.push(section('Convergence', ...shown));
    redraws.push(plot.redraw);
  }
  const rows = element('tbody', {}, ...rowsOf(chosen));
  parts.push(section(estimate ? 'Chosen automatically' : 'Method', element('table', {}, rows)));
  return { parts, redraws };
}

/** The choice of the field and of the layers, for plots in one and in more dimensions. */
function fieldTools(grid, layers, change) {
  const state = { field: 0, log: {}, layers: {} };
  const log = checkBox('Logarithmic', false, (on) => {
    state.log[field().name] = on;
    update();
  });
  const field = () => grid.fields[state.field];
  const isLog = () => hasLogScale(field()) && (state.log[field().name] ?? isUneven(field()));
  function update() {
    log.element.hidden = !hasLogScale(field());
    log.box.checked = isLog();
    change();
  }
  const names = grid.fields.map(({ name, label }) => LONG_NAMES[name] ?? label);
  const box = choice('Field', names, 0, (i) => {
    state.field = i;
    update();
  });
  box.title = 'Derivatives are those of the network, not differences on the grid';
  const boxes = layers.map(({ name, marks }) => {
    state.layers[name] = name === INTERFACES;
    const made = checkBox(name, state.layers[name], (on) => {
      state.layers[name] = on;
      change();
    });
    const some = marks.kept < marks.count ? [`${counted(marks.kept, 'mark')} of ${grouped(marks.count)}, evenly`] : [];
    const on = grid.dims > 2 && name !== INTERFACES ? ['within a step of the grid of the slice'] : [];
    made.element.title = [...some, ...on].join(', ');
    return made.element;
  });
  return { state, field, isLog, update, elements: [box, log.element], boxes };
}

/** Builds the page of a solution in `main`, and returns what tests look at. */
PAGES.rbf = (data, main) => {
  const { solution } = data;
  const grid = gridOf(solution);
  const layers = layersOf(solution, grid);
  const { parts, redraws } = solutionParts(solution, grid);
  const plot = grid.dims === 1 ? linePage(grid, layers, solution.name) : planePage(grid, layers, solution);
  main.classList.add('field');
  main.append(
    element(
      'section.points',
      { 'aria-label': `Solution of ${solution.name}` },
      element('h2', {}, `Solution of ${solution.name}`),
      ...plot.elements
    ),
    element('div.side', {}, ...plot.parts, ...parts)
  );
  plot.start();
  theme.listeners.push(() => [...redraws, plot.redraw].forEach((redraw) => redraw()));
  return { grid, ...plot };
};

/** The CSV file of fields at places: `placesOf(i)` are the coordinates of the i-th of `count`. */
function fieldFile(grid, count, placesOf, valuesOf) {
  const header = [...grid.names, ...grid.fields.map(({ name }) => name)].map(field).join(',');
  const lines = Array.from({ length: count }, (_, i) =>
    [
      ...placesOf(i).map((value, axis) => grid.fileOf(axis, value)),
      ...valuesOf(i).map((value) => (Number.isFinite(value) ? String(Number(value.toPrecision(7))) : '')),
    ].join(',')
  );
  return `${[header, ...lines].join('\n')}\n`;
}

/** Names and values of all fields. */
function fieldLines(grid, values) {
  return grid.fields.map(({ label }, i) => [label, rounded(values[i], 5)]);
}

/** The curves of a field: u and the exact solution together. */
function curvesOf(grid, shown, valuesOf, isLog) {
  const fields = ['u', 'exact'].includes(shown.name)
    ? grid.fields.filter(({ name }) => ['u', 'exact'].includes(name))
    : [shown];
  const series = fields.map((one) => ({
    name: one.label,
    values: isLog ? valuesOf(one).map(Math.abs) : valuesOf(one),
  }));
  const label = shown.name === 'exact' ? 'u' : shown.label;
  return { y: isLog && shown.signed ? `size of the ${shown.label}` : label, series, isLog };
}

/** The plot in one dimension. */
function linePage(grid, layers, name) {
  const xs = Array.from({ length: grid.side }, (_, i) => grid.coordinate(0, i));
  const tools = fieldTools(grid, layers, update);
  const plot = linesPlot({ className: 'heat', name: `Solution of ${name}`, draw: drawLayers, linesOf });
  const save = button('Download', () =>
    download(
      'solution.csv',
      fieldFile(
        grid,
        xs.length,
        (i) => [xs[i]],
        (i) => grid.fields.map(({ values }) => values[i])
      )
    )
  );

  function update() {
    const inside = (values) => values.map((value, i) => (grid.distance?.[i] > EDGE_BYTE ? NaN : value));
    const curves = curvesOf(grid, tools.field(), ({ values }) => inside(values), tools.isLog());
    plot.set({ x: grid.names[0], xs, ...curves });
  }

  function linesOf(i) {
    return [
      [grid.names[0], grid.textOf(0, xs[i])],
      ...fieldLines(
        grid,
        grid.fields.map(({ values }) => values[i])
      ),
    ];
  }

  /** Marks on the lower edge, a layer above the other. */
  function drawLayers(context, [, height], placeX) {
    layers.forEach(({ name: of, marks }, row) => {
      if (!tools.state.layers[of]) return;
      context.fillStyle = styleColour('--ink');
      const [top, high] = of === INTERFACES ? [0, height] : [height - 10 * (row + 1), 8];
      for (const at of marks.places) context.fillRect(placeX(at), top, 1, high);
    });
  }

  const row = element('div.tools', {}, ...tools.elements, element('span.grow'), save);
  return {
    elements: [row, plot.element, element('div.tools', {}, ...tools.boxes)],
    parts: [],
    plot,
    state: tools.state,
    start: tools.update,
    redraw: plot.redraw,
  };
}
