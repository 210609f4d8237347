/** The entries view, and ways to a time: by keyboard, from a worker, from an address. */
import { expect, test } from 'vitest';
import { describeInBrowser } from '../../support/browser.ts';
import { usePage } from '../../support/page.ts';

describeInBrowser('the entries', () => {
  const ui = usePage({ default: { checks: [{ plan: {} }], retries: 3 } }, undefined, async ({ client }) => {
    await client.publish('worker.ana.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] });
    await client.ask('decide.ana');
    for (let count = 0; count < 150; count += 1)
      await client.publish('worker.bob.tool.used', { tool: `Tool-${count}` });
  });
  const lines = () =>
    ui.page.locator('.entries .line').evaluateAll((all) => all.map((line) => line.getAttribute('data-type')));

  test('are found by type, worker and text, appear live, and the address keeps the filter', async () => {
    const { page, stage } = ui;
    await ui.open('/?view=entries');
    await expect.poll(async () => (await lines()).length).toBe(100);
    await page.getByRole('button', { name: 'Older entries' }).click();
    await page.getByText(/^That is all: 1\d\d entries listed\./).waitFor();
    await page.getByLabel('Search entries').fill('worker:bob tool-149');
    await expect.poll(lines).toEqual(['tool.used']);
    await page.getByLabel('Search entries').fill('worker:ana');
    await page.getByLabel('type', { exact: true }).selectOption('decision');
    await expect.poll(lines).toEqual(['decision']);
    await stage.client.ask('decide.ana');
    await expect.poll(lines).toEqual(['decision', 'decision']);
    await page.reload();
    await expect.poll(lines).toEqual(['decision', 'decision']);
    await page.locator('.entries .line .seq').last().click();
    await page.locator('.travel').waitFor();
    await expect.poll(lines).toEqual(['decision']);
  });

  test('an entry is three steps away: Ctrl-K, its number, Enter; rows stay until the new ones are loaded', async () => {
    const { page, stage } = ui;
    await ui.open('/');
    await page.locator('.grid tr[data-id="bob"]').waitFor();
    const { body } = await stage.get('entries?worker=ana&limit=1000');
    const first = body.entries[0];
    let answer = () => {};
    await page.route('**/at/*', async (asked) => {
      await new Promise<void>((done) => (answer = done));
      await asked.continue();
    });
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: /^Find a worker/ }).waitFor();
    await page.keyboard.type(`#${first.seq}`);
    await page.getByRole('option', { name: `Go to entry ${first.seq}` }).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('.connection', { hasText: 'loading the past…' }).waitFor();
    await page.locator('.travel .late').waitFor();
    expect(await page.locator('.grid tr[data-id="bob"]').count()).toBe(1);
    await expect.poll(() => page.evaluate(`getComputedStyle(document.querySelector('.page')).opacity`)).toBe('0.5');
    answer();
    await page.locator('.grid tr[data-id="bob"]').waitFor({ state: 'detached' });
    expect(await ui.rows()).toEqual(['ana']);
    await page.locator('.connection', { hasText: /^at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d/ }).waitFor();
    await page.unroute('**/at/*');
  });
});
