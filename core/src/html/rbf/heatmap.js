// ---- heatmap.js: a slice of a field as colours, with contours, marks, a probe and a cut ----

const HEAT_HELP =
  'Arrow keys move the probe, with Shift by ten steps. Enter begins a cut at the probe and ends it there. ' +
  'H and V cut across and upwards through the probe.';
const PAGE_HELP = ' Page up and page down change the slice.';
/** Room on the right for the scale of colours, and on a narrow page. */
const SCALE_WIDTH = { wide: 100, narrow: 66, from: 480 };
/** Heights of the panel, in CSS pixels, and what the page has above and below it. */
const HEAT_HEIGHT = { least: 180, most: 680, around: 250 };
/** Ratios of both sides up to which lengths along both axes are equal. */
const EQUAL_UP_TO = 3.5;
const OTHER_RATIO = 0.7;
/** A press that moves by this distance draws a cut. */
const DRAG = 4;

/**
 * The plot of a slice. `show` gives it a view: { values, distance, side, scale, names, low, high, isEqual, contours, outline,
 * interfaces, marks }. `linesOf` returns names and values at a place, which is in steps of the grid. It calls `probe` with a
 * place or null, `cut` with both ends, and `turnPage` with the number of slices to go on by, null if there is one slice.
 */
function heatMap({ linesOf, probe, cut, turnPage }) {
  const help = `Field. ${HEAT_HELP}${turnPage ? PAGE_HELP : ''}`;
  const properties = { className: 'heat', tabIndex: 0, role: 'group', 'aria-label': help };
  const { element: plot, redraw, describe } = drawing(properties, draw);
  const overlay = drawing({ className: 'layer' }, drawOverlay);
  overlay.element.setAttribute('aria-hidden', 'true');
  plot.append(overlay.element);
  const tip = tooltip(plot);
  const overlaySoon = oncePerFrame(overlay.redraw);
  const redrawSoon = oncePerFrame(redraw);
  let view = null;
  let image = null;
  let size = [1, 1];
  let pointer = null;
  let pinned = null;
  let line = null;
  let cursor = null;
  let pressed = null;
  let begun = null;

  function place(x, y) {
    const last = view.side - 1;
    return [(size[0] * x) / last, size[1] * (1 - y / last)];
  }

  // ---- The field, its contours and marks ----

  /** Sets the size of the panel; false if the element's height is not yet the one that it needs. */
  function fit(width, height) {
    const right = width < SCALE_WIDTH.from ? SCALE_WIDTH.narrow : SCALE_WIDTH.wide;
    const wide = Math.max(width - MARGIN.left - right, 40);
    const most = clamped(innerHeight - HEAT_HEIGHT.around, HEAT_HEIGHT.least, HEAT_HEIGHT.most);
    const sides = [0, 1].map((axis) => view.high[axis] - view.low[axis]);
    const ratio = sides[1] / sides[0];
    const isEqual = view.isEqual && Math.max(ratio, 1 / ratio) <= EQUAL_UP_TO;
    const high = Math.min(most, wide * (isEqual ? ratio : OTHER_RATIO));
    size = [isEqual ? high / ratio : wide, high].map(Math.round);
    const needed = size[1] + MARGIN.top + MARGIN.bottom;
    if (Math.abs(needed - height) <= 1) return true;
    plot.style.height = `${needed}px`;
    return false;
  }

  function draw(context, width, height) {
    if (!view || !fit(width, height)) return;
    const { names, low, high, side, contours, outline, interfaces, marks, scale } = view;
    const axisOf = (axis, most) => {
      const toPlace = (value) => {
        const share = (value - low[axis]) / (high[axis] - low[axis]);
        return size[axis] * (axis ? 1 - share : share);
      };
      return { ...axisBetween(names[axis], low[axis], high[axis], most), place: toPlace };
    };
    drawAxes(context, size, [axisOf(0, size[0] / 70), axisOf(1, size[1] / 40)]);
    const dots = size.map((length) => Math.round(length * Math.min(devicePixelRatio, 2)));
    if (image?.view !== view || image.width !== dots[0] || image.height !== dots[1]) {
      image = paintSlice(view, ...dots);
      image.view = view;
    }
    context.save();
    context.beginPath();
    context.rect(0, 0, ...size);
    context.clip();
    context.drawImage(image, 0, 0, ...size);
    const isClear = (x, y) => !view.distance || between(view.distance, side, x, y) < CLEAR_BYTE;
    drawContours(context, contours, size, { place, isClear, scale });
    if (outline) strokeLines(context, outline, styleColour('--frame'), 1.5);
    // Light with dark edges, since the cut is dark with light ones.
    for (const [colour, wide] of [
      ['#000000', 3.5],
      ['#ffffff', 1.5],
    ])
      for (const pieces of interfaces) strokeLines(context, pieces, colour, wide);
    const steps = size.map((length) => length / (side - 1));
    for (const mark of marks) drawMarks(context, mark, steps, place);
    context.restore();
    context.strokeStyle = styleColour('--frame');
    context.strokeRect(0.5, 0.5, size[0] - 1, size[1] - 1);
    drawColours(context, scale, size, width >= SCALE_WIDTH.from);
    overlay.redraw();
    if (pointer) showProbe();
  }

  function strokeLines(context, pieces, colour, wide) {
    context.strokeStyle = colour;
    context.lineWidth = wide;
    context.lineCap = 'round';
    context.beginPath();
    for (let k = 0; k < pieces.length; k += 4) {
      context.moveTo(...place(pieces[k], pieces[k + 1]));
      context.lineTo(...place(pieces[k + 2], pieces[k + 3]));
    }
    context.stroke();
  }

  // ---- The probe and the cut ----

  function drawOverlay(context) {
    if (!view) return;
    context.translate(MARGIN.left, MARGIN.top);
    if (line) drawCut(context);
    const at = pointer ?? pinned;
    if (!at) return;
    const [x, y] = place(...at);
    stroke(context, () => {
      context.moveTo(x - 9, y);
      context.lineTo(x + 9, y);
      context.moveTo(x, y - 9);
      context.lineTo(x, y + 9);
    });
    if (begun) dotAt(context, place(...begun), 4);
  }

  function drawCut(context) {
    const [from, to] = line.map((end) => place(...end));
    stroke(context, () => {
      context.moveTo(...from);
      context.lineTo(...to);
    });
    dotAt(context, from, 3);
    dotAt(context, to, 3);
    if (cursor) dotAt(context, place(...cursor), 5);
  }

  /** A line that is visible on all colours. */
  function stroke(context, path) {
    for (const [colour, width] of [
      ['#ffffff', 3.5],
      ['#000000', 1.5],
    ]) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.beginPath();
      path();
      context.stroke();
    }
  }

  function dotAt(context, [x, y], radius) {
    context.fillStyle = '#000000';
    context.strokeStyle = '#ffffff';
    context.lineWidth = 1.5;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
  }

  function showProbe() {
    const at = pointer ?? pinned;
    if (pointer && !pressed) {
      const [x, y] = place(...pointer);
      tip.show(x + MARGIN.left, y + MARGIN.top, linesOf(pointer));
    } else tip.hide();
    probe(at);
    overlaySoon();
  }

  /** The place of an event, within the panel. */
  function placeOf(event) {
    const box = plot.getBoundingClientRect();
    const last = view.side - 1;
    const shares = [
      (event.clientX - box.left - MARGIN.left) / size[0],
      1 - (event.clientY - box.top - MARGIN.top) / size[1],
    ];
    const isOutside = shares.some((share) => share < 0 || share > 1);
    return { place: shares.map((share) => clamped(share, 0, 1) * last), isOutside };
  }

  /** Sets the cut, which begins at the smaller coordinate along its longer extent. */
  function setLine(from, to) {
    const [across, up] = [to[0] - from[0], to[1] - from[1]];
    if (!across && !up) return;
    line = (Math.abs(across) >= Math.abs(up) ? across : up) > 0 ? [from, to] : [to, from];
    cursor = null;
    cut(line);
    overlaySoon();
  }

  function move(right, up, event) {
    const last = view.side - 1;
    const by = event.shiftKey ? 10 : 1;
    const from = pinned ?? [last / 2, last / 2];
    const to = [from[0] + by * right, from[1] + by * up];
    pointer = null;
    pinned = pinned ? to.map((at) => clamped(Math.round(at), 0, last)) : from;
    showProbe();
  }

  function cutThrough(axis) {
    const last = view.side - 1;
    const at = pinned ?? [last / 2, last / 2];
    setLine(...[0, last].map((end) => (axis === 0 ? [end, at[1]] : [at[0], end])));
  }

  function markEnd() {
    if (!pinned) return;
    if (begun) setLine(begun, pinned);
    begun = begun ? null : pinned;
    announce(begun ? 'The cut begins here.' : 'The cut ends here.');
    overlaySoon();
  }

  listen(plot, {
    pointerdown(event) {
      const at = placeOf(event);
      if (event.button || at.isOutside) return;
      pressed = { from: at.place, x: event.clientX, y: event.clientY, isCut: false };
      plot.setPointerCapture(event.pointerId);
    },
    pointermove(event) {
      const at = placeOf(event);
      pointer = at.isOutside && !pressed ? null : at.place;
      if (pressed) {
        pressed.isCut ||= Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) > DRAG;
        if (pressed.isCut) setLine(pressed.from, at.place);
      }
      showProbe();
    },
    pointerup(event) {
      if (pressed && !pressed.isCut) pinned = placeOf(event).place;
      pressed = null;
      showProbe();
    },
    'pointercancel pointerleave'() {
      pressed = null;
      pointer = null;
      showProbe();
    },
  });
  const [cutAcross, cutUpwards] = [0, 1].map((axis) => () => cutThrough(axis));
  onKeys(plot, {
    ArrowLeft: (event) => move(-1, 0, event),
    ArrowRight: (event) => move(1, 0, event),
    ArrowUp: (event) => move(0, 1, event),
    ArrowDown: (event) => move(0, -1, event),
    ...(turnPage && { PageUp: () => turnPage(1), PageDown: () => turnPage(-1) }),
    Enter: markEnd,
    h: cutAcross,
    H: cutAcross,
    v: cutUpwards,
    V: cutUpwards,
    Escape() {
      pinned = begun = null;
      showProbe();
    },
  });
  // The height of the panel depends on that of the window.
  addEventListener('resize', redrawSoon);

  return {
    element: plot,
    describe,
    redraw,
    cutThrough,
    setLine,
    show(next) {
      view = next;
      redrawSoon();
      showProbe();
    },
    /** Marks a place on the cut. */
    setCursor(at) {
      cursor = at;
      overlaySoon();
    },
    /** The pixel of the window at which a place is. */
    pixelOf(at) {
      const box = plot.getBoundingClientRect();
      const [x, y] = place(...at);
      return [box.left + MARGIN.left + x, box.top + MARGIN.top + y];
    },
    get pinned() {
      return pinned;
    },
    get line() {
      return line;
    },
  };
}
