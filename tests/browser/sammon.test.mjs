// The interactive report of a Sammon map, with WebGL and without.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { array, downloaded, drawAround, frames, launch, open, pixelOf, selected } from './browser.mjs';
import { HOSTILE, mapData, pageOf, scaledValues } from './sample.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

const rings = (page) => page.evaluate(() => firebox.scatter.rings);
const pairPlace = async (page, pair) => {
  await page.locator('.shepard').scrollIntoViewIfNeeded();
  return page.evaluate((pair) => firebox.shepard.pixelOfPair(pair), pair);
};
/** Rows of a pair by the data. */
const rowsOf = ({ map }, pair) => [map.shepard.first, map.shepard.second].map((rows) => array(Uint32Array, rows)[pair]);
const colour = (page, name) => page.selectOption('label:has-text("Colour") select', { label: name });

function one(name, sample, body, options) {
  return test(name, async () => {
    const data = mapData(sample);
    const { page, check } = await open(browser, pageOf(data), options);
    await body(page, data);
    assert.doesNotMatch(await page.innerText('body'), /undefined|NaN|null|Infinity/);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'wider than the window');
    assert.equal(await page.locator('img').count(), 0);
    await check();
  });
}

for (const hash of ['', '#2d']) {
  const painter = hash ? '2d' : 'webgl';
  one(
    `${painter}: opens, and other colours change the points`,
    {},
    async (page) => {
      assert.equal(await page.evaluate(() => firebox.scatter.painter), painter);
      const said = () => page.getAttribute('.plot canvas[role=img]', 'aria-label');
      assert.equal(await said(), 'Map of 120 rows, y1 against y2, coloured by class (label)');
      assert.ok((await page.innerText('.key')).includes(HOSTILE));
      const shots = new Set();
      for (const name of ['class (label)', 'stress of the point', 'a']) {
        await colour(page, name);
        await frames(page);
        shots.add((await page.locator('.plot').screenshot()).toString('base64'));
        assert.match(await said(), new RegExp(`coloured by ${name.replace(/[()]/g, '\\$&')}$`));
      }
      assert.equal(shots.size, 3);
    },
    { hash }
  );
}

one('a pair at the pointer marks exactly its rows; a click keeps it', {}, async (page, data) => {
  const order = await page.evaluate(() => firebox.pairs.order);
  await page.mouse.move(...(await pairPlace(page, order[0])));
  const shown = await page.evaluate(() => firebox.shepard.shown);
  const both = rowsOf(data, shown);
  assert.deepEqual(await rings(page), both);
  const text = await page.innerText('.shepard .tooltip');
  assert.match(text, new RegExp(`rows\\s+${both.join(' \u00b7 ')}\\s`));
  assert.ok(text.includes(HOSTILE));
  assert.match(await page.innerText('.shepard + .note'), new RegExp(`^Rows ${both.join(' and ')}: `));
  await page.mouse.move(5, 5);
  assert.deepEqual(await rings(page), []);
  const at = await pairPlace(page, order[0]);
  await page.mouse.click(...at);
  await page.mouse.move(5, 5);
  assert.deepEqual(await rings(page), both);
  await page.mouse.click(...at);
  await page.mouse.move(5, 5);
  assert.deepEqual(await rings(page), []);
});

one('pairs are reached by the keyboard, the largest error first', {}, async (page, data) => {
  const order = await page.evaluate(() => firebox.pairs.order);
  const [source, target] = [data.map.shepard.source, data.map.shepard.target].map(scaledValues);
  const errors = order.map((pair) => (source[pair] - target[pair]) ** 2 / source[pair]);
  assert.ok(errors.every((error, i) => i === 0 || error <= errors[i - 1]));
  await page.focus('.shepard');
  await page.keyboard.press('ArrowRight');
  assert.deepEqual(await rings(page), rowsOf(data, order[0]));
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  await page.focus('.plot');
  assert.deepEqual(await rings(page), rowsOf(data, order[1]));
  await page.focus('.shepard');
  await page.keyboard.press('Escape');
  assert.deepEqual(await rings(page), []);
});

one('selected rows mark their pairs, and are saved', {}, async (page, data) => {
  const box = await page.locator('.plot').boundingBox();
  await page.click('text=Lasso');
  await drawAround(page, [box.x + 90, box.y + 30, box.x + box.width / 2, box.y + box.height - 60]);
  const rows = await selected(page);
  assert.ok(rows.length > 10 && rows.length < 110, String(rows.length));
  const marked = await page.evaluate(() => [...firebox.shepard.marked]);
  marked.forEach((mark, pair) =>
    assert.equal(
      mark === 1,
      rowsOf(data, pair).some((row) => rows.includes(row))
    )
  );
  const { text } = await downloaded(page, 'text=Download rows');
  assert.match(text, /^row,y1,y2,a,b,c,.*,stress\n/);
  assert.equal(text.split('\n').length, rows.length + 2);
  await page.click('text=Clear');
  assert.equal(await page.evaluate(() => firebox.shepard.marked), null);
});

const names = Array.from({ length: 120 }, (_, row) => `<b>${row}</b>`);
one('the worst points are those of the data', { texts: [{ name: 'name', values: names }] }, async (page, data) => {
  const stress = scaledValues(data.map.point_stress);
  const worst = [...stress.keys()].sort((a, b) => stress[b] - stress[a]).slice(0, 10);
  assert.deepEqual((await page.locator('.sizes .name').allInnerTexts()).map(Number), worst);
  assert.ok((await page.innerText('.sizes .text >> nth=0')).startsWith(names[worst[0]]));
  const sum = stress.reduce((all, value) => all + value, 0);
  assert.equal(await page.innerText('.sizes .figure >> nth=0'), `${((100 * stress[worst[0]]) / sum).toFixed(1)} %`);
  await page.hover('.sizes button >> nth=2');
  assert.deepEqual(await rings(page), [worst[2]]);
  await page.click('.sizes button >> nth=2');
  assert.deepEqual(await selected(page), [worst[2]]);
  await page.mouse.move(5, 5);
  await page.focus('.plot');
  assert.deepEqual(await rings(page), []);
});

one('the curve tells its values', { unit: 'epoch', interval: 10 }, async (page, data) => {
  const text = () => page.innerText('.convergence + .note');
  assert.equal(await text(), 'Stress 0.62 at epoch 0, 0.02003 after 600 epochs.');
  await page.focus('.convergence');
  for (const [key, i] of Object.entries({ Home: 0, ArrowRight: 1, PageDown: 11, End: 60 })) {
    await page.keyboard.press(key);
    assert.equal(await text(), `Stress ${Number(data.map.convergence.stress[i].toPrecision(6))} at epoch ${10 * i}.`);
  }
  await page.locator('.convergence').scrollIntoViewIfNeeded();
  const box = await page.locator('.convergence').boundingBox();
  await page.mouse.move(box.x + 86, box.y + 60);
  assert.match(await page.innerText('.convergence .tooltip'), /epoch\s+0\s+stress\s+0\.62/);
});

const alike = [0.0200331, 0.0200329];
one('stresses that are alike have more digits', { history: alike }, async (page) => {
  assert.equal(await page.innerText('.convergence + .note'), 'Stress 0.0200331 at iteration 0, 0.0200329 after 1 iteration.');
});

one('one row has no pairs', { rows: 1, history: [0] }, async (page) => {
  assert.equal(await page.locator('.shepard, .convergence').count(), 0);
  assert.match(await page.innerText('.side'), /There are no pairs/);
  assert.equal(await page.locator('.sizes').count(), 0);
});

one('without the stress of points and without classes', { stress: false, classes: false }, async (page) => {
  assert.equal(await page.locator('.sizes').count(), 0);
  assert.doesNotMatch(await page.innerText('.tools'), /stress/);
  assert.match(await page.getAttribute('.plot canvas[role=img]', 'aria-label'), /coloured by y1$/);
});

one('a map of one dimension', { dims: 1 }, async (page) => {
  assert.match(await page.getAttribute('.plot canvas[role=img]', 'aria-label'), /y1 against row/);
  assert.equal(await page.locator('.tools select').count(), 1);
  await page.mouse.move(...(await pixelOf(page, 7)));
  assert.match(await page.innerText('.plot .tooltip:not(.hint)'), /row\s+7\s+y1\s/);
});

one('a map of three dimensions turns', { dims: 3 }, async (page) => {
  const said = () => page.getAttribute('.plot canvas[role=img]', 'aria-label');
  const before = await pixelOf(page, 3);
  await page.click('[aria-label="Turn to the right"]');
  await frames(page);
  assert.match(await said(), /0\.97 y1 \+ 0\.26 y3 against y2/);
  const box = await page.locator('.plot').boundingBox();
  await page.mouse.move(box.x + 300, box.y + 200);
  await page.mouse.down({ button: 'right' });
  await page.mouse.move(box.x + 300, box.y + 160, { steps: 3 });
  await page.mouse.up({ button: 'right' });
  await frames(page);
  assert.match(await said(), /against .*y3/);
  await page.click('text=Reset');
  assert.deepEqual(await pixelOf(page, 3), before);
  await page.selectOption('.tools select >> nth=1', '2');
  assert.match(await said(), /y1 against y3/);
});

one(
  'in the dark and on paper',
  {},
  async (page) => {
    await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
    assert.equal(await page.evaluate(() => firebox.theme.name), 'light');
    await page.evaluate(() => dispatchEvent(new Event('afterprint')));
    assert.equal(await page.evaluate(() => firebox.theme.name), 'dark');
    await page.emulateMedia({ media: 'print' });
    assert.ok(await page.isHidden('.tools'));
    assert.ok(await page.isVisible('.shepard'));
  },
  { colorScheme: 'dark' }
);
