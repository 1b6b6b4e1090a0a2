// ---- nearest.js: which points are at a place, or inside an outline ----

/**
 * The point nearest to a place within an ellipse of these radii, or −1; of equally near ones the last, which is drawn on top.
 * `places` has x and y of each point. Looking at all takes a few milliseconds for a million points.
 */
function nearestOf(places, [x, y], [radiusX, radiusY]) {
  let best = -1;
  let least = 1;
  for (let i = 0; i < places.length / 2; i++) {
    const across = (places[2 * i] - x) / radiusX;
    const up = (places[2 * i + 1] - y) / radiusY;
    const distance = across * across + up * up;
    if (distance > least) continue;
    best = i;
    least = distance;
  }
  return best;
}

/** A byte for each point that is 1 inside a closed outline. */
function marksInside(places, outline) {
  const [left, right, low, high] = [0, 1].flatMap((axis) => rangeOf(outline.map((at) => at[axis])));
  return Uint8Array.from({ length: places.length / 2 }, (_, i) => {
    const [x, y] = [places[2 * i], places[2 * i + 1]];
    return x >= left && x <= right && y >= low && y <= high && isInsideOutline([x, y], outline);
  });
}

/** True if a place is inside a closed outline, a list of places, by the number of its edges to the right. */
function isInsideOutline([x, y], outline) {
  let inside = false;
  for (let i = 0, j = outline.length - 1; i < outline.length; j = i++) {
    const [ax, ay] = outline[i];
    const [bx, by] = outline[j];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
  }
  return inside;
}
