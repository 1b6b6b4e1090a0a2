// ---- shepard.js: distances of pairs in a map against those of their source ----

const SHEPARD_HINT = 'Point at a pair to see it in the map; click to keep it there.';
const SHEPARD_HELP = 'Arrow keys: pairs by their error, the largest first. Enter keeps a pair, Escape none.';

/** The pairs of the data: their rows and distances, and those where they differ most first in `order`. */
function pairsOf({ first, second, source, target }) {
  const pairs = {
    rows: [first, second].map((rows) => arrayOf(Uint32Array, rows)),
    source: scaledNumbers(source),
    target: scaledNumbers(target),
  };
  // Each pair's part of Sammon's stress; 0 for rows in the same place.
  const errors = pairs.source.map((distance, i) => (distance > 0 ? (pairs.target[i] - distance) ** 2 / distance : 0));
  const order = Array.from(errors.keys()).sort((a, b) => errors[b] - errors[a]);
  return { ...pairs, count: errors.length, order, rowsOf: (i) => pairs.rows.map((rows) => rows[i]) };
}

/** The ratios of both distances of the pairs, in a sentence. */
function shepardText({ count, source, target }) {
  const ratios = Array.from(source, (distance, i) => target[i] / distance)
    .filter(Number.isFinite)
    .sort((a, b) => a - b);
  if (!ratios.length) return `${counted(count, 'pair')}.`;
  const [low, high] = [0.25, 0.75].map((share) => rounded(ratios[Math.floor(share * (ratios.length - 1))], 3));
  const middle = low === high ? `about ${low}` : `between ${low} and ${high}`;
  return `${counted(count, 'pair')} of rows; in half of them the distance in the map is ${middle} times the source's.`;
}

/**
 * The diagram. `options` are { linesOf(pair): lines of the tooltip, mark(rows): called with both rows of the pair to mark, or
 * none }.
 */
function shepardPlot(pairs, options) {
  const properties = {
    className: 'shepard',
    tabIndex: 0,
    role: 'group',
    'aria-label': `Shepard diagram. ${SHEPARD_HELP}`,
  };
  const { element: plot, redraw, describe } = drawing(properties, draw);
  const tip = tooltip(plot);
  const status = element('p.note', { 'aria-live': 'polite' }, SHEPARD_HINT);
  const highest = 1.04 * Math.max(0, ...[pairs.source, pairs.target].flatMap((all) => rangeOf(all) ?? [])) || 1;
  const places = new Float32Array(2 * pairs.count);
  for (let i = 0; i < pairs.count; i++) places.set([pairs.source[i], pairs.target[i]], 2 * i);
  const redrawSoon = oncePerFrame(redraw);
  let side = 1;
  /** A pair at the pointer or the keyboard's focus, and one that was clicked; −1 if absent. */
  let current = -1;
  let kept = -1;
  let position = 0;
  let marked = null;
  describe(`Shepard diagram, distance in the map against distance in the source. ${shepardText(pairs)}`);

  function pixelOf(pair) {
    return [(side * pairs.source[pair]) / highest, side * (1 - pairs.target[pair] / highest)];
  }

  function draw(context, width, height) {
    side = Math.max(40, Math.min(width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom));
    const ticks = ticksOf(0, highest, side / 70);
    drawAxes(
      context,
      [side, side],
      [
        { name: 'distance in the source', ticks, place: (value) => (side * value) / highest },
        { name: 'distance in the map', ticks, place: (value) => side * (1 - value / highest) },
      ]
    );
    context.strokeStyle = styleColour('--frame');
    context.beginPath();
    context.moveTo(0, side);
    context.lineTo(side, 0);
    context.stroke();
    drawPairs(context);
    if (shown() < 0) return;
    context.strokeStyle = styleColour('--ink');
    context.lineWidth = 2;
    context.beginPath();
    context.arc(...pixelOf(shown()), 6, 0, 2 * Math.PI);
    context.stroke();
  }

  /** Pairs with a marked row are drawn on top of the others, which fade. */
  function drawPairs(context) {
    for (const on of marked ? [0, 1] : [1]) {
      context.globalAlpha = on ? (pairs.count > 1000 ? 0.55 : 0.8) : 0.25;
      context.fillStyle = styleColour(on ? '--accent' : '--frame');
      for (let i = 0; i < pairs.count; i++) {
        if (marked && marked[i] !== on) continue;
        const [x, y] = pixelOf(i);
        context.fillRect(x - 1.5, y - 1.5, 3, 3);
      }
    }
    context.globalAlpha = 1;
  }

  function pairAt(event) {
    const box = plot.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left - MARGIN.left, event.clientY - box.top - MARGIN.top];
    const unit = highest / side;
    return nearestOf(places, [x * unit, (side - y) * unit], [REACH * unit, REACH * unit]);
  }

  function shown() {
    return current < 0 ? kept : current;
  }

  function textOf(pair) {
    const [first, second] = pairs.rowsOf(pair);
    const [source, target] = [pairs.source[pair], pairs.target[pair]].map((distance) => rounded(distance));
    return `Rows ${first} and ${second}: ${source} apart in the source, ${target} in the map.`;
  }

  function show(pair) {
    if (pair === current) return;
    current = pair;
    update();
  }

  function update() {
    if (current < 0) tip.hide();
    else {
      const [x, y] = pixelOf(current);
      tip.show(x + MARGIN.left, y + MARGIN.top, options.linesOf(current));
    }
    status.textContent = shown() < 0 ? SHEPARD_HINT : textOf(shown());
    options.mark(shown() < 0 ? [] : pairs.rowsOf(shown()));
    redrawSoon();
  }

  function keep(pair) {
    kept = pair;
    update();
  }

  function step(by) {
    // The first key shows the pair with the largest error.
    if (current >= 0) position = clamped(position + by, 0, pairs.count - 1);
    show(pairs.order[position]);
  }

  const [next, previous, keepShown] = [() => step(1), () => step(-1), () => keep(current)];
  onKeys(plot, {
    ArrowRight: next,
    ArrowDown: next,
    ArrowLeft: previous,
    ArrowUp: previous,
    Enter: keepShown,
    ' ': keepShown,
    Escape: () => {
      current = -1;
      keep(-1);
    },
  });
  listen(plot, {
    pointermove: (event) => show(pairAt(event)),
    'pointerleave blur': () => show(-1),
    click(event) {
      const pair = pairAt(event);
      keep(pair === kept ? -1 : pair);
    },
  });

  return {
    element: element('div', {}, plot, status),
    redraw,
    /** Marks the rows of the pair that is shown, again. */
    update,
    get shown() {
      return shown();
    },
    get marked() {
      return marked;
    },
    /** The place of a pair in the window. */
    pixelOfPair(pair) {
      const box = plot.getBoundingClientRect();
      const [x, y] = pixelOf(pair);
      return [box.left + MARGIN.left + x, box.top + MARGIN.top + y];
    },
    /** Marks the pairs that have a marked row, by a byte for each row, or none by null. */
    setMarks(marks) {
      marked = marks && Uint8Array.from(pairs.source, (_, i) => Number(pairs.rowsOf(i).some((row) => marks[row])));
      redrawSoon();
    },
  };
}
