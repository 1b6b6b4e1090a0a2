// ---- pictures.js: numbers as pictures ----

/** Names of columns that are numbered, as those of pixels are. */
const NUMBERED = /^(c|f|p|px|pix|pixel|x|v|col|column|feature)?[ _-]?\d+([ _x-]\d+)*$/i;

/** The side of the square whose pixels the columns are, row by row, or 0 if they seem to be none. */
function pictureSide(names) {
  const side = Math.round(Math.sqrt(names.length));
  if (side < 4 || side * side !== names.length) return 0;
  return side >= 8 || names.every((name) => NUMBERED.test(name)) ? side : 0;
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

/** The grey of a number between the darkest and the lightest. */
function grey(value, [low, high]) {
  if (!Number.isFinite(value)) return null;
  const shade = Math.round((255 * (value - low)) / (high > low ? high - low : 1));
  return [shade, shade, shade];
}

/** The colour of a number from −1 to 1: blue below 0, orange above, paper at 0. */
function diverging(value) {
  const paper = theme.name === 'light' ? [255, 255, 255] : [36, 39, 44];
  return mixed(paper, CLUSTERS[theme.name][value < 0 ? 0 : 3], Math.min(Math.abs(value), 1));
}

/** Elements of which one has the focus; arrow keys move it. `choose(i)` is called with the one that gets it. */
function roving(elements, choose) {
  let current = 0;
  elements.forEach((one, i) => {
    one.tabIndex = i ? -1 : 0;
    const to = (target) => () => {
      const next = Math.min(Math.max(target, 0), elements.length - 1);
      elements[next].focus();
    };
    onKeys(one, {
      ArrowLeft: to(i - 1),
      ArrowUp: to(i - 1),
      ArrowRight: to(i + 1),
      ArrowDown: to(i + 1),
      Home: to(0),
      End: to(elements.length - 1),
    });
    one.addEventListener('focus', () => {
      elements[current].tabIndex = -1;
      one.tabIndex = 0;
      current = i;
      choose(i);
    });
  });
}
