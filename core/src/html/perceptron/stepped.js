// ---- stepped.js: plots that the pointer and the keyboard read step by step ----

/**
 * A plot of `count()` things, of which one is shown in a box and in a line of text. `options` are { className, name, help: what
 * keys do, rest: the text while none is shown, draw(context, size, current), linesOf(i): names and values, placeOf(i): where in
 * the panel its box is, at(x, y): the thing at a place in the panel or −1, choose(i): called by a click or Enter, first: the
 * one that a key shows first, up: how far arrows up and down go, room: as MARGIN, moved(i): called instead of drawing again and
 * after a change of the size }.
 */
function steppedPlot(options) {
  const { className, name, help, rest = help, choose = () => {}, first = 0, up = 1, room = MARGIN } = options;
  const properties = {
    className: `stepped ${className}`,
    tabIndex: 0,
    role: 'group',
    'aria-label': `${name}. ${help}`,
  };
  const { element: plot, redraw, describe } = drawing(properties, draw);
  const tip = tooltip(plot);
  const status = element('p.note', { 'aria-live': 'polite' }, rest);
  const redrawSoon = oncePerFrame(redraw);
  const { moved = redrawSoon } = options;
  let size = [1, 1];
  let current = -1;

  function draw(context, width, height) {
    const before = String(size);
    size = [width - room.left - room.right, height - room.top - room.bottom].map((side) => Math.max(side, 40));
    // The next drawing on this canvas starts with the same dashes and widths.
    context.save();
    options.draw(context, size, current);
    context.restore();
    if (current < 0 || String(size) === before) return;
    showTip();
    options.moved?.(current);
  }

  /** Shows the box of the current thing, and returns its lines. */
  function showTip() {
    const [x, y] = options.placeOf(current, size);
    const lines = options.linesOf(current);
    tip.show(x + room.left, y + room.top, lines);
    return lines;
  }

  function show(i) {
    if (i === current) return;
    current = i;
    if (i < 0) hide();
    else status.textContent = `${showTip().map((line) => line.join(' ')).join(', ')}.`;
    moved(i);
  }

  function hide() {
    tip.hide();
    status.textContent = rest;
  }

  function go(by) {
    const last = options.count() - 1;
    const start = by < -1 && by !== -up ? last : first;
    const next = clamped(current + by, 0, last);
    // There is no line above the first and below the last.
    if (current >= 0 && Math.abs(by) === up && next !== current + by) return;
    if (last >= 0) show(current < 0 ? start : next);
  }

  const choosing = () => current >= 0 && choose(current);
  onKeys(plot, {
    ArrowLeft: () => go(-1),
    ArrowRight: () => go(1),
    ArrowUp: () => go(-up),
    ArrowDown: () => go(up),
    PageUp: () => go(-10),
    PageDown: () => go(10),
    Home: () => show(0),
    End: () => show(options.count() - 1),
    Enter: choosing,
    ' ': choosing,
    Escape: () => show(-1),
  });
  listen(plot, {
    pointermove(event) {
      const box = plot.getBoundingClientRect();
      show(options.at(event.clientX - box.left - room.left, event.clientY - box.top - room.top, size));
    },
    'pointerleave blur': () => show(-1),
    click: choosing,
  });

  return {
    plot,
    parts: [plot, status],
    describe,
    redraw,
    /** Draws other things; none is shown. */
    update(text) {
      current = -1;
      hide();
      describe(text);
      redrawSoon();
    },
    get size() {
      return size;
    },
  };
}

/** Ticks at whole numbers. */
function wholeTicks(low, high, most) {
  return ticksOf(low, high, Math.min(most, high - low));
}

/** The names of thousands on an axis of counts. */
function countTicks(most, height) {
  return wholeTicks(0, most, height / 30).map(({ at }) => ({ at, text: at >= 1e4 ? `${at / 1000}k` : String(at) }));
}

/** A range of two numbers. */
function rangeText([from, to]) {
  return `${rounded(from, 3)} to ${rounded(to, 3)}`;
}

/** A share as a percentage, which is 100 % only if it is all. */
function percent(share, digits = 1) {
  if (!Number.isFinite(share)) return '\u2013';
  const text = (100 * share).toFixed(digits);
  return `${share < 1 && text >= 100 ? (digits ? '99.9' : '>99') : text}\u202f%`;
}
