// The controls of a clustering's report, and unusual data.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { downloaded, labelsOf, labelsShown, levelShown, namelessControls, pixelOf, selected } from './browser.mjs';
import { one } from './clustering.mjs';
import { HOSTILE, scriptOf, styleOf } from './sample.mjs';

one('the slider changes the labels, by the keyboard too', async (page, data) => {
  assert.deepEqual(await labelsShown(page), labelsOf(data, 2));
  await page.focus('input[type=range]');
  await page.keyboard.press('ArrowRight');
  assert.equal(await levelShown(page), 3);
  assert.deepEqual(await labelsShown(page), labelsOf(data, 3));
  assert.equal(await page.getAttribute('input[type=range]', 'aria-valuetext'), '4 clusters, contrast 0.8, score 0.64, probability by chance 0.0907');
  assert.equal(await page.locator('.sizes li').count(), 5);
  await page.keyboard.press('Home');
  assert.deepEqual(await labelsShown(page), labelsOf(data, 0));
  await page.click('text=Back to the chosen 3');
  assert.equal(await levelShown(page), 2);
  assert.match(await page.getAttribute('input[type=range]', 'aria-valuetext'), /^3 clusters, chosen, contrast 3\.4,/);
  assert.equal(await page.evaluate(() => document.activeElement.type), 'range');
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

one(
  'the theme follows the system, and can be chosen',
  async (page) => {
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(await paper(), 'rgb(24, 26, 30)');
    await page.selectOption('header select', '1');
    assert.equal(await paper(), 'rgb(255, 255, 255)');
    assert.equal(await page.evaluate(() => firebox.theme.name), 'light');
    await page.selectOption('header select', '0');
    await page.emulateMedia({ colorScheme: 'light' });
    await page.waitForFunction(() => firebox.theme.name === 'light');
    assert.equal(await paper(), 'rgb(255, 255, 255)');
  },
  {},
  { colorScheme: 'dark' }
);

one(
  'names in the data are text',
  async (page) => {
    assert.equal(await page.locator('img').count(), 0);
    await page.selectOption('.tools select >> nth=2', '1');
    assert.ok((await page.innerText('.key')).includes(HOSTILE));
    const { text } = await (async () => {
      await page.click('.sizes button');
      return downloaded(page, 'text=Download rows');
    })();
    assert.ok(text.startsWith(`row,x,y,"a ""quoted"", name ${HOSTILE}",cluster\n`));
  },
  { columns: 3 }
);

one(
  'on paper it is light, without controls',
  async (page) => {
    const open = () => page.evaluate(() => [...document.querySelectorAll('details')].map((part) => part.open));
    await page.click('summary');
    await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
    assert.equal(await page.evaluate(() => firebox.theme.name), 'light');
    assert.deepEqual(await open(), [true, true]);
    await page.evaluate(() => dispatchEvent(new Event('afterprint')));
    assert.deepEqual(await open(), [true, false]);
    assert.equal(await page.evaluate(() => firebox.theme.name), 'dark');
    await page.emulateMedia({ media: 'print' });
    assert.ok(await page.isHidden('.tools'));
    assert.ok(await page.isVisible('.plot'));
  },
  {},
  { colorScheme: 'dark' }
);

for (const hash of ['', '#2d'])
  one(
    `printed plots have all layers in one canvas${hash}`,
    async (page) => {
      await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
      await page.emulateMedia({ media: 'print' });
      assert.ok(await page.isVisible('.plot .printed'));
      assert.equal(await page.locator('.plot .layer:visible').count(), 0);
      const { coloured, dark } = await page.evaluate(() => {
        const canvas = document.querySelector('.plot .printed');
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        const found = { coloured: 0, dark: 0 };
        for (let i = 0; i < data.length; i += 4) {
          const part = data.slice(i, i + 3);
          const [low, high] = [Math.min(...part), Math.max(...part)];
          if (data[i + 3] > 200 && high - low > 80) found.coloured++;
          if (data[i + 3] > 200 && high < 130 && high - low < 10) found.dark++;
        }
        return found;
      });
      assert.ok(coloured > 3000 && dark > 1000, `${coloured} coloured, ${dark} dark`);
      await page.evaluate(() => dispatchEvent(new Event('afterprint')));
      assert.equal(await page.locator('.printed').count(), 0);
    },
    {},
    { hash, colorScheme: 'dark' }
  );

one('Clear moves the focus to the plot and is announced', async (page) => {
  await page.click('.sizes button');
  await page.click('text=Clear');
  assert.equal(await page.evaluate(() => document.activeElement.className), 'plot');
  assert.equal(await page.evaluate(() => document.querySelector('[role=status]').textContent), 'Nothing is selected.');
});

one(
  'two fingers zoom, and move with the place between them',
  async (page) => {
    const box = await page.locator('.plot').boundingBox();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    const session = await page.context().newCDPSession(page);
    const touch = (type, ...places) =>
      session.send('Input.dispatchTouchEvent', { type, touchPoints: places.map(([x, y], id) => ({ x, y, id })) });
    await touch('touchStart', [x - 50, y], [x + 50, y]);
    await touch('touchMove', [x - 75, y], [x + 75, y]);
    await touch('touchMove', [x - 100, y], [x + 100, y]);
    await touch('touchEnd');
    const zoom = await page.evaluate(() => firebox.scatter.view.zoom);
    assert.ok(Math.abs(zoom - 2) < 0.05, String(zoom));
    assert.equal((await selected(page)).length, 0);
  },
  {},
  { hasTouch: true }
);

one('marks survive a change of the number of clusters', async (page) => {
  await page.click('.sizes button');
  const rows = await selected(page);
  const marked = () => page.evaluate(() => firebox.state.marks.reduce((sum, mark) => sum + mark, 0));
  await page.evaluate(() => firebox.setLevel(4));
  assert.deepEqual(await selected(page), rows);
  assert.equal(await marked(), rows.length);
  assert.match(await page.innerText('.selection'), /rows selected: cluster 0 of 3/);
});

one(
  'row numbers and the command are copied',
  async (page, data) => {
    await page.click('header button');
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), data.command);
    await page.click('.sizes button >> nth=2');
    await page.click('text=Copy row numbers');
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), (await selected(page)).join('\n'));
  },
  {},
  { permissions: ['clipboard-read', 'clipboard-write'] }
);

test('script and style are small', () => {
  for (const kind of ['ocnn', 'sammon', 'rbf', 'perceptron', 'regression']) {
    const bytes = Buffer.byteLength(scriptOf(kind)) + Buffer.byteLength(styleOf(kind));
    assert.ok(bytes < 60000, `${kind}: ${bytes} bytes`);
  }
});

one('all controls have names', async (page) => assert.deepEqual(await namelessControls(page), []), { columns: 4 });

one('without a clipboard the button says so', async (page) => {
  await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }));
  await page.click('header button');
  assert.equal(await page.innerText('header button'), 'Not allowed here');
});
