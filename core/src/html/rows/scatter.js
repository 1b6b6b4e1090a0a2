// ---- scatter.js: a plot of points that can be moved, zoomed, asked and selected from ----

/** Zoom of the widest and the closest view. */
const ZOOMS = [0.5, 1e5];
/** The view of all points is this much wider than their range. */
const WIDER = 1.08;
/** Axes have equal scales unless one range is this many times the other, as in the plots that Firebox writes as images. */
const MOST_UNEQUAL = 20;
/** Distance in pixels within which a point is at the pointer. */
const REACH = 12;
const SCATTER_HELP =
  'Drag to move, Ctrl + wheel to zoom, Shift and drag to select. Keys: arrows, plus, minus, and 0 for all points.';

/**
 * A scatter plot. `axes` are x and y, { name, values, isRow: true if it is no column and scaled by itself } each;
 * `options` are { linesOf(row): lines of the tooltip, select(marks): called with a byte for each row after a lasso,
 * plain: true to do without WebGL, isMap: true for equal scales always, turn(x, y): called with the pixels of a drag with Alt
 * or the right button }. Places are pairs of x and y: values of the axes, or pixels from the panel's upper left corner.
 */
function scatterPlot(axes, options) {
  let points = element('canvas.layer', { role: 'img' });
  const [grid, cells, overlay] = [0, 1, 2].map(() => element('canvas.layer', { 'aria-hidden': 'true' }));
  const plot = element(
    'div',
    { className: 'plot', tabIndex: 0, role: 'group', 'aria-label': `Scatter plot. ${SCATTER_HELP}` },
    grid,
    cells,
    points,
    overlay
  );
  const tip = tooltip(plot);
  const missing = element('div.key.note');
  const hint = element('p.tooltip.hint', { hidden: true }, 'Ctrl + wheel zooms');
  plot.append(hint);
  const density = densityPicture(cells);
  const pointers = new Map();
  const view = { middle: [0, 0], zoom: 1 };
  let size = [1, 1];
  let places = new Float32Array(0);
  let looks = new Uint8Array(0);
  let anyMarked = false;
  let hovered = -1;
  let rings = [];
  let turning = false;
  let outline = null;
  let lasso = false;
  let rest = 0;
  let hintShown = 0;
  let isDensity = false;
  let painter = !options.plain && webglPoints(points);
  if (!painter) drawPlainly();
  points.addEventListener('webglcontextlost', () => {
    drawPlainly();
    draw();
  });

  /** Draws without WebGL, on a new canvas: one that had WebGL has no other context. */
  function drawPlainly() {
    const canvas = points.cloneNode();
    points.replaceWith(canvas);
    points = canvas;
    painter = plainPoints(points, places, looks);
  }

  // ---- Where things are ----

  /** Data units in a pixel. */
  function units() {
    const all = axes.map(({ half }, i) => ((2 * WIDER) / size[i]) * half);
    const ratio = axes[0].half / axes[1].half;
    const equal = !axes[1].isRow && (options.isMap || Math.max(ratio, 1 / ratio) <= MOST_UNEQUAL);
    return all.map((unit) => (equal ? Math.max(...all) : unit) / view.zoom);
  }

  function pixelOf(values) {
    const [x, y] = units().map((unit, i) => (values[i] - view.middle[i]) / unit);
    return [size[0] / 2 + x, size[1] / 2 - y];
  }

  function valuesAt([x, y]) {
    const by = [x - size[0] / 2, size[1] / 2 - y];
    const most = Number.MAX_VALUE;
    return units().map((unit, i) => clamped(view.middle[i] + by[i] * unit, -most, most));
  }

  /** A place in the units of `places`. */
  function scaledAt(place) {
    const values = valuesAt(place);
    return axes.map(({ middle, half }, i) => (values[i] - middle) / half);
  }

  const pixelOfRow = (row) => pixelOf(axes.map(({ values }) => values[row]));

  /** The row nearest to a place, or −1. */
  function rowAt(place) {
    const reach = units().map((unit, i) => (REACH * unit) / axes[i].half);
    return nearestOf(places, scaledAt(place), reach);
  }

  // ---- Drawing ----

  /** Diameter in CSS pixels: smaller if there are many, and larger from close by. */
  function diameter() {
    const ofAll = 9 * Math.min(1, (800 / places.length) ** 0.2);
    return Math.min(ofAll * Math.max(1, view.zoom) ** 0.25, 9);
  }

  function draw() {
    if (!plot.isConnected) return;
    size = [plot.clientWidth - MARGIN.left - MARGIN.right, plot.clientHeight - MARGIN.top - MARGIN.bottom].map((side) =>
      Math.max(side, 40)
    );
    drawGrid();
    drawPoints();
    drawOverlay();
  }

  function drawGrid() {
    const [left, high] = valuesAt([0, 0]);
    const [right, low] = valuesAt(size);
    drawAxes(cleared(grid, plot.clientWidth, plot.clientHeight), size, [
      { ...axisBetween(axes[0].name, left, right, size[0] / 80), place: (value) => pixelOf([value, 0])[0] },
      { ...axisBetween(axes[1].name, low, high, size[1] / 45), place: (value) => pixelOf([0, value])[1] },
    ]);
  }

  /** Draws the points, or their density: there are too many, or too many to draw each in every frame while the view moves. */
  function drawPoints() {
    const ratio = devicePixelRatio;
    const [width, height] = size.map((side) => Math.round(side * ratio));
    const halves = units().map((unit, i) => (unit * size[i]) / 2);
    const shown = {
      scale: axes.map(({ half }, i) => half / halves[i]),
      shift: axes.map(({ middle }, i) => (middle - view.middle[i]) / halves[i]),
    };
    const most = rest ? painter.most : MOST_POINTS;
    isDensity = places.length / 2 > most && countVisible(places, shown) > most;
    for (const [layer, on] of [
      [points, !isDensity],
      [cells, isDensity],
    ]) {
      const place = `left: ${MARGIN.left}px; top: ${MARGIN.top}px; width: ${size[0]}px; height: ${size[1]}px`;
      layer.style.cssText = `${place}; opacity: ${Number(on)}`;
    }
    if (isDensity) return density.draw(places, looks, shown, size, anyMarked);
    if (points.width !== width || points.height !== height) Object.assign(points, { width, height });
    painter.draw(shown, {
      diameter: diameter() * ratio,
      opacity: places.length > 40000 ? 0.6 : 0.85,
      anyMarked,
    });
  }

  /** Rings around the point at the pointer and others, a line between two others, and the outline that is being drawn. */
  function drawOverlay() {
    const context = cleared(overlay, plot.clientWidth, plot.clientHeight);
    context.translate(MARGIN.left, MARGIN.top);
    context.strokeStyle = styleColour('--ink');
    context.lineWidth = 2;
    context.beginPath();
    for (const row of rings) context.lineTo(...pixelOfRow(row));
    for (const row of hovered < 0 ? rings : [...rings, hovered]) {
      const [x, y] = pixelOfRow(row);
      const radius = diameter() / 2 + 4;
      context.moveTo(x + radius, y);
      context.arc(x, y, radius, 0, 2 * Math.PI);
    }
    if (outline) {
      context.stroke();
      context.beginPath();
      for (const place of outline) context.lineTo(...place);
      context.closePath();
      context.fillStyle = styleColour('--veil');
      context.fill();
      context.setLineDash([5, 4]);
    }
    context.stroke();
  }

  const drawSoon = oncePerFrame(draw);
  const drawOverlaySoon = oncePerFrame(drawOverlay);

  // ---- The view ----

  /** Draws while the view moves, and all points when it has come to rest. */
  function moved() {
    clearTimeout(rest);
    rest = setTimeout(() => {
      rest = 0;
      if (places.length / 2 > painter.most) drawSoon();
    }, 150);
    hover(-1);
    drawSoon();
  }

  function home() {
    view.zoom = 1;
    view.middle = axes.map(({ middle }) => middle);
    moved();
  }

  /** Moves the view by a number of pixels; its middle stays where points are. */
  function pan(x, y) {
    const [unitX, unitY] = units();
    const by = [-x * unitX, y * unitY];
    view.middle = axes.map(({ middle, half }, i) =>
      clamped(view.middle[i] + by[i], middle - half, middle + half)
    );
    moved();
  }

  /** Zooms by a factor; what is at this place stays there. */
  function zoom(factor, place = size.map((side) => side / 2)) {
    const values = valuesAt(place);
    view.zoom = clamped(view.zoom * factor, ZOOMS[0], ZOOMS[1]);
    const now = pixelOf(values);
    pan(place[0] - now[0], place[1] - now[1]);
  }

  // ---- The pointer and keys ----

  function hover(row, place) {
    if (row < 0) tip.hide();
    else tip.show(place[0] + MARGIN.left, place[1] + MARGIN.top, options.linesOf(row));
    if (row !== hovered) drawOverlaySoon();
    hovered = row;
  }

  function placeOf(event) {
    const box = plot.getBoundingClientRect();
    return [event.clientX - box.left - MARGIN.left, event.clientY - box.top - MARGIN.top];
  }

  const isInPanel = (place) => place.every((at, i) => at >= 0 && at <= size[i]);

  function press(event) {
    const place = placeOf(event);
    const turns = Boolean(options.turn) && (event.button === 2 || event.altKey);
    if ((event.button > 0 && !turns) || !isInPanel(place)) return;
    turning = turns;
    plot.setPointerCapture(event.pointerId);
    hover(-1);
    outline = pointers.size === 0 && !turning && (lasso || event.shiftKey) ? [place] : null;
    pointers.set(event.pointerId, place);
  }

  function drag(event) {
    const place = placeOf(event);
    const before = pointers.get(event.pointerId);
    if (!before) return hover(isInPanel(place) ? rowAt(place) : -1, place);
    pointers.set(event.pointerId, place);
    if (outline) {
      // An outline stays in the panel; small steps are left out.
      const next = place.map((at, i) => clamped(at, 0, size[i]));
      const last = outline.at(-1);
      if (next.some((at, i) => Math.abs(at - last[i]) >= 3)) outline.push(next);
      drawOverlaySoon();
    } else if (pointers.size === 1) (turning ? options.turn : pan)(place[0] - before[0], place[1] - before[1]);
    else pinch([...pointers].find(([id]) => id !== event.pointerId)[1], before, place);
  }

  /** One of two fingers moved: zooms by the change of their distance, and moves with the place between them. */
  function pinch(other, before, now) {
    const apart = (place) => Math.max(10, Math.hypot(place[0] - other[0], place[1] - other[1]));
    pan((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
    zoom(apart(now) / apart(before), [(now[0] + other[0]) / 2, (now[1] + other[1]) / 2]);
  }

  function release(event) {
    pointers.delete(event.pointerId);
    const drawn = outline;
    outline = null;
    drawOverlaySoon();
    if (!drawn || event.type !== 'pointerup') return;
    options.select(marksInside(places, drawn.map(scaledAt)));
  }

  function turnWheel(event) {
    if (!isInPanel(placeOf(event))) return;
    // Until the plot is in use, the wheel scrolls the page.
    const zooms = event.ctrlKey || event.metaKey || document.activeElement === plot;
    hint.hidden = zooms;
    clearTimeout(hintShown);
    hintShown = setTimeout(() => {
      hint.hidden = true;
    }, 1500);
    if (!zooms) return;
    event.preventDefault();
    // Some browsers count lines; a pinch on a touchpad arrives as a small turn with Ctrl.
    const isPinch = event.ctrlKey && Math.abs(event.deltaY) < 50;
    const pixels = event.deltaY * (event.deltaMode ? 16 : 1) * (isPinch ? 6 : 1);
    zoom(Math.exp(-0.0015 * clamped(pixels, -400, 400)), placeOf(event));
  }

  const [closer, wider] = [() => zoom(1.25), () => zoom(0.8)];
  const keys = {
    ArrowLeft: () => pan(40, 0),
    ArrowRight: () => pan(-40, 0),
    ArrowUp: () => pan(0, 40),
    ArrowDown: () => pan(0, -40),
    '+': closer,
    '=': closer,
    '-': wider,
    0: home,
    Escape: () => options.select(null),
  };

  listen(plot, {
    pointerdown: press,
    pointermove: drag,
    'pointerup pointercancel': release,
    pointerleave: () => hover(-1),
    dblclick: () => lasso || home(),
    wheel: turnWheel,
    contextmenu: (event) => options.turn && event.preventDefault(),
  });
  onKeys(plot, keys);
  new ResizeObserver(draw).observe(plot);

  return {
    element: plot,
    missing,
    get painter() {
      return painter.name;
    },
    view,
    /** True if the density of points is drawn instead of each. */
    get isDensity() {
      return isDensity;
    },
    draw,
    home,
    closer,
    wider,
    /** The place of a row in the window. */
    pixelOfRow(row) {
      const box = plot.getBoundingClientRect();
      const [x, y] = pixelOfRow(row);
      return [box.left + MARGIN.left + x, box.top + MARGIN.top + y];
    },
    /** Sets the axes, and shows all points or keeps the view's place beside their middle. */
    setAxes(both, keepsView) {
      const before = axes;
      axes = both.map(scaled);
      places = placesOf(axes);
      painter.setPlaces(places);
      const without = places.filter((at) => at === NOWHERE).length / 2;
      missing.textContent = without ? `No place for ${counted(without, 'row')} (missing values)` : '';
      if (!keepsView) return home();
      view.middle = axes.map(({ middle }, i) => view.middle[i] + middle - before[i].middle);
      moved();
    },
    /** Draws rings around rows, and a line between two. */
    setRings(rows) {
      rings = rows;
      drawOverlaySoon();
    },
    get rings() {
      return rings;
    },
    /** Sets how points look: LOOK.bytes bytes each. */
    setLooks(all) {
      looks = all;
      painter.setLooks(looks);
      drawSoon();
    },
    /** Marks rows by a byte for each, or none by null; the others fade. */
    setMarks(marks) {
      anyMarked = marks !== null;
      for (let row = 0; row < looks.length / LOOK.bytes; row++)
        looks[row * LOOK.bytes + LOOK.mark] = marks ? marks[row] : 0;
      painter.setLooks(looks);
      drawSoon();
    },
    describe(text) {
      points.setAttribute('aria-label', text);
    },
    setLasso(on) {
      lasso = on;
      plot.classList.toggle('lasso', on);
    },
  };
}
