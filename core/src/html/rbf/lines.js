// ---- lines.js: curves with a cursor, which the pointer and the keyboard move ----

const LINES_HELP = 'Arrow keys, Home and End read its values.';
/** Dashes of the curves, which tell them apart without their colours. */
const DASHES = [[], [7, 4], [2, 3], [9, 3, 2, 3], [4, 4]];
/** Colours of the curves after the first one, of those of clusters. */
const LINE_COLOURS = [0, 3, 2, 5, 1];
/** Room above and below curves, as a share of their range. */
const LINES_ROOM = 0.06;

/**
 * A plot of curves over common places. `set` gives it { x, y, xs, series, isLog, level, marks }: names of the axes, places,
 * curves { name, values } with NaN for gaps, whether y is logarithmic, a line across { value, name }, and whether places
 * have dots. `move` gets the index at the cursor, or −1. `draw` may add to the panel. `linesOf` returns names and values at an
 * index, those of the curves by default.
 */
function linesPlot({
  className = 'convergence',
  name,
  move = () => {},
  draw: drawMore = () => {},
  linesOf: own = null,
}) {
  const properties = { className, tabIndex: 0, role: 'group', 'aria-label': `${name}. ${LINES_HELP}` };
  const { element: plot, redraw, describe } = drawing(properties, draw);
  const tip = tooltip(plot);
  const linesOf = own ?? linesAt;
  const key = element('div.legend');
  const status = element('p.note', { 'aria-live': 'polite' });
  const redrawSoon = oncePerFrame(redraw);
  let content = { x: '', y: '', xs: [], series: [], isLog: false, level: null, marks: false };
  let size = [1, 1];
  let [left, right, low, high] = [0, 1, 0, 1];
  let current = -1;

  const isShown = (value) => (content.isLog ? value > 0 && value < Infinity : Number.isFinite(value));
  const placeX = (x) => (size[0] * (x - left)) / (right - left);
  const placeY = (y) =>
    size[1] * (1 - (content.isLog ? Math.log(y / low) / Math.log(high / low) : (y - low) / (high - low)));

  function set(next) {
    content = { ...content, ...next };
    const { xs, series, level } = content;
    [left, right] = rangeOf(xs) ?? [0, 1];
    if (left === right) [left, right] = [left - 1, right + 1];
    else if (content.marks) {
      // Dots at the ends are drawn whole.
      const room = 0.02 * (right - left);
      [left, right] = [left - room, right + room];
    }
    let range = null;
    for (const values of [...series.map((one) => one.values), level ? [level.value] : []])
      for (const value of values)
        if (isShown(value)) range = range ? [Math.min(range[0], value), Math.max(range[1], value)] : [value, value];
    [low, high] = range ?? [1, 1];
    if (content.isLog) {
      const room = Math.max((high / low) ** LINES_ROOM, 1.2);
      [low, high] = [low / room, high * room];
    } else {
      const room = LINES_ROOM * (high - low) || Math.abs(high) || 1;
      [low, high] = [low - room, high + room];
    }
    current = Math.min(current, xs.length - 1);
    const isMany = series.length > 1 || level;
    key.replaceChildren(
      ...(isMany ? series.map((one, i) => keyEntry(one.name, i)) : []),
      ...(level ? [keyEntry(level.name, -1)] : [])
    );
    say();
    redrawSoon();
  }

  /** The colour of a curve; the first one has the accent. */
  function colourOf(i) {
    if (i < 0) return styleColour('--faint');
    return i === 0 ? styleColour('--accent') : css(CLUSTERS[theme.name][LINE_COLOURS[i % LINE_COLOURS.length]]);
  }

  function strokeAs(context, i) {
    context.strokeStyle = colourOf(i);
    context.lineWidth = i < 0 ? 1.5 : 2;
    context.lineJoin = 'round';
    context.setLineDash(i < 0 ? [3, 3] : DASHES[i % DASHES.length]);
  }

  function keyEntry(text, i) {
    const sample = element('canvas', { 'aria-hidden': 'true' });
    Object.assign(sample.style, { width: '28px', height: '10px' });
    const context = cleared(sample, 28, 10);
    strokeAs(context, i);
    context.beginPath();
    context.moveTo(0, 5);
    context.lineTo(28, 5);
    context.stroke();
    return element('span.curve', {}, sample, text);
  }

  function draw(context, width, height) {
    size = [width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom].map((side) => Math.max(side, 40));
    const { x, y, xs, series, isLog, level, marks } = content;
    // Ticks of whole numbers, such as cycles, are whole numbers.
    const most = Math.min(size[0] / 70, xs.every(Number.isInteger) ? right - left : Infinity);
    const across = axisBetween(x, left, right, most);
    const up = isLog
      ? { name: y, ticks: logTicksOf(low, high, size[1] / 30) }
      : axisBetween(y, low, high, size[1] / 30);
    drawAxes(context, size, [
      { ...across, place: placeX },
      { ...up, place: placeY },
    ]);
    context.save();
    context.beginPath();
    context.rect(0, 0, ...size);
    context.clip();
    if (level && isShown(level.value)) {
      strokeAs(context, -1);
      context.beginPath();
      context.moveTo(0, placeY(level.value));
      context.lineTo(size[0], placeY(level.value));
      context.stroke();
    }
    series.forEach(({ values }, i) => {
      strokeAs(context, i);
      context.beginPath();
      let open = false;
      values.forEach((value, k) => {
        const shown = isShown(value);
        if (shown && open) context.lineTo(placeX(xs[k]), placeY(value));
        else if (shown) context.moveTo(placeX(xs[k]), placeY(value));
        // Curves with dots are drawn across gaps.
        open = shown || (open && marks);
      });
      context.stroke();
      context.setLineDash([]);
      if (marks)
        values.forEach((value, k) => isShown(value) && dot(context, placeX(xs[k]), placeY(value), 3, colourOf(i)));
    });
    drawMore(context, size, placeX);
    if (current >= 0) {
      const at = placeX(xs[current]);
      context.fillStyle = styleColour('--frame');
      context.fillRect(Math.round(at), 0, 1, size[1]);
      series.forEach(({ values }, i) => {
        if (isShown(values[current])) dot(context, at, placeY(values[current]), 4, colourOf(i));
      });
    }
    context.restore();
    if (current >= 0) showTip();
  }

  function showTip() {
    tip.show(placeX(content.xs[current]) + MARGIN.left, MARGIN.top, linesOf(current));
  }

  function dot(context, x, y, radius, colour) {
    context.fillStyle = colour;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fill();
  }

  /** Names and values at a place. */
  function linesAt(i) {
    const values = content.series.filter((one) => Number.isFinite(one.values[i]));
    return [[content.x, rounded(content.xs[i], 6)], ...values.map((one) => [one.name, rounded(one.values[i], 6)])];
  }

  /** The curves in a sentence. */
  function text() {
    const parts = content.series.flatMap(({ name: of, values }) => {
      const range = rangeOf(values);
      return range ? [`${of} from ${rounded(range[0])} to ${rounded(range[1])}`] : [];
    });
    if (!parts.length) return 'There are no values here.';
    const ends = [left, right].map((value) => rounded(value, digitsIn(left, right)));
    return `${content.x} from ${ends.join(' to ')}: ${parts.join('; ')}.`;
  }

  function say() {
    describe(`${name}${content.isLog ? ', logarithmic' : ''}. ${text()}`);
    status.textContent =
      current < 0
        ? ''
        : `${linesOf(current)
            .map(([of, value]) => `${of} = ${value}`)
            .join(', ')}.`;
  }

  function show(i) {
    if (i === current || !content.xs.length) return;
    current = i;
    if (i < 0) tip.hide();
    else showTip();
    say();
    move(i);
    redrawSoon();
  }

  function go(i) {
    show(clamped(i, 0, content.xs.length - 1));
  }

  /** The place nearest to a pixel of the panel. */
  function nearestTo(pixel) {
    const at = left + (pixel / size[0]) * (right - left);
    let best = 0;
    content.xs.forEach((x, i) => {
      if (Math.abs(x - at) < Math.abs(content.xs[best] - at)) best = i;
    });
    return best;
  }

  const few = () => Math.max(1, Math.round(content.xs.length / 20));
  onKeys(plot, {
    ArrowLeft: () => go(current < 0 ? content.xs.length - 1 : current - 1),
    ArrowRight: () => go(current + 1),
    PageUp: () => go(current - few()),
    PageDown: () => go(current + few()),
    Home: () => go(0),
    End: () => go(content.xs.length - 1),
    Escape: () => show(-1),
  });
  listen(plot, {
    pointermove(event) {
      show(nearestTo(event.clientX - plot.getBoundingClientRect().left - MARGIN.left));
    },
    'pointerleave blur': () => show(-1),
  });

  return {
    element: element('div', {}, key, plot, status),
    status,
    set,
    redraw() {
      set({});
      redraw();
    },
    get current() {
      return current;
    },
    get content() {
      return content;
    },
  };
}
