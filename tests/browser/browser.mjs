// Opens pages in Chromium, and fails on anything that a report must not do.
import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
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
  page.on('dialog', (dialog) => { problems.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on('request', (request) => { if (!request.url().startsWith(address) && !request.url().startsWith('blob:')) problems.push(`request: ${request.url()}`); });
  await page.goto(address + hash);
  await page.waitForFunction(() => window.firebox).catch((error) => problems.push(String(error)));
  return { page, check: async () => { assert.deepEqual(problems, []); await context.close(); } };
}
