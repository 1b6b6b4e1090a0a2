// Measures pages: frames a second while the view moves, by Chromium's tracing, with WebGL in software and with canvas 2D.
// Usage: node frames.mjs PAGE...
import { statSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const SECONDS = 4;

/** Counts the frames that the compositor drew while `act` ran, and its seconds. */
async function framesDuring(browser, page, act) {
  await browser.startTracing(page, { categories: ['benchmark', 'cc', 'viz'] });
  const start = performance.now();
  await act();
  const seconds = (performance.now() - start) / 1000;
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  return { seconds, frames: traceEvents.filter(({ name }) => name === 'Display::FrameDisplayed').length };
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--enable-unsafe-swiftshader'],
});
for (const path of process.argv.slice(2)) {
  for (const hash of ['', '#2d']) {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    const start = performance.now();
    await page.goto(pathToFileURL(path).href + hash);
    await page.waitForFunction(() => window.firebox);
    const opened = (performance.now() - start) / 1000;
    await page.waitForTimeout(1000);
    const { seconds, frames } = await framesDuring(browser, page, () =>
      page.evaluate(async (seconds) => {
        // A drag along a circle, one move a frame, as a hand does.
        const plot = document.querySelector('.plot');
        const box = plot.getBoundingClientRect();
        plot.setPointerCapture = () => {};
        const at = (angle) => ({
          clientX: box.left + box.width / 2 + 80 * Math.sin(angle),
          clientY: box.top + box.height / 2 + 80 * (1 - Math.cos(angle)),
          pointerId: 1,
          bubbles: true,
        });
        const send = (type, angle) => plot.dispatchEvent(new PointerEvent(type, at(angle)));
        send('pointerdown', 0);
        const end = performance.now() + 1000 * seconds;
        for (let angle = 0; performance.now() < end; angle += 0.05) {
          send('pointermove', angle);
          await new Promise(requestAnimationFrame);
        }
        send('pointerup', 0);
      }, SECONDS)
    );
    const painter = await page.evaluate(() => firebox.scatter.painter);
    console.log(
      JSON.stringify({ path, bytes: statSync(path).size, painter, opened_s: +opened.toFixed(2), frames_per_s: +(frames / seconds).toFixed(1) })
    );
    await page.close();
  }
}
await browser.close();
