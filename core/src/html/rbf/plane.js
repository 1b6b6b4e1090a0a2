// ---- plane.js: slices of a solution in two and more dimensions, with a probe and a cut ----

/** Least range of a slice that has contours, relative to that of the colours. */
const LEAST_RANGE = 1e-4;

/** A slider for the slice along an axis. `played` is called when it begins to play and when it stops. */
function sliceSlider(grid, axis, at, change, played) {
  const box = element('input', { type: 'range', min: 0, max: grid.side - 1, step: 1, value: at });
  const text = element('output', { 'aria-live': 'off' });
  const name = grid.names[axis];
  let playing = 0;
  function set(next) {
    box.value = next;
    const value = grid.textOf(axis, grid.coordinate(axis, Number(box.value)));
    box.setAttribute('aria-valuetext', `${name} = ${value}`);
    text.textContent = `${name} = ${value}`;
    change(Number(box.value));
  }
  function play() {
    clearInterval(playing);
    playing = playing ? 0 : setInterval(() => set((Number(box.value) + 1) % grid.side), PLAY_MS);
    toggle.textContent = playing ? 'Pause' : 'Play';
    played();
  }
  box.setAttribute('aria-label', `Slice along ${name}`);
  box.addEventListener('input', () => set(Number(box.value)));
  const toggle = button('Play', play, { title: `Slices along ${name}` });
  set(at);
  return {
    element: element('div.row.slice', {}, text, box, toggle),
    move: (by) => set(clamped(Number(box.value) + by, 0, grid.side - 1)),
    stop: () => playing && play(),
    isPlaying: () => playing > 0,
  };
}

/** Marks within a step of a slice, in steps of the grid. */
function marksOnSlice(grid, { places, widths }, axes, at) {
  const found = { places: [], widths: widths && [] };
  const steps = (axis, value) => (value - grid.low[axis]) / grid.steps[axis];
  for (let k = 0; k < places.length; k += grid.dims) {
    const isNear = at.every((i, axis) => axes.includes(axis) || Math.abs(steps(axis, places[k + axis]) - i) <= NEAR);
    if (!isNear) continue;
    for (const axis of axes) {
      found.places.push(steps(axis, places[k + axis]));
      found.widths?.push(widths[k + axis] / grid.steps[axis]);
    }
  }
  return found;
}

/** The plot in two and more dimensions. */
function planePage(grid, layers, { name, time }) {
  const others = () => grid.names.map((_, axis) => axis).filter((axis) => !state.axes.includes(axis));
  // Time is the last axis to be shown, so that slices are of space.
  const order = grid.names.map((_, axis) => axis).sort((a, b) => (a === time) - (b === time));
  const middle = Math.floor(grid.side / 2);
  const state = {
    axes: grid.dims > 2 ? order.slice(0, 2) : [0, 1],
    at: grid.names.map((_, axis) => (axis === time ? 0 : middle)),
    contours: {},
    cut: null,
  };
  let slices = [];
  let distance = null;
  let regions = null;
  let sliders = [];
  const tools = fieldTools(grid, layers, update);
  const contours = checkBox('Contours', true, (on) => {
    state.contours[tools.field().name] = on;
    update();
  });
  const turnPage = grid.dims > 2 ? (by) => sliders[0].move(by) : null;
  const heat = heatMap({ linesOf, probe: showProbe, cut: showCut, turnPage });
  const cutPlot = linesPlot({
    name: 'Cut',
    move: (i) => heat.setCursor(i < 0 ? null : cutPlace(i)),
    linesOf: (i) => linesOf(cutPlace(i)),
  });
  const sliderBox = element('div');
  const status = element('p.note.probe', { 'aria-live': 'polite' });
  const cutNote = element('p.note');

  // ---- Values ----

  function isInside([x, y]) {
    return !distance || between(distance, grid.side, x, y) <= EDGE_BYTE + 0.5;
  }

  /** The values of all fields at a place of the slice. */
  function valuesAt(place) {
    return slices.map((values) => (isInside(place) ? between(values, grid.side, ...place) : NaN));
  }

  /** The coordinates of a place of the slice. */
  function pointOf(place) {
    return grid.names.map((_, axis) => {
      const shown = state.axes.indexOf(axis);
      return grid.coordinate(axis, shown < 0 ? state.at[axis] : place[shown]);
    });
  }

  function linesOf(place) {
    const point = pointOf(place).map((value, axis) => [grid.names[axis], grid.textOf(axis, value)]);
    return isInside(place) ? [...point, ...fieldLines(grid, valuesAt(place))] : [...point, ['', 'outside the domain']];
  }

  function cutPlace(i) {
    const [from, to] = state.cut;
    return from.map((start, axis) => start + ((to[axis] - start) * i) / (CUT_SAMPLES - 1));
  }

  // ---- Changes ----

  function reslice() {
    slices = grid.fields.map(({ values }) => grid.slice(values, state.axes, state.at));
    distance = grid.distance && grid.slice(grid.distance, state.axes, state.at);
    regions = grid.regions?.map((values) => grid.slice(values, state.axes, state.at));
    update();
  }

  function hasContours(shown) {
    // The lines of an error are those of its many changes of sign.
    return state.contours[shown.name] ?? !shown.signed;
  }

  function contourLines(shown, scale) {
    if (!hasContours(shown)) return [];
    const values = slices[tools.state.field].map(scale.size);
    const range = rangeOf(values);
    // A field that is constant but for rounding has no lines.
    if (!range || range[1] - range[0] < LEAST_RANGE * (scale.ends[1] - scale.ends[0])) return [];
    const lines = scale.ticks(10).map((tick) => ({ ...tick, pieces: contourOf(values, grid.side, tick.at) }));
    for (const line of lines) line.pieces = within(line.pieces);
    return lines;
  }

  const interfaces = () => interfacesOf(regions, grid.side).map(within);

  /** The pieces of a line in the domain. */
  function within(pieces) {
    if (!distance) return pieces;
    const kept = [];
    for (let k = 0; k < pieces.length; k += 4) {
      const [x, y, toX, toY] = pieces.subarray(k, k + 4);
      if (isInside([(x + toX) / 2, (y + toY) / 2])) kept.push(x, y, toX, toY);
    }
    return Float32Array.from(kept);
  }

  function update() {
    if (!slices.length) return;
    const shown = tools.field();
    const scale = scaleOf(shown, tools.isLog());
    contours.box.checked = hasContours(shown);
    const marks = layers.filter((layer) => tools.state.layers[layer.name]);
    const [first, second] = state.axes;
    heat.show({
      values: slices[tools.state.field],
      distance,
      side: grid.side,
      scale,
      names: [grid.names[first], grid.names[second]],
      low: [grid.low[first], grid.low[second]],
      high: [grid.high[first], grid.high[second]],
      isEqual: time === null || !state.axes.includes(time),
      contours: contourLines(shown, scale),
      interfaces: tools.state.layers[INTERFACES] ? interfaces() : [],
      outline: distance && contourOf(distance, grid.side, EDGE_BYTE),
      marks: marks.map((layer) => ({ ...marksOnSlice(grid, layer.marks, state.axes, state.at), shape: layer.shape })),
    });
    describe(shown);
    if (state.cut) showCut(state.cut);
  }

  /** Where the slice is, as ", z = 0.5". */
  function sliceText() {
    return others()
      .map((axis) => `, ${grid.names[axis]} = ${grid.textOf(axis, grid.coordinate(axis, state.at[axis]))}`)
      .join('');
  }

  function describe(shown) {
    const all = slices[tools.state.field];
    const values = distance ? all.map((value, node) => (distance[node] > EDGE_BYTE ? NaN : value)) : all;
    const placeText = (node) => {
      const place = [node % grid.side, Math.floor(node / grid.side)];
      return `(${state.axes.map((axis, i) => grid.textOf(axis, grid.coordinate(axis, place[i]), 3)).join(', ')})`;
    };
    const ends = (rangeOf(values) ?? []).map((value) => `${rounded(value)} at ${placeText(values.indexOf(value))}`);
    const range = ends.length ? `from ${ends.join(' to ')}` : 'no values';
    const [across, up] = state.axes.map((axis) => grid.names[axis]);
    heat.describe(`${shown.label} of ${name} by ${across} and ${up}${sliceText()}: ${range}`);
  }

  function showProbe(place) {
    status.textContent = place
      ? linesOf(place)
          .map(([of, value]) => (of ? `${of} = ${value}` : value))
          .join(', ')
      : 'Drag to draw a cut. Click, or press the arrow keys, to place the probe.';
  }

  function showCut(line) {
    state.cut = line;
    const [a, b] = state.axes;
    const places = Array.from({ length: CUT_SAMPLES }, (_, i) => cutPlace(i));
    const ends = line.map(pointOf);
    const spans = [a, b].map((axis) => Math.abs(ends[1][axis] - ends[0][axis]));
    const along = spans[1] === 0 ? a : spans[0] === 0 ? b : -1;
    const isSpace = time === null || !state.axes.includes(time);
    const length = isSpace ? Math.hypot(...spans) : 1;
    const xs = places.map((place, i) => (along < 0 ? (length * i) / (CUT_SAMPLES - 1) : pointOf(place)[along]));
    const x = along >= 0 ? grid.names[along] : isSpace ? 'distance along the cut' : 'share of the cut';
    const all = places.map(valuesAt);
    const valuesOf = (one) => all.map((values) => values[grid.fields.indexOf(one)]);
    cutPlot.set({ x, xs, ...curvesOf(grid, tools.field(), valuesOf, tools.isLog()) });
    const endText = ends.map((end) => `(${end.map((value, axis) => grid.textOf(axis, value, 3)).join(', ')})`);
    cutNote.textContent = `From ${endText.join(' to ')}, linear between the nodes of a grid of ${grid.names.map(() => grid.side).join(' × ')}.`;
  }

  function saveCut() {
    const places = Array.from({ length: CUT_SAMPLES }, (_, i) => cutPlace(i));
    download(
      'cut.csv',
      fieldFile(
        grid,
        CUT_SAMPLES,
        (i) => pointOf(places[i]),
        (i) => valuesAt(places[i])
      )
    );
  }

  // ---- Axes and sliders ----

  /** Lines that change with the slice are not spoken while it plays. */
  function setSpoken() {
    const live = sliders.some((slider) => slider.isPlaying()) ? 'off' : 'polite';
    for (const line of [status, cutPlot.status]) line.setAttribute('aria-live', live);
  }

  function setSliders() {
    sliders.forEach((slider) => slider.stop());
    const isReady = { now: false };
    sliders = others().map((axis) =>
      sliceSlider(
        grid,
        axis,
        state.at[axis],
        (at) => {
          state.at[axis] = at;
          if (isReady.now) resliceSoon();
        },
        setSpoken
      )
    );
    isReady.now = true;
    sliderBox.replaceChildren(...sliders.map((slider) => slider.element));
  }

  const resliceSoon = oncePerFrame(reslice);

  function setAxis(which, axis) {
    const other = 1 - which;
    // The same axis twice exchanges both.
    if (state.axes[other] === axis) state.axes[other] = state.axes[which];
    state.axes[which] = axis;
    axisBoxes.forEach((box, i) => {
      box.querySelector('select').selectedIndex = state.axes[i];
    });
    setSliders();
    reslice();
    heat.cutThrough(0);
  }

  const axisBoxes =
    grid.dims > 2
      ? ['Across', 'Up'].map((label, which) =>
          choice(label, grid.names, state.axes[which], (axis) => setAxis(which, axis))
        )
      : [];
  setSliders();
  const cutTools = element(
    'div.tools',
    {},
    button('Horizontal', () => heat.cutThrough(0), { title: 'Cut through the probe, or the middle (H)' }),
    button('Vertical', () => heat.cutThrough(1), { title: 'Cut through the probe, or the middle (V)' }),
    button('Download the cut', saveCut)
  );
  return {
    elements: [
      element('div.tools', {}, ...tools.elements, ...axisBoxes),
      heat.element,
      sliderBox,
      status,
      element('div.tools', {}, contours.element, ...tools.boxes),
    ],
    parts: [section('Cut', cutTools, cutPlot.element, cutNote)],
    heat,
    cutPlot,
    state,
    tools,
    valuesAt,
    interfaces,
    start() {
      reslice();
      tools.update();
      heat.cutThrough(0);
    },
    redraw() {
      update();
      // Before printing there is no further frame.
      heat.redraw();
      cutPlot.redraw();
    },
  };
}
