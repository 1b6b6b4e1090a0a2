// ---- parity.js: predicted numbers against true ones, and their residuals ----

const RESIDUAL_BINS = 31;
const PARITY_HELP = 'Arrow keys: rows by their error, the largest first. Enter selects a row.';
const RESIDUALS_HELP = 'Arrow keys read the bars, Enter selects the rows of one.';

/** Predictions of a target: { name, actual, predicted, residual = predicted − actual, order: rows by their error }. */
function targetOf(actual, predicted) {
  const residual = predicted.values.map((value, row) => value - actual.values[row]);
  const order = Array.from(residual.keys()).sort((a, b) => Math.abs(residual[b]) - Math.abs(residual[a]));
  return { name: actual.name, actual: actual.values, predicted: predicted.values, residual, order };
}

/** The root mean square error and R² of a target, in a sentence. */
function targetText({ actual, residual }) {
  const mean = (values) => values.reduce((sum, value) => sum + value / values.length, 0);
  const error = mean(residual.map((value) => value ** 2));
  const middle = mean(actual);
  const variance = mean(actual.map((value) => (value - middle) ** 2));
  const share = variance > 0 ? `, R\u00b2 ${rounded(1 - error / variance)}` : '';
  return `${counted(actual.length, 'row')}: RMSE ${rounded(Math.sqrt(error))}${share}, mean residual ${rounded(mean(residual))}.`;
}

/** The scatter plot. `options` are { linesOf(row): lines of the tooltip, select(row) }. */
function parityPlot(options) {
  const properties = { className: 'parity', tabIndex: 0, role: 'group', 'aria-label': `Predicted against true numbers. ${PARITY_HELP}` };
  const { element: plot, redraw, describe } = drawing(properties, draw);
  const tip = tooltip(plot);
  const ring = element('div.ring', { hidden: true });
  plot.append(ring);
  const note = element('p.note', {});
  const status = element('p.note', { 'aria-live': 'polite' }, PARITY_HELP);
  const redrawSoon = oncePerFrame(redraw);
  let target = null;
  let isResidual = false;
  let places = new Float32Array(0);
  let ranges = [[0, 1], [0, 1]];
  let size = [1, 1];
  let marks = null;
  let current = -1;
  let position = 0;

  function set(next, showsResiduals) {
    target = next;
    isResidual = showsResiduals;
    const y = isResidual ? target.residual : target.predicted;
    const both = [rangeOf(target.actual) ?? [0, 0], rangeOf(y) ?? [0, 0]];
    const all = [Math.min(both[0][0], both[1][0]), Math.max(both[0][1], both[1][1])];
    ranges = (isResidual ? both : [all, all]).map(([low, high]) => {
      const room = high > low ? 0.04 * (high - low) : Math.max(1, Math.abs(low) * 0.05);
      return [low - room, high + room];
    });
    places = new Float32Array(2 * target.actual.length);
    for (let row = 0; row < target.actual.length; row++) {
      places[2 * row] = shareOf(target.actual[row], 0);
      places[2 * row + 1] = shareOf(y[row], 1);
    }
    position = 0;
    show(-1);
    note.textContent = targetText(target);
    describe(`${isResidual ? 'Residual' : 'Predicted'} against true ${target.name}. ${targetText(target)}`);
    redrawSoon();
  }

  /** A number as a share of the axis. */
  function shareOf(value, axis) {
    const [low, high] = ranges[axis];
    return (value - low) / (high - low);
  }

  function pixelOf(row) {
    return [size[0] * places[2 * row], size[1] * (1 - places[2 * row + 1])];
  }

  function draw(context, width, height) {
    size = [width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom].map((side) => Math.max(side, 40));
    const placeX = (value) => size[0] * shareOf(value, 0);
    const placeY = (value) => size[1] * (1 - shareOf(value, 1));
    drawAxes(context, size, [
      { ...axisBetween(`true ${target.name}`, ...ranges[0], size[0] / 80), place: placeX },
      { ...axisBetween(isResidual ? 'residual (predicted \u2212 true)' : `predicted ${target.name}`, ...ranges[1], size[1] / 40), place: placeY },
    ]);
    context.strokeStyle = styleColour('--frame');
    context.beginPath();
    context.moveTo(0, isResidual ? placeY(0) : size[1]);
    context.lineTo(size[0], isResidual ? placeY(0) : 0);
    context.stroke();
    drawRows(context);
  }

  /** Selected rows are on top of the others, which fade. */
  function drawRows(context) {
    const count = places.length / 2;
    const radius = count > 3000 ? 1.5 : 2.5;
    for (const on of marks ? [0, 1] : [1]) {
      context.globalAlpha = on ? (count > 1000 ? 0.5 : 0.7) : 0.2;
      context.fillStyle = styleColour(on ? '--accent' : '--frame');
      for (let row = 0; row < count; row++) {
        if (marks && marks[row] !== on) continue;
        const [x, y] = pixelOf(row);
        context.fillRect(x - radius, y - radius, 2 * radius, 2 * radius);
      }
    }
    context.globalAlpha = 1;
  }

  function show(row) {
    current = row;
    ring.hidden = row < 0;
    if (row < 0) {
      tip.hide();
      status.textContent = PARITY_HELP;
      return;
    }
    const [x, y] = pixelOf(row);
    ring.style.transform = `translate(${x + MARGIN.left}px, ${y + MARGIN.top}px)`;
    const lines = options.linesOf(row);
    tip.show(x + MARGIN.left, y + MARGIN.top, lines);
    status.textContent = `${lines.map((line) => line.join(' ')).join(', ')}.`;
  }

  function rowAt(event) {
    const box = plot.getBoundingClientRect();
    const x = (event.clientX - box.left - MARGIN.left) / size[0];
    const y = 1 - (event.clientY - box.top - MARGIN.top) / size[1];
    return nearestOf(places, [x, y], [12 / size[0], 12 / size[1]]);
  }

  function step(by) {
    if (current >= 0) position = Math.min(Math.max(position + by, 0), target.order.length - 1);
    show(target.order[position] ?? -1);
  }

  const [next, previous, select] = [() => step(1), () => step(-1), () => current >= 0 && options.select(current)];
  onKeys(plot, {
    ArrowRight: next,
    ArrowDown: next,
    ArrowLeft: previous,
    ArrowUp: previous,
    Enter: select,
    ' ': select,
    Escape: () => show(-1),
  });
  listen(plot, {
    pointermove(event) {
      const row = rowAt(event);
      if (row !== current) show(row);
    },
    'pointerleave blur': () => show(-1),
    click: select,
  });

  return {
    element: element('div', {}, note, plot, status),
    redraw,
    set,
    setMarks(all) {
      marks = all;
      redrawSoon();
    },
    /** The place of a row in the window. */
    pixelOfRow(row) {
      const box = plot.getBoundingClientRect();
      const [x, y] = pixelOf(row);
      return [box.left + MARGIN.left + x, box.top + MARGIN.top + y];
    },
  };
}

/** The histogram of residuals. `select(marks, text)` gets the rows of a bar. */
function residualPlot(select) {
  const properties = { className: 'curves', tabIndex: 0, role: 'group', 'aria-label': `Histogram of residuals. ${RESIDUALS_HELP}` };
  const { element: plot, redraw, describe } = drawing(properties, draw);
  const tip = tooltip(plot);
  const status = element('p.note', { 'aria-live': 'polite' }, RESIDUALS_HELP);
  const redrawSoon = oncePerFrame(redraw);
  let target = null;
  let half = 1;
  let counts = [];
  let size = [1, 1];
  let current = -1;

  /** Bars are symmetric about 0. */
  function binOf(value) {
    return Math.min(Math.max(Math.floor(((value + half) / (2 * half)) * RESIDUAL_BINS), 0), RESIDUAL_BINS - 1);
  }

  function edgesOf(bin) {
    return [bin, bin + 1].map((edge) => ((2 * edge) / RESIDUAL_BINS - 1) * half);
  }

  function set(next) {
    target = next;
    half = target.residual.reduce((max, value) => Math.max(max, Math.abs(value)), 0) || 1;
    counts = new Array(RESIDUAL_BINS).fill(0);
    for (const value of target.residual) counts[binOf(value)]++;
    current = -1;
    describe(`Histogram of residuals of ${target.name}. ${targetText(target)}`);
    redrawSoon();
  }

  function draw(context, width, height) {
    size = [width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom].map((side) => Math.max(side, 40));
    const most = counts.reduce((max, count) => Math.max(max, count), 1) * 1.05;
    const placeX = (value) => (size[0] * (value + half)) / (2 * half);
    const placeY = (value) => size[1] * (1 - value / most);
    drawAxes(context, size, [
      { name: 'residual (predicted \u2212 true)', ticks: ticksOf(-half, half, size[0] / 80), place: placeX },
      { name: 'rows', ticks: ticksOf(0, most, size[1] / 30).filter(({ at }) => Number.isInteger(at)), place: placeY },
    ]);
    counts.forEach((count, bin) => {
      const [from, to] = edgesOf(bin).map(placeX);
      context.fillStyle = styleColour(bin === current ? '--ink' : '--accent');
      context.fillRect(from + 0.5, placeY(count), Math.max(to - from - 1, 1), size[1] - placeY(count));
    });
    context.fillStyle = styleColour('--frame');
    context.fillRect(Math.round(placeX(0)), 0, 1, size[1]);
  }

  function textOf(bin) {
    return `residual from ${edgesOf(bin).map((edge) => rounded(edge, 3)).join(' to ')}`;
  }

  function show(bin) {
    if (bin === current) return;
    current = bin;
    if (bin < 0) tip.hide();
    else {
      const text = edgesOf(bin).map((edge) => rounded(edge, 3)).join(' to ');
      tip.show(MARGIN.left + (size[0] * (bin + 0.5)) / RESIDUAL_BINS, MARGIN.top, [['residual', text], ['rows', grouped(counts[bin])]]);
    }
    status.textContent = bin < 0 ? RESIDUALS_HELP : `${counted(counts[bin], 'row')}: ${textOf(bin)}.`;
    redrawSoon();
  }

  function go(by) {
    show(current < 0 ? (RESIDUAL_BINS - 1) / 2 : Math.min(Math.max(current + by, 0), RESIDUAL_BINS - 1));
  }

  function choose() {
    if (current < 0) return;
    select(Uint8Array.from(target.residual, (value) => Number(binOf(value) === current)), textOf(current));
  }

  onKeys(plot, {
    ArrowLeft: () => go(-1),
    ArrowRight: () => go(1),
    Home: () => show(0),
    End: () => show(RESIDUAL_BINS - 1),
    Enter: choose,
    ' ': choose,
    Escape: () => show(-1),
  });
  listen(plot, {
    pointermove(event) {
      const share = (event.clientX - plot.getBoundingClientRect().left - MARGIN.left) / size[0];
      show(share < 0 || share > 1 ? -1 : Math.min(Math.floor(share * RESIDUAL_BINS), RESIDUAL_BINS - 1));
    },
    'pointerleave blur': () => show(-1),
    click: choose,
  });
  return { element: element('div', {}, plot, status), redraw, set };
}
