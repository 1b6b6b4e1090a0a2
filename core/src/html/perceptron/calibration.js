// ---- calibration.js: how often predictions of each probability are right ----

const BINS = 10;
/** Share of the height for the diagram; below are the numbers of rows. */
const DIAGRAM_SHARE = 0.7;

/**
 * Rows in bins by the probability of the predicted class, of equal widths or of about equal numbers of rows, and the expected
 * calibration error: the mean of |accuracy − mean probability| over the bins, weighted by their rows. Rows without a
 * probability are in no bin.
 */
function calibrationOf({ probability, actual, predicted }, hasEqualCounts) {
  const known = probability.filter((value) => !Number.isNaN(value));
  const rows = known.length;
  const sorted = hasEqualCounts && rows ? known.sort() : null;
  const edges = Array.from({ length: BINS + 1 }, (_, i) =>
    sorted && i < BINS ? sorted[Math.floor((i * rows) / BINS)] : i / BINS
  );
  const binOf = new Uint8Array(probability.length).fill(BINS);
  const bins = Array.from({ length: BINS }, (_, i) => ({
    range: [edges[i], edges[i + 1]],
    count: 0,
    sum: 0,
    right: 0,
  }));
  for (let row = 0; row < probability.length; row++) {
    if (Number.isNaN(probability[row])) continue;
    let at = Math.min(Math.floor(probability[row] * BINS), BINS - 1);
    if (sorted) for (at = BINS - 1; at > 0 && probability[row] < edges[at];) at--;
    binOf[row] = at;
    bins[at].count++;
    bins[at].sum += probability[row];
    if (actual[row] === predicted[row]) bins[at].right++;
  }
  let error = 0;
  for (const bin of bins) {
    error += Math.abs(bin.right - bin.sum) / rows;
    Object.assign(bin, { mean: bin.sum / bin.count, accuracy: bin.right / bin.count });
  }
  return { bins, binOf, error };
}

/** Wilson's interval of 95 % for a share. */
function wilson(right, count) {
  const share = right / count;
  const squared = 1.96 ** 2 / count;
  const half = Math.sqrt(squared * share * (1 - share) + squared ** 2 / 4);
  return [-half, half].map((by) => (share + squared / 2 + by) / (1 + squared));
}

/** The reliability diagram. `select(bin, calibration)` is called for a bin that is chosen. */
function calibrationPlot(predictions, select) {
  const note = element('p.note');
  let calibration = null;
  const stepped = steppedPlot({
    className: 'calibration',
    name: 'Reliability diagram',
    help: 'Arrow keys read the bins, Enter lists the rows of one.',
    count: () => BINS,
    draw,
    linesOf: (i) => linesOf(calibration.bins[i]),
    placeOf: (i, [width]) => [(width * (calibration.bins[i].range[0] + calibration.bins[i].range[1])) / 2, 0],
    at: (x, y, [width]) => {
      const before = calibration.bins.filter(({ range }) => range[0] <= x / width).length;
      return x < 0 || x > width ? -1 : Math.max(before - 1, 0);
    },
    choose: (i) => select(i, calibration),
  });

  function linesOf({ range, count, mean, accuracy }) {
    const lines = [
      ['probability', rangeText(range)],
      ['rows', grouped(count)],
    ];
    return count ? [...lines, ['mean probability', rounded(mean, 3)], ['accuracy', rounded(accuracy, 3)]] : lines;
  }

  function set(hasEqualCounts) {
    calibration = calibrationOf(predictions, hasEqualCounts);
    const text = `Expected calibration error ${rounded(calibration.error, 3)}`;
    note.textContent =
      `${text}: the mean of |accuracy \u2212 mean probability| over ${BINS} bins, weighted by their rows. ` +
      'Below the diagonal the network is too confident. Bars are intervals of 95\u202f%.';
    const bins = calibration.bins.filter(({ count }) => count).map((bin) => linesOf(bin).flat().join(' '));
    stepped.update(
      `Reliability diagram, accuracy against the probability of the predicted class. ${text}. ${bins.join('; ')}`
    );
  }

  function draw(context, [width, all], current) {
    const height = all * DIAGRAM_SHARE;
    const placeX = (value) => width * value;
    const placeY = (value) => height * (1 - value);
    drawAxes(
      context,
      [width, height],
      [
        { name: '', ticks: [], place: placeX },
        { name: 'accuracy', ticks: ticksOf(0, 1, height / 30), place: placeY },
      ]
    );
    const filled = calibration.bins.filter(({ count }) => count);
    line([
      [0, height],
      [width, 0],
    ]);
    context.strokeStyle = context.fillStyle = styleColour('--accent');
    context.lineWidth = 1.5;
    line(filled.map(({ mean, accuracy }) => [placeX(mean), placeY(accuracy)]));
    for (const bin of filled) {
      const x = placeX(bin.mean);
      const [from, to] = wilson(bin.right, bin.count).map(placeY);
      for (const y of [from, to]) line([x - 4, x + 4].map((end) => [end, y]));
      line([from, to].map((y) => [x, y]));
      context.beginPath();
      context.arc(x, placeY(bin.accuracy), bin === calibration.bins[current] ? 6 : 4, 0, 2 * Math.PI);
      context.fill();
    }
    context.translate(-MARGIN.left, height + 4);
    drawCounts(context, [width, Math.max(all - height - 14, 10)], current);

    function line(places) {
      context.beginPath();
      for (const place of places) context.lineTo(...place);
      context.stroke();
    }
  }

  /** Bars of the numbers of rows. */
  function drawCounts(context, [width, height], current) {
    const most = Math.max(...calibration.bins.map(({ count }) => count));
    const placeY = (value) => height * (1 - value / most);
    context.lineWidth = 1;
    drawAxes(
      context,
      [width, height],
      [
        {
          name: 'probability of the predicted class',
          ticks: ticksOf(0, 1, width / 60),
          place: (value) => width * value,
        },
        { name: 'rows', ticks: countTicks(most, height), place: placeY },
      ]
    );
    calibration.bins.forEach(({ range, count }, i) => {
      const [left, right] = range.map((value) => width * value);
      context.fillStyle = styleColour(i === current ? '--accent' : '--bar');
      context.fillRect(left + 0.5, placeY(count), Math.max(right - left - 1, 1), height - placeY(count));
    });
  }

  const kinds = ['of equal widths', 'of equal numbers of rows'];
  const binning = choice('Bins', kinds, 0, (i) => set(i === 1));
  set(false);
  return {
    content: [note, element('div.tools', {}, binning), ...stepped.parts],
    redraw: stepped.redraw,
    get calibration() {
      return calibration;
    },
  };
}
