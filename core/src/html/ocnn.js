// ---- ocnn.js: the page of a clustering ----

/** Most columns in a tooltip; texts come first. */
const MOST_LINES = 12;
/** Most classes in the key of their colours. */
const MOST_KEYS = 24;
const NO_COLUMNS =
  'There is no scatter plot: this run has no columns of numbers to draw. Distances, graphs and sparse rows have none.';

/** Builds the page of a clustering in `main`, and returns what tests look at. */
function clusteringPage(data, main) {
  const clustering = clusteringOf(data);
  const unit = clustering.weighted ? 'point' : 'row';
  const columns = data.columns.map(columnOf);
  /** What a tooltip and a file have of a row. */
  const fields = [
    ...data.texts.map(({ name, values }) => ({
      name,
      fileOf: (row) => field(values[row]),
      textOf: (row) => values[row],
    })),
    ...columns,
  ];
  const classes = data.classes && { ...data.classes, of: arrayOf(Uint32Array, data.classes.of) };
  const state = {
    level: clustering.chosen,
    labels: null,
    looks: [],
    colouring: 0,
    axes: [0, Math.min(1, columns.length - 1)],
    marks: null,
  };
  const rowLooks = new Uint8Array(data.rows * LOOK.bytes);

  const scatter = columns.length
    ? scatterPlot(axesNow(), {
        linesOf,
        select: (marks) => selection.set(marks, 'inside the outline'),
        plain: location.hash === '#2d',
      })
    : null;
  const hint = clustering.tree ? ' or a branch of the tree' : '';
  const selection = rowSelection({
    fileOf,
    show: showMarks,
    hint: `${scatter ? 'Hold Shift and drag around points, or click' : 'Click'} a cluster${hint}.`,
  });
  const slider = levelSlider(clustering, setLevel);
  const sizes = sizeBars(unit, selectCluster);
  const highlight = (node) => scatter?.setMarks(node < 0 ? state.marks : rowsBelow(clustering, node));
  const tree = clustering.tree && treePlot(clustering, { highlight, select: selectBranch });
  const key = element('div', { className: 'key' });
  const save = button('', () => download(`clusters-${clustersNow()}.csv`, labelsFile()));
  const colourings = [
    { name: 'cluster', paint: () => paintGroups(state.labels, state.looks) },
    ...(classes ? [{ name: `class (${classes.name})`, paint: paintClasses }] : []),
    { name: 'outlier score', paint: () => paintValues('outlier score', clustering.outlier, 1 / 255) },
    ...columns.map(({ name, values }) => ({ name, paint: () => paintValues(name, values, 1) })),
  ];

  function clustersNow() {
    return clustering.levels[state.level].clusters;
  }

  /** The columns of both axes. A single column is drawn over its rows. */
  function axesNow() {
    if (columns.length > 1) return state.axes.map((i) => columns[i]);
    return [columns[0], { name: 'row', values: Array.from({ length: data.rows }, (_, row) => row), isRow: true }];
  }

  /** Names and values in the tooltip of a row. */
  function linesOf(row) {
    const label = state.labels[row];
    return [
      ['row', String(row)],
      ...fields.slice(0, MOST_LINES).map(({ name, textOf }) => [name, textOf(row)]),
      ['cluster', label < 0 ? 'noise' : String(label)],
      ...(classes ? [[classes.name, classes.names[classes.of[row]]]] : []),
      ['outlier score', (clustering.outlier[row] / 255).toFixed(2)],
    ];
  }

  // ---- Colours ----

  /** Sets colour and shape of each row, and the key that explains them. */
  function paint(lookOf, ...keys) {
    for (let row = 0; row < data.rows; row++) {
      const { colour, shape } = lookOf(row);
      const at = row * LOOK.bytes;
      rowLooks.set(colour, at);
      rowLooks[at + LOOK.shape] = shape;
    }
    key.replaceChildren(...keys);
  }

  function paintGroups(groups, looks) {
    const noise = noiseLook();
    paint((row) => looks[groups[row]] ?? noise);
  }

  function paintClasses() {
    const looks = looksOf(classes.names.length);
    paintGroups(classes.of, looks);
    key.append(...looks.slice(0, MOST_KEYS).map((look, i) => element('span', {}, swatch(look), ` ${classes.names[i]}`)));
    if (looks.length > MOST_KEYS) key.append(`and ${grouped(looks.length - MOST_KEYS)} more`);
  }

  /** Colours by numbers, `unit` each. Noise keeps its shape, so that it stays apart. */
  function paintValues(name, values, unit) {
    const [low, high] = rangeOf(values) ?? [0, 0];
    const shades = Array.from({ length: 256 }, (_, i) => visibleViridis(i / 255));
    const span = high > low ? high - low : 1;
    // Enough digits to tell both ends apart.
    const digits = 4 + Math.max(0, Math.ceil(Math.log10(Math.max(Math.abs(low), Math.abs(high), 1e-9) / span)));
    paint(
      (row) => ({
        colour: shades[Math.round((255 * (values[row] - low)) / span)] ?? NOISE[theme.name],
        shape: state.labels[row] < 0 ? SHAPE.cross : SHAPE.circle,
      }),
      element('span', {}, name),
      rounded(low * unit, digits),
      ramp(),
      rounded(high * unit, digits)
    );
  }

  // ---- Changes ----

  function recolour() {
    if (!scatter) return;
    colourings[state.colouring].paint();
    scatter.setLooks(rowLooks);
  }

  function setLevel(index, isQuiet) {
    state.level = index;
    state.labels = labelsAt(clustering, index);
    update();
    if (!isQuiet) announce(state.said);
  }

  function setAxes() {
    scatter?.setAxes(axesNow());
    update();
  }

  /** Shows the level in all parts of the page; also after a change of the theme. */
  function update() {
    const clusters = clustersNow();
    const groups = groupsOf(clustering, state.level, state.labels);
    const noise = groups[clusters].size;
    state.looks = looksOf(clusters);
    slider.set(state.level, noise);
    sizes.set(groups, state.looks);
    const result = `in ${counted(clusters, 'cluster')} and ${counted(noise, 'noise point')}`;
    tree?.setClusters(state.labels, state.looks, result);
    recolour();
    const [x, y] = axesNow();
    const rows = counted(data.rows, 'row');
    state.said = scatter ? `Scatter plot of ${rows}, ${x.name} against ${y.name}, ${result}` : `${rows} ${result}`;
    scatter?.describe(state.said);
    save.textContent = `Download the labels of ${counted(clusters, 'cluster')}`;
  }

  function showMarks(marks) {
    state.marks = marks;
    scatter?.setMarks(marks);
  }

  function selectCluster(cluster) {
    selection.set(
      Uint8Array.from(state.labels, (label) => Number(label === cluster)),
      cluster < 0 ? 'noise' : `cluster ${cluster} of ${clustersNow()}`
    );
  }

  function selectBranch(node) {
    selection.set(node < 0 ? null : rowsBelow(clustering, node), 'a branch of the tree');
  }

  // ---- Files ----

  /** The labels as `firebox ocnn -o` writes them. */
  function labelsFile() {
    return `cluster\n${Array.from(state.labels, (label) => `${label}\n`).join('')}`;
  }

  function fileOf(rows) {
    const head = ['row', ...fields.map(({ name }) => field(name)), 'cluster'];
    const lineOf = (row) => [row, ...fields.map(({ fileOf }) => fileOf(row)), state.labels[row]];
    return [head, ...rows.map(lineOf)].map((line) => `${line.join(',')}\n`).join('');
  }

  // ---- The parts of the page ----

  function tools() {
    const lasso = button(
      'Lasso',
      () => {
        const on = lasso.getAttribute('aria-pressed') !== 'true';
        lasso.setAttribute('aria-pressed', String(on));
        scatter.setLasso(on);
      },
      { 'aria-pressed': 'false', title: 'Select by drawing around points (or hold Shift)' }
    );
    const axisChoice = (label, axis) =>
      choice(
        label,
        columns.map(({ name }) => name),
        axis,
        (i) => {
          state.axes[axis] = i;
          setAxes();
        }
      );
    return element(
      'div',
      { className: 'tools' },
      ...(columns.length > 2 ? [axisChoice('x', 0), axisChoice('y', 1)] : []),
      choice(
        'Colour',
        colourings.map(({ name }) => name),
        0,
        (i) => {
          state.colouring = i;
          recolour();
        }
      ),
      element(
        'div',
        { className: 'row last' },
        lasso,
        button('\u2212', scatter.wider, { 'aria-label': 'Zoom out' }),
        button('+', scatter.closer, { 'aria-label': 'Zoom in' }),
        button('Reset', scatter.home, { title: 'Show all points (double click)' })
      )
    );
  }

  const points = scatter ? [tools(), scatter.element, key] : [element('p', { className: 'empty' }, NO_COLUMNS)];
  main.append(
    element('section', { className: 'points', 'aria-label': 'Points' }, ...points, selection.element),
    element(
      'div',
      { className: 'side' },
      section(
        'Number of clusters',
        slider.element,
        element('div', { className: 'tools' }, save, ...(clustering.levels.length > 1 ? [slider.back] : []))
      ),
      section(
        'Clusters',
        element('p', { className: 'heads', 'aria-hidden': 'true' }, figure(`${unit}s`), figure('outlier')),
        sizes.element
      ),
      ...(tree ? [section('Tree of clusters', tree.element)] : []),
      section('Evidence against chance', ...chanceBar(clustering.chance))
    )
  );
  main.classList.toggle('pointless', !scatter);
  state.labels = labelsAt(clustering, state.level);
  setAxes();
  selection.set(null);
  theme.listeners.push(() => {
    update();
    scatter?.draw();
  });
  return { state, scatter, selection, tree, setLevel };
}
