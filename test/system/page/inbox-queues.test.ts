/** Unattended queues, and requests whose agent no longer waits. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Browser, describeInBrowser, openBrowser } from '../../support/browser.ts';
import { openStage, operatorToken, type Stage } from '../../support/stage.ts';

let stage: Stage;
let browser: Browser;

describeInBrowser('a queue that nobody attends', () => {
  beforeAll(async () => {
    stage = await openStage({
      policies: { policies: { default: { ask: '1s' } }, escalation: { unattended: '100ms' } },
    });
    browser = await openBrowser(() => [stage.http.url]);
  });
  afterAll(async () => {
    await browser?.close();
    await stage?.close();
  });

  test('an unattended queue is in the inbox with advice, until there is a worker', async () => {
    const { page } = browser;
    await stage.client.publish('task.T-1.task.created', { title: 'Fix login', queue: 'build' });
    await page.goto(`${stage.http.url}/?view=inbox`);
    const note = page.locator('[data-entity="queue"][data-id="build"]');
    await note.waitFor();
    expect(await note.textContent()).toMatch(
      /^Queue build: 1 task waits, and there is no worker\. .*Start a worker for this queue\.$/,
    );
    expect(await page.title()).toBe('(1) stopgate inspector');
    expect(await browser.axe()).toEqual([]);
    const session = `${stage.http.url}/api/main/session`;
    expect((await browser.context.request.post(session, { data: { token: operatorToken } })).status()).toBe(204);
    await page.evaluate("localStorage.setItem('stopgate.by', 'Ann')");
    await page.reload();
    await page.getByRole('button', { name: 'Acknowledge' }).click();
    await page.getByText('acknowledged by Ann').waitFor();
    expect((await stage.get('get/queue/build')).body.unattended).toMatchObject({ acknowledgedBy: 'Ann' });
    await stage.client.publish('worker.w1.worker.registered', { queue: 'build' });
    await note.waitFor({ state: 'detached' });
    await expect.poll(() => page.title()).toBe('stopgate inspector');
  });

  test("a request that is no longer held must be answered in the agent's terminal, and the page says so", async () => {
    const { page } = browser;
    await stage.client.publish('worker.eve.input.requested', { kind: 'permission', request: 'p1', tool: 'Bash' });
    await page.goto(`${stage.http.url}/?view=inbox`);
    await page.locator('.card[data-id="eve"]', { hasText: 'now asks in its terminal' }).waitFor();
    await page.locator('aside', { hasText: 'Answer it in the agent’s own terminal.' }).waitFor();
    expect(await page.getByRole('button', { name: 'Allow' }).count()).toBe(0);
  });
});
