// ---- axes.js: ticks, and axes around a panel ----

/** Room around a panel, in CSS pixels. */
const MARGIN = { left: 84, right: 12, top: 10, bottom: 44 };

/** Round numbers from `low` to `high`, at most `most` of them, with as many decimals as their distance needs. */
function ticksOf(low, high, most) {
  const parts = Math.max(most, 1);
  const least = high / parts - low / parts;
  if (!(least > Number.EPSILON * Math.max(Math.abs(low), Math.abs(high)))) return [{ at: low, text: rounded(low) }];
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= least * (1 - 1e-9));
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i <= high / step + 1e-9; i++)
    ticks.push({ at: i * step, text: tickText(i * step, step) });
  return ticks;
}

/** The text of a multiple of `step`, with the same decimals as of the others unless these are many. */
function tickText(value, step) {
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return Math.abs(value) < 1e6 && decimals <= 5 ? signed(value.toFixed(decimals)) : rounded(value, 6);
}

/** The text, shortened to fit a width. */
function fitted(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let kept = text.length;
  while (kept > 1 && context.measureText(`${text.slice(0, kept)}…`).width > width) kept--;
  return `${text.slice(0, kept)}…`;
}

/** Name and ticks of an axis between two values. */
function axisBetween(name, low, high, most) {
  if (Math.max(Math.abs(low), Math.abs(high)) / 1000 < high - low) return { name, ticks: ticksOf(low, high, most) };
  // Long numbers, such as times, are differences from a round number beside the name.
  const power = 10 ** Math.ceil(Math.log10(high - low));
  const base = Number((Math.floor(low / power) * power).toPrecision(15));
  const apart = ticksOf(low - base, high - base, most);
  return {
    name: `${name} ${base < 0 ? '+' : '\u2212'} ${grouped(Math.abs(base))}`,
    ticks: apart.map(({ at, text }) => ({ at: base + at, text })),
  };
}

/**
 * Draws grid, ticks, frame and names around a panel of a size; `axes` are x and y, { name, ticks, place } each, where
 * `place` maps a value to a pixel of the panel.
 */
function drawAxes(context, [width, height], [x, y]) {
  context.translate(MARGIN.left, MARGIN.top);
  const atX = x.ticks.map(({ at }) => Math.round(x.place(at)));
  const atY = y.ticks.map(({ at }) => Math.round(y.place(at)));
  context.fillStyle = styleColour('--grid');
  for (const at of atX) context.fillRect(at, 0, 1, height);
  for (const at of atY) context.fillRect(0, at, width, 1);
  context.fillStyle = context.strokeStyle = styleColour('--frame');
  for (const at of atX) context.fillRect(at, height, 1, 4);
  for (const at of atY) context.fillRect(-4, at, 4, 1);
  context.strokeRect(0.5, 0.5, width - 1, height - 1);

  context.fillStyle = styleColour('--faint');
  let free = -Infinity;
  x.ticks.forEach(({ text }, i) => {
    const half = context.measureText(text).width / 2;
    // Left out where it would touch the one before.
    if (atX[i] - half < free) return;
    write(context, text, atX[i], height + 14, 'center');
    free = atX[i] + half + 8;
  });
  y.ticks.forEach(({ text }, i) => write(context, text, -8, atY[i], 'right', MARGIN.left - 28));
  context.fillStyle = styleColour('--ink');
  write(context, fitted(context, x.name, width), width / 2, height + 33, 'center');
  writeUpwards(context, fitted(context, y.name, height), 12 - MARGIN.left, height / 2);
}

/** Writes a text, vertically in the middle of a place, and condensed if it is wider than `most`. */
function write(context, text, x, y, align, most) {
  context.textAlign = align;
  context.textBaseline = 'middle';
  context.fillText(text, x, y, most);
}

function writeUpwards(context, text, x, y) {
  context.save();
  context.translate(x, y);
  context.rotate(-Math.PI / 2);
  write(context, text, 0, 0, 'center');
  context.restore();
}

/** Room around the plots of levels and of the tree. */
const ROOM = { left: 44, right: 2, top: 8 };

/** Draws a scale from 0 to `highest` with lines across, on the left; `place` maps a value to a pixel. */
function drawScale(context, name, highest, most, width, place) {
  for (const { at, text } of ticksOf(0, highest, most)) {
    context.fillStyle = styleColour('--grid');
    context.fillRect(ROOM.left, Math.round(place(at)), width, 1);
    context.fillStyle = styleColour('--faint');
    write(context, text, ROOM.left - 8, place(at), 'right');
  }
  writeUpwards(context, name, 8, place(highest / 2));
}
