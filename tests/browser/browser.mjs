// Opens pages in Chromium, and fails on anything that a report must not do.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const folder = mkdtempSync(join(tmpdir(), 'firebox-html-'));
let pages = 0;

export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
}

/** Writes a page to a file and opens it. `check` fails if there was an error, a warning on the console or a request. */
export async function open(browser, html, { hash = '', ...options } = {}) {
  const path = join(folder, `${++pages}.html`);
  writeFileSync(path, html);
  return openFile(browser, path, { hash, ...options });
}

/** Opens a file. */
export async function openFile(browser, path, { hash = '', ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  const problems = [];
  const address = pathToFileURL(path).href;
  page.on('console', (message) => {
    // Chromium says this of any WebGL without a GPU when a picture of the page is taken.
    const isKnown = message.text().includes('GPU stall due to ReadPixels');
    if (['error', 'warning'].includes(message.type()) && !isKnown) problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(error.stack));
  page.on('dialog', (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(address) && !request.url().startsWith('blob:'))
      problems.push(`request: ${request.url()}`);
  });
  await page.goto(address + hash);
  await page.waitForFunction(() => window.firebox).catch((error) => problems.push(String(error)));
  return {
    page,
    check: async () => {
      assert.deepEqual(problems, []);
      await context.close();
    },
  };
}

/** A typed array of a text in base64. */
export const array = (Type, text) => {
  const bytes = Uint8Array.from(Buffer.from(text, 'base64'));
  return new Type(bytes.buffer);
};

/** Labels by the definition of the data: noise by its bit, else the cluster of the row's piece. */
export function labelsOf({ rows, clusters }, level) {
  const pieces = array(Uint32Array, clusters.pieces);
  const labels = array(Int32Array, clusters.levels[level].labels);
  const noise = array(Uint8Array, clusters.levels[level].noise);
  return Array.from({ length: rows }, (_, row) => ((noise[row >> 3] >> (row % 8)) & 1 ? -1 : labels[pieces[row]]));
}

export const labelsShown = (page) => page.evaluate(() => [...firebox.state.labels]);
export const pixelOf = (page, row) => page.evaluate((row) => firebox.scatter.pixelOfRow(row), row);
export const selected = (page) => page.evaluate(() => [...firebox.selection.rows]);
export const levelShown = (page) => page.evaluate(() => firebox.state.level);

/** The file that a click downloads. */
export async function downloaded(page, selector) {
  const [file] = await Promise.all([page.waitForEvent('download'), page.click(selector)]);
  return { name: file.suggestedFilename(), text: readFileSync(await file.path(), 'utf8') };
}

/** Drags around a rectangle of the page, with a corner cut off. */
export async function drawAround(page, [left, top, right, bottom]) {
  await page.mouse.move(left, top);
  await page.mouse.down();
  for (const place of [
    [right, top],
    [right, bottom],
    [left, bottom],
  ])
    await page.mouse.move(...place, { steps: 4 });
  await page.mouse.up();
}

/** Waits for two frames: what was requested before them is drawn. */
export const frames = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** The controls of a page that have no name. */
export const namelessControls = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('button, input, select, [tabindex]')]
      .filter((control) => !(control.getAttribute('aria-label') || control.textContent.trim() || control.labels?.length))
      .map((control) => control.outerHTML)
  );

/** Waits until a plot has come to rest and is drawn: the page's timers have ended, and two frames after them. */
export async function settled(page) {
  await page.waitForTimeout(400);
  await frames(page);
}
