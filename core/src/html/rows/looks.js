// ---- looks.js: colours and marker shapes of rows ----

const NOISE = { light: rgb('#737373'), dark: rgb('#969696') };
/** A branch of a tree with several clusters. */
const SEVERAL_COLOUR = { light: rgb('#cdd1d6'), dark: rgb('#454a52') };
/** The part of viridis that is visible on the background. */
const VISIBLE = { light: [0, 0.75], dark: [0.42, 1] };
/** Share of black or white in each round of eight colours. */
const SHADES = [0, 0.35, 0.6];
/** Marker shapes by round, and of noise. */
const SHAPE = { circle: 0, square: 1, triangle: 2, diamond: 3, inverted: 4, plus: 5, cross: 6 };

/** The colour of a fraction from 0 to 1 that is visible on the background. */
function visibleViridis(share) {
  const [low, high] = VISIBLE[theme.name];
  return viridis(low + (high - low) * share);
}

/** Colour and marker shape of each of `count` clusters or classes. */
function looksOf(count) {
  const colours = CLUSTERS[theme.name];
  const towards = theme.name === 'light' ? [0, 0, 0] : [255, 255, 255];
  return Array.from({ length: count }, (_, i) => {
    if (count > colours.length * SHADES.length)
      return { colour: visibleViridis(i / (count - 1)), shape: i % SHAPE.cross };
    const round = Math.floor(i / colours.length);
    return { colour: mixed(colours[i % colours.length], towards, SHADES[round]), shape: round };
  });
}

const noiseLook = () => ({ colour: NOISE[theme.name], shape: SHAPE.cross });

/** A small drawing of a marker, for legends. */
function swatch({ colour, shape }) {
  const made = markerImage(css(colour), shape, 10 * devicePixelRatio);
  made.className = 'swatch';
  made.setAttribute('aria-hidden', 'true');
  return made;
}
