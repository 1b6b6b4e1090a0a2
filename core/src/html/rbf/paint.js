// ---- paint.js: a slice as an image, marks on it, and the scale of its colours ----

/** An image of a slice, as wide and high as the panel. */
function paintSlice({ values, distance, side, scale }, width, height) {
  const canvas = element('canvas', { width, height });
  const context = canvas.getContext('2d');
  const image = context.createImageData(width, height);
  const pixels = image.data;
  const colours = new Uint8ClampedArray(768);
  for (let k = 0; k < 256; k++) colours.set(scale.colour(k / 255), 3 * k);
  for (let row = 0, at = 0; row < height; row++) {
    const y = (1 - (row + 0.5) / height) * (side - 1);
    for (let column = 0; column < width; column++, at += 4) {
      const x = ((column + 0.5) / width) * (side - 1);
      if (distance && between(distance, side, x, y) > EDGE_BYTE) continue;
      const share = scale.share(between(values, side, x, y));
      if (share !== share) continue;
      const colour = 3 * Math.round(255 * clamped(share, 0, 1));
      pixels[at] = colours[colour];
      pixels[at + 1] = colours[colour + 1];
      pixels[at + 2] = colours[colour + 2];
      pixels[at + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

/**
 * Marks with a light edge, which is visible on all colours; `widths` are ellipses around them.
 * `steps` are those of the grid in pixels, and `place` maps steps of the grid to a pixel.
 */
function drawMarks(context, { places, widths, shape }, steps, place) {
  for (let k = 0; k < places.length; k += 2) {
    const [x, y] = place(places[k], places[k + 1]);
    context.beginPath();
    if (widths) context.ellipse(x, y, widths[k] * steps[0], widths[k + 1] * steps[1], 0, 0, 2 * Math.PI);
    else if (shape === 'square') context.rect(x - 2, y - 2, 4, 4);
    else context.arc(x, y, shape === 'dot' ? 1.3 : 2.5, 0, 2 * Math.PI);
    context.fillStyle = shape === 'dot' ? '#ffffff' : '#000000';
    context.strokeStyle = shape === 'dot' ? '#000000' : '#ffffff';
    context.lineWidth = shape === 'dot' ? 0.7 : 1;
    context.globalAlpha = widths ? 0.5 : 1;
    if (!widths) context.fill();
    context.stroke();
  }
  context.globalAlpha = 1;
}

/** The scale of colours beside the panel. */
function drawColours(context, scale, [left, high], hasLabel) {
  const x = left + 14;
  for (let row = 0; row < high; row++) {
    context.fillStyle = css(scale.colour(1 - row / (high - 1)));
    context.fillRect(x, row, 14, 1);
  }
  context.strokeRect(x + 0.5, 0.5, 13, high - 1);
  let wide = 0;
  for (const { at, text } of scale.ticks(high / 45)) {
    // On a logarithmic scale all values have one sign.
    const y = high * (1 - scale.share(at));
    context.fillStyle = styleColour('--frame');
    context.fillRect(x + 14, Math.round(Math.min(y, high - 1)), 4, 1);
    context.fillStyle = styleColour('--faint');
    write(context, text, x + 22, clamped(y, 6, high - 6), 'left');
    wide = Math.max(wide, context.measureText(text).width);
  }
  if (!hasLabel) return;
  context.fillStyle = styleColour('--ink');
  writeUpwards(context, fitted(context, scale.label, high), x + 34 + wide, high / 2);
}
