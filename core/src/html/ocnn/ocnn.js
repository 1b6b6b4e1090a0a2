// ---- ocnn.js: the page of a clustering ----

const NO_COLUMNS = 'There is no scatter plot: distances, graphs and sparse rows have no columns to draw.';

/** Builds the page of a clustering in `main`, and returns what tests look at. */
PAGES.ocnn = (data, main) => {
  const clustering = clusteringOf(data);
  const unit = clustering.weighted ? 'point' : 'row';
  const table = rowTable(data);
  const { columns, classes } = table;
  const state = {
    level: clustering.chosen,
    labels: null,
    looks: [],
    colouring: 0,
    axes: [0, Math.min(1, columns.length - 1)],
    marks: null,
  };
  // Noise keeps its shape, so that it stays apart.
  const colours = rowColours(data.rows, classes, (row) => (state.labels[row] < 0 ? SHAPE.cross : SHAPE.circle));

  const scatter = columns.length
    ? scatterPlot(axesNow(), {
        linesOf,
        select: (marks) => selection.set(marks, 'inside the outline'),
        plain: location.hash === '#2d',
      })
    : null;
  const hint = clustering.tree ? ' or a branch of the tree' : '';
  const selection = rowSelection({
    fileOf: (rows) => table.fileOf(rows, { name: 'cluster', fileOf: (row) => state.labels[row] }),
    show: showMarks,
    hint: `${scatter ? 'Hold Shift and drag around points, or click' : 'Click'} a cluster${hint}.`,
  });
  const slider = levelSlider(clustering, setLevel);
  const sizes = sizeBars(unit, selectCluster);
  const highlight = (node) => scatter?.setMarks(node < 0 ? state.marks : rowsBelow(clustering, node));
  const tree = clustering.tree && treePlots(clustering, { highlight, select: selectBranch });
  const save = button('', () => download(`clusters-${clustersNow()}.csv`, labelsFile()));
  const colourings = [
    { name: 'cluster', paint: () => colours.paintGroups(state.labels, state.looks) },
    ...(classes ? [{ name: `class (${classes.name})`, paint: colours.paintClasses }] : []),
    { name: 'outlier score', paint: () => colours.paintValues('outlier score', clustering.outlier, 1 / 255) },
    ...columns.map(({ name, values }) => ({ name, paint: () => colours.paintValues(name, values) })),
  ];

  function clustersNow() {
    return clustering.levels[state.level].clusters;
  }

  function axesNow() {
    return table.axesOf(columns, state.axes);
  }

  /** Names and values in the tooltip of a row. */
  function linesOf(row) {
    const label = state.labels[row];
    return [
      ...table.linesOf(row),
      ['cluster', label < 0 ? 'noise' : label],
      ...table.classLines(row),
      ['outlier score', (clustering.outlier[row] / 255).toFixed(2)],
    ];
  }

  // ---- Changes ----

  function recolour() {
    if (!scatter) return;
    colourings[state.colouring].paint();
    scatter.setLooks(colours.looks);
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
    tree?.setLevel(state.level, state.labels, state.looks, result);
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
  const labelsFile = () => `cluster\n${Array.from(state.labels, (label) => `${label}\n`).join('')}`;

  // ---- The parts of the page ----

  function tools() {
    const names = colourings.map(({ name }) => name);
    const colour = choice('Colour', names, 0, (i) => {
      state.colouring = i;
      recolour();
    });
    const size = choice('Size', ['equal', 'outlier score'], 0, (i) => {
      colours.setSizes(i ? clustering.outlier : null);
      recolour();
    });
    const axes = columns.length > 2 ? axisChoices(columns, state.axes, setAxes) : [];
    return plotTools(scatter, [...axes, colour, size]);
  }

  const points = scatter ? [tools(), scatter.element, colours.key, scatter.missing] : [element('p.empty', {}, NO_COLUMNS)];
  main.append(
    element('section.points', { 'aria-label': 'Points' }, ...points, selection.element),
    element(
      'div.side',
      {},
      section(
        'Number of clusters',
        slider.element,
        element('div.tools', {}, save, ...(clustering.levels.length > 1 ? [slider.back] : []))
      ),
      section(
        'Clusters',
        element('p.heads', { 'aria-hidden': 'true' }, figure(`${unit}s`), Object.assign(figure('outlier'), { title: 'mean outlier score' }), figure('silhouette')),
        sizes.element
      ),
      ...(tree?.plots.map((plot) => plot.element) ?? []),
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
};
