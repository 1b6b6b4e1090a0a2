// ---- contours.js: lines of equal values by marching squares ----

/** For each set of corners above a level, the sides of a cell that a line crosses: below, right, above, left. */
const CROSSED = ['', '30', '01', '31', '12', '3012', '02', '32', '23', '02', '0123', '12', '13', '01', '30', ''].map(
  (sides) => [...sides].map(Number)
);

/**
 * Lines of equal values on a slice of `side` × `side`: x and y of both ends of each piece, in steps of the grid. Cells with a
 * node without a value have none.
 */
function contourOf(values, side, level) {
  const pieces = [];
  for (let j = 0; j < side - 1; j++)
    for (let i = 0; i < side - 1; i++) {
      const first = j * side + i;
      const corners = [values[first], values[first + 1], values[first + side + 1], values[first + side]];
      const [a, b, c, d] = corners;
      if (!Number.isFinite(a + b + c + d)) continue;
      const above = (a > level) | ((b > level) << 1) | ((c > level) << 2) | ((d > level) << 3);
      for (const crossed of CROSSED[above]) {
        const from = corners[crossed];
        const share = (level - from) / (corners[(crossed + 1) % 4] - from);
        pieces.push(i + [share, 1, 1 - share, 0][crossed], j + [0, share, 1, 1 - share][crossed]);
      }
    }
  return Float32Array.from(pieces);
}

/** Interfaces on a slice: `of` has the region of each node, and `depth` grows from 0 at its interfaces. */
function interfacesOf([of, depth], side) {
  // The first region's interfaces are those of the others. Depths are also 0 at outer boundaries, where the region stays the same.
  const [, ...regions] = new Set(of);
  return regions.map((region) =>
    contourOf(
      Float32Array.from(depth, (value, node) => (of[node] === region ? -value : value + 1)),
      side,
      0
    )
  );
}

/** Distance between labels, and of a label from the edge of the panel, in CSS pixels. */
const LABEL_GAP = 70;
const LABEL_EDGE = 24;

/**
 * Draws lines of equal values with their labels; `place` maps steps of the grid to a pixel, and labels are where `isClear`
 * says that a place in steps of the grid is away from the boundary.
 */
function drawContours(context, lines, [width, height], { place, isClear, scale }) {
  const labels = [];
  for (const { at, text, pieces } of lines) {
    const colour = scale.colour(scale.share(at));
    context.strokeStyle = textOn(colour);
    context.globalAlpha = 0.6;
    context.lineWidth = 1;
    context.beginPath();
    let best = null;
    for (let k = 0; k < pieces.length; k += 4) {
      const [x, y] = place(pieces[k], pieces[k + 1]);
      const [toX, toY] = place(pieces[k + 2], pieces[k + 3]);
      context.moveTo(x, y);
      context.lineTo(toX, toY);
      const edge = Math.min(x, y, width - x, height - y);
      if (edge < LABEL_EDGE || k % 16 || !isClear(pieces[k], pieces[k + 1])) continue;
      let free = Infinity;
      for (const label of labels) free = Math.min(free, Math.hypot(label.x - x, label.y - y));
      // Near the middle if no other label is near.
      const score = Math.min(free, LABEL_GAP * 2) - 0.1 * Math.hypot(x - width / 2, y - height / 2);
      if (free > LABEL_GAP && (!best || score > best.score))
        best = { x, y, score, text, colour, angle: Math.atan2(toY - y, toX - x) };
    }
    context.stroke();
    context.globalAlpha = 1;
    if (best) labels.push(best);
  }
  for (const { x, y, text, colour, angle } of labels) {
    context.save();
    context.translate(x, y);
    // Never upside down.
    context.rotate(Math.atan(Math.tan(angle)));
    context.font = context.font.replace('12px', '11px');
    context.lineWidth = 4;
    context.lineJoin = 'round';
    context.strokeStyle = css(colour);
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    context.strokeText(text, 0, 0);
    context.fillStyle = textOn(colour);
    context.fillText(text, 0, 0);
    context.restore();
  }
}
