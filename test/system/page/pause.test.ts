/** An operator pauses a worker on the page, and resumes judging. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { hashOfToken } from '../../../src/config/access-tokens.ts';
import { directoryOf } from '../../../src/http/fleet-directory.ts';
import { openHttpServer } from '../../../src/http/server.ts';
import { createLogger } from '../../../src/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { type Browser, describeInBrowser, openBrowser } from '../../support/browser.ts';
import { plan } from '../../support/page.ts';
import { openStage, operatorToken, type Stage } from '../../support/stage.ts';

let stage: Stage;
let browser: Browser;
let guardedUrl = '';

const button = (name: string) => browser.page.locator('aside').getByRole('button', { name, exact: true });
const dialog = () => browser.page.locator('dialog');
const note = () => browser.page.locator('aside .pause-note');
const tag = (worker: string) => browser.page.locator(`tr[data-id="${worker}"] .why .tag`, { hasText: 'paused' });
const stored = (subject: string) => stage.client.stored('STOPGATE_main', `stopgate.main.own.${subject}`);
const stop = async (worker: string) => (await stage.client.ask(`decide.${worker}`)).body;
const open = async (worker: string) => {
  await browser.page.goto(`${stage.http.url}/?worker=${worker}`);
  await browser.page.locator('aside [role="tab"]').first().waitFor();
};

describeInBrowser('an operator who pauses', () => {
  beforeAll(async () => {
    stage = await openStage({
      policies: {
        policies: {
          default: { checks: [{ plan: {} }], background: { max: '1h', ignore: ['npm run dev'] } },
          strict: { checks: [{ plan: {} }], pause: 'deny' },
        },
      },
    });
    for (const worker of ['ana', 'bob']) {
      await stage.client.publish(`worker.${worker}.worker.registered`, worker === 'bob' ? { policy: 'strict' } : {});
      await stage.client.publish(`worker.${worker}.plan.updated`, plan('pending', 'pending', 'pending'));
    }
    browser = await openBrowser(() => [stage.http.url, guardedUrl], /401 \(Unauthorized\)|409 \(Conflict\)/);
  });
  afterAll(async () => {
    await browser?.close();
    await stage?.close();
  });

  // Without a pause it changes nothing.
  beforeEach(() => stage.post('operator/unpause', { id: 'ana', by: 'before' }, operatorToken));

  test('chooses for how long, and its stops are not judged until judging resumes', async () => {
    const { page } = browser;
    await open('ana');
    await button('Pause…').click();
    await page.getByLabel('Operator token').fill(operatorToken);
    await page.getByRole('button', { name: 'Continue' }).click();
    await dialog().getByLabel('30 minutes').check();
    await dialog().getByLabel('Your name').fill('Ann');
    expect(await browser.axe()).toEqual([]);
    await dialog().getByRole('button', { name: 'Pause', exact: true }).click();
    await note().waitFor();
    expect(await stored('worker.ana.worker.paused')).toEqual([{ by: 'Ann', forMs: 1_800_000 }]);
    expect(await note().innerText()).toMatch(
      /^Paused by Ann .+, until .*\d\d:\d\d:\d\d \((?:30m|29m \d+s) left\)\. Its stops are allowed and not judged\.$/,
    );
    expect(await page.locator('[data-timer="pause"]').innerText()).toMatch(/(?:30m|29m \d+s) left/);
    await expect.poll(() => tag('ana').innerText()).toMatch(/^paused, (?:30|29)m left$/);
    expect(await browser.axe()).toEqual([]);

    expect(await stop('ana')).toMatchObject({ decision: 'allow', cause: 'bypassed' });
    await page.locator('article.decision[data-cause="bypassed"]').waitFor();

    // The focus stays on the button that replaces the pressed one.
    await button('Resume judging').focus();
    await page.keyboard.press('Enter');
    await note().waitFor({ state: 'detached' });
    await tag('ana').waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Pause…');
    expect(await stored('worker.ana.worker.unpaused')).toEqual([{ by: 'before' }, { by: 'Ann' }]);
    expect(await stop('ana')).toMatchObject({ decision: 'block' });

    await page.getByRole('tab', { name: 'Timeline' }).click();
    const line = (type: string) => page.locator(`.line[data-by="operator"][data-type="${type}"] .text`);
    await expect.poll(() => line('worker.unpaused').count()).toBe(2);
    expect(await line('worker.paused').innerText()).toBe('by Ann, for 30m');
    expect(await line('worker.unpaused').first().innerText()).toBe('by Ann');
  });

  test('types a duration, gets a message if it is invalid, and uses only the keyboard', async () => {
    const { page } = browser;
    await open('ana');
    await page.keyboard.press('Shift+P');
    await dialog().getByLabel('Another time, 7 days at most').fill('8d');
    await page.keyboard.press('Enter');
    await dialog().getByRole('alert').filter({ hasText: 'at most 7d.' }).waitFor();
    await dialog().getByLabel('Another time, 7 days at most').fill('45m');
    await page.keyboard.press('Enter');
    await note().waitFor();
    expect((await stored('worker.ana.worker.paused')).at(-1)).toEqual({ by: 'Ann', forMs: 2_700_000 });
    // A newer pause, here without an end, replaces it.
    await button('Change pause…').click();
    await dialog().getByRole('button', { name: 'Pause', exact: true }).click();
    await note().filter({ hasText: 'until its session ends' }).waitFor();
    await dialog().waitFor({ state: 'detached' });
    await page.keyboard.press('Control+k');
    await page.keyboard.type('unpause');
    await page.getByRole('option', { name: 'Resume judging this worker' }).waitFor();
    await page.keyboard.press('Enter');
    await note().waitFor({ state: 'detached' });
  });

  test('is refused if the policy forbids it, and sees why', async () => {
    await open('bob');
    await button('Pause…').click();
    await dialog().getByRole('button', { name: 'Pause', exact: true }).click();
    await dialog().getByRole('alert').filter({ hasText: 'policy strict lets nobody pause its workers' }).waitFor();
    expect(await browser.axe()).toEqual([]);
    await dialog().getByRole('button', { name: 'Cancel' }).click();
    expect(await note().count()).toBe(0);
    expect(await stop('bob')).toMatchObject({ decision: 'block' });
  });

  test('sees a timed pause end without an entry', async () => {
    await open('ana');
    await stage.post('operator/pause', { id: 'ana', by: 'Ann', forMs: 3_000 }, operatorToken);
    await note().waitFor();
    await note().waitFor({ state: 'detached' });
    await tag('ana').waitFor({ state: 'detached' });
    await button('Pause…').waitFor();
  });

  test('sees background work, and that a tool may have changed any file', async () => {
    const { page } = browser;
    const { client } = stage;
    await client.publish('worker.ana.background.started', { id: 'b1', kind: 'shell', command: 'npm test' });
    await client.publish('worker.ana.background.started', { id: 'b2', kind: 'shell', command: 'npm run dev' });
    await client.publish('worker.ana.tool.used', { tool: 'Bash', changes: 'unknown' });
    await open('ana');
    const work = (id: string) => page.locator(`[data-work="${id}"]`);
    await expect
      .poll(() => work('b1').innerText())
      .toMatch(/^npm test\s+shell · started .+ · stops wait for it, .+ left$/);
    await expect.poll(() => work('b2').innerText()).toMatch(/ignored: stops do not wait for it$/);
    expect(await browser.axe()).toEqual([]);
    await page.getByRole('tab', { name: 'Plan and tasks' }).click();
    await page.locator('.facts', { hasText: 'A tool may have changed any file' }).waitFor();
  });

  test('gets no actions with a read-only token', async () => {
    const { page } = browser;
    const reader = { name: 'reader', role: 'read' as const, workers: null, fleets: null };
    const guarded = await openHttpServer({
      fleets: directoryOf(stage.replica),
      host: '127.0.0.1',
      port: 0,
      version: '0.0.0',
      metrics: createMetrics(),
      log: createLogger('silent'),
      token: null,
      operatorToken,
      tokens: () => [{ ...reader, hashes: [hashOfToken('for-readers')] }],
    });
    guardedUrl = guarded.url;
    try {
      await browser.context.clearCookies();
      await page.goto(`${guarded.url}/?worker=bob`);
      await page.getByLabel('Token').fill('for-readers');
      await page.keyboard.press('Enter');
      await page.locator('aside .lead').waitFor();
      expect(await button('Pause…').count()).toBe(0);
      await page.keyboard.press('Shift+P');
      await page.keyboard.press('Control+k');
      await page.keyboard.type('this worker');
      expect(await page.getByRole('option', { name: 'Pause this worker' }).count()).toBe(0);
      expect(browser.problems()).toEqual([]);
    } finally {
      await guarded.close();
    }
  });
});
