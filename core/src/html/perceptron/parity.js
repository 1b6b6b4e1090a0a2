// ---- parity.js: predicted numbers against true ones ----

/** Predictions of a target, from its columns; `what` names the rows, and `order` has them by their error, the largest first. */
function targetOf([actual, predicted], what) {
  const residual = predicted.values.map((value, row) => value - actual.values[row]);
  const order = Array.from(residual.keys()).sort((a, b) => Math.abs(residual[b]) - Math.abs(residual[a]) || a - b);
  const ranks = new Uint32Array(order.length);
  order.forEach((row, rank) => {
    ranks[row] = rank;
  });
  return { name: actual.name, what, columns: [actual, predicted], residual, order, ranks };
}

/** The errors of a target in a sentence. */
function targetText({ what, columns, residual }) {
  const { values } = columns[0];
  const mean = (of) => of.reduce((sum, value) => sum + value / of.length, 0);
  const error = mean(residual.map((value) => value ** 2));
  const middle = mean(values);
  const variance = mean(values.map((value) => (value - middle) ** 2));
  const share = variance > 0 ? `, R\u00b2 ${rounded(1 - error / variance)}` : '';
  return `${grouped(values.length)} ${what}: RMSE ${rounded(Math.sqrt(error))}${share}, mean residual ${rounded(mean(residual))}.`;
}

/** Predicted numbers, or residuals, against true ones. `select(row)` is called for a row that is chosen. */
function parityPlot(targetNow, numbers, select) {
  const note = element('p.note');
  const ring = element('div.ring', { hidden: true });
  let target = targetNow;
  let isResidual = false;
  let places = new Float32Array(0);
  let ranges = null;
  let marks = null;
  const stepped = steppedPlot({
    className: 'parity',
    name: 'Predicted against true numbers',
    help: 'Arrow keys: rows by their error, the largest first. Enter selects a row.',
    count: () => target.order.length,
    draw,
    linesOf(rank) {
      const row = target.order[rank];
      const values = target.columns.map(({ name, values }) => [name, rounded(values[row])]);
      return [['row', numbers[row]], ...values, ['residual', rounded(target.residual[row])]].map((line) =>
        line.map(String)
      );
    },
    placeOf: (rank, size) => pixelOf(target.order[rank], size),
    at(x, y, [width, height]) {
      const row = nearestOf(places, [x / width, 1 - y / height], [12 / width, 12 / height]);
      return row < 0 ? -1 : target.ranks[row];
    },
    choose: (rank) => select(target.order[rank]),
    // A ring instead of drawing all rows again.
    moved(rank) {
      ring.hidden = rank < 0;
      if (rank < 0) return;
      const [x, y] = pixelOf(target.order[rank], stepped.size);
      ring.style.transform = `translate(${x + MARGIN.left}px, ${y + MARGIN.top}px)`;
    },
  });
  stepped.plot.append(ring);

  function set(next, showsResiduals) {
    [target, isResidual] = [next, showsResiduals];
    const both = [target.columns[0].values, isResidual ? target.residual : target.columns[1].values];
    const own = both.map((values) => rangeOf(values) ?? [0, 0]);
    const all = rangeOf(own.flat());
    ranges = own.map((range) => {
      const [low, high] = isResidual ? range : all;
      const room = high > low ? 0.04 * (high - low) : Math.max(1, Math.abs(low) * 0.05);
      return [low - room, high + room];
    });
    places = new Float32Array(2 * target.order.length);
    both.forEach((values, axis) => {
      for (let row = 0; row < values.length; row++) places[2 * row + axis] = shareOf(values[row], axis);
    });
    ring.hidden = true;
    note.textContent = targetText(target);
    stepped.update(`${isResidual ? 'Residual' : 'Predicted'} against true ${target.name}. ${targetText(target)}`);
  }

  /** A number as a share of an axis. */
  function shareOf(value, axis) {
    const [low, high] = ranges[axis];
    return (value - low) / (high - low);
  }

  function pixelOf(row, [width, height]) {
    return [width * places[2 * row], height * (1 - places[2 * row + 1])];
  }

  function draw(context, size) {
    const [width, height] = size;
    const placeY = (value) => height * (1 - shareOf(value, 1));
    const name = isResidual ? 'residual (predicted \u2212 true)' : `predicted ${target.name}`;
    drawAxes(context, size, [
      { ...axisBetween(`true ${target.name}`, ...ranges[0], width / 80), place: (value) => width * shareOf(value, 0) },
      { ...axisBetween(name, ...ranges[1], height / 40), place: placeY },
    ]);
    context.strokeStyle = styleColour('--frame');
    context.beginPath();
    context.moveTo(0, isResidual ? placeY(0) : height);
    context.lineTo(width, isResidual ? placeY(0) : 0);
    context.stroke();
    const count = target.order.length;
    // Selected rows are on top of the others, which fade.
    for (const on of marks ? [0, 1] : [1]) {
      const radius = count > 3000 && !(marks && on) ? 1.5 : 2.5;
      context.globalAlpha = on ? (count > 1000 ? 0.5 : 0.8) : 0.25;
      context.fillStyle = styleColour(on ? '--accent' : '--frame');
      for (let row = 0; row < count; row++) {
        if (marks && marks[row] !== on) continue;
        const [x, y] = pixelOf(row, size);
        context.fillRect(x - radius, y - radius, 2 * radius, 2 * radius);
      }
    }
    context.globalAlpha = 1;
  }

  set(target, false);
  return {
    content: [note, ...stepped.parts],
    redraw: stepped.redraw,
    set,
    setMarks(all) {
      marks = all;
      stepped.redraw();
    },
    /** The place of a row in the window. */
    pixelOfRow(row) {
      const box = stepped.plot.getBoundingClientRect();
      const [x, y] = pixelOf(row, stepped.size);
      return [box.left + MARGIN.left + x, box.top + MARGIN.top + y];
    },
  };
}
