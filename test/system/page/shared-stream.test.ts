/** Many pages in one browser share one stream, so that none waits for a connection. */
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { directoryOf } from '../../../src/http/fleet-directory.ts';
import { openHttpServer } from '../../../src/http/server.ts';
import { createLogger } from '../../../src/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { type Browser, describeInBrowser, openBrowser } from '../../support/browser.ts';
import { openStage, operatorToken, type Stage } from '../../support/stage.ts';

let stage: Stage;
let browser: Browser;
const open = async (path: string): Promise<Page> => {
  const page = await browser.context.newPage();
  await page.goto(`${stage.http.url}${path}`);
  return page;
};
const isLive = (page: Page) => page.locator('[data-connection="live"]').waitFor();
/** More than the six connections that a browser opens to one origin. */
const workers = Array.from({ length: 8 }, (_, index) => `w${index}`);

describeInBrowser('pages in one browser', () => {
  beforeAll(async () => {
    stage = await openStage({ policies: { policies: { default: { checks: [{ plan: {} }] } } } });
    for (const worker of workers) await stage.client.publish(`worker.${worker}.tool.used`, { tool: 'Bash' });
    browser = await openBrowser(() => [stage.http.url]);
  });
  afterEach(async () => {
    for (const page of browser.context.pages().slice(1)) await page.close();
  });
  afterAll(async () => {
    await browser?.close();
    await stage?.close();
  });

  test('more pages than connections are all live, each with its worker', async () => {
    const pages = await Promise.all(workers.map((worker) => open(`/?worker=${worker}`)));
    await Promise.all(pages.map(isLive));
    await Promise.all(workers.map((worker) => stage.client.ask(`decide.${worker}`)));
    await Promise.all(pages.map((page) => page.locator('aside article.decision').waitFor()));
    expect(browser.problems()).toEqual([]);
  });

  test('sign in and out together', async () => {
    const [one, other] = [await open('/'), await open('/')];
    await Promise.all([one, other].map(isLive));
    await one.getByRole('button', { name: 'Sign in' }).click();
    await one.getByLabel('Operator token').fill(operatorToken);
    await one.getByRole('button', { name: 'Continue' }).click();
    for (const page of [one, other]) await page.getByRole('button', { name: 'Sign out' }).waitFor();
    await other.getByRole('button', { name: 'Sign out' }).click();
    for (const page of [one, other]) await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await Promise.all([one, other].map(isLive));
  });

  test('a paused page is frozen, and says what it missed', async () => {
    // By name, so that a new row is among those drawn.
    const [paused, other] = [await open('/?sort=worker&worker=w1&tab=timeline'), await open('/?sort=worker')];
    await Promise.all([paused, other].map(isLive));
    await paused.locator('.timeline .line').first().waitFor();
    await paused.keyboard.press('p');
    await paused.locator('.notice', { hasText: 'Paused at entry' }).waitFor();
    await stage.client.publish('worker.late.tool.used', { tool: 'Bash' });
    const { seq } = await stage.client.publish('worker.w1.tool.used', { tool: 'Bash' });
    await other.locator('tr[data-id="late"]').waitFor();
    await paused.locator('.notice', { hasText: /: [2-9] entries since/ }).waitFor();
    expect(await paused.locator('tr[data-id="late"]').count()).toBe(0);
    await paused.getByRole('button', { name: 'Resume' }).click();
    await paused.locator('tr[data-id="late"]').waitFor();
    await paused.locator('.notice', { hasText: 'entries came while the page was paused' }).waitFor();
    await paused.locator(`.timeline .line[data-seq="${seq}"]`).waitFor();
    await paused.locator('.timeline .gap', { hasText: 'the page was paused here' }).waitFor();
    await paused.getByRole('button', { name: 'Go to where it was paused' }).click();
    await expect.poll(() => paused.locator('tr[data-id="late"]').count()).toBe(0);
    // After a reload, a paused page shows the past and how many entries are new.
    await paused.getByRole('button', { name: 'Back to live' }).click();
    await isLive(paused);
    await paused.keyboard.press('p');
    await paused.locator('.notice', { hasText: 'Paused at entry' }).waitFor();
    await stage.client.publish('worker.later.tool.used', { tool: 'Bash' });
    await paused.reload();
    await paused.locator('.travel-now', { hasText: /[1-9] new since then/ }).waitFor();
    await paused.locator('tr[data-id="late"]').waitFor();
    expect(await paused.locator('tr[data-id="later"]').count()).toBe(0);
    await paused.getByRole('button', { name: 'Back to live' }).click();
    await paused.locator('tr[data-id="later"]').waitFor();
    expect(new URL(paused.url()).search).toBe('?sort=worker&worker=w1&tab=timeline');
    expect(browser.problems()).toEqual([]);
  });

  test('all continue when the service comes back, even if the first page was closed', async () => {
    const first = await open('/');
    await isLive(first);
    const others = [await open('/?sort=worker'), await open('/?sort=worker&worker=w1'), await open('/?view=tasks')];
    await Promise.all(others.map(isLive));
    await first.close();
    await stage.http.close();
    await Promise.all(others.map((page) => page.locator('[data-connection="lost"]').waitFor()));
    const again = await openHttpServer({
      fleets: directoryOf(stage.replica),
      host: '127.0.0.1',
      port: Number(new URL(stage.http.url).port),
      token: null,
      operatorToken,
      version: '0.0.0',
      closeTimeoutMs: 60_000,
      metrics: createMetrics(),
      log: createLogger('silent'),
    });
    try {
      await Promise.all(others.map(isLive));
      const { seq } = await stage.client.publish('worker.back.tool.used', { tool: 'Bash' });
      for (const page of others.slice(0, 2)) await page.locator('tr[data-id="back"]').waitFor();
      await others[2]?.locator(`[data-connection="live"][title^="entry ${seq} "]`).waitFor();
    } finally {
      await again.close();
    }
  });
});
