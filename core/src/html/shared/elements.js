// ---- elements.js: elements of the page ----

/** The page of each kind of report: a function of the data and the element that it fills. It returns what tests look at. */
const PAGES = {};

/**
 * A new element, 'div' or with a class 'div.row', with these properties and children. Texts become text nodes: names in the
 * data are never read as HTML. Properties with a dash, and `role`, are attributes.
 */
function element(name, properties = {}, ...children) {
  const [tag, ...classes] = name.split('.');
  const made = document.createElement(tag);
  made.className = classes.join(' ');
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes('-') || key === 'role') made.setAttribute(key, value);
    else made[key] = value;
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** A button that does something. */
const button = (text, action, properties = {}) =>
  element('button', { type: 'button', onclick: action, ...properties }, text);

/** A select box with a label; `choose` gets the index of the choice. */
function choice(label, names, chosen, choose) {
  const options = names.map((name, i) => element('option', { value: i, selected: i === chosen }, name));
  const box = element('select', { onchange: () => choose(box.selectedIndex) }, ...options);
  return element('label.choice', {}, `${label} `, box);
}

/** A part of the page with a heading. */
const section = (title, ...children) => element('section', { 'aria-label': title }, element('h2', {}, title), ...children);

/** A number in a list. */
const figure = (text) => element('span.figure', {}, text);

/** A table of names and values that is opened on demand. */
function details(title, rows) {
  const lines = rows.map(([name, value]) =>
    element('tr', {}, element('th', { scope: 'row' }, name), element('td', {}, value))
  );
  return element('details', {}, element('summary', {}, title), element('table', {}, element('tbody', {}, ...lines)));
}

/** Offers a text as a file. */
function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  element('a', { href: address, download: name }).click();
  // The browser may still be reading it.
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** Copies a text, and says so on the button for a moment. */
async function copy(text, pressed) {
  const before = (pressed.dataset.text ??= pressed.textContent);
  try {
    // There is no clipboard at all on a page that came over plain HTTP.
    await navigator.clipboard.writeText(text);
    pressed.textContent = 'Copied';
  } catch {
    pressed.textContent = 'Not allowed here';
  }
  announce(pressed.textContent);
  setTimeout(() => {
    pressed.textContent = before;
  }, 1500);
}

const announcements = element('p.hidden', { role: 'status' });

/** Has a screen reader say a text. */
function announce(text) {
  announcements.textContent = text;
}

/** Calls `draw` once before the next frame, however often it is asked to. */
function oncePerFrame(draw) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      draw();
    });
  };
}

/** Listens to events by their names, several of them with spaces between. */
function listen(target, actions) {
  for (const [names, action] of Object.entries(actions))
    // A wheel that zooms must not scroll the page too.
    for (const name of names.split(' ')) target.addEventListener(name, action, { passive: false });
}

/** Acts on keys that are pressed in an element itself. */
function onKeys(target, actions) {
  target.addEventListener('keydown', (event) => {
    if (event.target !== target || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(actions, event.key))
      return;
    event.preventDefault();
    actions[event.key](event);
  });
}

/** Fits a canvas to a size in CSS pixels, and returns its cleared context in this unit. */
function cleared(canvas, width, height) {
  const [wide, high] = [width, height].map((side) => Math.max(1, Math.round(side * devicePixelRatio)));
  if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, { width: wide, height: high });
  const context = canvas.getContext('2d');
  context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return context;
}

/** A drawing that fills an element: `draw` gets its context, width and height, now and after each change of its size. */
function drawing(properties, draw) {
  const canvas = element('canvas.layer', { role: 'img' });
  const around = element('div', properties, canvas);
  const redraw = () => {
    const size = [around.clientWidth, around.clientHeight];
    if (around.isConnected) draw(cleared(canvas, ...size), ...size);
  };
  new ResizeObserver(redraw).observe(around);
  return { element: around, redraw, describe: (text) => canvas.setAttribute('aria-label', text) };
}

/** A box beside the pointer with lines of names and values. */
function tooltip(parent) {
  const box = element('div.tooltip', { hidden: true, 'aria-hidden': 'true' });
  parent.append(box);
  return {
    hide() {
      box.hidden = true;
    },
    /** Shows lines at a place in the parent, on the side where there is room. */
    show(x, y, lines) {
      box.replaceChildren(
        ...lines.map(([name, value]) => element('div', {}, element('span', {}, name), element('b', {}, value)))
      );
      box.hidden = false;
      const left = x + 14 + box.offsetWidth > parent.clientWidth ? x - 14 - box.offsetWidth : x + 14;
      const top = Math.min(y + 14, parent.clientHeight - box.offsetHeight);
      box.style.transform = `translate(${Math.max(0, left)}px, ${Math.max(0, top)}px)`;
    },
  };
}
