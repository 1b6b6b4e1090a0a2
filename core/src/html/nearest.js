// ---- nearest.js: which points are at a place, or inside an outline ----

/**
 * An index of points by the cells of a uniform grid, with about two points in a cell. `places` has x and y of each point
 * in [−1, 1]; places outside, of points with missing values, are left out.
 */
function gridOf(places) {
  const count = places.length / 2;
  const side = Math.max(1, Math.min(1024, Math.floor(Math.sqrt(count / 2))));
  const column = (value) => Math.min(side - 1, Math.floor((value + 1) * 0.5 * side));
  const isInside = (i) => Math.abs(places[2 * i]) <= 1 && Math.abs(places[2 * i + 1]) <= 1;
  const cell = (i) => column(places[2 * i + 1]) * side + column(places[2 * i]);
  // Points sorted by cell: count, sum, and fill.
  const starts = new Uint32Array(side * side + 1);
  for (let i = 0; i < count; i++) if (isInside(i)) starts[cell(i) + 1]++;
  for (let c = 0; c < side * side; c++) starts[c + 1] += starts[c];
  const next = starts.slice();
  const order = new Uint32Array(starts[side * side]);
  for (let i = 0; i < count; i++) if (isInside(i)) order[next[cell(i)]++] = i;

  return {
    /** The point nearest to (x, y) within an ellipse of these radii, or −1. Of equally near points the last, which is drawn on top. */
    nearest(x, y, radiusX, radiusY) {
      const bound = (value) => Math.max(0, Math.min(side - 1, Math.floor((value + 1) * 0.5 * side)));
      let best = -1;
      let least = 1;
      for (let row = bound(y - radiusY); row <= bound(y + radiusY); row++) {
        const first = starts[row * side + bound(x - radiusX)];
        const end = starts[row * side + bound(x + radiusX) + 1];
        for (let k = first; k < end; k++) {
          const i = order[k];
          const distance = ((places[2 * i] - x) / radiusX) ** 2 + ((places[2 * i + 1] - y) / radiusY) ** 2;
          if (distance < least || (distance === least && i > best)) [best, least] = [i, distance];
        }
      }
      return best;
    },
  };
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
