// The interactive report of a network: classifiers and regressions.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { array, downloaded, launch, namelessControls, open } from './browser.mjs';
import { HOSTILE, base64, pageOf, scriptOf, styleOf, valuesOf } from './sample.mjs';
import { classifierData, regressionData } from './sample_perceptron.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

function one(name, data, body, options) {
  return test(name, async () => {
    const { page, check } = await open(browser, pageOf(data), options);
    await body(page, data);
    const texts = [await page.innerText('body')];
    texts.push(...(await page.locator('[aria-label]').evaluateAll((all) => all.map((it) => it.ariaLabel))));
    for (const text of texts) assert.doesNotMatch(text, /undefined|NaN|null|Infinity/);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'wider than the window');
    assert.equal(await page.locator('img').count(), 0);
    assert.deepEqual(await namelessControls(page), []);
    await check();
  });
}

/** Rows with their classes by the definition of the data. */
function rowsOf({ rows, classes, network }) {
  const actual = array(Uint32Array, classes.of);
  const { predicted, probability, truth } = network.predictions;
  const [guess, sure, own] = [
    array(Uint32Array, predicted),
    array(Float32Array, probability),
    array(Float32Array, truth),
  ];
  const numbers = array(Uint32Array, network.numbers);
  return Array.from({ length: rows }, (_, row) => ({
    row,
    number: numbers[row],
    actual: actual[row],
    predicted: guess[row],
    probability: sure[row],
    truth: own[row],
  }));
}

const surest = (a, b) => b.probability - a.probability || a.truth - b.truth || a.row - b.row;
const listed = (page) => page.evaluate(() => [...firebox.list.rows]);
const numbersShown = async (page) =>
  (await page.locator('.examples .about .note').allInnerTexts()).map((text) => Number(text.match(/^row (\d+)/)[1]));
const cell = (line, place) => `.matrix [data-line="${line}"][data-place="${place}"]`;
const selection = (page) => page.innerText('.selection .grow');

one('the matrix has the counts of the data', classifierData(), async (page, data) => {
  const rows = rowsOf(data);
  const count = (test) => rows.filter(test).length;
  for (let own = 0; own < 3; own++) {
    const line = page.locator('.matrix tbody tr').nth(own);
    const texts = await line.locator('td').allInnerTexts();
    for (let instead = 0; instead < 3; instead++) {
      const expected = count((it) => it.actual === own && it.predicted === instead);
      assert.equal(Number(texts[instead]), expected);
      const label = await page.getAttribute(cell(own + 1, instead + 1), 'aria-label');
      assert.ok(label.includes(`: ${expected} row`), label);
    }
    const total = count((it) => it.actual === own);
    assert.equal(Number(texts[3]), total);
    const right = count((it) => it.actual === own && it.predicted === own);
    assert.equal(texts[4], `${((100 * right) / total).toFixed(1)}\u202f%`);
  }
  const precision = await page.locator('.matrix .below').allInnerTexts();
  precision.forEach((text, k) => {
    const all = count((it) => it.predicted === k);
    const right = count((it) => it.predicted === k && it.actual === k);
    assert.equal(text, `${((100 * right) / all).toFixed(0)}\u202f%`);
  });
  const share = (100 * count((it) => it.actual === it.predicted)) / rows.length;
  assert.ok(
    (await page.innerText('main section >> nth=0')).includes(`${share.toFixed(1)}\u202f% of 300 test rows are right`)
  );
  assert.ok((await page.innerText('.matrix')).includes(HOSTILE.slice(0, 6)));
});

one('a cell lists exactly its rows, the surest first', classifierData(), async (page, data) => {
  const rows = rowsOf(data);
  const expected = (own, instead) =>
    rows.filter((it) => (own < 0 || it.actual === own) && (instead < 0 || it.predicted === instead)).sort(surest);
  for (const [own, instead] of [
    [0, 1],
    [2, 2],
    [1, -1],
    [-1, 2],
  ]) {
    await page.click(cell(own + 1, instead + 1));
    const all = expected(own, instead);
    assert.deepEqual(
      await listed(page),
      all.map(({ row }) => row)
    );
    assert.deepEqual(
      await numbersShown(page),
      all.slice(0, 60).map(({ number }) => number)
    );
    assert.ok((await selection(page)).startsWith(`${all.length} row`));
    assert.equal(await page.getAttribute(cell(own + 1, instead + 1), 'aria-selected'), 'true');
  }
  const many = expected(-1, 2);
  assert.ok(many.length > 60, String(many.length));
  await page.click('text=/^Show \\d+ more/');
  assert.equal((await numbersShown(page)).length, Math.min(120, many.length));
  await page.click('text=Clear');
  assert.equal(await page.innerText('main section >> nth=1 >> h2'), 'Most confident mistakes');
  assert.equal(await page.locator('[aria-selected]').count(), 0);
});

const ids = Array.from({ length: 300 }, (_, row) => (row === 3 ? 'a, "b"' : `<b>${row}</b>`));
one(
  'mistakes are listed by confidence and saved',
  classifierData({ texts: [{ name: 'id', values: ids }] }),
  async (page, data) => {
    const mistakes = rowsOf(data)
      .filter((it) => it.actual !== it.predicted)
      .sort(surest);
    assert.deepEqual(
      await listed(page),
      mistakes.map(({ row }) => row)
    );
    const [first] = mistakes;
    const { names } = data.classes;
    const text = await page.innerText('.examples li >> nth=0');
    assert.ok(text.includes(`true ${names[first.actual]}, predicted ${names[first.predicted]}`), text);
    assert.ok(text.includes(`${(100 * first.probability).toFixed(1)}\u202f% for ${names[first.predicted]}`), text);
    assert.ok(text.includes(`row ${first.number}, id ${ids[first.row]}`), text);
    const { name, text: file } = await downloaded(page, 'text=Download rows');
    const [head, ...lines] = file.trimEnd().split('\n');
    assert.equal(name, 'rows.csv');
    assert.equal(head, 'row,id,label,predicted,probability,probability of the true class');
    assert.equal(lines.length, mistakes.length);
    assert.ok(lines[0].startsWith(`${first.number},`), lines[0]);
  }
);

one(
  'row numbers are copied',
  classifierData(),
  async (page, data) => {
    await page.click(cell(1, 2));
    await page.click('text=Copy row numbers');
    const expected = rowsOf(data)
      .filter((it) => it.actual === 0 && it.predicted === 1)
      .sort(surest);
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(copied, expected.map(({ number }) => number).join('\n'));
  },
  { permissions: ['clipboard-read', 'clipboard-write'] }
);

one('the columns that differ most are those of the data', classifierData(), async (page, data) => {
  const [row] = await listed(page);
  const { inputs, means } = data.network;
  const all = rowsOf(data)[row];
  const classMeans = array(Float32Array, means.classes);
  const at = array(Uint32Array, inputs.rows).indexOf(row);
  const meanOf = (code, i) => means.centre[i] + means.spread[i] * classMeans[code * 4 + i];
  const apart = inputs.columns.map((column, i) => Math.abs(valuesOf(column)[at] - meanOf(all.actual, i)));
  const order = [...apart.keys()].sort((a, b) => apart[b] - apart[a]);
  const names = await page.locator('.differences >> nth=0 >> tbody th').allInnerTexts();
  assert.deepEqual(
    names,
    order.map((i) => inputs.columns[i].name)
  );
  const first = await page.locator('.differences >> nth=0 >> tbody tr >> nth=0 >> td').allInnerTexts();
  const expected = [
    valuesOf(inputs.columns[order[0]])[at],
    meanOf(all.actual, order[0]),
    meanOf(all.predicted, order[0]),
  ];
  first.forEach((text, k) => assert.ok(Math.abs(Number(text.replace('\u2212', '-')) - expected[k]) < 1e-3, text));
});

one('the matrix is used by the keyboard', classifierData(), async (page) => {
  await page.focus('.matrix [tabindex="0"]');
  const place = () =>
    page.evaluate(() => [document.activeElement.dataset.line, document.activeElement.dataset.place].map(Number));
  for (const [key, expected] of [
    ['ArrowRight', [1, 2]],
    ['ArrowDown', [2, 2]],
    ['End', [2, 3]],
    ['PageDown', [3, 3]],
    ['Home', [3, 0]],
    ['ArrowLeft', [3, 0]],
    ['PageUp', [0, 1]],
  ]) {
    await page.keyboard.press(key);
    assert.deepEqual(await place(), expected, key);
  }
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  assert.match(await selection(page), /: true class 0, predicted class 0$/);
  assert.equal(await page.locator('.matrix [tabindex="0"]').count(), 1);
});

one('calibration agrees with its definition', classifierData({ rows: 500 }), async (page, data) => {
  const rows = rowsOf(data);
  for (const kind of ['of equal widths', 'of equal numbers of rows']) {
    await page.selectOption('label:has-text("Bins") select', { label: kind });
    const sorted = rows.map((it) => it.probability).sort((a, b) => a - b);
    const edges = Array.from({ length: 10 }, (_, i) => (kind.endsWith('rows') ? sorted[50 * i] : i / 10));
    const bins = Array.from({ length: 10 }, () => []);
    for (const it of rows) bins[Math.max(0, edges.filter((edge) => edge <= it.probability).length - 1)].push(it);
    const mean = (of, value) => of.reduce((sum, it) => sum + value(it), 0) / of.length;
    const error = bins
      .filter((bin) => bin.length)
      .map(
        (bin) =>
          (bin.length / 500) *
          Math.abs(mean(bin, (it) => it.actual === it.predicted) - mean(bin, (it) => it.probability))
      )
      .reduce((sum, part) => sum + part, 0);
    const shown = await page.evaluate(() => firebox.calibration.calibration);
    assert.ok(Math.abs(shown.error - error) < 1e-9, `${shown.error} ${error}`);
    assert.deepEqual(
      shown.bins.map(({ count }) => count),
      bins.map((bin) => bin.length)
    );
    assert.ok(
      (await page.innerText('section[aria-label=Calibration]')).includes(`error ${Number(error.toPrecision(3))}:`)
    );
    await page.focus('.calibration');
    await page.keyboard.press('End');
    assert.match(
      await page.innerText('.calibration + .note'),
      new RegExp(`^probability .* rows ${bins[9].length}, mean probability`)
    );
    await page.keyboard.press('Enter');
    assert.deepEqual(
      (await listed(page)).sort((a, b) => a - b),
      bins[9].map(({ row }) => row)
    );
  }
});

const unknown = classifierData();
for (const name of ['probability', 'truth']) {
  const values = array(Float32Array, unknown.network.predictions[name]);
  for (let row = 0; row < 300; row += 3) values[row] = NaN;
  unknown.network.predictions[name] = base64(values);
}
one('rows without a probability are in no bin', unknown, async (page) => {
  for (const kind of [0, 1]) {
    await page.selectOption('label:has-text("Bins") select', { index: kind });
    const { bins, error } = await page.evaluate(() => firebox.calibration.calibration);
    assert.equal(
      bins.reduce((sum, { count }) => sum + count, 0),
      200
    );
    assert.ok(error > 0 && error < 1, String(error));
  }
  await page.click(cell(1, 1));
  const { text } = await downloaded(page, 'text=Download rows');
  const rows = text.trimEnd().split('\n').slice(1);
  assert.match(rows.at(-1), /,,$/);
  assert.match(rows[0], /,\d\.\d{1,8},\d\.\d{1,8}$/);
});

one('epochs on an axis are whole numbers', classifierData({ epochs: 2, validation: false }), async (page) => {
  const texts = await page.evaluate(() => {
    const written = [];
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
      if (this.canvas.closest('.curves')) written.push(text);
      fillText.call(this, text, ...place);
    };
    dispatchEvent(new Event('beforeprint'));
    return written;
  });
  assert.deepEqual(texts.slice(0, 2), ['1', '2']);
});

one('the curves tell their values', classifierData({ epochs: 30 }), async (page, data) => {
  const { training } = data.network;
  const text = () => page.innerText('.curves >> nth=0 >> xpath=following-sibling::p');
  assert.match(await text(), /^training loss 1\.02 at epoch 1, lowest .* at epoch 30\. validation loss/);
  await page.focus('.curves >> nth=0');
  const value = (of, i) => Number(of[i].toPrecision(4));
  for (const [key, i] of Object.entries({ Home: 0, ArrowRight: 1, PageDown: 11, End: 29 })) {
    await page.keyboard.press(key);
    const both = [value(training.loss, i), value(training.validation_loss, i)];
    assert.equal(await text(), `epoch ${i + 1}, training loss ${both[0]}, validation loss ${both[1]}.`);
  }
  await page.keyboard.press('Escape');
  assert.match(await text(), /^training loss/);
  assert.ok(
    (await page.innerText('section[aria-label=Training]')).includes(
      'The model is of epoch 28 of 30, which has the lowest'
    )
  );
  await page.hover('.curves >> nth=1');
  assert.match(await page.innerText('.curves .tooltip >> nth=1'), /epoch\s+\d+\s+validation accuracy\s+0\.\d+/);
});

one(
  'inputs of pixels and their weights are pictures',
  classifierData({ columns: 64, classes: 10, hidden: 80 }),
  async (page, data) => {
    const [row] = await listed(page);
    const { inputs } = data.network;
    const pixels = await page.evaluate(() => {
      const canvas = document.querySelector('.examples canvas');
      return [canvas.width, canvas.height, ...canvas.getContext('2d').getImageData(0, 0, 8, 8).data.slice(0, 12)];
    });
    assert.deepEqual(pixels.slice(0, 2), [8, 8]);
    const columns = inputs.columns.map((column) => [...valuesOf(column)]);
    const finite = columns.flat().filter(Number.isFinite);
    const [low, high] = [Math.min(...finite), Math.max(...finite)];
    for (const i of [0, 1, 2])
      assert.equal(pixels[2 + 4 * i], Math.round((255 * (columns[i][row] - low)) / (high - low)));
    assert.match(await page.getAttribute('.examples canvas', 'aria-label'), /^Input of row \d+ as a picture: true /);
    assert.equal(await page.locator('.unit canvas').count(), 64);
    assert.ok((await page.innerText('main')).includes('64 of 80 units'));
    await page.focus('.unit >> nth=0');
    await page.keyboard.press('ArrowRight');
    assert.match(await page.innerText('.units + .note'), /^unit 78: bias .*largest weights p\d+ /);
    assert.equal(await page.locator('.unit[tabindex="0"]').count(), 1);
    await page.keyboard.press('ArrowUp');
    assert.match(await page.innerText('.units + .note'), /^unit 78: /);
  }
);

one(
  'weights of columns are a heat map',
  classifierData({ classes: 2, hidden: 0, validation: false }),
  async (page, data) => {
    const values = array(Float32Array, data.network.weights.values);
    await page.focus('.heat');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    const text = await page.innerText('.heat + .note');
    const shown = Number(values[1].toPrecision(4)).toString().replace('-', '\u2212');
    assert.ok(text.startsWith(`column x1 cm, output ${HOSTILE}, weight ${shown}`), text);
    // There is no line above the first and below the last.
    const textAfter = async (...keys) => {
      for (const key of keys) await page.keyboard.press(key);
      return page.innerText('.heat + .note');
    };
    assert.equal(await textAfter('Home', 'ArrowRight', 'ArrowUp'), await textAfter('Home', 'ArrowRight'));
    assert.equal(await textAfter('End', 'ArrowLeft', 'ArrowDown'), await textAfter('End', 'ArrowLeft'));
    assert.equal(await page.locator('.curves').count(), 1);
    assert.ok((await page.innerText('section[aria-label=Training]')).includes('no rows are for validation'));
  }
);

test('columns are pictures if they are named as pixels', async () => {
  const sidesOf = (name, counts) =>
    Promise.all(
      counts.map(async (columns) => {
        const data = classifierData({ rows: 20, columns });
        data.network.inputs.columns.forEach((column, i) => Object.assign(column, { name: name(i) }));
        const { page, check } = await open(browser, pageOf(data));
        const side = await page.evaluate(() => firebox.inputs.side);
        await check();
        return side;
      })
    );
  assert.deepEqual(await sidesOf((i) => `pixel${i}`, [4, 16, 63, 64]), [0, 4, 0, 8]);
  assert.deepEqual(await sidesOf((i) => `C${i + 1}`, [16, 64]), [0, 8]);
  assert.deepEqual(await sidesOf((i) => `${i >> 3}x${i & 7}`, [64]), [8]);
  assert.deepEqual(await sidesOf((i) => `length ${'abcd'[i & 3]}`, [64]), [0]);
});

one(
  'many classes are grouped',
  classifierData({ classes: 100, rows: 4000, every: 50, training: false }),
  async (page, data) => {
    assert.equal(await page.locator('.matrix tbody tr').count(), 61);
    const { groupOf, groups } = await page.evaluate(() => ({
      ...firebox.confusion,
      counts: null,
      sums: null,
      right: null,
    }));
    assert.equal(groups.at(-1), '41 other classes');
    await page.click(cell(60, 60));
    const expected = rowsOf(data).filter((it) => groupOf[it.actual] === 59 && groupOf[it.predicted] === 59);
    assert.deepEqual(
      (await listed(page)).sort((a, b) => a - b),
      expected.map(({ row }) => row)
    );
    assert.equal(await page.locator('section[aria-label=Training]').count(), 0);
  }
);

one('thirty classes and another colouring', classifierData({ classes: 30, rows: 1000, columns: 50 }), async (page) => {
  assert.equal(await page.locator('.matrix td.cell').count(), 900);
  const colour = () => page.evaluate(() => document.querySelector('.matrix td.cell').style.background);
  const before = await colour();
  await page.selectOption('label:has-text("Colour") select', '1');
  assert.notEqual(await colour(), before);
  assert.ok((await page.innerText('main')).includes('40 of 50 columns'));
});

one('without mistakes there is no note on columns', classifierData({ errors: 0 }), async (page) => {
  const note = page.locator('text=/^Columns that differ most/');
  assert.ok(await note.isHidden());
  await page.click(cell(1, 1));
  assert.ok(await note.isVisible());
});

one('without inputs, mistakes or weights', classifierData({ inputs: false, errors: 0 }), async (page) => {
  assert.match(await selection(page), /^There are no mistakes\./);
  assert.ok((await page.innerText('main')).includes('The page has no inputs of 4 columns.'));
  await page.click(cell(1, 2));
  assert.match(await selection(page), /^0 rows: true class 0/);
  assert.ok(await page.isHidden('text=Download rows'));
});

one('a regression has its errors', regressionData(), async (page, data) => {
  const [actual, predicted] = data.columns.map(valuesOf);
  const residual = Array.from(predicted, (value, row) => value - actual[row]);
  const order = [...residual.keys()].sort((a, b) => Math.abs(residual[b]) - Math.abs(residual[a]));
  assert.deepEqual(await listed(page), order.slice(0, 60));
  const rmse = Math.sqrt(residual.reduce((sum, value) => sum + value ** 2, 0) / residual.length);
  assert.ok((await page.innerText('main')).includes(`RMSE ${Number(rmse.toPrecision(4))}`));
  await page.focus('.parity');
  await page.keyboard.press('ArrowRight');
  assert.match(await page.innerText('.parity + .note'), new RegExp(`^row ${2 * order[0]}, y `));
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  assert.deepEqual(await listed(page), [order[1]]);
  await page.locator('.parity').scrollIntoViewIfNeeded();
  await page.mouse.click(...(await page.evaluate((row) => firebox.parity.pixelOfRow(row), order[0])));
  assert.deepEqual(await listed(page), [order[0]]);
  await page.focus('[aria-label^="Histogram"]');
  await page.keyboard.press('End');
  await page.keyboard.press('Enter');
  const half = Math.abs(residual[order[0]]);
  const inLast = [...residual.keys()].filter((row) => residual[row] >= half * (1 - 2 / 31));
  assert.deepEqual(
    (await listed(page)).sort((a, b) => a - b),
    inLast
  );
  const { text } = await downloaded(page, 'text=Download rows');
  assert.match(text, /^row,y,predicted y,residual y\n/);
});

one('the ring and the box follow the size of the window', regressionData(), async (page) => {
  await page.focus('.parity');
  await page.keyboard.press('ArrowRight');
  const places = () =>
    page.evaluate(() => ['.ring', '.tooltip'].map((name) => document.querySelector(`.parity ${name}`).style.transform));
  const before = await places();
  await page.setViewportSize({ width: 1000, height: 700 });
  await page.waitForFunction(
    (before) => document.querySelector('.parity .ring').style.transform !== before[0],
    before
  );
  assert.notEqual((await places())[1], before[1]);
});

one('a regression of two targets', regressionData({ targets: 2, training: false }), async (page, data) => {
  const columns = data.columns.map(valuesOf);
  await page.selectOption('label:has-text("Target") select', '1');
  const residual = Array.from(columns[3], (value, row) => value - columns[2][row]);
  const order = [...residual.keys()].sort((a, b) => Math.abs(residual[b]) - Math.abs(residual[a]));
  assert.deepEqual(await listed(page), order.slice(0, 60));
  await page.selectOption('label:has-text("Height") select', '1');
  const label = await page.getAttribute('.parity canvas', 'aria-label');
  assert.ok(label.startsWith(`Residual against true y1 ${HOSTILE}.`), label);
});

for (const [name, data] of [
  ['classifier', classifierData()],
  ['regression', regressionData()],
])
  one(
    `in the dark, on paper and on a telephone: ${name}`,
    data,
    async (page) => {
      await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
      assert.equal(await page.evaluate(() => firebox.theme.name), 'light');
      await page.evaluate(() => dispatchEvent(new Event('afterprint')));
      assert.equal(await page.evaluate(() => firebox.theme.name), 'dark');
    },
    { colorScheme: 'dark', viewport: { width: 360, height: 740 } }
  );

one('one row', classifierData({ rows: 1, epochs: 1 }), async () => {});
one('one row of a regression', regressionData({ rows: 1 }), async () => {});

test('100 000 rows open', async () => {
  const html = pageOf(classifierData({ rows: 100000, inputs: false }));
  assert.ok(html.length < 4e6, `${html.length} bytes`);
  const { page, check } = await open(browser, html);
  await page.click(cell(1, 1));
  await check();
});

test('script and style are small', () => {
  for (const kind of ['perceptron', 'regression']) {
    const bytes = Buffer.byteLength(scriptOf(kind)) + Buffer.byteLength(styleOf(kind));
    assert.ok(bytes < 58000, `${kind}: ${bytes} bytes`);
  }
});
