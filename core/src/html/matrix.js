// ---- matrix.js: the confusion matrix, a table whose cells list their rows ----

/** Most classes by themselves; those with the fewest mistakes are one line together if there are more. */
const MOST_MATRIX = 60;
/** Side of a cell in pixels, by the number of classes. */
const CELL_SIDES = [[10, 40], [16, 32], [30, 26], [Infinity, 15]];
const MATRIX_HELP = 'Arrow keys move, Enter lists the rows of a cell.';

/** A share as a percentage. */
function percent(share) {
  if (!Number.isFinite(share)) return '\u2013';
  const text = (100 * share).toFixed(share > 0 && share < 0.001 ? 2 : 1);
  // Not 100 % unless it is all.
  return `${share < 1 && text === '100.0' ? '99.9' : text}\u202f%`;
}

/** Counts of rows by true and predicted class, where classes may be grouped. */
function confusionOf({ names, actual, predicted }) {
  const count = names.length;
  const mistakes = new Float64Array(count);
  for (let row = 0; row < actual.length; row++)
    if (actual[row] !== predicted[row]) {
      mistakes[actual[row]]++;
      mistakes[predicted[row]]++;
    }
  const isGrouped = count > MOST_MATRIX;
  const own = Array.from(names.keys());
  if (isGrouped) own.sort((a, b) => mistakes[b] - mistakes[a] || a - b).splice(MOST_MATRIX - 1);
  own.sort((a, b) => a - b);
  const groupOf = new Int32Array(count).fill(own.length);
  own.forEach((code, group) => {
    groupOf[code] = group;
  });
  const groups = own.map((code) => names[code]);
  if (isGrouped) groups.push(`${grouped(count - own.length)} other classes`);
  const size = groups.length;
  const counts = new Float64Array(size * size);
  let correct = 0;
  for (let row = 0; row < actual.length; row++) {
    counts[groupOf[actual[row]] * size + groupOf[predicted[row]]]++;
    if (actual[row] === predicted[row]) correct++;
  }
  const sums = [new Float64Array(size), new Float64Array(size)];
  counts.forEach((value, at) => {
    sums[0][Math.floor(at / size)] += value;
    sums[1][at % size] += value;
  });
  return { groups, groupOf, size, counts, sums, isGrouped, accuracy: correct / actual.length };
}

/** The matrix in a sentence or two. */
function confusionText({ groups, size, counts, sums, accuracy }, rows) {
  let largest = -1;
  counts.forEach((count, at) => {
    if (count > 0 && Math.floor(at / size) !== at % size && !(count <= counts[largest])) largest = at;
  });
  const first = `${percent(accuracy)} of ${counted(rows, 'row')} are right.`;
  if (largest < 0) return first;
  const [actual, predicted] = [Math.floor(largest / size), largest % size];
  const share = `${grouped(counts[largest])} of ${grouped(sums[0][actual])} rows`;
  return `${first} The most frequent mistake: ${share} of class ${groups[actual]} are predicted as ${groups[predicted]}.`;
}

/** The matrix. `select(actual, predicted)` gets groups of classes, or −1 for all; `rows` is the number of rows. */
function matrixTable(confusion, rows, select) {
  const { groups, size, counts, sums } = confusion;
  const side = CELL_SIDES.find(([most]) => size <= most)[1];
  const isNarrow = side < 20;
  const cells = [];
  let focused = [1, 1];
  let chosen = null;
  let byColumn = false;

  const shareOf = (actual, predicted) =>
    counts[actual * size + predicted] / (byColumn ? sums[1][predicted] : sums[0][actual]);
  const short = (count) => (count >= 10000 ? `${Math.round(count / 1000)}k` : count || '\u00b7');

  /** Adds a cell that can be focused, at a line and a place from 0; these of the names are 0. */
  function add(name, text, line, place, label) {
    const role = name.startsWith('td') ? 'gridcell' : line ? 'rowheader' : 'columnheader';
    const made = element(name, { tabIndex: -1, role, 'aria-label': label, title: label }, text);
    (cells[line] ??= [])[place] = made;
    Object.assign(made.dataset, { line, place });
    return made;
  }

  const plain = (name, text, properties = {}) => element(name, properties, text);
  const isTall = size > 4 && groups.some((name) => name.length > 3);
  const head = element(
    'tr',
    {},
    plain('th.corner', 'true \\ predicted'),
    ...groups.map((name, k) =>
      add(`th.across${isTall ? '.tall' : ''}`, name, 0, k + 1, `predicted ${name}: ${counted(sums[1][k], 'row')}`)
    ),
    plain('th.sum', 'rows', { scope: 'col' }),
    plain('th.sum', 'recall', { scope: 'col', title: 'Share of the rows of a class that are predicted as this class' })
  );
  const lines = groups.map((name, actual) =>
    element(
      'tr',
      {},
      add('th.name', name, actual + 1, 0, `true ${name}: ${counted(sums[0][actual], 'row')}`),
      ...groups.map((_, predicted) => {
        const count = counts[actual * size + predicted];
        const label = `true ${name}, predicted ${groups[predicted]}: ${counted(count, 'row')}`;
        const share = sums[0][actual] ? `, ${percent(count / sums[0][actual])} of the true class` : '';
        return add('td.cell', isNarrow ? '' : short(count), actual + 1, predicted + 1, label + share);
      }),
      plain('td.sum', grouped(sums[0][actual])),
      plain('td.sum', percent(counts[actual * size + actual] / sums[0][actual]))
    )
  );
  const precision = groups.map((_, k) => percent(counts[k * size + k] / sums[1][k]));
  const foot = element(
    'tr',
    {},
    plain('th.name', 'precision', { title: 'Share of the rows predicted as a class that are of this class' }),
    ...precision.map((text) => plain(`td.below${side < 36 ? '.tall' : ''}`, text))
  );
  const table = element(
    'table.matrix',
    { role: 'grid', 'aria-label': `Confusion matrix. ${MATRIX_HELP}` },
    element('thead', {}, head),
    element('tbody', {}, ...lines, foot)
  );
  table.style.setProperty('--cell', `${side}px`);
  if (isNarrow) table.classList.add('narrow');

  function paint() {
    const [right, wrong] = coloursOfMatrix();
    const paper = theme.name === 'light' ? [255, 255, 255] : [24, 26, 30];
    for (let actual = 0; actual < size; actual++)
      for (let predicted = 0; predicted < size; predicted++) {
        // The square root makes rare mistakes visible.
        const share = Math.sqrt(shareOf(actual, predicted) || 0);
        const colour = mixed(paper, actual === predicted ? right : wrong, share);
        const { style } = cells[actual + 1][predicted + 1];
        style.background = css(colour);
        style.color = share ? textOn(colour) : '';
      }
  }

  function focus(line, place) {
    cells[focused[0]][focused[1]].tabIndex = -1;
    focused = [Math.min(Math.max(line, 0), size), Math.min(Math.max(place, 0), size)];
    // The corner has no cell.
    if (!focused[0] && !focused[1]) focused = [0, 1];
    const cell = cells[focused[0]][focused[1]];
    cell.tabIndex = 0;
    cell.focus();
  }

  function choose(cell) {
    setChosen(cell);
    select(Number(cell.dataset.line) - 1, Number(cell.dataset.place) - 1);
  }

  function setChosen(cell) {
    chosen?.removeAttribute('aria-selected');
    chosen = cell;
    cell?.setAttribute('aria-selected', 'true');
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
  const cellOf = (event) => event.target.closest('[data-line]');
  listen(table, {
    keydown(event) {
      const cell = cellOf(event);
      if (!cell || event.ctrlKey || event.metaKey || event.altKey) return;
      const step = Object.hasOwn(steps, event.key) ? steps[event.key] : null;
      if (step) focus(focused[0] + step[0], focused[1] + step[1]);
      else if (event.key === 'Enter' || event.key === ' ') choose(cell);
      else return;
      event.preventDefault();
    },
    click(event) {
      const cell = cellOf(event);
      if (!cell) return;
      focus(Number(cell.dataset.line), Number(cell.dataset.place));
      choose(cell);
    },
  });
  cells[1][1].tabIndex = 0;
  const shares = ['share of the true class', 'share of the predicted class'];
  const colouring = choice('Colour', shares, 0, (i) => {
    byColumn = i === 1;
    paint();
  });
  const key = element('div.key.flush', {});

  function paintKey() {
    const paper = theme.name === 'light' ? [255, 255, 255] : [24, 26, 30];
    const keyOf = (name, colour) => {
      const made = element('span.ramp.short', {});
      const stops = [0, 0.25, 0.5, 0.75, 1].map((share) => css(mixed(paper, colour, Math.sqrt(share))));
      made.style.background = `linear-gradient(to right, ${stops.join(', ')})`;
      return element('span', {}, `${name} 0 `, made, ' 100\u202f%');
    };
    const [right, wrong] = coloursOfMatrix();
    key.replaceChildren(keyOf('right', right), keyOf('wrong', wrong));
  }

  function redraw() {
    paint();
    paintKey();
  }
  redraw();
  return {
    element: element(
      'div',
      {},
      element('p.note', {}, confusionText(confusion, rows)),
      element('div.tools', {}, colouring, key),
      element('div.scroll', {}, table)
    ),
    redraw,
    clear: () => setChosen(null),
  };
}

/** Colours of right and wrong predictions, which are distinguishable with any colour vision. */
function coloursOfMatrix() {
  return [0, 3].map((i) => CLUSTERS[theme.name][i]);
}
