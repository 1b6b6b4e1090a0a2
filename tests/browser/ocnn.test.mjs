// The interactive report of a clustering, with WebGL and without.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { downloaded, drawAround, frames, labelsOf, labelsShown, launch, open, pixelOf, selected } from './browser.mjs';
import { clusteringData, pageOf, valuesOf } from './sample.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** How many pixels of the canvas of points are not empty, drawn anew for the purpose. */
const painted = (page) =>
  page.evaluate(() => {
    firebox.scatter.draw();
    const source = document.querySelector('.plot canvas[role=img]');
    const copy = new OffscreenCanvas(source.width, source.height).getContext('2d');
    copy.drawImage(source, 0, 0);
    return copy.getImageData(0, 0, source.width, source.height).data.filter((value, i) => i % 4 === 3 && value > 0)
      .length;
  });

for (const hash of ['', '#2d']) {
  const painter = hash ? '2d' : 'webgl';
  const both = (name, body, sample = {}) =>
    test(`${painter}: ${name}`, async () => {
      const data = clusteringData(sample);
      const { page, check } = await open(browser, pageOf(data), { hash });
      await body(page, data);
      await check();
    });

  both('opens and draws points', async (page) => {
    assert.equal(await page.evaluate(() => firebox.scatter.painter), painter);
    const count = await painted(page);
    assert.ok(count > 400 * 20 && count < 400 * 100, String(count));
    assert.match(
      await page.getAttribute('.plot canvas[role=img]', 'aria-label'),
      /^Scatter plot of 400 rows, x against y, in 3 clusters and \d+ noise points$/
    );
    assert.equal(await page.evaluate(() => typeof scatterPlot), 'undefined');
  });

  both(
    'points change their colours with the number of clusters',
    async (page, data) => {
      // A row that is in several clusters, one after the other.
      const ofRow = (row) => data.clusters.levels.map((_, level) => labelsOf(data, level)[row]);
      const row = [...Array(data.rows).keys()].find((row) => new Set(ofRow(row)).size > 2);
      const at = await pixelOf(page, row);
      const shot = () => page.screenshot({ clip: { x: at[0] - 2, y: at[1] - 2, width: 4, height: 4 } });
      const colours = new Set();
      for (const level of data.clusters.levels.keys()) {
        await page.evaluate((level) => firebox.setLevel(level), level);
        await frames(page);
        colours.add((await shot()).toString('base64'));
      }
      assert.equal(colours.size, new Set(ofRow(row)).size);
    },
    { rows: 12 }
  );

  both('a point at the pointer is described', async (page, data) => {
    for (const row of [0, 17, 399]) {
      await page.mouse.move(...(await pixelOf(page, row)));
      const text = await page.innerText('.tooltip:not(.hint)');
      // Another point may be in the same place.
      const shown = Number(/row\s+(\d+)/.exec(text)[1]);
      const [a, b] = [await pixelOf(page, row), await pixelOf(page, shown)];
      assert.ok(shown === row || Math.hypot(a[0] - b[0], a[1] - b[1]) < 0.8, `${row}: ${text}`);
      const label = labelsOf(data, 2)[shown];
      assert.match(text, new RegExp(`cluster\\s+${label < 0 ? 'noise' : label}\\s`));
    }
    await page.mouse.move(5, 5);
    assert.ok(await page.locator('.tooltip').first().isHidden());
  });

  both('an outline selects exactly the rows inside, also in a view that was moved', async (page, data) => {
    const box = await page.locator('.plot').boundingBox();
    const middle = [box.x + box.width / 2, box.y + box.height / 2];
    await page.mouse.move(...middle);
    await page.focus('.plot');
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
    const [x, y] = data.columns.map(valuesOf);
    const lines = text.split('\n');
    assert.equal(lines[0], 'row,x,y,cluster');
    assert.equal(lines.length, expected.length + 2);
    expected.forEach((row, i) => {
      const fields = lines[i + 1].split(',').map(Number);
      assert.deepEqual(
        [fields[0], Math.abs(fields[1] - x[row]) < 1e-6, Math.abs(fields[2] - y[row]) < 1e-6, fields[3]],
        [row, true, true, labelsOf(data, 2)[row]]
      );
    });
    await page.click('text=Clear');
    assert.deepEqual(await selected(page), []);
  });

  both('an outline selects no rows outside the panel', async (page, data) => {
    await page.focus('.plot');
    for (let i = 0; i < 6; i++) await page.keyboard.press('+');
    const box = await page.locator('.plot').boundingBox();
    const panel = [box.x + 84, box.y + 10, box.x + box.width - 12, box.y + box.height - 44];
    await page.click('text=Lasso');
    await page.mouse.move(panel[0] + 2, panel[1] + 2);
    await page.mouse.down();
    const [right, bottom] = [panel[2] + 300, panel[3] + 300];
    for (const place of [[right, panel[1] + 2], [right, bottom], [panel[0] + 2, bottom]])
      await page.mouse.move(...place, { steps: 4 });
    await page.mouse.up();
    const rows = await selected(page);
    assert.ok(rows.length > 5 && rows.length < data.rows, String(rows.length));
    for (const row of rows) {
      const [x, y] = await pixelOf(page, row);
      assert.ok(x >= panel[0] && x <= panel[2] && y >= panel[1] && y <= panel[3], `${row}: ${x}, ${y}`);
    }
  });

  both('the wheel zooms at the pointer, dragging moves, a double click shows all', async (page) => {
    const home = await page.evaluate(() => ({ ...firebox.scatter.view }));
    const at = await pixelOf(page, 3);
    await page.mouse.move(...at);
    await page.mouse.wheel(0, 300);
    await page.waitForFunction(() => scrollY > 0);
    assert.ok(await page.isVisible('.hint'));
    assert.deepEqual(await page.evaluate(() => ({ ...firebox.scatter.view })), home);
    await page.evaluate(() => scrollTo(0, 0));
    await page.keyboard.down('Control');
    await page.mouse.wheel(0, -100);
    await page.keyboard.up('Control');
    assert.ok((await page.evaluate(() => firebox.scatter.view.zoom)) > 1.1);
    assert.ok(await page.isHidden('.hint'));
    await page.focus('.plot');
    await page.keyboard.press('0');
    await page.mouse.wheel(0, -300);
    const zoomed = await pixelOf(page, 3);
    assert.ok(Math.hypot(zoomed[0] - at[0], zoomed[1] - at[1]) < 1); // The wheel's place is in whole pixels.
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

  both(
    'missing values and a column of one value',
    async (page) => {
      const all = await painted(page);
      assert.ok(all > 5000, String(all));
      await page.selectOption('.tools label:nth-of-type(2) select', '2');
      const strip = await painted(page);
      assert.ok(strip > 500 && strip < all, String(strip));
      await page.selectOption('.tools label:nth-of-type(1) select', '1');
      await page.mouse.move(...(await pixelOf(page, 20)));
      assert.match(await page.innerText('.tooltip:not(.hint)'), /row\s+20\s[^]*x\s+missing\s/);
      await page.selectOption('.tools label:nth-of-type(1) select', '0');
      await page.click('text=Lasso');
      const box = await page.locator('.plot').boundingBox();
      await drawAround(page, [box.x + 90, box.y + 15, box.x + box.width - 20, box.y + box.height - 60]);
      const rows = await selected(page);
      assert.equal(rows.length, 360);
      assert.ok(!rows.includes(0) && rows.includes(1));
      assert.match(await page.innerText('.points'), /No place for 40 rows \(missing values\)/);
      for (let i = 0; i < 3; i++) await page.selectOption('.tools label:nth-of-type(3) select', String(3 + i));
    },
    { columns: 3, holes: true }
  );

  both(
    'one row',
    async (page) => {
      assert.ok((await painted(page)) > 0);
      assert.match(await page.innerText('.selection'), /Nothing/);
    },
    { rows: 1, pieces: 1 }
  );

  both(
    'one column',
    async (page) => {
      assert.match(await page.getAttribute('.plot canvas[role=img]', 'aria-label'), /x against row/);
      assert.ok((await painted(page)) > 1000);
    },
    { columns: 1 }
  );

  both(
    'no columns',
    async (page, data) => {
      assert.match(await page.innerText('.points'), /no scatter plot/);
      await page.click('.sizes button');
      assert.deepEqual(
        await selected(page),
        labelsOf(data, 2).flatMap((label, row) => (label === 0 ? [row] : []))
      );
      const { text } = await downloaded(page, 'text=Download rows');
      assert.ok(text.startsWith('row,cluster\n'));
    },
    { columns: 0 }
  );

  both(
    'many rows, many clusters',
    async (page, data) => {
      await page.evaluate(() => firebox.setLevel(199));
      assert.equal(await page.locator('.sizes li').count(), 201);
      assert.deepEqual(await labelsShown(page), labelsOf(data, 199));
    },
    { rows: 20000, pieces: 300, levels: 300 }
  );
}

for (const [name, breakIt] of Object.entries({
  'a program that fails': (page) =>
    page.addInitScript(() => {
      WebGLRenderingContext.prototype.getProgramParameter = () => false;
    }),
  'a lost context': async () => {},
}))
  test(`${name} of WebGL leads to drawing without it`, async () => {
    const { page, check } = await open(browser, pageOf(clusteringData()));
    await breakIt(page);
    await page.reload();
    await page.waitForFunction(() => window.firebox);
    if (name === 'a lost context')
      await page.evaluate(() => document.querySelector('.plot canvas[role=img]').dispatchEvent(new Event('webglcontextlost')));
    assert.equal(await page.evaluate(() => firebox.scatter.painter), '2d');
    assert.match(await page.getAttribute('.plot canvas[role=img]', 'aria-label'), /^Scatter plot of 400 rows/);
    assert.ok((await painted(page)) > 400 * 20);
    await check();
  });
