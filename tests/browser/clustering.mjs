// Tests on pages of clusterings that draw points in one way only.
import { after, before, test } from 'node:test';
import { launch, open } from './browser.mjs';
import { clusteringData, pageOf } from './sample.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** A test of the page of a sample clustering. */
export const one = (name, body, sample = {}, options = {}) =>
  test(name, async () => {
    const data = clusteringData(sample);
    const { page, check } = await open(browser, pageOf(data), options);
    await body(page, data);
    await check();
  });
