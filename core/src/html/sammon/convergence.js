// ---- convergence.js: a falling number by iteration, on a logarithmic axis ----

const CONVERGENCE_HELP = 'Arrow keys, Home and End read its values.';

/** The history of the stress in a sentence. */
function convergenceText({ unit, interval, stress }) {
  const ends = [stress[0], stress.at(-1)];
  let digits = 4;
  let texts;
  // As many digits as distinguish both.
  do texts = ends.map((value) => rounded(value, digits));
  while (ends[0] !== ends[1] && texts[0] === texts[1] && digits++ < 15);
  const first = `Stress ${texts[0]} at ${unit} 0`;
  return stress.length < 2 ? `${first}.` : `${first}, ${texts[1]} after ${counted(interval * (stress.length - 1), unit)}.`;
}

/** The curve of { unit, interval, stress: one number each interval }. */
function convergencePlot(convergence) {
  const { unit, interval } = convergence;
  const stress = convergence.stress.map((value) => value ?? NaN);
  const [least, most] = rangeOf(stress.filter((value) => value > 0)) ?? [1, 1];
  // Room above and below, also for a single number.
  const room = Math.max((most / least) ** 0.05, 1.01);
  const [low, high] = [least / room, most * room];
  const last = stress.length - 1;
  const name = `Stress by ${unit}`;
  const properties = {
    className: 'convergence',
    tabIndex: 0,
    role: 'group',
    'aria-label': `${name}. ${CONVERGENCE_HELP}`,
  };
  const { element: plot, redraw, describe } = drawing(properties, draw);
  const tip = tooltip(plot);
  const text = convergenceText({ ...convergence, stress });
  const status = element('p.note', { 'aria-live': 'polite' }, text);
  const redrawSoon = oncePerFrame(redraw);
  let size = [1, 1];
  let current = -1;
  describe(`${name}, logarithmic. ${text}`);

  function placeX(i) {
    return (size[0] * i) / Math.max(last, 1);
  }

  /** Zero, which has no logarithm, is at the lower edge. */
  function placeY(value) {
    return size[1] * (1 - Math.log(Math.max(value, low) / low) / Math.log(high / low));
  }

  function draw(context, width, height) {
    size = [width - MARGIN.left - MARGIN.right, height - MARGIN.top - MARGIN.bottom].map((side) => Math.max(side, 40));
    // At most one tick per iteration, so that all are integers.
    const most = interval * Math.max(last, 1);
    const ticks = ticksOf(0, most, Math.min(size[0] / 70, most));
    drawAxes(context, size, [
      { name: unit, ticks, place: (value) => placeX(value / interval) },
      { name: 'stress E', ticks: logTicksOf(low, high, size[1] / 30), place: placeY },
    ]);
    context.strokeStyle = styleColour('--accent');
    context.lineWidth = 2;
    context.lineJoin = 'round';
    context.beginPath();
    stress.forEach((value, i) => value >= 0 && context.lineTo(placeX(i), placeY(value)));
    context.stroke();
    if (current >= 0) drawDot(context, current);
    else if (last === 0) drawDot(context, 0);
  }

  function drawDot(context, i) {
    if (!(stress[i] >= 0)) return;
    context.fillStyle = styleColour('--ink');
    context.beginPath();
    context.arc(placeX(i), placeY(stress[i]), 4, 0, 2 * Math.PI);
    context.fill();
  }

  function show(i) {
    if (i === current) return;
    current = i;
    if (i < 0) tip.hide();
    else {
      const lines = [
        [unit, grouped(interval * i)],
        ['stress', rounded(stress[i], 6)],
      ];
      tip.show(placeX(i) + MARGIN.left, MARGIN.top, lines);
    }
    status.textContent = i < 0 ? text : `Stress ${rounded(stress[i], 6)} at ${unit} ${grouped(interval * i)}.`;
    redrawSoon();
  }

  function go(i) {
    show(clamped(i, 0, last));
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

  return { element: element('div', {}, plot, status), redraw };
}
