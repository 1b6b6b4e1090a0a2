// ---- theme.js: light and dark, and colours that are distinguishable with any colour vision ----

// Okabe and Ito (2008), with olive for their yellow, which is hardly visible on white; lighter on dark. As in the plots
// that Firebox writes as images (plot/palette.rs).
const CLUSTERS = {
  light: ['#0072b2', '#e69f00', '#009e73', '#d55e00', '#56b4e9', '#cc79a7', '#000000', '#8c7e00'].map(rgb),
  dark: ['#4da3e0', '#f0aa1e', '#2ebe91', '#f07632', '#8ed0fa', '#e08ebb', '#eeeeee', '#ded046'].map(rgb),
};
// Viridis (van der Walt and Smith 2015) in tenths: perceptually uniform, also with deficient colour vision and in grey.
const VIRIDIS = '#440154 #482475 #414487 #355f8d #2a788e #21918c #22a884 #44bf70 #7ad151 #bddf26 #fde725'
  .split(' ')
  .map(rgb);
const NOISE = { light: rgb('#737373'), dark: rgb('#969696') };
/** A branch of a tree with several clusters. */
const SEVERAL_COLOUR = { light: rgb('#cdd1d6'), dark: rgb('#454a52') };
/** The part of viridis that is visible on the background. */
const VISIBLE = { light: [0, 0.75], dark: [0.42, 1] };
/** Share of black or white in each round of eight colours. */
const SHADES = [0, 0.35, 0.6];
/** Marker shapes by round, and of noise. */
const SHAPE = { circle: 0, square: 1, triangle: 2, diamond: 3, inverted: 4, plus: 5, cross: 6 };

const theme = { name: 'light', choice: 'auto', colours: {}, listeners: [] };

/** Red, green and blue of a colour such as '#0072b2'. */
function rgb(text) {
  return [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
}

function css([red, green, blue]) {
  return `rgb(${red}, ${green}, ${blue})`;
}

function mixed(from, to, share) {
  return from.map((part, i) => Math.round(part * (1 - share) + to[i] * share));
}

/** The colour of a fraction from 0 to 1. */
function viridis(share) {
  const at = Math.min(Math.max(share, 0), 1) * (VIRIDIS.length - 1);
  const first = Math.min(Math.floor(at), VIRIDIS.length - 2);
  return mixed(VIRIDIS[first], VIRIDIS[first + 1], at - first);
}

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

function noiseLook() {
  return { colour: NOISE[theme.name], shape: SHAPE.cross };
}

/** Black or white, whichever is legible on a colour. */
function textOn([red, green, blue]) {
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? '#000000' : '#ffffff';
}

/** The colour that a variable of the stylesheet has in the present theme, which an element that nobody sees tells. */
function styleColour(name) {
  if (!theme.colours[name]) {
    announcements.style.color = `var(${name})`;
    theme.colours[name] = getComputedStyle(announcements).color;
  }
  return theme.colours[name];
}

/** Sets the theme: 'auto' is the system's. */
function setTheme(choice) {
  const dark = choice === 'dark' || (choice === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
  Object.assign(theme, { name: dark ? 'dark' : 'light', choice, colours: {} });
  document.documentElement.dataset.theme = theme.name;
  for (const listen of theme.listeners) listen();
}

/** The select box of the theme. Paper is white and has all details: printing changes to the light theme and back. */
function themeBox() {
  const names = ['auto', 'light', 'dark'];
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => setTheme(theme.choice));
  let before = 'auto';
  let closed = [];
  const open = (on) => {
    for (const part of closed) part.open = on;
  };
  addEventListener('beforeprint', () => {
    closed = document.querySelectorAll('details:not([open])');
    open(true);
    before = theme.choice;
    setTheme('light');
  });
  addEventListener('afterprint', () => {
    open(false);
    setTheme(before);
  });
  setTheme('auto');
  return choice('Theme', names, 0, (i) => setTheme(names[i]));
}

/** The colours of numbers in order, those of shares from 0 to 1. */
function ramp(colourOf = visibleViridis) {
  const made = element('span.ramp', {});
  made.style.background = `linear-gradient(to right, ${VIRIDIS.map((_, i) => css(colourOf(i / 10))).join(', ')})`;
  return made;
}

/** A small drawing of a marker, for legends. */
function swatch({ colour, shape }) {
  const made = markerImage(css(colour), shape, 10 * devicePixelRatio);
  made.className = 'swatch';
  made.setAttribute('aria-hidden', 'true');
  return made;
}
