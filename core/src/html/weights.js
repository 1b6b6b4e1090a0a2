// ---- weights.js: weights of the first layer, as pictures or as a heat map ----

/** Most columns of a heat map. */
const MOST_HEAT = 40;
/** Weights in the text of a unit. */
const MOST_WEIGHTS = 3;
/** Height of a line of a heat map, and its room for names. */
const HEAT = { line: 18, left: 120, top: 4, bottom: 44 };

/** The weights of the data: `at(k, column)` is that of the k-th unit shown, `scale` the weight of the full colour. */
function layerOf(weights) {
  const values = arrayOf(Float32Array, weights.values);
  const units = arrayOf(Uint32Array, weights.units);
  const { columns } = weights;
  const sizes = values.map(Math.abs).sort();
  // Few large weights must not make the others pale.
  const scale = sizes[Math.min(sizes.length - 1, Math.floor(0.995 * sizes.length))] || 1;
  const at = (k, column) => values[k * columns.length + column];
  const nameOf = (k) => (weights.names ? weights.names[units[k]] : `unit ${units[k]}`);

  /** A unit in a sentence: its largest weights. */
  function textOf(k) {
    const order = columns.map((_, i) => i).sort((a, b) => Math.abs(at(k, b)) - Math.abs(at(k, a)));
    const norm = Math.sqrt(columns.reduce((sum, _, i) => sum + at(k, i) ** 2, 0));
    const largest = order.slice(0, MOST_WEIGHTS).map((i) => `${columns[i]} ${rounded(at(k, i), 3)}`);
    const bias = weights.bias ? `bias ${rounded(weights.bias[k] ?? NaN, 3)}, ` : '';
    return `${nameOf(k)}: ${bias}norm ${rounded(norm, 3)}; largest weights: ${largest.join(', ')}.`;
  }

  return { ...weights, units, at, scale, nameOf, textOf, shown: units.length };
}

/** What is shown of the layer, in a sentence or two. */
function layerText({ count, shown, columns, names }, heats) {
  const what = names ? 'output' : 'unit';
  const all = shown < count ? `The ${shown} of ${grouped(count)} ${what}s with the largest weights` : counted(count, what);
  const some = heats < columns.length ? `, the ${heats} of ${grouped(columns.length)} columns with the largest weights` : '';
  return `${all}, by the size of their weights${some}. Weights are for inputs on the scale of the training, as \u201cstandardise\u201d in the settings says.`;
}

/** The key of the colours. */
function divergingKey(scale) {
  const made = element('span.ramp', {});
  const stops = Array.from({ length: 11 }, (_, i) => css(diverging(i / 5 - 1)));
  made.style.background = `linear-gradient(to right, ${stops.join(', ')})`;
  return element('div.key.flush', {}, 'weight', signed(`\u2264 ${rounded(-scale, 3)}`), made, `\u2265 ${rounded(scale, 3)}`);
}

/** The first layer. */
function weightsPlot(weights) {
  const layer = layerOf(weights);
  const side = pictureSide(layer.columns);
  const status = element('p.note', { 'aria-live': 'polite' });
  const parts = side ? unitPictures(layer, side, status) : heatMap(layer, status);
  const key = element('div', {});
  status.textContent = parts.help;

  function redraw() {
    key.replaceChildren(divergingKey(layer.scale));
    parts.redraw();
  }
  redraw();
  const note = element('p.note', {}, layerText(layer, side ? Infinity : parts.heats));
  return { element: element('div', {}, note, key, parts.element, status), redraw, layer };
}

/** A picture of each unit. */
function unitPictures(layer, side, status) {
  const help = 'Arrow keys or the pointer read a unit.';
  const buttons = Array.from({ length: layer.shown }, (_, k) => {
    const canvas = pixelCanvas(side, layer.textOf(k));
    const made = button('', () => made.focus(), { className: 'unit' });
    made.append(canvas, element('span', {}, layer.names ? layer.nameOf(k) : String(layer.units[k])));
    listen(made, {
      pointerenter: () => show(k),
      'pointerleave blur': () => {
        status.textContent = help;
      },
    });
    return made;
  });
  const show = (k) => {
    status.textContent = layer.textOf(k);
  };
  roving(buttons, show);

  function redraw() {
    buttons.forEach((made, k) => paintPixels(made.firstChild, (i) => diverging(layer.at(k, i) / layer.scale)));
  }
  return { element: element('div.units', { role: 'group', 'aria-label': 'Units' }, ...buttons), redraw, help };
}

/** Units by columns. */
function heatMap(layer, status) {
  const help = 'Arrow keys or the pointer read a weight.';
  const size = (i) => layer.units.reduce((sum, _, k) => sum + layer.at(k, i) ** 2, 0);
  const sizes = layer.columns.map((_, i) => size(i));
  const columns = layer.columns.map((_, i) => i);
  if (columns.length > MOST_HEAT) columns.sort((a, b) => sizes[b] - sizes[a]).splice(MOST_HEAT);
  const label = 'Weights of the first layer, columns by units';
  const properties = { className: 'heat', tabIndex: 0, role: 'group', 'aria-label': `${label}. ${help}` };
  const { element: plot, redraw, describe } = drawing(properties, draw);
  plot.style.height = `${HEAT.line * columns.length + HEAT.top + HEAT.bottom}px`;
  const tip = tooltip(plot);
  const redrawSoon = oncePerFrame(redraw);
  let [left, wide] = [1, 1];
  let current = null;
  describe(`${label}. ${Array.from({ length: Math.min(layer.shown, 5) }, (_, k) => layer.textOf(k)).join(' ')}`);

  function draw(context, width, height) {
    left = Math.min(HEAT.left, width / 3);
    wide = Math.min((width - left - 2) / layer.shown, 44);
    const high = height - HEAT.top - HEAT.bottom;
    context.translate(left, HEAT.top);
    columns.forEach((i, line) => {
      for (let k = 0; k < layer.shown; k++) {
        context.fillStyle = css(diverging(layer.at(k, i) / layer.scale));
        const from = Math.round(k * wide);
        context.fillRect(from, line * HEAT.line, Math.round((k + 1) * wide) - from, HEAT.line);
      }
      context.fillStyle = styleColour('--faint');
      write(context, fitted(context, layer.columns[i], left - 12), -8, (line + 0.5) * HEAT.line, 'right');
    });
    context.strokeStyle = styleColour('--frame');
    context.strokeRect(0.5, 0.5, Math.round(wide * layer.shown) - 1, high - 1);
    let free = -Infinity;
    for (let k = 0; k < layer.shown; k++) {
      const text = fitted(context, layer.names ? layer.nameOf(k) : String(layer.units[k]), 90);
      const half = context.measureText(text).width / 2;
      const middle = (k + 0.5) * wide;
      if (middle - half < free) continue;
      write(context, text, middle, high + 14, 'center');
      free = middle + half + 8;
    }
    context.fillStyle = styleColour('--ink');
    write(context, layer.names ? 'output' : 'unit', (wide * layer.shown) / 2, high + 33, 'center');
    if (!current) return;
    context.strokeStyle = styleColour('--ink');
    context.lineWidth = 2;
    context.strokeRect(current[1] * wide, current[0] * HEAT.line, wide, HEAT.line);
  }

  function show(cell) {
    if (String(cell) === String(current)) return;
    current = cell;
    if (!cell) tip.hide();
    else {
      const [line, k] = cell;
      const name = layer.columns[columns[line]];
      const lines = [['column', name], [layer.names ? 'output' : 'unit', layer.nameOf(k)], ['weight', rounded(layer.at(k, columns[line]))]];
      tip.show(left + (k + 1) * wide, HEAT.top + line * HEAT.line, lines);
    }
    status.textContent = cell ? `${layer.columns[columns[cell[0]]]}: ${rounded(layer.at(cell[1], columns[cell[0]]))}. ${layer.textOf(cell[1])}` : help;
    redrawSoon();
  }

  function go(down, right) {
    const [line, k] = current ?? [-down, -right];
    show([Math.min(Math.max(line + down, 0), columns.length - 1), Math.min(Math.max(k + right, 0), layer.shown - 1)]);
  }

  onKeys(plot, {
    ArrowLeft: () => go(0, -1),
    ArrowRight: () => go(0, 1),
    ArrowUp: () => go(-1, 0),
    ArrowDown: () => go(1, 0),
    Escape: () => show(null),
  });
  listen(plot, {
    pointermove(event) {
      const box = plot.getBoundingClientRect();
      const [line, k] = [(event.clientY - box.top - HEAT.top) / HEAT.line, (event.clientX - box.left - left) / wide].map(Math.floor);
      show(line >= 0 && line < columns.length && k >= 0 && k < layer.shown ? [line, k] : null);
    },
    'pointerleave blur': () => show(null),
  });
  return { element: plot, redraw, help, heats: columns.length };
}
