// Writes the screenshots in docs/plots of pages that the program wrote: clusters.html, map.html, solution.html, network.html.
// Usage: node screenshots.mjs FOLDER_OF_PAGES FOLDER_OF_IMAGES
import { join } from 'node:path';
import { launch, openFile } from './browser.mjs';

const [pages, images] = process.argv.slice(2);

/** What is done on each page before its picture is taken, and the height of the window. */
const SHOTS = {
  clusters: [
    960,
    async (page) => {
      await page.click('.sizes button >> nth=1');
      const place = await page.evaluate(() => firebox.scatter.pixelOfRow(firebox.state.labels.indexOf(1)));
      await page.mouse.move(...place);
    },
  ],
  map: [
    960,
    async (page) => {
      await page.focus('.shepard');
      await page.keyboard.press('ArrowRight');
    },
  ],
  solution: [1080, async (page) => page.selectOption('label:has-text("Field") select', { index: 3 })],
  network: [1250, async (page) => page.locator('[role=gridcell]').nth(44).click()],
};

const browser = await launch();
for (const [name, [height, act]] of Object.entries(SHOTS)) {
  const { page, check } = await openFile(browser, join(pages, `${name}.html`), { viewport: { width: 1180, height } });
  await act(page);
  await page.waitForTimeout(700);
  await page.screenshot({ path: join(images, `report-${name}.png`) });
  await check();
}
await browser.close();
