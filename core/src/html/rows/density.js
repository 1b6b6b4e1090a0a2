// ---- density.js: how many points there are at each place, for more points than can be drawn one by one ----

/** Side of a cell in CSS pixels. */
const CELL = 2;
/** Opacity of a cell with one point. */
const LEAST_OPACITY = 0.4;

/** Number of points inside the panel; `view` is { scale, shift } from places to [−1, 1]. */
function countVisible(places, { scale, shift }) {
  let count = 0;
  for (let i = 0; i < places.length; i += 2)
    if (Math.abs(places[i] * scale[0] + shift[0]) <= 1 && Math.abs(places[i + 1] * scale[1] + shift[1]) <= 1) count++;
  return count;
}

/**
 * A picture of the density of points in a canvas: each cell has the mean colour of its points, and is the more opaque the more
 * points it has, by the logarithm of their number. Where rows are marked, cells without a marked point fade.
 */
function densityPicture(canvas) {
  const context = canvas.getContext('2d');
  let sums = new Float32Array(0);
  let image = null;

  /** Adds the points to the cells: red, green, blue and number of each. */
  function addPoints(places, looks, { scale, shift }, isLeftOut) {
    const { width, height } = canvas;
    const [scaleX, scaleY] = [(scale[0] * width) / 2, (scale[1] * height) / 2];
    const [shiftX, shiftY] = [((shift[0] + 1) * width) / 2, ((1 - shift[1]) * height) / 2];
    for (let i = 0; i < places.length / 2; i++) {
      const x = Math.floor(places[2 * i] * scaleX + shiftX);
      const y = Math.floor(shiftY - places[2 * i + 1] * scaleY);
      const look = i * LOOK.bytes;
      if (x < 0 || y < 0 || x >= width || y >= height || isLeftOut(looks[look + LOOK.mark])) continue;
      const cell = 4 * (y * width + x);
      sums[cell] += looks[look];
      sums[cell + 1] += looks[look + 1];
      sums[cell + 2] += looks[look + 2];
      sums[cell + 3]++;
    }
  }

  /** Paints cells that have points, over those painted before. */
  function paintCells(opacity) {
    let most = 1;
    for (let cell = 3; cell < sums.length; cell += 4) if (sums[cell] > most) most = sums[cell];
    const unit = (1 - LEAST_OPACITY) / Math.log(Math.max(most, 2));
    for (let cell = 0; cell < sums.length; cell += 4) {
      const count = sums[cell + 3];
      if (!count) continue;
      for (let part = 0; part < 3; part++) image.data[cell + part] = sums[cell + part] / count;
      image.data[cell + 3] = 255 * opacity * (LEAST_OPACITY + unit * Math.log(count));
    }
  }

  return {
    /** Draws the points in a panel of this size in CSS pixels. */
    draw(places, looks, view, size, anyMarked) {
      const [width, height] = size.map((side) => Math.ceil(side / CELL));
      if (canvas.width !== width || canvas.height !== height || !image) {
        Object.assign(canvas, { width, height });
        image = context.createImageData(width, height);
        sums = new Float32Array(4 * width * height);
      }
      image.data.fill(0);
      for (const marked of anyMarked ? [false, true] : [null]) {
        sums.fill(0);
        addPoints(places, looks, view, (mark) => marked !== null && mark > 0 !== marked);
        paintCells(marked === false ? FADED : 1);
      }
      context.putImageData(image, 0, 0);
    },
  };
}
