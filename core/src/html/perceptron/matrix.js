// ---- matrix.js: the confusion matrix, a table whose cells list their rows ----

/** Most classes by themselves; those with the fewest mistakes are one line together if there are more. */
const MOST_MATRIX = 60;
/** Side of a cell in pixels, by the number of classes. */
const CELL_SIDES = [
  [5, 64],
  [10, 38],
  [16, 32],
  [30, 26],
  [Infinity, 15],
];

/** Counts of rows by true and predicted class, where classes may be grouped. */
function confusionOf({ names, actual, predicted }) {
  const mistakes = names.map(() => 0);
  let wrong = 0;
  for (let row = 0; row < actual.length; row++)
    if (actual[row] !== predicted[row]) {
      mistakes[actual[row]]++;
      mistakes[predicted[row]]++;
      wrong++;
    }
  const own = names.map((_, code) => code);
  const isGrouped = own.length > MOST_MATRIX;
  if (isGrouped) own.sort((a, b) => mistakes[b] - mistakes[a] || a - b).splice(MOST_MATRIX - 1);
  own.sort((a, b) => a - b);
  const groupOf = names.map(() => own.length);
  own.forEach((code, group) => {
    groupOf[code] = group;
  });
  const groups = own.map((code) => names[code]);
  if (isGrouped) groups.push(`${names.length - own.length} other classes`);
  const size = groups.length;
  const counts = new Float64Array(size * size);
  const sums = [new Float64Array(size), new Float64Array(size)];
  const right = new Float64Array(size);
  for (let row = 0; row < actual.length; row++) {
    const [truth, guess] = [groupOf[actual[row]], groupOf[predicted[row]]];
    counts[truth * size + guess]++;
    sums[0][truth]++;
    sums[1][guess]++;
    if (actual[row] === predicted[row]) right[truth]++;
  }
  return { groups, groupOf, size, counts, sums, right, rows: actual.length, wrong };
}

/** The matrix in a sentence or two; `what` names the rows. */
function confusionText({ groups, size, counts, sums, rows, wrong }, what) {
  let largest = -1;
  counts.forEach((count, at) => {
    if (count && at % (size + 1) && !(count <= counts[largest])) largest = at;
  });
  const first = `${percent(1 - wrong / rows)} of ${grouped(rows)} ${what} are right.`;
  if (largest < 0) return first;
  const [truth, guess] = [Math.floor(largest / size), largest % size];
  const share = `${grouped(counts[largest])} of ${grouped(sums[0][truth])} rows`;
  return `${first} The most frequent mistake: true ${groups[truth]}, predicted ${groups[guess]} (${share}).`;
}

/** The matrix. `select(truth, guess)` gets groups of classes, or −1 for all. */
function matrixTable(confusion, what, select) {
  const { groups, size, counts, sums, right } = confusion;
  const side = CELL_SIDES.find(([most]) => size <= most)[1];
  const cells = [];
  let focused = [1, 1];
  let chosen = null;
  let along = 0;

  /** Adds a cell that can be focused, at a line and a place from 0; those of names are 0. */
  function add(name, text, line, place, label) {
    const role = name.startsWith('td') ? 'gridcell' : line ? 'rowheader' : 'columnheader';
    const made = element(name, { tabIndex: -1, role, 'aria-label': label, title: label }, text);
    (cells[line] ??= [])[place] = made;
    Object.assign(made.dataset, { line, place });
    return made;
  }

  const short = (count) => (count >= 10000 ? `${Math.round(count / 1000)}k` : String(count || ''));
  const plain = (name, text, title = '') => element(name, { title }, text);
  const tall = groups.some((name) => 7 * name.length > side) ? '.tall' : '';
  const headOf = (name, k) =>
    add(`th.across${tall}`, name, 0, k + 1, `predicted ${name}: ${counted(sums[1][k], 'row')}`);
  const cellOf = (truth, guess) => {
    const count = counts[truth * size + guess];
    const share = count ? `, ${percent(count / sums[0][truth])} of the true class` : '';
    const label = `true ${groups[truth]}, predicted ${groups[guess]}: ${counted(count, 'row')}${share}`;
    return add('td.cell', side < 20 ? '' : short(count), truth + 1, guess + 1, label);
  };
  const lineOf = (name, k) =>
    element(
      'tr',
      {},
      add('th.name', name, k + 1, 0, `true ${name}: ${counted(sums[0][k], 'row')}`),
      ...groups.map((_, guess) => cellOf(k, guess)),
      plain('td.sum', grouped(sums[0][k])),
      plain('td.sum', percent(right[k] / sums[0][k]))
    );
  const head = [
    plain('th.corner', 'true \\ predicted'),
    ...groups.map(headOf),
    plain('th.sum', 'rows'),
    plain('th.sum', 'recall', 'Share of the rows of a class that are predicted as this class'),
  ];
  const foot = [
    plain('th.name', 'precision', 'Share of the rows predicted as a class that are of this class'),
    ...groups.map((_, k) => plain(`td.below${side < 32 ? '.tall' : ''}`, percent(right[k] / sums[1][k], 0))),
  ];
  const table = element(
    `table.matrix${side < 20 ? '.small' : ''}`,
    { role: 'grid', 'aria-label': 'Confusion matrix. Arrow keys move, Enter lists the rows of a cell.' },
    element('thead', {}, element('tr', {}, ...head)),
    element('tbody', {}, ...groups.map(lineOf), element('tr', {}, ...foot))
  );
  // As wide as there is room, but legible.
  table.style.setProperty('--cell', `clamp(${Math.min(side, 24)}px, (100cqw - 12.5rem) / ${size}, ${side}px)`);
  cells[1][1].tabIndex = 0;
  const key = element('div.key.flush');

  /** The square root makes rare mistakes visible. */
  const shaded = (colour, share) => mixed(PAPER[theme.name], colour, Math.sqrt(share));

  function redraw() {
    const colours = [0, 3].map((i) => CLUSTERS[theme.name][i]);
    counts.forEach((count, at) => {
      const [truth, guess] = [Math.floor(at / size), at % size];
      const colour = shaded(colours[Number(truth !== guess)], count && count / sums[along][along ? guess : truth]);
      Object.assign(cells[truth + 1][guess + 1].style, { background: css(colour), color: textOn(colour) });
    });
    const keys = ['right', 'wrong'].map((name, i) => {
      const made = ramp((share) => shaded(colours[i], share));
      made.classList.add('short');
      return element('span.row', {}, `${name} 0`, made, '100\u202f%');
    });
    key.replaceChildren(...keys);
  }

  function focus(line, place) {
    cells[focused[0]][focused[1]].tabIndex = -1;
    focused = [line, place].map((at) => clamped(at, 0, size));
    // The corner has no cell.
    if (!focused[0] && !focused[1]) focused = [0, 1];
    const cell = cells[focused[0]][focused[1]];
    cell.tabIndex = 0;
    cell.focus();
  }

  function choose() {
    mark(cells[focused[0]][focused[1]]);
    select(focused[0] - 1, focused[1] - 1);
  }

  function mark(cell) {
    chosen?.removeAttribute('aria-selected');
    chosen = cell;
    chosen?.setAttribute('aria-selected', 'true');
  }

  const steps = {
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    Home: [0, -Infinity],
    End: [0, Infinity],
    PageUp: [-Infinity, 0],
    PageDown: [Infinity, 0],
  };
  listen(table, {
    keydown(event) {
      const step = Object.hasOwn(steps, event.key) && steps[event.key];
      if (event.ctrlKey || event.metaKey || event.altKey || !(step || ['Enter', ' '].includes(event.key))) return;
      event.preventDefault();
      if (step) focus(focused[0] + step[0], focused[1] + step[1]);
      else choose();
    },
    click(event) {
      const cell = event.target.closest('[data-line]');
      if (!cell) return;
      focus(Number(cell.dataset.line), Number(cell.dataset.place));
      choose();
    },
  });
  const colouring = choice('Colour: share of the', ['true class', 'predicted class'], 0, (i) => {
    along = i;
    redraw();
  });
  redraw();
  const note = element('p.note', {}, confusionText(confusion, what));
  return {
    content: [note, element('div.tools', {}, colouring, key), element('div.scroll', {}, table)],
    redraw,
    clear: () => mark(null),
  };
}
