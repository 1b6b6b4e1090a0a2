// Pages that the program wrote, in the folder FIREBOX_PAGES, beside the tables that they should agree with.
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { launch, openFile } from './browser.mjs';
import { pageOf, valuesOf } from './sample.mjs';

const pages = process.env.FIREBOX_PAGES;
const skip = pages ? false : 'FIREBOX_PAGES is not set';
let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** A column of a table. */
function columnOf(name, column) {
  const [header, ...lines] = readFileSync(join(pages, name), 'utf8').trimEnd().split('\n');
  const at = header.split(',').indexOf(column);
  return lines.map((line) => line.split(',')[at]);
}

const clustersOf = (name) => columnOf(name, 'cluster');

/** Fails if a text of the page, the name of a control or these texts show a value that is missing. */
async function checkTexts(page, name, ...texts) {
  texts.push(
    await page.locator('body').evaluate((body) => {
      for (const script of body.querySelectorAll('script, noscript')) script.remove();
      return body.textContent;
    }),
    ...(await page.locator('[aria-label]').evaluateAll((all) => all.map((it) => it.getAttribute('aria-label'))))
  );
  for (const text of texts) assert.doesNotMatch(text, /undefined|NaN|null|Infinity/, name);
}

test('pages are made of the same parts as the samples of the other tests', { skip }, () => {
  for (const name of ['clusters.html', 'map.html', 'sine.html', 'network.html', 'regression.html']) {
    const html = readFileSync(join(pages, name), 'utf8');
    const data = JSON.parse(/<script id="data" type="application\/json">(.*?)<\/script>/s.exec(html)[1]);
    const part = (text, pattern) => pattern.exec(text)[1];
    for (const pattern of [/<script type="module">(.*?)<\/script>/s, /<style>(.*?)<\/style>/s])
      assert.equal(part(html, pattern), part(pageOf(data), pattern), name);
  }
});

test('the slider has the clusters of every number, as the program finds them', { skip }, async () => {
  const { page, check } = await openFile(browser, join(pages, 'clusters.html'));
  const saved = async () => {
    const [file] = await Promise.all([page.waitForEvent('download'), page.click('text=Download the labels')]);
    return readFileSync(await file.path(), 'utf8');
  };
  assert.equal(await saved(), `${['cluster', ...clustersOf('chosen.csv')].join('\n')}\n`);
  for (const count of [1, 2, 5]) {
    await page.evaluate((level) => firebox.setLevel(level), count - 1);
    assert.equal(await saved(), `${['cluster', ...clustersOf(`${count}.csv`)].join('\n')}\n`, `${count} clusters`);
  }
  await check();
});

test('inputs of every kind agree with their tables, and nothing undefined is shown', { skip }, async () => {
  const tables = {
    'threshold.html': 'threshold.csv',
    'graph.html': 'graph.out.csv',
    'many_columns.html': 'many_columns.csv',
  };
  for (const [name, table] of Object.entries(tables)) {
    const { page, check } = await openFile(browser, join(pages, name));
    assert.deepEqual(await page.evaluate(() => Array.from(firebox.state.labels, String)), clustersOf(table), name);
    const texts = [];
    if (await page.locator('.plot').count()) {
      const place = await page.evaluate(() => {
        const places = [...firebox.state.labels.keys()].map((row) => firebox.scatter.pixelOfRow(row));
        return places.find((place) => place.every(Number.isFinite));
      });
      await page.mouse.move(...place);
      texts.push(await page.innerText('.tooltip:not(.hint)'));
    }
    await checkTexts(page, name, ...texts);
    await check();
  }
});

test('maps have the places of their tables', { skip }, async () => {
  for (const [name, table, dims] of [
    ['map.html', 'map.csv', 2],
    ['map3.html', 'map3.csv', 3],
  ]) {
    const { page, check } = await openFile(browser, join(pages, name));
    const columns = await page.evaluate(() => firebox.data.columns);
    for (let axis = 0; axis < dims; axis++) {
      const places = columnOf(table, `y${axis + 1}`).map(Number);
      assert.equal(columns[axis].name, `y${axis + 1}`);
      const { scale } = columns[axis];
      valuesOf(columns[axis]).forEach((value, row) => assert.ok(Math.abs(value - places[row]) <= 1e-6 * scale, `row ${row}`));
    }
    await checkTexts(page, name);
    await check();
  }
});

test('100 000 points are at most 4 MB, and move', { skip }, async () => {
  const path = join(pages, 'many.html');
  assert.ok(statSync(path).size <= 4e6, `${statSync(path).size} bytes`);
  for (const hash of ['', '#2d']) {
    const { page, check } = await openFile(browser, path, { hash });
    const home = await page.evaluate(() => ({ ...firebox.scatter.view }));
    const box = await page.locator('.plot').boundingBox();
    const middle = [box.x + box.width / 2, box.y + box.height / 2];
    await page.mouse.move(...middle);
    await page.mouse.down();
    await page.mouse.move(middle[0] + 80, middle[1] + 40, { steps: 8 });
    await page.mouse.up();
    assert.notDeepEqual(await page.evaluate(() => ({ ...firebox.scatter.view })), home);
    await check();
  }
});

test('pages of networks agree with their tables', { skip }, async () => {
  const { page, check } = await openFile(browser, join(pages, 'eval.html'));
  const [, ...lines] = readFileSync(join(pages, 'eval.csv'), 'utf8').trimEnd().split('\n');
  const counts = lines.flatMap((line) => line.split(',').slice(1).map(Number));
  assert.deepEqual(await page.evaluate(() => [...firebox.confusion.counts]), counts);
  await check();
  for (const name of ['network.html', 'regression.html', 'linear.html']) {
    const { page, check } = await openFile(browser, join(pages, name));
    assert.doesNotMatch(await page.innerText('body'), /undefined|NaN|null/, name);
    assert.ok(await page.locator('.curves').count(), name);
    await check();
  }
});
