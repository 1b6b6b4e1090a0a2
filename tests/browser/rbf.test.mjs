// The interactive report of a solution of an equation.
import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { downloaded, frames, launch, open, openFile } from './browser.mjs';
import { HOSTILE, pageOf } from './sample.mjs';
import { solutionAt, solutionData } from './sample_rbf.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

const said = (page) => page.getAttribute('.heat > canvas', 'aria-label');
const shot = async (page) => {
  await frames(page);
  return (await page.locator('.heat').screenshot()).toString('base64');
};
const choose = (page, label, name) => page.selectOption(`label:has-text("${label}") select`, { label: name });
const pixelOf = (page, place) => page.evaluate((place) => firebox.heat.pixelOf(place), place);
const number = (text) => Number(text.replace('\u2212', '-').replace('e\u2212', 'e-'));
/** The numbers of a text such as "x = 1, u = 0.5". */
const numbersOf = (text) =>
  Object.fromEntries(
    text
      .replace(/\.$/, '')
      .split(', ')
      .map((part) => part.split(' = '))
      .map(([name, value]) => [name, number(value)])
  );
const near = (found, wanted, most = 1e-3) => assert.ok(Math.abs(found - wanted) <= most, `${found}, not ${wanted}`);

function one(name, sample, body, options) {
  return test(name, async () => {
    const data = solutionData(sample);
    const html = pageOf(data);
    const frame = html.length - JSON.stringify(data).length;
    assert.ok(frame < 60_000, `${frame} characters beside the data`);
    const { page, check } = await open(browser, html, options);
    await body(page, data);
    const texts = await page
      .locator('[aria-label]')
      .evaluateAll((all) => all.map((it) => it.getAttribute('aria-label')));
    for (const text of [await page.innerText('body'), ...texts])
      assert.doesNotMatch(text, /undefined|NaN|null|Infinity/);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'wider than the window');
    assert.equal(await page.locator('img').count(), 0);
    await check();
  });
}

one('opens, and names are text', {}, async (page) => {
  assert.equal(await page.innerText('h2 >> nth=0'), `Solution of ${HOSTILE}`);
  assert.ok((await said(page)).startsWith(`u of ${HOSTILE} by x and y: from `));
  assert.match(
    await page.innerText('.numbers'),
    /3e−7\s+estimate of the relative L2 error: the target of 1e−6 is reached/
  );
  assert.match(await page.innerText('.side'), /Chosen automatically\s+neurons\s+300/);
});

one('the probe reads all fields', {}, async (page) => {
  // Between four nodes.
  await page.mouse.move(...(await pixelOf(page, [20.5, 33.25])));
  const lines = await page.innerText('.heat .tooltip');
  assert.match(lines, /x\s[^]*y\s[^]*u\s[^]*exact\s[^]*error\s[^]*\|∇u\|\s[^]*residual\s/);
  const found = numbersOf(await page.innerText('.probe'));
  const point = [found.x, found.y];
  near(point[0], (2 * 20.5) / 100, 5e-3);
  near(point[1], 0.3325, 5e-3);
  near(found.u, solutionAt(point));
  near(found.exact, found.u, 1e-5);
  near(found.error, 1e-6 * solutionAt(point) ** 3, 1e-8);
  near(found.residual, 1e-5 * (point[0] - 1), 1e-8);
  await page.mouse.move(5, 5);
  assert.match(await page.innerText('.probe'), /^Drag to draw/);
  await page.mouse.click(...(await pixelOf(page, [50, 50])));
  await page.mouse.move(5, 5);
  near(numbersOf(await page.innerText('.probe')).x, 1, 5e-3);
});

one('the keyboard moves the probe, and cuts', {}, async (page) => {
  await page.focus('.heat');
  for (const key of ['ArrowUp', 'ArrowRight', 'Shift+ArrowRight', 'ArrowDown']) await page.keyboard.press(key);
  const at = await page.evaluate(() => firebox.heat.pinned);
  assert.deepEqual(at, [61, 49]);
  near(numbersOf(await page.innerText('.probe')).u, solutionAt([1.22, 0.49]));
  await page.keyboard.press('Enter');
  for (let i = 0; i < 3; i++) await page.keyboard.press('Shift+ArrowUp');
  await page.keyboard.press('Enter');
  assert.deepEqual(await page.evaluate(() => firebox.heat.line), [
    [61, 49],
    [61, 79],
  ]);
  await page.keyboard.press('h');
  assert.deepEqual(await page.evaluate(() => firebox.heat.line), [
    [0, 79],
    [100, 79],
  ]);
  await page.keyboard.press('v');
  assert.deepEqual(await page.evaluate(() => firebox.heat.line[1]), [61, 100]);
  await page.keyboard.press('Escape');
  assert.equal(await page.evaluate(() => firebox.heat.pinned), null);
});

one('a cut has the values of the field, and is saved', {}, async (page) => {
  const [from, to] = [await pixelOf(page, [10, 20]), await pixelOf(page, [70, 90])];
  await page.mouse.move(...from);
  await page.mouse.down();
  await page.mouse.move(...to, { steps: 4 });
  await page.mouse.up();
  const { line, xs, series } = await page.evaluate(() => ({
    line: firebox.heat.line,
    ...firebox.cutPlot.content,
    series: firebox.cutPlot.content.series.map(({ name, values }) => [name, [...values]]),
  }));
  assert.deepEqual(
    series.map(([name]) => name),
    ['u', 'exact']
  );
  assert.equal(xs.length, 201);
  const pointAt = (i) =>
    line[0].map((start, axis) => ((start + ((line[1][axis] - start) * i) / 200) * (axis ? 1 : 2)) / 100);
  for (const i of [0, 57, 123, 200]) near(series[0][1][i], solutionAt(pointAt(i)));
  near(xs.at(-1), Math.hypot(...pointAt(200).map((x, axis) => x - pointAt(0)[axis])), 1e-9);
  const { name, text } = await downloaded(page, 'text=Download the cut');
  assert.equal(name, 'cut.csv');
  const lines = text.trimEnd().split('\n');
  assert.equal(lines[0], 'x,y,u,exact,error,gradient,residual');
  const row = lines[58].split(',').map(Number);
  near(row[0], pointAt(57)[0], 1e-6);
  near(row[2], solutionAt(row.slice(0, 2)));
  // Its cursor reads the same values.
  await page.focus('.convergence >> nth=0');
  await page.keyboard.press('Home');
  near(numbersOf(await page.innerText('.convergence + .note >> nth=0')).u, solutionAt(pointAt(0)));
  await page.click('text=Vertical');
  assert.match(await page.innerText('.convergence + .note + *, .side section >> nth=0'), /From \(1, 0\) to \(1, 1\)/);
});

one('places far from 0 keep their digits', { dims: 3, offset: 1000 }, async (page) => {
  await page.mouse.move(...(await pixelOf(page, [5.5, 4.25])));
  const found = numbersOf(await page.innerText('.probe'));
  near(found.x, 1000 + (2 * 5.5) / 16, 0.01);
  near(found.y, 1000 + 4.25 / 16, 0.01);
  await page.focus('.slice input');
  await page.keyboard.press('ArrowRight');
  await frames(page);
  assert.equal(await page.innerText('.slice output'), 'z = 1000.5625');
  assert.match(await said(page), /, z = 1000\.5625: /);
  const { text } = await downloaded(page, 'text=Download the cut');
  assert.match(text, /\n1000\.01,1000\.5,1000\.5625,/);
});

one('cuts begin at the smaller coordinate', {}, async (page) => {
  for (const [from, to, isTurned] of [
    [[90, 20], [10, 20], true],
    [[10, 90], [30, 20], true],
    [[60, 10], [10, 20], true],
    [[30, 20], [10, 90], false],
  ]) {
    await page.evaluate((ends) => firebox.heat.setLine(...ends), [from, to]);
    assert.deepEqual(await page.evaluate(() => firebox.heat.line), isTurned ? [to, from] : [from, to]);
  }
});

one('keys without a use are the page\u2019s own', {}, async (page) => {
  assert.doesNotMatch(await page.getAttribute('.heat', 'aria-label'), /Page up/);
  await page.focus('.heat');
  const isTaken = (key) =>
    page.evaluate(
      (key) => !document.querySelector('.heat').dispatchEvent(new KeyboardEvent('keydown', { key, cancelable: true })),
      key
    );
  assert.deepEqual([await isTaken('PageUp'), await isTaken('H')], [false, true]);
  await page.keyboard.press('Shift+V');
  assert.deepEqual(await page.evaluate(() => firebox.heat.line), [
    [50, 0],
    [50, 100],
  ]);
});

one('the box of a cut follows the size of the window', {}, async (page) => {
  await page.focus('.convergence >> nth=0');
  await page.keyboard.press('End');
  await frames(page);
  const left = () => page.locator('.convergence .tooltip >> nth=0').evaluate((it) => it.style.transform);
  const before = await left();
  await page.setViewportSize({ width: 1000, height: 700 });
  await page.waitForFunction(
    (before) => document.querySelector('.convergence .tooltip').style.transform !== before,
    before
  );
});

one('an estimate that is not a number is unknown', { estimate: [null, 1e-6] }, async (page) => {
  assert.match(await page.innerText('.numbers'), /unknown\s+estimate .*: the target of 1e−6 is not reached/);
});

one('fields, logarithms and layers change the plot', {}, async (page) => {
  const shots = new Set([await shot(page)]);
  for (const layer of ['Contours', 'Centres', 'Widths', 'Points inside', 'Points on boundaries']) {
    await page.click(`text="${layer}"`);
    shots.add(await shot(page));
  }
  assert.equal(shots.size, 6);
  assert.ok(await page.isHidden('text=Logarithmic'));
  for (const field of ['exact', 'error (u − exact)', '|∇u|', 'residual of the equation']) {
    await choose(page, 'Field', field);
    shots.add(await shot(page));
    assert.match(await said(page), new RegExp(`^${field.replace(/ .*/, '').replaceAll('|', '\\|')} of `));
  }
  await page.click('text=Logarithmic');
  shots.add(await shot(page));
  assert.equal(shots.size, 11);
  assert.match(await page.getAttribute('text=Points inside', 'title'), /marks of .*, evenly/);
});

/** Largest distances from the plane and from the ball of the sample's regions, of the interface nearest to each. */
const missed = (page) =>
  page.evaluate(() => {
    const { grid, state } = firebox;
    const pieces = firebox.interfaces();
    const least = pieces.map(() => 0);
    pieces.forEach((line, which) => {
      for (let k = 0; k < line.length; k += 2) {
        const point = state.at.map((at, axis) => grid.coordinate(axis, axis < 2 ? line[k + axis] : at));
        const sum = (point.reduce((all, x) => all + x, 0) - 1) / Math.sqrt(point.length);
        const ball = Math.hypot(...point.map((x, axis) => x - (axis ? 0.5 : 1.5))) - 0.25;
        least[which] = Math.max(least[which], Math.min(Math.abs(sum), Math.abs(ball)));
      }
    });
    return { counts: pieces.map((line) => line.length), least };
  });

one('interfaces of regions are a layer', { regions: true }, async (page) => {
  assert.ok(await page.isChecked('text="Interfaces"'));
  const { counts, least } = await missed(page);
  assert.ok(counts.length === 2 && counts.every((count) => count > 100), `${counts}`);
  // Half a cell.
  assert.ok(Math.max(...least) < 0.01, `${least}`);
  const on = await shot(page);
  await page.click('text="Interfaces"');
  const off = await shot(page);
  assert.notEqual(off, on);
  await page.click('text="Interfaces"');
  assert.equal(await shot(page), on);
});

one('slices cut interfaces', { regions: true, dims: 3 }, async (page) => {
  const { counts, least } = await missed(page);
  assert.ok(counts.length === 2 && Math.max(...least) < 0.03, `${least}`);
  assert.equal(await page.getAttribute('text="Interfaces"', 'title'), '');
  const middle = await shot(page);
  await page.focus('.slice input');
  await page.keyboard.press('End');
  await frames(page);
  // The ball does not reach the last slice, and the plane has its corner there.
  assert.equal((await missed(page)).counts.filter((count) => count > 8).length, 0);
  assert.notEqual(await shot(page), middle);
});

one('interfaces end at the boundary', { regions: true, disc: true }, async (page) => {
  const { pieces, side } = await page.evaluate(() => ({
    pieces: firebox.interfaces().map((line) => [...line]),
    side: firebox.grid.side,
  }));
  for (const line of pieces)
    for (let k = 0; k < line.length; k += 2) {
      const [x, y] = [(2 * line[k]) / (side - 1), line[k + 1] / (side - 1)];
      assert.ok(Math.hypot(x - 1, y - 0.5) < 0.48, `${x}, ${y}`);
    }
  assert.ok(pieces.flat().length > 40);
});

one('one dimension has interfaces as lines across', { regions: true, dims: 1 }, async (page) => {
  assert.ok(await page.isChecked('text="Interfaces"'));
  const on = await shot(page);
  await page.click('text="Interfaces"');
  assert.notEqual(await shot(page), on);
});

one('problems without regions have no interfaces', {}, async (page) => {
  assert.equal(await page.locator('text="Interfaces"').count(), 0);
  assert.equal(await page.locator('label:has-text("Slab")').count(), 0);
});

one('each slab of time has its convergence', { slabs: 4, time: 1, offset: 10 }, async (page) => {
  const options = await page.locator('label:has-text("Slab") option').allInnerTexts();
  assert.equal(options[1], 't = 10.25 to 10.5: estimate 4e\u22126');
  assert.equal(options[3], 't = 10.75 to 11: estimate unknown');
  assert.match(await page.getAttribute('label:has-text("Slab")', 'title'), /4 of 12 slabs/);
  const section = page.locator('section[aria-label="Convergence"]');
  const last = async () => {
    await section.locator('.convergence').focus();
    await page.keyboard.press('End');
    return section.locator('.convergence + .note').innerText();
  };
  assert.match(await section.innerText(), /neurons\s+203\s+stability constant\s+1\.2/);
  assert.match(await section.innerText(), /target 2\.5e\u22127/);
  assert.match(await last(), /^neurons = 203, estimate of the error = 2\.5e\u22125,/);
  await choose(page, 'Slab', options[0]);
  assert.match(await section.innerText(), /neurons\s+200\s/);
  assert.match(await last(), /^neurons = 200, estimate of the error = 0\.0001,/);
});

one('the slider changes the slice', { dims: 3 }, async (page) => {
  const before = await shot(page);
  assert.equal(await page.innerText('.slice output'), 'z = 0.5');
  await page.focus('.slice input');
  await page.keyboard.press('End');
  await frames(page);
  assert.equal(await page.innerText('.slice output'), 'z = 1');
  assert.notEqual(await shot(page), before);
  assert.match(await said(page), /, z = 1: /);
  await page.mouse.move(...(await pixelOf(page, [8, 4])));
  const found = numbersOf(await page.innerText('.probe'));
  near(found.u, solutionAt([found.x, found.y, 1]), 0.02);
  await page.focus('.heat');
  await page.keyboard.press('PageDown');
  await frames(page);
  assert.equal(await page.innerText('.slice output'), 'z = 0.9375');
  await choose(page, 'Up', 'z');
  assert.match(await said(page), /by x and z, y = 0.5/);
  await choose(page, 'Across', 'z');
  assert.match(await said(page), /by z and x, y = 0.5/);
});

one('slices of time are played', { dims: 3, time: 0 }, async (page) => {
  assert.match(await said(page), /by y and z, t = 0: /);
  const live = () => page.getAttribute('.probe', 'aria-live');
  await page.click('text=Play');
  assert.equal(await live(), 'off');
  await page.waitForFunction(() => document.querySelector('.slice output').textContent !== 't = 0');
  await page.click('text=Pause');
  assert.equal(await live(), 'polite');
  await page.focus('.slice input');
  await page.keyboard.press('Home');
  assert.equal(await page.innerText('.slice output'), 't = 0');
});

one('four dimensions have two sliders', { dims: 4 }, async (page) => {
  assert.deepEqual(await page.locator('.slice output').allInnerTexts(), ['z = 0.5', 'w = 0.5']);
});

one('one dimension is a curve', { dims: 1 }, async (page) => {
  assert.equal(await page.locator('.slice').count(), 0);
  await page.focus('.heat');
  await page.keyboard.press('Home');
  for (let i = 0; i < 10; i++) await page.keyboard.press('ArrowRight');
  const found = numbersOf(await page.innerText('.heat + .note'));
  near(found.x, 0.2, 1e-6);
  near(found.u, solutionAt([0.2]), 1e-4);
  near(found.residual, -8e-6, 1e-9);
  await page.click('text=Centres');
  await choose(page, 'Field', 'error (u − exact)');
  const { text } = await downloaded(page, 'text=Download');
  assert.match(text, /^x,u,exact,error,gradient,residual\n0,0,0,[^\n]*,2,-0.00001\n/);
  assert.equal(text.trimEnd().split('\n').length, 102);
});

one('outside the domain there are no values', { disc: true, exact: false, residual: false }, async (page) => {
  assert.deepEqual(await page.locator('label:has-text("Field") option').allInnerTexts(), ['u', '|∇u|']);
  await page.mouse.move(...(await pixelOf(page, [2, 2])));
  assert.match(await page.innerText('.probe'), /outside the domain$/);
  await page.mouse.move(...(await pixelOf(page, [50, 50])));
  near(numbersOf(await page.innerText('.probe')).u, solutionAt([1, 0.5]), 0.02);
  await page.evaluate(() => firebox.heat.setLine([0, 50], [100, 50]));
  const values = await page.evaluate(() => [...firebox.cutPlot.content.series[0].values]);
  assert.ok(Number.isNaN(values[0]) && Number.isNaN(values[200]) && Number.isFinite(values[100]));
  await page.click('text=Widths');
  await page.evaluate(() => firebox.heat.setLine([0, 0], [3, 0]));
  const { text } = await downloaded(page, 'text=Download the cut');
  assert.equal(text.split('\n')[1], '0,0,,');
});

one(
  'a run without an estimate, and with one cycle that failed',
  { estimate: null, accuracy: false, cycles: true },
  async (page) => {
    assert.equal(await page.locator('.numbers').count(), 0);
    assert.match(await page.innerText('.side'), /Method/);
    await page.focus('.convergence >> nth=1');
    await page.keyboard.press('Home');
    assert.equal(await page.innerText('.convergence + .note >> nth=1'), 'cycle = 1, inside = 0.1.');
  }
);

one(
  'in the dark, on paper and on a narrow window',
  { dims: 3, disc: true },
  async (page) => {
    assert.equal(await page.evaluate(() => firebox.theme.name), 'dark');
    const dark = await shot(page);
    await choose(page, 'Theme', 'light');
    assert.notEqual(await shot(page), dark);
    await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
    await page.emulateMedia({ media: 'print' });
    assert.ok(await page.isHidden('.tools >> nth=0'));
    assert.ok(await page.isVisible('.heat'));
    await page.evaluate(() => dispatchEvent(new Event('afterprint')));
  },
  { colorScheme: 'dark', viewport: { width: 360, height: 740 }, deviceScaleFactor: 2 }
);

const pages = process.env.FIREBOX_PAGES;
const skip = pages ? false : 'FIREBOX_PAGES is not set';

/** The columns of a table by their names. */
function tableOf(name) {
  const [header, ...lines] = readFileSync(join(pages, `${name}.csv`), 'utf8')
    .trimEnd()
    .split('\n');
  const rows = lines.map((line) => line.split(',').map(Number));
  return Object.fromEntries(header.split(',').map((column, i) => [column, rows.map((row) => row[i])]));
}

test('pages of the program agree with their tables', { skip }, async () => {
  for (const name of ['sine', 'disc', 'paper', 'cube', 'line']) {
    const path = join(pages, `${name}.html`);
    assert.ok(statSync(path).size < 1e6, `${name}: ${statSync(path).size} bytes`);
    const html = readFileSync(path, 'utf8');
    const data = JSON.parse(/<script id="data" type="application\/json">(.*?)<\/script>/s.exec(html)[1]);
    const part = (text, pattern) => pattern.exec(text)[1];
    for (const pattern of [/<script type="module">(.*?)<\/script>/s, /<style>(.*?)<\/style>/s])
      assert.equal(part(html, pattern), part(pageOf(data), pattern), name);

    const { page, check } = await openFile(browser, path);
    const table = tableOf(name);
    const { axes, low, high, side } = data.solution;
    const placeOf = (row) => axes.map((axis, i) => ((table[axis][row] - low[i]) / (high[i] - low[i])) * (side - 1));
    // Nodes of both grids, on the slice through the middle.
    const isShared = (row) =>
      placeOf(row).every(
        (at, i) => Math.abs(at - Math.round(at)) < 1e-9 && (i < 2 || Math.round(at) === (side - 1) / 2)
      );
    const some = table.u.map((_, row) => row).filter((row) => isShared(row));
    const places = some.map((row) => placeOf(row).map(Math.round));
    const found = await page.evaluate(
      (places) =>
        places.map(([x, y]) =>
          y === undefined ? firebox.grid.fields.map(({ values }) => values[x]) : firebox.valuesAt([x, y])
        ),
      places
    );
    assert.ok(some.length >= 9, name);
    const most = (values) => 1e-6 * Math.max(...values.map(Math.abs));
    some.forEach((row, i) => {
      near(found[i][0], table.u[row], most(table.u));
      near(found[i][2], table.error[row], most(table.error));
    });
    const texts = await page.locator('[aria-label]').evaluateAll((all) => all.map((it) => it.ariaLabel));
    for (const text of [await page.innerText('body'), ...texts])
      assert.doesNotMatch(text, /undefined|NaN|null|Infinity/, name);
    await check();
  }
});
