// ---- calibration.js: how often predictions of each probability are right ----

const BINS = 10;
const CALIBRATION_HELP = 'Arrow keys read the bins, Enter lists the rows of one.';
/** Share of the height for the diagram; below are the numbers of rows. */
const DIAGRAM_SHARE = 0.7;

/**
 * Rows in bins by the probability of the predicted class, of equal widths or of about equal numbers of rows, and the expected
 * calibration error: the mean of |accuracy − mean probability| over the bins, weighted by their rows.
 */
function calibrationOf({ probability, actual, predicted }, hasEqualCounts) {
  const rows = probability.length;
  const sorted = hasEqualCounts ? probability.slice().sort() : null;
  const edges = Array.from({ length: BINS + 1 }, (_, i) =>
    sorted && i < BINS ? sorted[Math.floor((i * rows) / BINS)] : i / BINS
  );
  const binOf = new Uint8Array(rows);
  const bins = Array.from({ length: BINS }, (_, i) => ({ from: edges[i], to: edges[i + 1], count: 0, sum: 0, right: 0 }));
  for (let row = 0; row < rows; row++) {
    let bin = Math.min(Math.floor(probability[row] * BINS), BINS - 1);
    if (sorted) for (bin = BINS - 1; bin > 0 && probability[row] < edges[bin]; ) bin--;
    binOf[row] = bin;
    bins[bin].count++;
    bins[bin].sum += probability[row];
    if (actual[row] === predicted[row]) bins[bin].right++;
  }
  let error = 0;
  for (const bin of bins) {
    error += Math.abs(bin.right - bin.sum) / rows;
    Object.assign(bin, { mean: bin.sum / bin.count, accuracy: bin.right / bin.count });
  }
  return { bins, binOf, error };
}

/** Wilson's interval of 95 % for a share of right ones. */
function wilson(right, count) {
  const z = 1.96;
  const share = right / count;
  const middle = (share + (z * z) / (2 * count)) / (1 + (z * z) / count);
  const half = (z / (1 + (z * z) / count)) * Math.sqrt((share * (1 - share)) / count + (z * z) / (4 * count * count));
  return [middle - half, middle + half];
}

/** The diagram. `select(bin, calibration)` is called for a bin that is chosen. */
function calibrationPlot(predictions, select) {
  const properties = {
    className: 'calibration',
    tabIndex: 0,
    role: 'group',
    'aria-label': `Reliability diagram. ${CALIBRATION_HELP}`,
  };
  const { element: plot, redraw, describe } = drawing(properties, draw);
  const tip = tooltip(plot);
  const note = element('p.note', {});
  const status = element('p.note', { 'aria-live': 'polite' });
  const redrawSoon = oncePerFrame(redraw);
  let calibration = null;
  let size = [1, 1];
  let current = -1;

  function set(hasEqualCounts) {
    calibration = calibrationOf(predictions, hasEqualCounts);
    const text = `Expected calibration error ${rounded(calibration.error, 3)}`;
    note.textContent =
      `${text}: the mean of |accuracy \u2212 mean probability| over ${BINS} bins, weighted by their rows. ` +
      'Points on the diagonal are calibrated; below it, the network is too confident.';
    const filled = calibration.bins.filter(({ count }) => count);
    describe(`Reliability diagram, accuracy against the probability of the predicted class. ${text}. ${filled.map(textOf).join(' ')}`);
    current = -1;
    tip.hide();
    status.textContent = CALIBRATION_HELP;
    redrawSoon();
  }

  function textOf({ from, to, count, mean, accuracy }) {
    const range = `Probability ${rounded(from, 3)} to ${rounded(to, 3)}`;
    if (!count) return `${range}: no rows.`;
    return `${range}: ${counted(count, 'row')}, mean probability ${rounded(mean, 3)}, accuracy ${rounded(accuracy, 3)}.`;
  }

  const placeX = (value) => size[0] * value;

  function draw(context, width, height) {
    const all = height - MARGIN.top - MARGIN.bottom;
    size = [Math.max(width - MARGIN.left - MARGIN.right, 40), Math.max(all * DIAGRAM_SHARE, 40)];
    const placeY = (value) => size[1] * (1 - value);
    const low = Math.max(0, all - size[1] - 14);
    drawAxes(context, size, [
      { name: '', ticks: [], place: placeX },
      { name: 'accuracy', ticks: ticksOf(0, 1, size[1] / 30), place: placeY },
    ]);
    context.strokeStyle = styleColour('--frame');
    context.setLineDash([5, 4]);
    context.beginPath();
    context.moveTo(0, size[1]);
    context.lineTo(size[0], 0);
    context.stroke();
    context.setLineDash([]);
    drawBins(context, placeY);
    context.translate(-MARGIN.left, size[1] + 14);
    drawCounts(context, low);
  }

  function drawBins(context, placeY) {
    const filled = calibration.bins.filter(({ count }) => count);
    context.strokeStyle = context.fillStyle = styleColour('--accent');
    context.lineWidth = 2;
    context.beginPath();
    for (const { mean, accuracy } of filled) context.lineTo(placeX(mean), placeY(accuracy));
    context.stroke();
    context.lineWidth = 1.25;
    for (const bin of filled) {
      const x = placeX(bin.mean);
      const [from, to] = wilson(bin.right, bin.count).map(placeY);
      context.beginPath();
      context.moveTo(x, from);
      context.lineTo(x, to);
      for (const y of [from, to]) {
        context.moveTo(x - 3, y);
        context.lineTo(x + 3, y);
      }
      context.stroke();
      context.beginPath();
      context.arc(x, placeY(bin.accuracy), bin === calibration.bins[current] ? 6 : 4, 0, 2 * Math.PI);
      context.fill();
    }
  }

  /** Bars of the numbers of rows. */
  function drawCounts(context, height) {
    const most = calibration.bins.reduce((max, { count }) => Math.max(max, count), 1);
    const ticks = ticksOf(0, most, height / 30).filter(({ at }) => Number.isInteger(at));
    const placeY = (value) => height * (1 - value / most);
    drawAxes(context, [size[0], height], [
      { name: 'probability of the predicted class', ticks: ticksOf(0, 1, size[0] / 60), place: placeX },
      { name: 'rows', ticks: ticks.map(({ at }) => ({ at, text: at >= 1e4 ? `${at / 1000}k` : String(at) })), place: placeY },
    ]);
    calibration.bins.forEach(({ from, to, count }, i) => {
      const [left, right] = [placeX(from), placeX(to)];
      context.fillStyle = styleColour(i === current ? '--accent' : '--bar');
      context.fillRect(left + 0.5, placeY(count), Math.max(right - left - 1, 1), height - placeY(count));
    });
  }

  function show(bin) {
    if (bin === current) return;
    current = bin;
    if (bin < 0) tip.hide();
    else {
      const { from, to, count, mean, accuracy } = calibration.bins[bin];
      const lines = [
        ['probability', `${rounded(from, 3)} to ${rounded(to, 3)}`],
        ['rows', grouped(count)],
      ];
      if (count) lines.push(['mean probability', rounded(mean, 3)], ['accuracy', rounded(accuracy, 3)]);
      tip.show(placeX((from + to) / 2) + MARGIN.left, MARGIN.top, lines);
    }
    status.textContent = bin < 0 ? CALIBRATION_HELP : textOf(calibration.bins[bin]);
    redrawSoon();
  }

  function go(by) {
    show(current < 0 ? (by < 0 ? BINS - 1 : 0) : Math.min(Math.max(current + by, 0), BINS - 1));
  }

  function choose() {
    if (current >= 0) select(current, calibration);
  }

  onKeys(plot, {
    ArrowLeft: () => go(-1),
    ArrowRight: () => go(1),
    Home: () => show(0),
    End: () => show(BINS - 1),
    Enter: choose,
    ' ': choose,
    Escape: () => show(-1),
  });
  listen(plot, {
    pointermove(event) {
      const x = event.clientX - plot.getBoundingClientRect().left - MARGIN.left;
      const share = x / size[0];
      const before = calibration.bins.filter(({ from }) => from <= share).length;
      show(share < 0 || share > 1 ? -1 : Math.max(before - 1, 0));
    },
    'pointerleave blur': () => show(-1),
    click: choose,
  });
  const kinds = ['of equal width', 'of equal numbers of rows'];
  const binning = choice('Bins', kinds, 0, (i) => set(i === 1));
  set(false);

  return {
    element: element('div', {}, note, element('div.tools', {}, binning), plot, status),
    redraw,
    get calibration() {
      return calibration;
    },
  };
}
