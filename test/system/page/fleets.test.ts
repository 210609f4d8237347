/** The page of a service with several fleets: one at a time, chosen in the header and kept in the address. */
import { jetstreamManager } from '@nats-io/jetstream';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Browser, describeInBrowser, openBrowser } from '../../support/browser.ts';
import { openClient } from '../../support/client.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';

let deployment: Deployment;
let browser: Browser;
const fleets = ['main', 'web', 'f3', 'f4', 'f5'];

describeInBrowser('several fleets', () => {
  beforeAll(async () => {
    deployment = await deploy({ args: fleets.flatMap((fleet) => ['--fleet', fleet]) });
    const web = await openClient(deployment.server.url, 'web');
    await web.ask('decide.of-web');
    await deployment.client.ask('decide.of-main');
    await web.close();
    browser = await openBrowser(() => [deployment.http]);
  });
  afterAll(async () => {
    await browser?.close();
    await deployment?.close();
  });

  test('shows the first or a chosen one, and the address keeps it', async () => {
    const { page } = browser;
    const row = (worker: string) => page.locator(`tr[data-id="${worker}"]`);
    await page.goto(deployment.http);
    await row('of-main').waitFor();
    await page.getByLabel('Fleet').selectOption('web');
    await row('of-web').waitFor();
    expect(await row('of-main').count()).toBe(0);
    await row('of-web').click();
    await page.waitForURL('**/?fleet=web&worker=of-web');
    await page.reload();
    await page.locator('article.decision').first().waitFor();
    expect(await page.getByLabel('Fleet').inputValue()).toBe('web');
  });

  test('with more fleets than connections, a page says that it waits, and continues when another closes', async () => {
    const { context, page } = browser;
    await page.goto('about:blank');
    const open = async (fleet: string) => {
      const opened = await context.newPage();
      await opened.goto(`${deployment.http}/?fleet=${fleet}`);
      return opened;
    };
    const isLive = (one: Page) => one.locator('[data-connection="live"]').waitFor();
    const four = await Promise.all(fleets.slice(0, 4).map(open));
    await Promise.all(four.map(isLive));
    const last = await open('f5');
    await last.locator('.notice', { hasText: 'This browser also shows other fleets' }).waitFor();
    // Requests still get a connection.
    expect(await last.evaluate(() => fetch('/api').then(({ status }) => status))).toBe(200);
    await four[0]?.close();
    await isLive(last);
    expect(browser.problems()).toEqual([]);
    await Promise.all([...four, last].map((browserPage) => browserPage.close()));
  });

  test('reports a lost log, although the service keeps running', async () => {
    const { page } = browser;
    await page.goto(`${deployment.http}/?fleet=web`);
    await page.locator('tr[data-id="of-web"]').waitFor();
    await (await jetstreamManager(deployment.client.nc)).streams.delete('STOPGATE_web');
    await page
      .getByRole('alert')
      .filter({ hasText: 'No stop can be decided now: the log STOPGATE_web is gone' })
      .waitFor();
    expect(await page.locator('.connection').innerText()).toBe('nothing is decided');
    expect(await page.locator('tr[data-id="of-web"]').count()).toBe(1);
    // A fleet without a stream: the service reports why.
    await page.goto(`${deployment.http}/?fleet=none`);
    await page.getByRole('alert').filter({ hasText: "no fleet 'none' here" }).waitFor();
    browser.problems();
  });
});
