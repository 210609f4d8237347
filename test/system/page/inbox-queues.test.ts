/** Queues whose tasks nobody could take: they are told of in the inbox, and counted where it is. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Browser, describeInBrowser, openBrowser } from '../../support/browser.ts';
import { openStage, type Stage } from '../../support/stage.ts';

let stage: Stage;
let browser: Browser;

describeInBrowser('a queue that nobody attends', () => {
  beforeAll(async () => {
    stage = await openStage({ policies: { policies: {}, escalation: { unattended: '100ms' } } });
    browser = await openBrowser(() => [stage.http.url]);
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await stage?.close();
  });

  test('stands in the inbox, with what to do, until a worker is there', async () => {
    const { page } = browser;
    await stage.client.publish('task.T-1.task.created', { title: 'Fix login', queue: 'build' });
    await page.goto(`${stage.http.url}/?view=inbox`);
    const note = page.locator('[data-entity="queue"][data-id="build"]');
    await note.waitFor();
    expect(await note.textContent()).toMatch(
      /^Queue build: 1 task waits, and no worker is there\. .*Start a worker of this queue\.$/,
    );
    expect(await page.title()).toBe('(1) stopgate inspector');
    expect(await browser.axe()).toEqual([]);
    await stage.client.publish('worker.w1.worker.registered', { queue: 'build' });
    await note.waitFor({ state: 'detached' });
    await expect.poll(() => page.title()).toBe('stopgate inspector');
  });
});
