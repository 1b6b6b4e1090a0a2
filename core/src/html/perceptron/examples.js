// ---- examples.js: rows with their predictions and inputs ----

/** Rows that are shown at once. */
const MORE_EXAMPLES = 60;
/** Columns of a row that are shown if they make no picture. */
const MOST_DIFFERENT = 4;
const DIFFERENCES =
  'Columns that differ most from the mean of the true class, with the means of the true and the predicted class.';
/** Texts of a row in the list. */
const MOST_TEXTS = 4;

/** The inputs that the page has, of some rows: `spots` has the position of each row among them, or −1. */
function inputsOf({ inputs, means }, rows) {
  if (!inputs) return null;
  const columns = inputs.columns.map(columnOf);
  const spots = new Int32Array(rows).fill(-1);
  arrayOf(Uint32Array, inputs.rows).forEach((row, i) => {
    spots[row] = i;
  });
  const [low, high] = rangeOf(columns.flatMap(({ values }) => rangeOf(values) ?? [])) ?? [0, 1];
  const classMeans = means && arrayOf(Float32Array, means.classes);
  const meanOf = (code, i) => means.centre[i] + means.spread[i] * classMeans[code * columns.length + i];

  return {
    columns,
    spots,
    side: pictureSide(columns.map(({ name }) => name)),
    /** The colour of a pixel of a row. */
    greyOf(row, i) {
      const value = columns[i].values[spots[row]];
      const shade = Math.round((255 * (value - low)) / (high > low ? high - low : 1));
      return Number.isFinite(value) ? [shade, shade, shade] : null;
    },
    /** The columns in which a row differs most from the mean of its class, with their means in these classes. */
    differences(row, codes) {
      const at = spots[row];
      const order = columns.map((_, i) => i);
      if (means) {
        const apart = columns.map(({ values }, i) => Math.abs(values[at] - meanOf(codes[0], i)) / means.spread[i] || 0);
        order.sort((a, b) => apart[b] - apart[a]);
      }
      return order.slice(0, MOST_DIFFERENT).map((i) => ({
        name: columns[i].name,
        texts: [rounded(columns[i].values[at]), ...(means ? codes.map((code) => rounded(meanOf(code, i))) : [])],
      }));
    },
    hasMeans: Boolean(means),
  };
}

/** A table of the columns in which a row differs; `heads` are the names of the means. */
function differenceTable(differences, heads) {
  const head = element(
    'tr',
    {},
    ...['', 'value', ...heads].map((text) => element('th', { scope: 'col', title: text }, text))
  );
  const lines = differences.map(({ name, texts }) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row', title: name }, name),
      ...texts.map((text) => element('td', {}, text))
    )
  );
  const table = element('table', {}, heads.length ? element('thead', {}, head) : null, element('tbody', {}, ...lines));
  return element('div.differences', {}, table);
}

/**
 * The list of rows, either selected ones or those of `base`, { title, text, rows }. `options` are { data, numbers, inputs, hint:
 * how to select, fields: { name, fileOf } of the file, base(): as above, compare(a, b): the order of rows, linesOf(row): texts,
 * codesOf(row): classes to compare it with, nameOf(code), show(marks): called after a change }.
 */
function exampleList(options) {
  const { data, numbers, inputs, compare, linesOf } = options;
  const heading = element('h2');
  const text = element('span.grow');
  const items = element(`ol.examples${inputs && !inputs.side ? '.tables' : ''}`, {});
  const more = button('', showMore);
  const isTable = inputs && !inputs.side && inputs.hasMeans;
  const note = isTable ? element('p.note', {}, DIFFERENCES) : null;
  const box = element('div.scroll.long', { tabIndex: 0, role: 'region', 'aria-label': 'Rows' }, items, more);
  const copyButton = button('Copy row numbers', () => copy(rows.map((row) => numbers[row]).join('\n'), copyButton));
  const saveButton = button('Download rows', () => download('rows.csv', fileOf()));
  const clearButton = button('Clear', () => select(null));
  let rows = [];

  /** The CSV file of the rows. */
  function fileOf() {
    const texts = data.texts.map(({ name, values }) => ({ name, fileOf: (row) => field(values[row]) }));
    const all = [...texts, ...options.fields];
    const lines = rows.map((row) => [numbers[row], ...all.map(({ fileOf }) => fileOf(row))]);
    return [['row', ...all.map(({ name }) => field(name))], ...lines].map((line) => `${line.join(',')}\n`).join('');
  }

  function itemOf(row) {
    const texts = data.texts.slice(0, MOST_TEXTS).map(({ name, values }) => `${name} ${values[row]}`);
    const title = [`row ${numbers[row]}`, ...texts].join(', ');
    const lines = linesOf(row).map((line) => element('span', {}, line));
    const about = element('div.about', {}, ...lines, element('span.note', {}, title));
    if (!inputs || inputs.spots[row] < 0) return [about];
    if (inputs.side) {
      const canvas = pixelCanvas(inputs.side, `Input of row ${numbers[row]} as a picture: ${linesOf(row).join(', ')}`);
      paintPixels(canvas, (i) => inputs.greyOf(row, i));
      return [canvas, about];
    }
    const codes = options.codesOf(row);
    const heads = inputs.hasMeans ? codes.map(options.nameOf) : [];
    return [about, differenceTable(inputs.differences(row, codes), heads)];
  }

  function showMore() {
    const from = items.children.length;
    items.append(...rows.slice(from, from + MORE_EXAMPLES).map((row) => element('li', {}, ...itemOf(row))));
    const left = rows.length - items.children.length;
    more.hidden = !left;
    more.textContent = `Show ${grouped(Math.min(left, MORE_EXAMPLES))} more of ${grouped(left)}`;
  }

  /** Selects the rows for which `test(row)` is true, or none without; `what` names them. */
  function select(test, what) {
    const marks = test && new Uint8Array(data.rows);
    rows = [];
    for (let row = 0; test && row < data.rows; row++)
      if (test(row)) {
        marks[row] = 1;
        rows.push(row);
      }
    rows.sort(compare);
    const base = options.base();
    if (!test) rows = base.rows;
    heading.textContent = test ? 'Selected rows' : base.title;
    text.textContent = test ? `${counted(rows.length, 'row')}: ${what}` : `${base.text} ${options.hint}`;
    copyButton.hidden = saveButton.hidden = box.hidden = !rows.length;
    if (note) note.hidden = !rows.length;
    clearButton.hidden = !test;
    items.replaceChildren();
    box.scrollTop = 0;
    showMore();
    options.show(marks);
    if (test) announce(text.textContent);
  }

  const bar = element('div.selection', {}, text, copyButton, saveButton, clearButton);
  return {
    content: [heading, bar, note, box],
    select,
    get rows() {
      return rows;
    },
  };
}
