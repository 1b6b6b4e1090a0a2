// ---- examples.js: rows with their predictions and inputs ----

/** Rows that are shown at once. */
const MORE_EXAMPLES = 60;
/** Columns of a row that are shown if they make no picture. */
const MOST_DIFFERENT = 4;

/**
 * The inputs that the page has. `spots` has the position of each row among them or −1; `differences(row, of, instead)`
 * gives the columns in which a row differs most from the mean of its class, with the means of both classes.
 */
function inputsOf({ inputs, means }, rows) {
  if (!inputs) return null;
  const columns = inputs.columns.map(columnOf);
  const spots = new Int32Array(rows).fill(-1);
  arrayOf(Uint32Array, inputs.rows).forEach((row, i) => {
    spots[row] = i;
  });
  const side = pictureSide(columns.map(({ name }) => name));
  const ranges = columns.map(({ values }) => rangeOf(values)).filter(Boolean);
  const range = [0, 1].map((end) => ranges.reduce((all, one) => (end ? Math.max : Math.min)(all, one[end]), ranges[0]?.[end] ?? 0));
  const classMeans = means && arrayOf(Float32Array, means.classes);

  function differences(row, of, instead) {
    const at = spots[row];
    if (!means) return columns.slice(0, MOST_DIFFERENT).map(({ name, textOf }) => ({ name, value: textOf(at) }));
    const meanOf = (code, i) => means.centre[i] + means.spread[i] * classMeans[code * columns.length + i];
    const apart = columns.map(({ values }, i) => {
      const distance = Math.abs(values[at] - meanOf(of, i)) / means.spread[i];
      return { i, distance: Number.isFinite(distance) ? distance : -1 };
    });
    apart.sort((a, b) => b.distance - a.distance);
    return apart.slice(0, MOST_DIFFERENT).map(({ i }) => ({
      name: columns[i].name,
      value: rounded(columns[i].values[at]),
      means: [...new Set([of, instead])].map((code) => rounded(meanOf(code, i))),
    }));
  }

  return { columns, spots, side, range, differences, hasMeans: means !== null };
}

/** The picture of a row. */
function inputPicture({ columns, spots, side, range }, row, label) {
  const canvas = pixelCanvas(side, label);
  paintPixels(canvas, (i) => grey(columns[i].values[spots[row]], range));
  return canvas;
}

/** A table of the columns in which a row differs; `heads` are the names of the means. */
function differenceTable(differences, heads) {
  const cells = (tag, texts) => element('tr', {}, ...texts.map((text) => element(tag, {}, text)));
  const lines = differences.map(({ name, value, means = [] }) =>
    element('tr', {}, element('th', { scope: 'row', title: name }, name), ...[value, ...means].map((text) => element('td', {}, text)))
  );
  const head = differences[0]?.means ? ['', 'value', ...heads] : [];
  return element(
    'table.differences',
    {},
    ...(head.length ? [element('thead', {}, cells('th', head))] : []),
    element('tbody', {}, ...lines)
  );
}

/** The list of rows; `itemOf(row)` makes the element of one. */
function exampleList(itemOf) {
  const list = element('ol.examples', {});
  const more = button('', showMore);
  const box = element('div.scroll.tall-list', { tabIndex: 0, role: 'region', 'aria-label': 'Rows' }, list, more);
  let rows = [];

  function showMore() {
    const from = list.children.length;
    list.append(...rows.slice(from, from + MORE_EXAMPLES).map((row) => element('li', {}, ...itemOf(row))));
    const left = rows.length - list.children.length;
    more.hidden = left <= 0;
    more.textContent = `Show ${grouped(Math.min(left, MORE_EXAMPLES))} more of ${grouped(left)}`;
  }

  return {
    element: box,
    /** Shows rows, in this order. */
    set(all) {
      rows = all;
      list.replaceChildren();
      box.scrollTop = 0;
      box.hidden = !rows.length;
      showMore();
    },
    get rows() {
      return rows;
    },
  };
}
