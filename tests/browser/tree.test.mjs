// The dendrogram and the condensed tree of a clustering's report.
import assert from 'node:assert/strict';
import { array, frames, labelsOf, labelsShown, selected } from './browser.mjs';
import { one } from './clustering.mjs';

const PLOTS = ['Dendrogram', 'Condensed tree'];
const plotOf = (page, name) => page.locator(`section[aria-label="${name}"] .tree`);
const noteOf = (page, name) => page.innerText(`section[aria-label="${name}"] .note`);
const textOf = (page, name) => plotOf(page, name).locator('canvas').getAttribute('aria-label');
const focused = (page) => page.evaluate(() => firebox.tree.focused);
const shot = async (page, name) => {
  await frames(page);
  return (await plotOf(page, name).screenshot()).toString('base64');
};

/** Leaves and rows below a node, by the definition of the data. */
const leavesBelow = ({ leaves, joins }, node) =>
  node < leaves ? [node] : joins[node - leaves].flatMap((side) => leavesBelow({ leaves, joins }, side));
function rowsBelow({ clusters: { tree, pieces } }, node) {
  const below = leavesBelow(tree, node);
  return [...array(Uint32Array, pieces)].flatMap((leaf, row) => (below.includes(leaf) ? [row] : []));
}

/**
 * Where a dendrogram has the leg of a node, in its canvas: leaves at equal distances in the order of the tree, joins in the
 * middle of their sides, and heights from 0 at the lower end to 1.
 */
function legOf({ clusters: { tree } }, node, { width, height }) {
  const root = tree.leaves + tree.joins.length - 1;
  const order = leavesBelow(tree, root);
  const middle = (of) =>
    of < tree.leaves
      ? 44 + ((order.indexOf(of) + 0.5) * (width - 46)) / tree.leaves
      : tree.joins[of - tree.leaves].reduce((sum, side) => sum + middle(side) / 2, 0);
  const parent = tree.leaves + tree.joins.findIndex((sides) => sides.includes(node));
  const place = (at) => 8 + (1 - at) * (height - 8 - 36);
  return { x: middle(node), top: place(node === root ? 1 : tree.heights[parent]), bottom: place(tree.heights[node]) };
}

/** The joins without a cluster on both sides, by the definition of a cut. */
function cutJoins({ clusters: { tree, levels } }, level) {
  const labels = array(Int32Array, levels[level].labels);
  const clustersBelow = (node) => leavesBelow(tree, node).map((leaf) => labels[leaf]);
  return tree.joins.filter(([a, b]) => !clustersBelow(a).some((label) => clustersBelow(b).includes(label)));
}

for (const name of PLOTS)
  one(`${name}: reached and left by the keyboard`, async (page, data) => {
    const { leaves, joins } = data.clusters.tree;
    const root = leaves + joins.length - 1;
    const isReached = () =>
      page.evaluate((name) => document.activeElement.getAttribute('aria-label')?.startsWith(`${name}.`), name);
    while (!(await isReached())) await page.keyboard.press('Tab');
    assert.equal(await focused(page), root);
    assert.match(await noteOf(page, name), /^Branch of 400 rows in several clusters, joined at /);
    await page.keyboard.press('ArrowUp');
    assert.equal(await focused(page), root);
    await page.keyboard.press('ArrowDown');
    const child = await focused(page);
    assert.ok(joins[root - leaves].includes(child));
    await page.keyboard.press('Enter');
    assert.deepEqual(await selected(page), rowsBelow(data, child));
    for (const key of ['ArrowRight', 'ArrowLeft', 'ArrowLeft']) {
      const before = await focused(page);
      await page.keyboard.press(key);
      assert.deepEqual(new Set(joins[root - leaves]), new Set([before, await focused(page)]));
    }
    await page.keyboard.press('ArrowUp');
    assert.equal(await focused(page), root);
    await page.keyboard.press('Escape');
    assert.deepEqual(await selected(page), []);
    await page.keyboard.press('Tab');
    assert.match(await noteOf(page, name), /^Point at a branch/);
  });

one('a block of the condensed tree is described and selected by the pointer', async (page, data) => {
  const plot = plotOf(page, PLOTS[1]);
  await plot.scrollIntoViewIfNeeded();
  const [left, top, width, height] = await page.evaluate(() => firebox.tree.plots[1].boxOf(0));
  const position = { x: left + width / 2, y: top + height / 2 };
  await plot.hover({ position });
  assert.match(await noteOf(page, PLOTS[1]), /^Branch of \d+ rows in cluster 0, not divided further/);
  assert.match(await noteOf(page, PLOTS[0]), /^Point at a branch/);
  assert.equal((await selected(page)).length, 0);
  await plot.click({ position });
  assert.deepEqual(await selected(page), rowsBelow(data, 0));
});

one('the brackets of the dendrogram are described and select their rows', async (page, data) => {
  const { tree } = data.clusters;
  const plot = plotOf(page, PLOTS[0]);
  await plot.scrollIntoViewIfNeeded();
  const size = await plot.boundingBox();
  const labels = labelsOf(data, 2);
  for (let node = 0; node < tree.leaves + tree.joins.length; node++) {
    const { x, top, bottom } = legOf(data, node, size);
    const rows = rowsBelow(data, node);
    const of = new Set(rows.map((row) => labels[row]).filter((label) => label >= 0));
    const within = of.size > 1 ? 'several clusters' : `cluster ${[...of][0]}`;
    const joined = node < tree.leaves ? 'not divided further' : `joined at ${Number(tree.heights[node].toPrecision(3))}`;
    // The leg, and the bar of a join.
    for (const y of node < tree.leaves ? [(top + bottom) / 2] : [(top + bottom) / 2, bottom + 1]) {
      await plot.hover({ position: { x, y } });
      assert.equal(await noteOf(page, PLOTS[0]), `Branch of ${rows.length} rows in ${within}, ${joined}.`);
      await plot.click({ position: { x, y } });
      assert.deepEqual(await selected(page), rows, `node ${node}`);
      await page.mouse.move(5, 5);
    }
  }
  await plot.click({ position: { x: 20, y: 100 } });
  assert.deepEqual(await selected(page), []);
});

one('a branch at the pointer stands out in both plots and lights up its rows', async (page, data) => {
  const [dendrogram, blocks] = PLOTS.map((name) => plotOf(page, name));
  await blocks.scrollIntoViewIfNeeded();
  const points = async () => (await page.locator('.plot').screenshot()).toString('base64');
  const [before, all] = [await shot(page, PLOTS[1]), await points()];
  const leg = legOf(data, 3, await dendrogram.boundingBox());
  await dendrogram.hover({ position: { x: leg.x, y: (leg.top + leg.bottom) / 2 } });
  assert.notEqual(await shot(page, PLOTS[1]), before);
  assert.notEqual(await points(), all);
  assert.equal(await page.evaluate(() => firebox.tree.shown.current), 3);
  await page.mouse.move(5, 5);
  assert.equal(await shot(page, PLOTS[1]), before);
  assert.equal(await points(), all);
});

one('the slider moves the cut and recolours the branches', async (page, data) => {
  const { tree, levels } = data.clusters;
  const plot = plotOf(page, PLOTS[0]);
  await plot.scrollIntoViewIfNeeded();
  const size = await plot.boundingBox();
  /** The colours at places of the canvas, as text. */
  const coloursAt = (places) =>
    plot.locator('canvas').evaluate((canvas, places) => {
      const { width, height } = canvas;
      const copy = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
      copy.drawImage(canvas, 0, 0);
      return places.map(([x, y]) => String(copy.getImageData(Math.floor(x), Math.floor(y), 1, 1).data));
    }, places);
  const shots = new Set();
  for (const level of levels.keys()) {
    await page.evaluate((level) => firebox.setLevel(level), level);
    shots.add(await shot(page, PLOTS[0]));
    const labels = await labelsShown(page);
    const cut = cutJoins(data, level);
    assert.equal(cut.length, level);
    const text = await textOf(page, PLOTS[0]);
    const noise = labels.filter((label) => label < 0).length;
    const result = `Dendrogram of 8 groups in ${level + 1} cluster${level ? 's' : ''} and ${noise} noise points`;
    const heightOf = (sides) => tree.heights[tree.leaves + tree.joins.indexOf(sides)];
    const low = Math.max(0, ...tree.joins.filter((sides) => !cut.includes(sides)).map(heightOf));
    const high = Math.min(...cut.map(heightOf));
    const isAcross = cut.length > 0 && low < high;
    const at = isAcross ? (low + high) / 2 : 0.95;
    const joins = cut.length ? `, ${cut.length} join${level > 1 ? 's' : ''} cut` : '';
    assert.equal(text, result + (isAcross ? `, cut at ${Number(at.toPrecision(3))}` : joins));
    const line = Math.round(8 + (1 - at) * (size.height - 44));
    const dashes = await coloursAt([...Array(9).keys()].map((x) => [46 + x, line]));
    assert.equal(new Set(dashes).size > 1, isAcross, `level ${level}: ${dashes}`);
    // The lower end of each leaf has the colour of its cluster.
    const legs = Array.from({ length: tree.leaves }, (_, leaf) => legOf(data, leaf, size));
    const colours = await coloursAt(legs.map(({ x, bottom }) => [x, bottom - 4]));
    const of = array(Int32Array, levels[level].labels);
    for (let a = 0; a < tree.leaves; a++)
      for (let b = 0; b < a; b++) assert.equal(colours[a] === colours[b], of[a] === of[b], `${level}: ${a}, ${b}`);
  }
  assert.equal(shots.size, levels.length);
});

for (const [pieces, below] of [
  [2, 'rows of each group'],
  [60, '60 groups'],
  [128, '128 groups'],
])
  one(
    `${pieces} groups`,
    async (page) => {
      await page.evaluate(() => {
        const { fillText } = CanvasRenderingContext2D.prototype;
        window.written = [];
        CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
          written.push(String(text));
          return fillText.call(this, text, ...place);
        };
        firebox.tree.plots[0].redraw();
      });
      const texts = await page.evaluate(() => written);
      assert.ok(texts.some((text) => text.startsWith(below)), String(texts));
      assert.match(await textOf(page, PLOTS[0]), new RegExp(`^Dendrogram of ${pieces} groups in 2 clusters`));
    },
    { rows: 3000, pieces, levels: 2 },
    { colorScheme: 'dark' }
  );
