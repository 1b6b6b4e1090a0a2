// Pages that the program wrote, in the folder FIREBOX_PAGES, beside the tables that they should agree with.
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { launch, openFile } from './browser.mjs';

const pages = process.env.FIREBOX_PAGES;
const skip = pages ? false : 'FIREBOX_PAGES is not set';
let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** The column `cluster` of a table. */
function clustersOf(name) {
  const [header, ...lines] = readFileSync(join(pages, name), 'utf8').trimEnd().split('\n');
  const column = header.split(',').indexOf('cluster');
  return lines.map((line) => line.split(',')[column]);
}

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
    const texts = [
      await page.locator('body').evaluate((body) => {
        for (const script of body.querySelectorAll('script, noscript')) script.remove();
        return body.textContent;
      }),
    ];
    texts.push(
      ...(await page.locator('[aria-label]').evaluateAll((all) => all.map((it) => it.getAttribute('aria-label'))))
    );
    if (await page.locator('.plot').count()) {
      const place = await page.evaluate(() => {
        const places = [...firebox.state.labels.keys()].map((row) => firebox.scatter.pixelOfRow(row));
        return places.find((place) => place.every(Number.isFinite));
      });
      await page.mouse.move(...place);
      texts.push(await page.innerText('.tooltip:not(.hint)'));
    }
    for (const text of texts) assert.doesNotMatch(text, /undefined|NaN|null/, name);
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
