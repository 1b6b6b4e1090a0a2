// Unusual data: large numbers, weights, texts, and more clusters or classes than are legible.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { array, downloaded, labelsOf, labelsShown, launch, open, pixelOf, selected, settled } from './browser.mjs';
import { clusteringData, pageOf, valuesOf } from './sample.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

const one = (name, sample, body, options) =>
  test(name, async () => {
    const data = clusteringData(sample);
    const { page, check } = await open(browser, pageOf(data), options);
    await body(page, data);
    assert.doesNotMatch(await page.innerText('body'), /undefined|NaN|null/);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'wider than the window');
    await check();
  });

const tooltipOf = async (page, row) => {
  await page.mouse.move(...(await pixelOf(page, row)));
  return page.innerText('.tooltip:not(.hint)');
};
const saved = async (page) => (await downloaded(page, 'text=Download rows')).text.trimEnd().split('\n');

one('large numbers are shown and saved exactly', { offset: 1.7e9 }, async (page, data) => {
  const values = data.columns.map(valuesOf);
  const thousandths = (value) => Math.round(1000 * value) / 1000;
  for (const row of [1, 200]) {
    const text = await tooltipOf(page, row);
    const shown = Number(/row\s+(\d+)/.exec(text)[1]);
    const numbers = ['x', 'y'].map((name) => Number(new RegExp(`${name}\\s+(\\d+\\.\\d+|\\d+)\\s`).exec(text)[1]));
    assert.deepEqual(
      numbers,
      values.map((column) => thousandths(column[shown]))
    );
  }
  await page.click('.sizes button');
  const [, ...lines] = await saved(page);
  (await selected(page)).forEach((row, i) => {
    assert.deepEqual(
      lines[i].split(',').slice(1, 3),
      values.map((column) => String(thousandths(column[row])))
    );
  });
});

const weights = Array.from({ length: 400 }, (_, row) => 1 + (row % 5));
one('rows with weights are counted as points', { weights }, async (page, data) => {
  const { sizes, noise_points: noise } = data.clusters.levels[2];
  const shown = await page.locator('.sizes .figure:nth-last-child(3)').allInnerTexts();
  assert.deepEqual(shown.map(Number), [...sizes, noise]);
  assert.match(await page.innerText('.row .note'), new RegExp(`and ${noise} noise points`));
  assert.equal(await page.innerText('.heads span'), 'points');
  assert.match(await page.getAttribute('.sizes button', 'aria-label'), new RegExp(`: ${sizes[0]} points,`));
});

const names = Array.from({ length: 400 }, (_, row) => (row % 2 ? `plain ${row}` : `"quoted", ${row}\u00e9`));
const texts = [{ name: 'the, name', values: names }];
one('texts come first in the tooltip and are saved in quotes', { texts }, async (page) => {
  const text = await tooltipOf(page, 1);
  const shown = Number(/row\s+(\d+)/.exec(text)[1]);
  assert.ok(text.indexOf(names[shown]) > 0 && text.indexOf(names[shown]) < text.search(/\bx\b/), text);
  await page.click('.sizes button');
  const [head, ...lines] = await saved(page);
  assert.equal(head, 'row,"the, name",x,y,cluster');
  (await selected(page)).forEach((row, i) => {
    const field = row % 2 ? names[row] : `"${names[row].replaceAll('"', '""')}"`;
    assert.ok(lines[i].startsWith(`${row},${field},`), lines[i]);
  });
});

one('more than 65 536 pieces', { rows: 140000, pieces: 70000, levels: 3, joins: true }, async (page, data) => {
  const pieces = array(Uint32Array, data.clusters.pieces);
  assert.ok(pieces.some((piece) => piece > 65536));
  assert.deepEqual(await labelsShown(page), labelsOf(data, 2));
});

/** Red, green, blue and opacity of each cell of the density, and how many rows are in each by their places. */
const cellsOf = (page) =>
  page.evaluate(() => {
    const canvas = document.querySelectorAll('.plot canvas')[1];
    const { width, height } = canvas;
    const box = canvas.getBoundingClientRect();
    const counts = new Array(width * height).fill(0);
    firebox.state.labels.forEach((_, row) => {
      const [x, y] = firebox.scatter.pixelOfRow(row);
      const [column, line] = [((x - box.left) * width) / box.width, ((y - box.top) * height) / box.height].map(Math.floor);
      if (column >= 0 && line >= 0 && column < width && line < height) counts[line * width + column]++;
    });
    const copy = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, width, height);
    return { counts, alphas: counts.map((_, cell) => data[4 * cell + 3]) };
  });

for (const hash of ['', '#2d'])
  one(`many points are drawn as their density, and one by one from close by${hash}`, { rows: 310000 }, async (page) => {
    const isDensity = () => page.evaluate(() => firebox.scatter.isDensity);
    await settled(page);
    assert.ok(await isDensity());
    const { counts, alphas } = await cellsOf(page);
    // Places are rounded to 32 bits in the page, which moves a few over the edge of their cell.
    const wrong = counts.filter((count, cell) => count > 0 !== alphas[cell] > 0).length;
    assert.ok(wrong < 0.001 * counts.length, `${wrong} cells`);
    const opacity = (low, high) => {
      const some = alphas.filter((_, cell) => counts[cell] >= low && counts[cell] <= high);
      return some.reduce((sum, alpha) => sum + alpha, 0) / some.length;
    };
    assert.ok(opacity(2, 4) < opacity(10, 20) && opacity(10, 20) < opacity(30, 1e9));
    await page.click('.sizes button >> nth=1');
    await settled(page);
    const faded = await cellsOf(page);
    assert.ok(faded.alphas.filter((alpha) => alpha > 0 && alpha < 60).length > 1000);
    for (let i = 0; i < 12; i++) await page.click('[aria-label="Zoom in"]');
    await settled(page);
    assert.ok(!(await isDensity()));
  }, { hash });

one('the outlier score can be the size of points', {}, async (page) => {
  const shot = async () => (await page.locator('.plot').screenshot()).toString('base64');
  const before = await shot();
  await page.selectOption('label:has-text("Size") select', { label: 'outlier score' });
  await settled(page);
  assert.notEqual(await shot(), before);
  await page.selectOption('label:has-text("Size") select', { label: 'equal' });
  await settled(page);
  assert.equal(await shot(), before);
});

one('silhouettes are beside the clusters', {}, async (page, data) => {
  const shown = await page.locator('.sizes .figure:last-child').allInnerTexts();
  const expected = data.clusters.levels[data.clusters.chosen].silhouettes.map((value) => value.toFixed(2));
  assert.deepEqual(shown, [...expected, '\u2013']);
  await page.evaluate(() => firebox.setLevel(0));
  assert.equal((await page.locator('.sizes .figure:last-child').allInnerTexts())[0], '\u2013');
});

const many = { rows: 200000, pieces: 150000, levels: 1, joins: false, noiseShare: 0.2, classes: 1000 };
one('clusters of single rows without joins', many, async (page, data) => {
  assert.equal(await page.locator('.tree').count(), 0);
  assert.deepEqual(await labelsShown(page), labelsOf(data, 0));
  await page.selectOption('.tools select', '1');
  assert.equal(await page.locator('.key > span').count(), 24);
  assert.match(await page.innerText('.key'), /and 976 more$/);
});

one('the largest clusters are listed', { rows: 3000, pieces: 300, levels: 300 }, async (page, data) => {
  await page.evaluate(() => firebox.setLevel(299));
  const listed = (await page.locator('.sizes .name').allInnerTexts()).slice(0, -1).map(Number);
  const { sizes } = data.clusters.levels[299];
  assert.equal(listed.length, 200);
  assert.deepEqual(
    listed,
    [...listed].sort((a, b) => a - b)
  );
  const least = Math.min(...listed.map((cluster) => sizes[cluster]));
  assert.ok(sizes.every((size, cluster) => size <= least || listed.includes(cluster)));
  assert.equal(await page.innerText('.sizes > :last-child'), 'and 100 smaller clusters');
});

one('without contrasts there is no scale of them', { contrasts: [] }, async (page) => {
  assert.ok((await page.locator('.contrast').boundingBox()).height < 60);
  await page.focus('input[type=range]');
  await page.keyboard.press('ArrowRight');
  assert.equal(await page.innerText('.number'), '4');
  assert.equal(await page.evaluate(() => document.querySelector('[role=status]').textContent), '');
});

const wide = (data) => {
  Object.assign(data.columns[0], { offset: 0, scale: 1.7e308 });
  return data;
};
const close = (data) => {
  // Values that differ by less than their precision.
  Object.assign(data.columns[0], { offset: 1e17, scale: 64 });
  return data;
};
for (const [name, change] of Object.entries({ wide, close }))
  test(`a ${name} range of numbers has axes`, async () => {
    const { page, check } = await open(browser, pageOf(change(clusteringData())));
    assert.ok((await pixelOf(page, 1)).every(Number.isFinite));
    await page.focus('.plot');
    for (let i = 0; i < 50; i++) await page.keyboard.press('+');
    await settled(page);
    await check();
  });

test('evidence in words', async () => {
  for (const [probability, words] of [
    [
      7.6e-17,
      /line\) in 4 % of sets\. They reach this evidence almost never \(probability 7\.6e\u221217\): chance alone/,
    ],
    [1e-6, /reach this evidence in about one of 1\u202f000\u202f000 sets/],
    [0.5, /in 50 % of them \(probability 0\.5\): no evidence of clusters\.$/],
  ]) {
    const data = clusteringData();
    data.clusters.chance.probability = probability;
    const { page, check } = await open(browser, pageOf(data));
    assert.match(await page.innerText('.gauge + p'), words);
    await check();
  }
});
