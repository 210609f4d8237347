/** The page of a service with several fleets: one at a time, by its address, with a choice in the header. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Browser, describeInBrowser, openBrowser } from '../../support/browser.ts';
import { openClient } from '../../support/client.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';

let at: Deployment;
let browser: Browser;

describeInBrowser('several fleets', () => {
  beforeAll(async () => {
    at = await deploy({ args: ['--fleet', 'main', '--fleet', 'web'] });
    const web = await openClient(at.server.url, 'web');
    await web.ask('decide.of-web');
    await at.client.ask('decide.of-main');
    await web.close();
    browser = await openBrowser(() => [at.http]);
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await at?.close();
  });

  test('the first is shown, another by choice, and the address keeps it', async () => {
    const { page } = browser;
    const row = (worker: string) => page.locator(`tr[data-id="${worker}"]`);
    await page.goto(at.http);
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
});
