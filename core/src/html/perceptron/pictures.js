// ---- pictures.js: numbers as pictures and colours ----

/** Names of columns that are numbered, as those of pixels are; few columns must have a name of pixels. */
const NUMBERED = /^[a-z]*[ _-]?\d+([ _x-]\d+)*$/i;
const PIXELS = /^(p|px|pix|pixel)?[ _-]?\d+([ _x-]\d+)*$/i;
/** The background as in the stylesheet. */
const PAPER = { light: [255, 255, 255], dark: [24, 26, 30] };

/** The side of the square whose pixels the columns are, row by row, or 0 if they seem to be none. */
function pictureSide(names) {
  const side = Math.round(Math.sqrt(names.length));
  if (side < 4 || side * side !== names.length) return 0;
  return names.every((name) => (side < 8 ? PIXELS : NUMBERED).test(name)) ? side : 0;
}

/** A canvas of side × side pixels. */
function pixelCanvas(side, label) {
  return element('canvas.picture', { width: side, height: side, role: 'img', 'aria-label': label });
}

/** Paints a picture; `colourOf(i)` is the colour of a pixel, or null for none. */
function paintPixels(canvas, colourOf) {
  const context = canvas.getContext('2d');
  const image = context.createImageData(canvas.width, canvas.height);
  for (let i = 0; i < canvas.width * canvas.height; i++) {
    const colour = colourOf(i);
    if (colour) image.data.set([...colour, 255], 4 * i);
  }
  context.putImageData(image, 0, 0);
}

/** The colour of a number from −1 to 1: blue below 0, orange above, the background at 0. */
function diverging(value) {
  return mixed(PAPER[theme.name], CLUSTERS[theme.name][value < 0 ? 0 : 3], Math.min(Math.abs(value), 1));
}
