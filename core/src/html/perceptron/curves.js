// ---- curves.js: numbers by epoch, such as losses ----

/** Dashes of the first and the second curve. */
const DASHES = [[], [6, 3]];

/** A curve in a sentence; `isHigher` if larger values are better. */
function curveText({ name, values, isHigher }) {
  let at = 0;
  values.forEach((value, i) => {
    if (isHigher ? value > values[at] : value < values[at]) at = i;
  });
  const first = `${name} ${rounded(values[0])} at epoch 1`;
  if (values.length === 1) return `${first}.`;
  const extreme = `${isHigher ? 'highest' : 'lowest'} ${rounded(values[at])} at epoch ${grouped(at + 1)}`;
  return `${first}, ${extreme}, ${rounded(values.at(-1))} at epoch ${grouped(values.length)}.`;
}

/** The range of positive numbers with room above and below. */
function logRange(lines) {
  const positive = lines.flatMap(({ values }) => rangeOf(values.filter((value) => value > 0)) ?? []);
  if (!positive.length) return [0.5, 2];
  const [least, most] = [Math.min(...positive), Math.max(...positive)];
  const room = Math.max((most / least) ** 0.05, 1.02);
  return [least / room, most * room];
}

/**
 * Curves over the epochs from 1. `options` are { name, axis: the name of their values, lines: { name, values, isHigher } each,
 * best: the epoch of the model, range: the values of the axis, or logarithmic without }.
 */
function curvesPlot({ name, axis, lines, best, range }) {
  const key = element('div.key');
  const text = lines.map(curveText).join(' ');
  const last = lines[0].values.length - 1;
  const [low, high] = range ?? logRange(lines);
  const stepped = steppedPlot({
    className: 'curves',
    name,
    help: 'Arrow keys, Home and End read its values.',
    rest: text,
    first: best - 1,
    count: () => last + 1,
    draw,
    linesOf: (i) => [['epoch', grouped(i + 1)], ...lines.map(({ name, values }) => [name, rounded(values[i])])],
    placeOf: (i, size) => [placeX(i, size), 0],
    at: (x, y, [width]) => clamped(Math.round((x / width) * last), 0, last),
  });
  stepped.describe(`${name}${range ? '' : ', logarithmic'}. ${text}`);

  function colourOf(i) {
    return css(CLUSTERS[theme.name][[0, 3][i]]);
  }

  function placeX(i, [width]) {
    return last ? (width * i) / last : width / 2;
  }

  function draw(context, size, current) {
    /** A number without a logarithm is at the lower edge. */
    const shareOf = (value) =>
      range ? (value - low) / (high - low) : Math.log(Math.max(value, low) / low) / Math.log(high / low);
    const placeY = (value) => size[1] * (1 - shareOf(value));
    const epochs = wholeTicks(1, last + 1, size[0] / 70);
    drawAxes(context, size, [
      { name: 'epoch', ticks: epochs, place: (value) => placeX(value - 1, size) },
      { name: axis, ticks: (range ? ticksOf : logTicksOf)(low, high, size[1] / 30), place: placeY },
    ]);
    drawBest(context, size);
    context.lineWidth = 2;
    context.lineJoin = 'round';
    const marked = last === 0 ? 0 : current;
    lines.forEach(({ values }, k) => {
      context.strokeStyle = context.fillStyle = colourOf(k);
      context.setLineDash(DASHES[k]);
      context.beginPath();
      values.forEach((value, i) => Number.isFinite(value) && context.lineTo(placeX(i, size), placeY(value)));
      context.stroke();
      if (!Number.isFinite(values[marked])) return;
      context.beginPath();
      context.arc(placeX(marked, size), placeY(values[marked]), 4, 0, 2 * Math.PI);
      context.fill();
    });
  }

  /** A line at the epoch of the model. */
  function drawBest(context, size) {
    const x = Math.round(placeX(best - 1, size));
    context.fillStyle = styleColour('--faint');
    context.fillRect(x, 0, 1, size[1]);
    const isRight = x > size[0] / 2;
    write(context, 'model', isRight ? x - 6 : x + 6, 12, isRight ? 'right' : 'left');
  }

  function redraw() {
    const keys = lines.map(({ name }, k) => {
      const line = element('span.line');
      line.style.borderTop = `2px ${k ? 'dashed' : 'solid'} ${colourOf(k)}`;
      return element('span', {}, line, ` ${name}`);
    });
    key.replaceChildren(...(lines.length > 1 ? keys : []));
    stepped.redraw();
  }
  redraw();
  return { element: element('div', {}, key, ...stepped.parts), redraw };
}
