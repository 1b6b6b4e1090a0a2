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
const DARK = matchMedia('(prefers-color-scheme: dark)');
const theme = { name: 'light', choice: 'auto', colours: {}, listeners: [] };

/** Red, green and blue of a colour such as '#0072b2'. */
function rgb(text) {
  return [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
}

const css = ([red, green, blue]) => `rgb(${red}, ${green}, ${blue})`;

const mixed = (from, to, share) => from.map((part, i) => Math.round(part * (1 - share) + to[i] * share));

/** The colour at a fraction from 0 to 1 of a list. */
function blended(colours, share) {
  const at = clamped(share, 0, 1) * (colours.length - 1);
  const first = Math.min(Math.floor(at), colours.length - 2);
  return mixed(colours[first], colours[first + 1], at - first);
}

const viridis = (share) => blended(VIRIDIS, share);

/** Black or white, whichever is legible on a colour. */
const textOn = ([red, green, blue]) => 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? '#000000' : '#ffffff';

/** The colour that a variable of the stylesheet has in the present theme, read from a hidden element. */
function styleColour(name) {
  if (!theme.colours[name]) {
    announcements.style.color = `var(${name})`;
    theme.colours[name] = getComputedStyle(announcements).color;
  }
  return theme.colours[name];
}

/** Sets the theme: 'auto' is the system's. */
function setTheme(choice) {
  const dark = choice === 'dark' || (choice === 'auto' && DARK.matches);
  Object.assign(theme, { name: dark ? 'dark' : 'light', choice, colours: {} });
  document.documentElement.dataset.theme = theme.name;
  for (const listen of theme.listeners) listen();
}

/**
 * Copies the layers of each plot into one canvas for printing: in a PDF, clearing a layer also clears those below, and
 * canvases are stretched to the width of the paper. */
function compose() {
  const ratio = devicePixelRatio;
  for (const plot of document.querySelectorAll('.plot, .heat, .contrast, .tree, .shepard, .convergence')) {
    const box = plot.getBoundingClientRect();
    const canvas = element('canvas.printed', { width: ratio * box.width, height: ratio * box.height });
    const context = canvas.getContext('2d');
    context.scale(ratio, ratio);
    for (const layer of plot.querySelectorAll('canvas.layer')) {
      const at = layer.getBoundingClientRect();
      context.globalAlpha = layer.style.opacity || 1;
      context.drawImage(layer, at.x - box.x, at.y - box.y, at.width, at.height);
    }
    plot.prepend(canvas);
  }
}

/** The select box of the theme. Paper is white and has all details: printing changes to the light theme and back. */
function themeBox() {
  const names = ['auto', 'light', 'dark'];
  DARK.addEventListener('change', () => setTheme(theme.choice));
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
    compose();
  });
  addEventListener('afterprint', () => {
    for (const canvas of document.querySelectorAll('.printed')) canvas.remove();
    open(false);
    setTheme(before);
  });
  setTheme('auto');
  return choice('Theme', names, 0, (i) => setTheme(names[i]));
}

/** The colours of shares from 0 to 1 in order. */
function ramp(colourOf) {
  const made = element('span.ramp');
  made.style.background = `linear-gradient(to right, ${VIRIDIS.map((_, i) => css(colourOf(i / 10))).join(', ')})`;
  return made;
}
