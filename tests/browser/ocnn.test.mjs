// The interactive report of a clustering, with WebGL and without.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { launch, open } from './browser.mjs';
import { HOSTILE, clusteringData, pageOf, script, style } from './sample.mjs';

let browser;
before(async () => { browser = await launch(); });
after(() => browser.close());

const array = (Type, text) => {
  const bytes = Uint8Array.from(Buffer.from(text, 'base64'));
  return new Type(bytes.buffer);
};

/** Labels by the definition of the data: noise by its bit, else the cluster of the row's piece. */
function labelsOf({ rows, clusters }, level) {
  const pieces = array(Uint16Array, clusters.pieces);
  const labels = array(Int16Array, clusters.levels[level].labels);
  const noise = array(Uint8Array, clusters.levels[level].noise);
  return Array.from({ length: rows }, (_, row) => ((noise[row >> 3] >> row % 8) & 1 ? -1 : labels[pieces[row]]));
}

const labelsShown = (page) => page.evaluate(() => [...firebox.state.labels]);
const pixelOf = (page, row) => page.evaluate((row) => firebox.scatter.pixelOfRow(row), row);
const selected = (page) => page.evaluate(() => [...firebox.selection.rows]);
const levelShown = (page) => page.evaluate(() => firebox.state.level);

/** The file that a click downloads. */
async function downloaded(page, selector) {
  const [file] = await Promise.all([page.waitForEvent('download'), page.click(selector)]);
  return { name: file.suggestedFilename(), text: readFileSync(await file.path(), 'utf8') };
}

/** Drags around a rectangle of the page, with a corner cut off. */
async function drawAround(page, [left, top, right, bottom]) {
  await page.mouse.move(left, top);
  await page.mouse.down();
  for (const place of [[right, top], [right, bottom], [left, bottom]]) await page.mouse.move(...place, { steps: 4 });
  await page.mouse.up();
}

/** How many pixels of the canvas of points are not empty, drawn anew for the purpose. */
const painted = (page) => page.evaluate(() => {
  firebox.scatter.draw();
  const source = document.querySelectorAll('.plot canvas')[1];
  const copy = new OffscreenCanvas(source.width, source.height).getContext('2d');
  copy.drawImage(source, 0, 0);
  return copy.getImageData(0, 0, source.width, source.height).data.filter((value, i) => i % 4 === 3 && value > 0).length;
});

for (const hash of ['', '#2d']) {
  const painter = hash ? '2d' : 'webgl';
  const both = (name, body, sample = {}) => test(`${painter}: ${name}`, async () => {
    const data = clusteringData(sample);
    const { page, check } = await open(browser, pageOf(data), { hash });
    await body(page, data);
    await check();
  });

  both('opens and draws points', async (page) => {
    assert.equal(await page.evaluate(() => firebox.scatter.painter), painter);
    const count = await painted(page);
    assert.ok(count > 400 * 20 && count < 400 * 100, String(count));
    assert.match(await page.getAttribute('.plot canvas[role=img]', 'aria-label'), /^Scatter plot of 400 points, x against y, in 3 clusters and \d+ noise points$/);
    assert.equal(await page.evaluate(() => typeof scatterPlot), 'undefined');
  });

  both('points change their colours with the number of clusters', async (page, data) => {
    const at = await pixelOf(page, 0);
    const shot = () => page.screenshot({ clip: { x: at[0] - 2, y: at[1] - 2, width: 4, height: 4 } });
    const colours = new Set();
    for (const level of data.clusters.levels.keys()) {
      await page.evaluate((level) => firebox.setLevel(level), level);
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      colours.add((await shot()).toString('base64'));
    }
    const labels = new Set(data.clusters.levels.map((_, level) => labelsOf(data, level)[0]));
    assert.equal(colours.size, labels.size);
  }, { rows: 12 });

  both('a point at the pointer is described', async (page, data) => {
    for (const row of [0, 17, 399]) {
      await page.mouse.move(...(await pixelOf(page, row)));
      const text = await page.innerText('.tooltip');
      // Another point may be in the same place.
      const shown = Number(/row\s+(\d+)/.exec(text)[1]);
      const [a, b] = [await pixelOf(page, row), await pixelOf(page, shown)];
      assert.ok(shown === row || Math.hypot(a[0] - b[0], a[1] - b[1]) < 0.8, `${row}: ${text}`);
      const label = labelsOf(data, 2)[shown];
      assert.match(text, new RegExp(`cluster\\s+${label < 0 ? 'noise' : label}\\s`));
    }
    await page.mouse.move(5, 5);
    assert.ok(await page.isHidden('.tooltip'));
  });

  both('an outline selects exactly the rows inside, also in a view that was moved', async (page, data) => {
    const box = await page.locator('.plot').boundingBox();
    const middle = [box.x + box.width / 2, box.y + box.height / 2];
    await page.mouse.move(...middle);
    await page.mouse.wheel(0, -200);
    await page.mouse.down();
    await page.mouse.move(middle[0] + 40, middle[1] - 30, { steps: 3 });
    await page.mouse.up();
    const region = [middle[0] - 130.3, middle[1] - 90.3, middle[0] + 110.7, middle[1] + 120.7];
    await page.click('text=Lasso');
    await drawAround(page, region);
    const expected = [];
    for (let row = 0; row < data.rows; row++) {
      const [x, y] = await pixelOf(page, row);
      if (x > region[0] && x < region[2] && y > region[1] && y < region[3]) expected.push(row);
    }
    assert.ok(expected.length > 5 && expected.length < data.rows);
    assert.deepEqual(await selected(page), expected);
    const { text } = await downloaded(page, 'text=Download rows');
    const [x, y] = data.columns.map(({ values }) => array(Float32Array, values));
    const lines = text.split('\n');
    assert.equal(lines[0], 'row,x,y,cluster');
    assert.equal(lines.length, expected.length + 2);
    expected.forEach((row, i) => {
      const fields = lines[i + 1].split(',').map(Number);
      assert.deepEqual([fields[0], Math.fround(fields[1]), Math.fround(fields[2]), fields[3]], [row, x[row], y[row], labelsOf(data, 2)[row]]);
    });
    await page.click('text=Clear');
    assert.deepEqual(await selected(page), []);
  });

  both('the wheel zooms at the pointer, dragging moves, a double click shows all', async (page) => {
    const home = await page.evaluate(() => ({ ...firebox.scatter.view }));
    const at = await pixelOf(page, 3);
    await page.mouse.move(...at);
    await page.mouse.wheel(0, -300);
    const zoomed = await pixelOf(page, 3);
    assert.ok(Math.hypot(zoomed[0] - at[0], zoomed[1] - at[1]) < 1);  // The wheel's place is in whole pixels.
    assert.ok((await page.evaluate(() => firebox.scatter.view.zoom)) > 1.5);
    await page.mouse.down();
    await page.mouse.move(at[0] + 20, at[1] + 10, { steps: 2 });
    await page.mouse.up();
    const moved = await pixelOf(page, 3);
    assert.ok(Math.hypot(moved[0] - zoomed[0] - 20, moved[1] - zoomed[1] - 10) < 1e-3);
    await page.mouse.dblclick(...at);
    assert.deepEqual(await page.evaluate(() => ({ ...firebox.scatter.view })), home);
    await page.focus('.plot');
    await page.keyboard.press('+');
    await page.keyboard.press('ArrowLeft');
    assert.notDeepEqual(await page.evaluate(() => ({ ...firebox.scatter.view })), home);
    await page.keyboard.press('0');
    assert.deepEqual(await page.evaluate(() => ({ ...firebox.scatter.view })), home);
  });

  both('missing values and a column of one value', async (page) => {
    const all = await painted(page);
    assert.ok(all > 5000, String(all));
    await page.selectOption('.tools label:nth-of-type(2) select', '2');
    const strip = await painted(page);
    assert.ok(strip > 500 && strip < all, String(strip));
    await page.mouse.move(...(await pixelOf(page, 1)));
    assert.match(await page.innerText('.tooltip'), /z|name/);
    await page.click('text=Lasso');
    const box = await page.locator('.plot').boundingBox();
    await drawAround(page, [box.x + 80, box.y + 15, box.x + box.width - 20, box.y + box.height - 60]);
    const rows = await selected(page);
    assert.equal(rows.length, 360);
    assert.ok(!rows.includes(0) && rows.includes(1));
    for (let i = 0; i < 3; i++) await page.selectOption('.tools label:nth-of-type(3) select', String(3 + i));
  }, { columns: 3, holes: true });

  both('one row', async (page) => {
    assert.ok((await painted(page)) > 0);
    assert.match(await page.innerText('.selection'), /Nothing/);
  }, { rows: 1, pieces: 1 });

  both('one column', async (page) => {
    assert.match(await page.getAttribute('.plot canvas[role=img]', 'aria-label'), /x against label/);
    assert.ok((await painted(page)) > 1000);
  }, { columns: 1 });

  both('one column without classes', async (page) => {
    assert.match(await page.getAttribute('.plot canvas[role=img]', 'aria-label'), /x against row/);
  }, { columns: 1, classes: false });

  both('no columns', async (page, data) => {
    assert.match(await page.innerText('.points'), /no scatter plot/);
    await page.click('.sizes button');
    assert.deepEqual(await selected(page), labelsOf(data, 2).flatMap((label, row) => (label === 0 ? [row] : [])));
    const { text } = await downloaded(page, 'text=Download rows');
    assert.ok(text.startsWith('row,cluster\n'));
  }, { columns: 0 });

  both('many rows, many clusters', async (page, data) => {
    await page.evaluate(() => firebox.setLevel(199));
    assert.equal(await page.locator('.sizes li').count(), 201);
    assert.deepEqual(await labelsShown(page), labelsOf(data, 199));
  }, { rows: 20000, pieces: 300, levels: 300 });
}

/** A test without both ways of drawing points. */
const one = (name, body, sample = {}, options = {}) => test(name, async () => {
  const data = clusteringData(sample);
  const { page, check } = await open(browser, pageOf(data), options);
  await body(page, data);
  await check();
});

one('the slider changes the labels, by the keyboard too', async (page, data) => {
  assert.deepEqual(await labelsShown(page), labelsOf(data, 2));
  await page.focus('input[type=range]');
  await page.keyboard.press('ArrowRight');
  assert.equal(await levelShown(page), 3);
  assert.deepEqual(await labelsShown(page), labelsOf(data, 3));
  assert.equal(await page.getAttribute('input[type=range]', 'aria-valuetext'), '4 clusters');
  assert.equal(await page.locator('.sizes li').count(), 5);
  await page.keyboard.press('Home');
  assert.deepEqual(await labelsShown(page), labelsOf(data, 0));
  await page.click('text=Back to the chosen 3');
  assert.equal(await levelShown(page), 2);
  assert.equal(await page.getAttribute('input[type=range]', 'aria-valuetext'), '3 clusters, chosen');
});

one('a click on the contrast chooses a level', async (page) => {
  const box = await page.locator('.contrast').boundingBox();
  await page.mouse.click(box.x + box.width - 20, box.y + 30);
  assert.equal(await levelShown(page), 5);
});

one('labels are downloaded as `firebox ocnn -o` writes them', async (page, data) => {
  const { name, text } = await downloaded(page, 'text=Download the labels');
  assert.equal(name, 'clusters-3.csv');
  assert.equal(text, ['cluster', ...labelsOf(data, 2), ''].join('\n'));
});

one('the tree is reached and left by the keyboard', async (page, data) => {
  const { tree, pieces } = data.clusters;
  const piece = array(Uint16Array, pieces);
  const below = (node) => (node < tree.leaves ? [node] : tree.joins[node - tree.leaves].flatMap(below));
  const rowsBelow = (node) => [...piece].flatMap((leaf, row) => (below(node).includes(leaf) ? [row] : []));
  const root = tree.leaves + tree.joins.length - 1;
  const focused = () => page.evaluate(() => firebox.tree.focused);
  while (!(await page.evaluate(() => document.activeElement.className === 'tree'))) await page.keyboard.press('Tab');
  assert.equal(await focused(), root);
  await page.keyboard.press('ArrowDown');
  const child = await focused();
  assert.ok(tree.joins[root - tree.leaves].includes(child));
  await page.keyboard.press('Enter');
  assert.deepEqual(await selected(page), rowsBelow(child));
  await page.keyboard.press('ArrowRight');
  assert.deepEqual(tree.joins[root - tree.leaves].slice().sort(), [child, await focused()].sort());
  await page.keyboard.press('ArrowUp');
  assert.equal(await focused(), root);
  await page.keyboard.press('Escape');
  assert.deepEqual(await selected(page), []);
});

one('a branch of the tree is described and selected by the pointer', async (page) => {
  const place = await page.evaluate(() => {
    const [left, top, width, height] = firebox.tree.boxOf(0);
    return [left + width / 2, top + height / 2];
  });
  const box = await page.locator('.tree').boundingBox();
  await page.locator('.tree').scrollIntoViewIfNeeded();
  const now = await page.locator('.tree').boundingBox();
  assert.ok(box.width > 100);
  await page.mouse.move(now.x + place[0], now.y + place[1]);
  assert.match(await page.innerText('.tree + .note'), /^Branch of \d+ rows in cluster 0, not divided further/);
  assert.equal((await selected(page)).length, 0);
  await page.mouse.click(now.x + place[0], now.y + place[1]);
  assert.ok((await selected(page)).length > 0);
});

one('the theme follows the system, and can be chosen', async (page) => {
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  assert.equal(await paper(), 'rgb(24, 26, 30)');
  await page.selectOption('header select', '1');
  assert.equal(await paper(), 'rgb(255, 255, 255)');
  assert.equal(await page.evaluate(() => firebox.theme.name), 'light');
  await page.selectOption('header select', '0');
  await page.emulateMedia({ colorScheme: 'light' });
  assert.equal(await paper(), 'rgb(255, 255, 255)');
  await page.waitForFunction(() => firebox.theme.name === 'light');
}, {}, { colorScheme: 'dark' });

one('names in the data are text', async (page) => {
  assert.equal(await page.locator('img').count(), 0);
  await page.selectOption('.tools select >> nth=2', '1');
  assert.ok((await page.innerText('.key')).includes(HOSTILE));
  const { text } = await (async () => {
    await page.click('.sizes button');
    return downloaded(page, 'text=Download rows');
  })();
  assert.ok(text.startsWith(`row,x,y,"a ""quoted"", name ${HOSTILE}",cluster\n`));
}, { columns: 3 });

one('on paper it is light, without controls', async (page) => {
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  assert.equal(await page.evaluate(() => firebox.theme.name), 'light');
  await page.evaluate(() => dispatchEvent(new Event('afterprint')));
  assert.equal(await page.evaluate(() => firebox.theme.name), 'dark');
  await page.emulateMedia({ media: 'print' });
  assert.ok(await page.isHidden('.tools'));
  assert.ok(await page.isVisible('.plot'));
}, {}, { colorScheme: 'dark' });

one('two fingers zoom, and move with the place between them', async (page) => {
  const box = await page.locator('.plot').boundingBox();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const session = await page.context().newCDPSession(page);
  const touch = (type, ...places) => session.send('Input.dispatchTouchEvent', { type, touchPoints: places.map(([x, y], id) => ({ x, y, id })) });
  await touch('touchStart', [x - 50, y], [x + 50, y]);
  await touch('touchMove', [x - 75, y], [x + 75, y]);
  await touch('touchMove', [x - 100, y], [x + 100, y]);
  await touch('touchEnd');
  const zoom = await page.evaluate(() => firebox.scatter.view.zoom);
  assert.ok(Math.abs(zoom - 2) < 0.05, String(zoom));
  assert.equal((await selected(page)).length, 0);
}, {}, { hasTouch: true });

one('marks survive a change of the number of clusters', async (page) => {
  await page.click('.sizes button');
  const rows = await selected(page);
  const marked = () => page.evaluate(() => firebox.state.marks.reduce((sum, mark) => sum + mark, 0));
  await page.evaluate(() => firebox.setLevel(4));
  assert.deepEqual(await selected(page), rows);
  assert.equal(await marked(), rows.length);
  assert.match(await page.innerText('.selection'), /rows selected: cluster 0 of 3/);
});

one('row numbers and the command are copied', async (page, data) => {
  await page.click('header button');
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), data.command);
  await page.click('.sizes button >> nth=2');
  await page.click('text=Copy row numbers');
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), (await selected(page)).join('\n'));
}, {}, { permissions: ['clipboard-read', 'clipboard-write'] });

test('script and style are small', () => {
  assert.ok(Buffer.byteLength(script) + Buffer.byteLength(style) < 60000);
});

test('all controls have names', async () => {
  const { page, check } = await open(browser, pageOf(clusteringData({ columns: 4 })));
  const nameless = await page.evaluate(() => [...document.querySelectorAll('button, input, select, [tabindex]')]
    .filter((control) => !(control.getAttribute('aria-label') || control.textContent.trim() || control.labels?.length)).map((control) => control.outerHTML));
  assert.deepEqual(nameless, []);
  await check();
});
