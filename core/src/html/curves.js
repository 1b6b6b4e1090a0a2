// ---- curves.js: numbers by epoch, such as losses ----

const CURVES_HELP = 'Arrow keys, Home and End read its values.';
/** Dashes of the first, the second and further curves. */
const DASHES = [[], [6, 3], [2, 3]];

/** The lowest or highest number of a curve and its position, if there is one. */
function extremeOf(values, isHigher) {
  let best = -1;
  values.forEach((value, i) => {
    if (Number.isFinite(value) && (best < 0 || (isHigher ? value > values[best] : value < values[best]))) best = i;
  });
  return best;
}

/**
 * Curves over the epochs from 1. `options` are { name, axis: the name of their values, lines: { name, values, isHigher: true if
 * larger values are better } each, best: the epoch of the model, range: the values of the axis, or logarithmic without }.
 */
function curvesPlot({ name, axis, lines, best, range }) {
  const properties = { className: 'curves', tabIndex: 0, role: 'group', 'aria-label': `${name}. ${CURVES_HELP}` };
  const { element: plot, redraw, describe } = drawing(properties, draw);
  const tip = tooltip(plot);
  const key = element('div.key', {});
  const text = lines.map(textOf).join(' ');
  const status = element('p.note', { 'aria-live': 'polite' }, text);
  const last = Math.max(...lines.map(({ values }) => values.length)) - 1;
  const redrawSoon = oncePerFrame(redraw);
  const isLog = !range;
  const [low, high] = range ?? logRange();
  let size = [1, 1];
  let current = -1;
  describe(`${name}${isLog ? ', logarithmic' : ''}. ${text}`);

  function logRange() {
    const positive = lines.map(({ values }) => rangeOf(values.filter((value) => value > 0))).filter(Boolean);
    if (!positive.length) return [0.5, 2];
    const least = Math.min(...positive.map(([from]) => from));
    const most = Math.max(...positive.map(([, to]) => to));
    // Room above and below, also for a single number.
    const room = Math.max((most / least) ** 0.05, 1.02);
    return [least / room, most * room];
  }

  /** A curve in a sentence. */
  function textOf({ name, values, isHigher }) {
    const at = extremeOf(values, isHigher);
    if (at < 0) return `${name}: missing.`;
    const first = `${name} ${rounded(values[0])} at epoch 1`;
    if (values.length === 1) return `${first}.`;
    const extreme = `${isHigher ? 'highest' : 'lowest'} ${rounded(values[at])} at epoch ${grouped(at + 1)}`;
    return `${first}, ${extreme}, ${rounded(values.at(-1))} at epoch ${grouped(values.length)}.`;
  }

  function colourOf(i) {
    return css(CLUSTERS[theme.name][[0, 3, 2][i % 3]]);
  }

  function placeX(i) {
    return last ? (size[0] * i) / last : size[0] / 2;
  }

  /** A number without a logarithm is at the lower edge. */
  function placeY(value) {
    const share = isLog ? Math.log(Math.max(value, low) / low) / Math.log(high / low) : (value - low) / (high - low);
    return size[1] * (1 - share);
  }

  function draw(context, width, height) {
    size = [width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom].map((side) => Math.max(side, 40));
    const epochs = ticksOf(1, last + 1, size[0] / 70).filter(({ at }) => Number.isInteger(at));
    drawAxes(context, size, [
      { name: 'epoch', ticks: epochs, place: (value) => placeX(value - 1) },
      { name: axis, ticks: (isLog ? logTicksOf : ticksOf)(low, high, size[1] / 30), place: placeY },
    ]);
    drawBest(context);
    context.lineWidth = 2;
    context.lineJoin = 'round';
    lines.forEach(({ values }, k) => {
      context.strokeStyle = colourOf(k);
      context.setLineDash(DASHES[k % DASHES.length]);
      context.beginPath();
      values.forEach((value, i) => Number.isFinite(value) && context.lineTo(placeX(i), placeY(value)));
      context.stroke();
    });
    context.setLineDash([]);
    const marked = current < 0 && last === 0 ? 0 : current;
    if (marked >= 0) lines.forEach(({ values }, k) => drawDot(context, marked, values[marked], colourOf(k)));
  }

  /** A line at the epoch of the model. */
  function drawBest(context) {
    if (!(best > 0)) return;
    const x = Math.round(placeX(best - 1)) + 0.5;
    context.strokeStyle = styleColour('--frame');
    context.setLineDash([3, 3]);
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, size[1]);
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = styleColour('--faint');
    const isRight = x > size[0] / 2;
    write(context, 'the model', isRight ? x - 6 : x + 6, 12, isRight ? 'right' : 'left');
  }

  function drawDot(context, i, value, colour) {
    if (!Number.isFinite(value)) return;
    context.fillStyle = colour;
    context.beginPath();
    context.arc(placeX(i), placeY(value), 4, 0, 2 * Math.PI);
    context.fill();
  }

  function show(i) {
    if (i === current) return;
    current = i;
    if (i < 0) tip.hide();
    else {
      const values = lines.map(({ name, values }) => [name, rounded(values[i] ?? NaN)]);
      tip.show(placeX(i) + MARGIN.left, MARGIN.top, [['epoch', grouped(i + 1)], ...values]);
    }
    const valueText = ({ name, values }) => `${name} ${rounded(values[i] ?? NaN)}`;
    status.textContent = i < 0 ? text : `Epoch ${grouped(i + 1)}: ${lines.map(valueText).join(', ')}.`;
    redrawSoon();
  }

  function go(i) {
    show(Math.min(Math.max(i, 0), last));
  }

  function paintKey() {
    const keys = lines.map(({ name }, k) => {
      const line = element('span.line', {});
      line.style.borderTop = `2px ${DASHES[k % DASHES.length].length ? 'dashed' : 'solid'} ${colourOf(k)}`;
      return element('span', {}, line, ` ${name}`);
    });
    key.replaceChildren(...(lines.length > 1 ? keys : []));
  }

  onKeys(plot, {
    ArrowLeft: () => go(current < 0 ? last : current - 1),
    ArrowRight: () => go(current + 1),
    PageUp: () => go(current - 10),
    PageDown: () => go(current + 10),
    Home: () => go(0),
    End: () => go(last),
    Escape: () => show(-1),
  });
  listen(plot, {
    pointermove(event) {
      const x = event.clientX - plot.getBoundingClientRect().left - MARGIN.left;
      go(Math.round((x / size[0]) * last));
    },
    'pointerleave blur': () => show(-1),
  });
  paintKey();

  return {
    element: element('div', {}, key, plot, status),
    redraw() {
      paintKey();
      redraw();
    },
  };
}
