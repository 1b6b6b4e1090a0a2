// ---- weights.js: weights of the first layer, as pictures or as a heat map ----

/** Most columns of a heat map. */
const MOST_HEAT = 40;
/** Weights in the text of a unit. */
const MOST_WEIGHTS = 3;
/** Height of a line of a heat map. */
const HEAT_LINE = 18;
const UNIT_HELP = 'Arrow keys or the pointer read a unit.';

/** The weights of the data: `at(k, column)` is that of the k-th unit shown, `scale` the weight of the full colour. */
function layerOf(weights) {
  const values = arrayOf(Float32Array, weights.values);
  const units = arrayOf(Uint32Array, weights.units);
  const { columns, names, bias } = weights;
  const sizes = values.map(Math.abs).sort();
  // Few large weights must not make the others pale.
  const scale = sizes[Math.floor(0.995 * (sizes.length - 1))] || 1;
  const at = (k, column) => values[k * columns.length + column];
  const nameOf = (k) => (names ? names[units[k]] : String(units[k]));
  const what = names ? 'output' : 'unit';

  /** A unit in a sentence: its largest weights. */
  function textOf(k) {
    const order = columns.map((_, i) => i).sort((a, b) => Math.abs(at(k, b)) - Math.abs(at(k, a)));
    const largest = order.slice(0, MOST_WEIGHTS).map((i) => `${columns[i]} ${rounded(at(k, i), 3)}`);
    const constant = bias ? `bias ${rounded(bias[k] ?? NaN, 3)}, ` : '';
    return `${what} ${nameOf(k)}: ${constant}largest weights ${largest.join(', ')}`;
  }

  return { ...weights, units, at, scale, nameOf, what, textOf, colourOf: (k, i) => diverging(at(k, i) / scale) };
}

/** The first layer. */
function weightsPlot(weights) {
  const layer = layerOf(weights);
  const { count, columns, scale, what, units } = layer;
  const side = pictureSide(columns);
  const parts = side ? unitPictures(layer, side) : heatMap(layer);
  const key = element('div');
  const all = units.length < count ? `${units.length} of ${counted(count, what)}` : counted(count, what);
  const some = !side && columns.length > MOST_HEAT ? ` and ${MOST_HEAT} of ${grouped(columns.length)} columns` : '';
  const text = `${all}${some}, those with the largest weights first. Inputs are on the scale of the training (standardise).`;

  function redraw() {
    const colours = ramp((share) => diverging(2 * share - 1));
    const [low, high] = [`weight \u2264 ${rounded(-scale, 2)}`, `\u2265 ${rounded(scale, 2)}`];
    key.replaceChildren(element('div.key.flush', {}, low, colours, high));
    parts.redraw();
  }
  redraw();
  return { content: [element('p.note', {}, text), key, ...parts.content], redraw, layer };
}

/** A picture of each unit. */
function unitPictures(layer, side) {
  const status = element('p.note', { 'aria-live': 'polite' }, UNIT_HELP);
  const buttons = Array.from(layer.units, (_, k) => {
    const show = () => {
      status.textContent = `${layer.textOf(k)}.`;
    };
    const made = button('', show, { className: 'unit', 'aria-label': layer.textOf(k), tabIndex: k ? -1 : 0 });
    made.append(pixelCanvas(side, ''), element('span', {}, layer.nameOf(k)));
    const to = (target) => () => {
      const next = buttons[target()];
      if (!next) return;
      made.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    };
    // Buttons in a line have the same top.
    const inLine = () => buttons.filter(({ offsetTop }) => offsetTop === buttons[0].offsetTop).length;
    onKeys(made, {
      ArrowLeft: to(() => k - 1),
      ArrowRight: to(() => k + 1),
      ArrowUp: to(() => k - inLine()),
      ArrowDown: to(() => k + inLine()),
      Home: to(() => 0),
      End: to(() => buttons.length - 1),
    });
    listen(made, {
      'pointerenter focus': show,
      'pointerleave blur': () => {
        status.textContent = UNIT_HELP;
      },
    });
    return made;
  });

  function redraw() {
    buttons.forEach((made, k) => paintPixels(made.querySelector('canvas'), (i) => layer.colourOf(k, i)));
  }
  const label = `${layer.what}s as pictures`;
  return { content: [element('div.units', { role: 'group', 'aria-label': label }, ...buttons), status], redraw };
}

/** Units by columns. */
function heatMap(layer) {
  const { at, nameOf, what, units } = layer;
  const shown = units.length;
  const sizes = layer.columns.map((_, i) => units.reduce((sum, _, k) => sum + at(k, i) ** 2, 0));
  const columns = layer.columns.map((_, i) => i);
  if (columns.length > MOST_HEAT) columns.sort((a, b) => sizes[b] - sizes[a]).splice(MOST_HEAT);
  const placeOf = (i) => [Math.floor(i / shown), i % shown];
  const widthOf = (width) => Math.min(width / shown, 60);
  const stepped = steppedPlot({
    className: 'heat',
    name: `Weights of the first layer, columns by ${what}s`,
    help: 'Arrow keys or the pointer read a weight.',
    room: { ...MARGIN, left: 110 },
    count: () => columns.length * shown,
    up: shown,
    draw,
    linesOf(i) {
      const [line, k] = placeOf(i);
      return [
        ['column', layer.columns[columns[line]]],
        [what, nameOf(k)],
        ['weight', rounded(at(k, columns[line]))],
      ];
    },
    placeOf(i, [width]) {
      const [line, k] = placeOf(i);
      return [widthOf(width) * (k + 1), HEAT_LINE * line];
    },
    at(x, y, [width]) {
      const [line, k] = [Math.floor(y / HEAT_LINE), Math.floor(x / widthOf(width))];
      return line >= 0 && line < columns.length && k >= 0 && k < shown ? line * shown + k : -1;
    },
  });
  stepped.plot.style.height = `${HEAT_LINE * columns.length + MARGIN.top + MARGIN.bottom}px`;
  const texts = Array.from(units.slice(0, 8), (_, k) => layer.textOf(k));
  stepped.describe(`Weights of the first layer, columns by ${what}s. ${texts.join('; ')}`);

  function draw(context, [width], current) {
    const wide = widthOf(width);
    const edge = (k) => Math.round(k * wide);
    const high = HEAT_LINE * columns.length;
    context.translate(110, MARGIN.top);
    columns.forEach((i, line) => {
      for (let k = 0; k < shown; k++) {
        context.fillStyle = css(layer.colourOf(k, i));
        context.fillRect(edge(k), line * HEAT_LINE, edge(k + 1) - edge(k), HEAT_LINE);
      }
      context.fillStyle = styleColour('--faint');
      write(context, fitted(context, layer.columns[i], 100), -8, (line + 0.5) * HEAT_LINE, 'right');
    });
    context.strokeStyle = styleColour('--frame');
    context.strokeRect(0.5, 0.5, edge(shown) - 1, high - 1);
    let free = -Infinity;
    for (let k = 0; k < shown; k++) {
      const text = fitted(context, nameOf(k), Math.max(wide - 6, 24));
      const half = context.measureText(text).width / 2;
      const middle = (k + 0.5) * wide;
      if (middle - half < free) continue;
      write(context, text, middle, high + 14, 'center');
      free = middle + half + 8;
    }
    context.fillStyle = styleColour('--ink');
    write(context, what, edge(shown) / 2, high + 33, 'center');
    if (current < 0) return;
    const [line, k] = placeOf(current);
    context.strokeStyle = styleColour('--ink');
    context.lineWidth = 2;
    context.strokeRect(edge(k), line * HEAT_LINE, edge(k + 1) - edge(k), HEAT_LINE);
  }

  return { content: stepped.parts, redraw: stepped.redraw };
}
