/** Five thousand workers: all are shown, and changes are drawn once per frame. */
import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { jetstream } from '@nats-io/jetstream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Browser, describeInBrowser, openBrowser } from '../../support/browser.ts';
import { openStage, type Stage } from '../../support/stage.ts';

let stage: Stage;
let browser: Browser;
const workers = 5_000;
const nameOf = (index: number) => `w${String(index).padStart(4, '0')}`;

/**
 * Publishes a number of entries every 10 ms, or as fast as the server reads, until `until` returns true. @returns the
 * count
 */
async function keepTalking(count: number, until: () => boolean): Promise<number> {
  let sent = 0;
  while (!until()) {
    for (const end = sent + count; sent < end; sent += 1)
      stage.client.nc.publish(`stopgate.main.worker.${nameOf(sent % workers)}.tool.used`, '{"tool":"Bash","ok":true}');
    await Promise.all([stage.client.nc.flush(), new Promise((done) => setTimeout(done, 10))]);
  }
  return sent;
}

/** Sums layout shifts as measured by the browser, after verifying that it detects one. */
const watchShifts = `new Promise((done) => {
  globalThis.shifts = { made: 0, score: 0 };
  const main = document.querySelector('main');
  const step = () => {
    shifts.made += 1;
    main.style.marginTop = '';
    if (shifts.made === 2) done();
  };
  new PerformanceObserver((list) => {
    for (const { value } of list.getEntries()) if (shifts.made < 2) step(); else shifts.score += value;
  }).observe({ type: 'layout-shift' });
  main.style.marginTop = '60px';
})`;

const unreadable = readFileSync(new URL('../../support/unreadable.js', import.meta.url), 'utf8');

describeInBrowser('five thousand workers', () => {
  beforeAll(async () => {
    stage = await openStage({ policies: { policies: { default: { promises: true } } } });
    const js = jetstream(stage.client.nc);
    for (let index = 0; index < workers; index += 500)
      await Promise.all(
        Array.from({ length: 500 }, (_, workerIndex) =>
          js.publish(`stopgate.main.worker.${nameOf(index + workerIndex)}.worker.registered`, '{"agent":"claude"}'),
        ),
      );
    browser = await openBrowser(() => [stage.http.url]);
  });
  afterAll(async () => {
    await browser?.close();
    await stage?.close();
  });

  test('are all counted, drawn, and found by name', async () => {
    await browser.page.goto(`${stage.http.url}/?sort=worker`);
    await browser.page.locator('.shown', { hasText: '5,000 workers' }).waitFor();
    expect(await browser.page.getByRole('grid').getAttribute('aria-rowcount')).toBe('5001');
    expect(await browser.page.locator('.grid tr[data-id]').count()).toBeLessThan(60);
    await browser.page.getByRole('button', { name: 'Cells' }).click();
    await browser.page.getByRole('img', { name: '5,000 workers, one cell each' }).waitFor();
    await browser.page.locator('.grid tr[data-id]').first().focus();
    await browser.page.keyboard.press('End');
    await browser.page.locator(`tr[data-id="${nameOf(workers - 1)}"]`).waitFor();
    await browser.page.getByLabel('Search workers').fill('w4242');
    await browser.page.locator('tr[data-id="w4242"]').waitFor();
    // The list itself shows so few.
    expect(await browser.page.locator('.cells').count()).toBe(0);
  });

  // Views with fewer of them: access.test.ts.
  test('can be read at every width, one cell each', async () => {
    const { page } = browser;
    await page.evaluate(`history.pushState(null, '', '/?sort=-seen'); dispatchEvent(new PopStateEvent('popstate'))`);
    await page.locator('.cells').first().waitFor();
    for (const width of [1_440, 1_024, 390]) {
      await page.setViewportSize({ width, height: 800 });
      await expect.poll(() => page.evaluate(unreadable)).toEqual([]);
    }
  });

  test('are drawn once per frame, however many entries come', async () => {
    await browser.page.goto(stage.http.url);
    await browser.page.locator('.shown', { hasText: '5,000 workers' }).waitFor();
    await browser.page.evaluate(() => performance.clearMeasures());
    let enough = false;
    const talking = keepTalking(50, () => enough);
    const frames = () => browser.page.evaluate(() => performance.getEntriesByName('apply').length);
    try {
      await expect.poll(frames, { interval: 250, timeout: 120_000 }).toBeGreaterThan(20);
    } finally {
      enough = true;
      await talking;
    }
    // At most 60 frames a second; the bench holds what one costs.
    expect((await talking) / (await frames())).toBeGreaterThan(20);
  });

  test('cause no layout shifts at 1,000 entries per second', async () => {
    // Without the cells that an earlier test has opened: they are painted later than the list.
    await browser.page.setViewportSize({ width: 1_280, height: 720 });
    await browser.page.goto(stage.http.url);
    await browser.page.evaluate(`localStorage.removeItem('stopgate.strip')`);
    await browser.page.reload();
    await browser.page.locator('.shown', { hasText: '5,000 workers' }).waitFor();
    await browser.page.evaluate(watchShifts);
    let enough = false;
    const talking = keepTalking(10, () => enough);
    try {
      const frames = () => browser.page.evaluate(() => performance.getEntriesByName('apply').length);
      const before = await frames();
      await expect.poll(frames, { interval: 250 }).toBeGreaterThan(before + 60);
    } finally {
      enough = true;
      await talking;
    }
    expect(await browser.page.evaluate<number>('shifts.score')).toBeLessThan(0.05);
  });

  test('cause no errors', () => {
    expect(browser.problems()).toEqual([]);
  });
});

test('the page is at most 100 KiB compressed; other parts load on demand', () => {
  const read = (name: string) => readFileSync(new URL(`../../../dist/inspector/${name}`, import.meta.url));
  const files = [
    ...read('index.html')
      .toString()
      .matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g),
  ].map(([, name = '']) => name);
  const stream = readdirSync(new URL('../../../dist/inspector/assets', import.meta.url)).filter((file) =>
    /^shared-stream.*\.js$/.test(file),
  );
  files.push(...stream.map((file) => `assets/${file}`));
  expect(files.length).toBeGreaterThanOrEqual(4);
  const bytes = ['index.html', ...files].reduce((sum, name) => sum + gzipSync(read(name), { level: 9 }).length, 0);
  expect(bytes).toBeLessThanOrEqual(100 * 1024);
});
