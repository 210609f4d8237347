/** Time travel and "what if" in a long log: progress and cancelling. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Browser, describeInBrowser, openBrowser } from '../../support/browser.ts';
import { openStage, type Stage } from '../../support/stage.ts';

const entries = 60_000;
let stage: Stage;
let browser: Browser;

describeInBrowser('a long log', () => {
  beforeAll(async () => {
    stage = await openStage();
    // The compared rows begin with it.
    await stage.client.ask('decide.w1', {}, 60_000);
    for (let index = 0; index < entries; index += 1)
      stage.client.nc.publish(`stopgate.main.worker.w${index % 20}.tool.used`, '{"tool":"Bash"}');
    await stage.client.nc.flush();
    // Stored after them, so they are all there.
    await stage.client.ask('decide.w1', {}, 60_000);
    browser = await openBrowser(() => [stage.http.url]);
  });
  afterAll(async () => {
    await browser?.close();
    await stage?.close();
  });

  const progress = () => browser.page.getByRole('progressbar', { name: 'Entries folded' });
  const button = (name: string) => browser.page.getByRole('button', { name, exact: true });

  test('shows the progress of a comparison, and cancels it', async () => {
    await browser.page.goto(`${stage.http.url}/?view=what-if`);
    await expect.poll(() => browser.page.getByLabel('Policies, as in stopgate.yaml').innerText()).toContain('policies');
    // It compares automatically, and may already be done.
    const compareAgain = () => button('Compare').click({ timeout: 200 });
    const shown = async () => (await progress().count()) > 0 || (await compareAgain().catch(() => false));
    await expect.poll(shown).toBe(true);
    expect(Number(await progress().getAttribute('max'))).toBeGreaterThan(entries);
    await button('Cancel').click();
    await button('Compare').waitFor();
    expect(await progress().count()).toBe(0);
    expect(await browser.page.locator('.problem').count()).toBe(0);
  });

  test('shows the progress of a jump; cancelling returns to the previous entry', async () => {
    const { page } = browser;
    await page.goto(`${stage.http.url}/?at=${entries}`);
    await progress().waitFor();
    await button('Cancel').click();
    await page.locator('.travel').waitFor({ state: 'detached' });
    await page.locator('.grid tr[data-id="w1"]').waitFor();
    expect(browser.problems()).toEqual([]);
  });
});
