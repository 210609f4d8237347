/**
 * An operator on the page: signs in, acknowledges and resolves an escalation, retires a worker; and a lost connection.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hashOfToken } from '../../../src/config/access-tokens.ts';
import { directoryOf } from '../../../src/http/fleet-directory.ts';
import { openHttpServer } from '../../../src/http/server.ts';
import { createLogger } from '../../../src/log.ts';
import { createMetrics } from '../../../src/telemetry/metrics.ts';
import { type Browser, describeInBrowser, openBrowser } from '../../support/browser.ts';
import { openStage, operatorToken, type Stage } from '../../support/stage.ts';

let stage: Stage;
let browser: Browser;
let guardedUrl = '';

const button = (name: string) => browser.page.getByRole('button', { name, exact: true });
const stored = (subject: string) => stage.client.stored('STOPGATE_main', `stopgate.main.own.${subject}`);
const readers = (token: string) => ({
  name: token,
  role: 'read' as const,
  workers: null,
  fleets: null,
  hashes: [hashOfToken(token)],
});
const options = () => ({
  fleets: directoryOf(stage.replica),
  host: '127.0.0.1',
  version: '0.0.0',
  metrics: createMetrics(),
  log: createLogger('silent'),
});

describeInBrowser('an operator', () => {
  beforeAll(async () => {
    stage = await openStage({ policies: { policies: { default: { promises: true } } } });
    browser = await openBrowser(
      () => [stage.http.url, guardedUrl],
      /401 \(Unauthorized\)|ERR_CONNECTION_(?:REFUSED|RESET)|ERR_INCOMPLETE|ERR_EMPTY|ERR_SOCKET_NOT_CONNECTED/,
    );
    for (const worker of ['ana', 'bob', 'cleo'])
      await stage.client.ask(`decide.${worker}`, { output: 'Which database? <promise>ESCALATE</promise>' });
  });
  afterAll(async () => {
    await browser?.close();
    await stage?.close();
  });

  test('signs in once, gives a name, and acknowledges', async () => {
    const { page } = browser;
    await page.goto(`${stage.http.url}/?worker=ana`);
    await button('Acknowledge').click();
    await page.getByText('.stopgate/credentials/operator.json').waitFor();
    await page.getByLabel('Operator token').fill('a guess');
    await button('Continue').click();
    await page.getByText('this token is not known here; it may have been replaced').waitFor();
    expect(await browser.axe()).toEqual([]);
    await page.getByLabel('Operator token').fill(operatorToken);
    await button('Continue').click();
    await page.getByLabel('Your name (stored with the entry)').fill('Ann');
    expect(await browser.axe()).toEqual([]);
    await page.locator('dialog').getByRole('button', { name: 'Acknowledge' }).click();
    await page.locator('.escalation', { hasText: 'acknowledged by Ann' }).waitFor();
    expect(await stored('worker.ana.escalation.acknowledged')).toEqual([{ by: 'Ann', seq: expect.any(Number) }]);
    // Scripts of the page cannot read the token.
    expect(
      await page.evaluate('document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage })'),
    ).not.toContain(operatorToken);
  });

  test('resolves an escalation with a prompt, which the page shows', async () => {
    const { page } = browser;
    const answer = page.getByLabel('Answer to ana: its next prompt');
    await answer.fill('Take the one that is there.');
    await page.getByLabel('Send the same answer to all 3 with this question and failure').uncheck();
    // An expired session can be renewed, and the text is kept.
    await browser.context.clearCookies();
    await button('Send').click();
    await page.getByText('You have answered.').waitFor();
    await page.getByLabel('Operator token').waitFor();
    expect(await answer.inputValue()).toBe('Take the one that is there.');
    await page.getByLabel('Operator token').fill(operatorToken);
    await button('Continue').click();
    await page.locator('.resolution', { hasText: 'Take the one that is there.' }).waitFor();
    expect(await stored('worker.ana.escalation.resolved')).toEqual([
      { by: 'Ann', verdict: 'resume', prompt: 'Take the one that is there.', seq: expect.any(Number) },
    ]);
    await page.getByRole('tab', { name: 'Timeline' }).click();
    await page.locator('.line[data-by="operator"]', { hasText: 'escalation.resolved' }).waitFor();
  });

  test('stops one worker and retires another, and nothing happens on cancel', async () => {
    const { page } = browser;
    await page.goto(`${stage.http.url}/?worker=bob`);
    await button('Retire…').click();
    await button('Cancel').click();
    await page.locator('dialog').waitFor({ state: 'detached' });
    expect(await stored('worker.bob.worker.retired')).toEqual([]);
    await page.getByLabel('Send the same answer to all 2 with this question and failure').uncheck();
    await button('Let it stop').click();
    await page.reload();
    await page.locator('aside .lead [data-state="stopped"]').waitFor();
    await page.goto(`${stage.http.url}/?worker=cleo`);
    await button('Retire…').click();
    await page.locator('dialog').getByRole('button', { name: 'Retire' }).click();
    await page.locator('aside .lead [data-state="stopped"]').waitFor();
    expect(await stored('worker.cleo.worker.retired')).toEqual([{ by: 'Ann' }]);
  });

  test('sees nothing before signing in if the service has a token', async () => {
    let tokens = [readers('for-readers'), readers('another')];
    const guarded = await openHttpServer({ ...options(), port: 0, token: null, operatorToken, tokens: () => tokens });
    const { page } = browser;
    guardedUrl = guarded.url;
    try {
      await browser.context.clearCookies();
      browser.problems();
      await page.goto(guarded.url);
      await page.getByText('This service requires a token.').waitFor();
      expect(await page.content()).not.toContain('main</span>');
      expect(await browser.axe()).toEqual([]);
      // The field has the focus.
      await page.keyboard.type('for-readers');
      await page.keyboard.press('Enter');
      await page.locator('tr[data-id="ana"]').waitFor();
      await button('Sign in').waitFor();
      await page.locator('tr[data-id="ana"]').click();
      await page.locator('aside').waitFor();
      tokens = tokens.slice(1);
      await page.getByRole('alert').filter({ hasText: 'Your session has ended' }).waitFor();
      expect(await page.locator('tr[data-id="ana"]').count()).toBe(0);
      expect(await browser.axe()).toEqual([]);
      await page.keyboard.type('another');
      await page.keyboard.press('Enter');
      // Where it was.
      await page.locator('aside .lead').waitFor();
      await button('Sign out').click();
      await page.getByText('This service requires a token.').waitFor();
      expect(browser.problems()).toEqual([]);
    } finally {
      await guarded.close();
    }
  });

  test('costs the service nothing while the page is hidden for half a minute', async () => {
    const { page } = browser;
    const { live } = stage.replica.inspection;
    const setHidden = (hidden: boolean) =>
      page.evaluate(
        `Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));`,
      );
    await page.clock.install();
    await page.goto(stage.http.url);
    await page.locator('[data-connection="live"]').waitFor();
    await expect.poll(() => live.size).toBe(1);
    await setHidden(true);
    await page.clock.fastForward(29_000);
    expect(live.size).toBe(1);
    await page.clock.fastForward(2_000);
    await expect.poll(() => live.size).toBe(0);
    await page.locator('[data-connection="paused"]').waitFor();
    await setHidden(false);
    await page.locator('[data-connection="live"]').waitFor();
    expect(live.size).toBe(1);
  });

  test('sees since when the connection is lost, and the page recovers', async () => {
    const { page } = browser;
    await page.goto(stage.http.url);
    await page.locator('tr[data-id="ana"]').waitFor();
    await page.setViewportSize({ width: 1_024, height: 800 });
    const header = () => page.locator('header').boundingBox();
    const before = await header();
    await stage.http.close();
    await page.getByRole('alert').filter({ hasText: 'Connection lost' }).waitFor();
    await page
      .getByRole('alert')
      .filter({ hasText: /Connection lost at \d\d:\d\d:\d\d\. This is the last known state/ })
      .waitFor();
    await page.locator('[data-connection="lost"]', { hasText: /\d+s ago/ }).waitFor();
    // Counters are frozen and dimmed, because the current state is unknown.
    const ages = () => page.locator('tr[data-id="ana"] .age').allInnerTexts();
    const secondsLost = async () => Number(/(\d+)s ago/.exec(await page.locator('.connection').innerText())?.[1]);
    const [agesThen, lostThen] = [await ages(), await secondsLost()];
    expect(agesThen.length).toBeGreaterThan(1);
    await expect.poll(secondsLost).toBeGreaterThan(lostThen + 2);
    expect(await ages()).toEqual(agesThen);
    const opacity = () => page.evaluate(`getComputedStyle(document.querySelector('tr[data-id="ana"] .age')).opacity`);
    expect(Number(await opacity())).toBeLessThan(1);
    expect(await header()).toEqual(before);
    expect(await page.locator('tr[data-id="ana"]').count()).toBe(1);
    const port = Number(new URL(stage.http.url).port);
    const again = await openHttpServer({ ...options(), port, token: null, operatorToken });
    try {
      await page.locator('[data-connection="live"]').waitFor();
      await expect.poll(ages).not.toEqual(agesThen);
      expect(await opacity()).toBe('1');
      await stage.client.publish('worker.new.tool.used', { tool: 'Bash' });
      await page.locator('tr[data-id="new"]').waitFor();
      expect(browser.problems()).toEqual([]);
    } finally {
      await again.close();
    }
  });
});
