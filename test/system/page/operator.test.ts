/** What a person does on the page: gives a token, looks after an escalation, resolves it, retires a worker; and a lost service. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openHttpServer } from '../../../src/http/server.ts';
import { createLogger } from '../../../src/log.ts';
import { createMetrics } from '../../../src/metrics.ts';
import { type Browser, describeInBrowser, openBrowser } from '../../support/browser.ts';
import { openStage, operatorToken, type Stage } from '../../support/stage.ts';

let stage: Stage;
let browser: Browser;
let guardedUrl = '';

const button = (name: string) => browser.page.getByRole('button', { name, exact: true });
const stored = (subject: string) => stage.client.stored('STOPGATE_main', `stopgate.main.own.${subject}`);
const options = () => ({
  ...{ service: stage.replica.service, inspection: stage.replica.inspection, host: '127.0.0.1', version: '0.0.0' },
  ...{ metrics: createMetrics(), log: createLogger('silent') },
});

describeInBrowser('an operator', () => {
  beforeAll(async () => {
    stage = await openStage({ policies: { policies: { default: { promises: true } } } });
    browser = await openBrowser(
      () => [stage.http.url, guardedUrl],
      /401 \(Unauthorized\)|ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|ERR_EMPTY/,
    );
    for (const worker of ['ana', 'bob', 'cleo'])
      await stage.client.ask(`decide.${worker}`, { output: 'Which database? <promise>ESCALATE</promise>' });
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await stage?.close();
  });

  test('is asked for the token once, then says who he is, and acknowledges', async () => {
    const { page } = browser;
    await page.goto(`${stage.http.url}/?worker=ana`);
    await button('Acknowledge').click();
    await page.getByText('.stopgate/credentials/operator.json').waitFor();
    await page.getByLabel('Operator’s token').fill('a guess');
    await button('Go on').click();
    await page.getByText('this requires the operator token, and the request has none or a wrong one').waitFor();
    expect(await browser.axe()).toEqual([]);
    await page.getByLabel('Operator’s token').fill(operatorToken);
    await button('Go on').click();
    await page.getByLabel('Your name, which the entry will carry').fill('Ann');
    expect(await browser.axe()).toEqual([]);
    await page.locator('dialog').getByRole('button', { name: 'Acknowledge' }).click();
    await page.locator('.escalation', { hasText: 'Ann looks after it' }).waitFor();
    expect(await stored('worker.ana.escalation.acknowledged')).toEqual([{ by: 'Ann' }]);
    // No script of the page has the token.
    expect(
      await page.evaluate('document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage })'),
    ).not.toContain(operatorToken);
  }, 60_000);

  test('lets it go on with a prompt, and the page shows what he said', async () => {
    const { page } = browser;
    await button('Let it go on…').click();
    await page.getByLabel('Prompt for the agent (may be empty)').fill('Take the one that is there.');
    expect(await page.getByLabel('Your name, which the entry will carry').inputValue()).toBe('Ann');
    await button('Resolve: go on').click();
    await page.locator('.resolution', { hasText: 'Take the one that is there.' }).waitFor();
    expect(await stored('worker.ana.escalation.resolved')).toEqual([
      { by: 'Ann', verdict: 'resume', prompt: 'Take the one that is there.' },
    ]);
    await page.locator('.line[data-by="operator"]', { hasText: 'escalation.resolved' }).waitFor();
  });

  test('stops one and retires another, and nothing is done where he cancels', async () => {
    const { page } = browser;
    await page.goto(`${stage.http.url}/?worker=bob`);
    await button('Stop it…').click();
    await button('Cancel').click();
    await page.locator('dialog').waitFor({ state: 'detached' });
    expect(await stored('worker.bob.escalation.resolved')).toEqual([]);
    await button('Stop it…').click();
    await button('Resolve: stop').click();
    await page.locator('aside .lead [data-state="stopped"]').waitFor();
    await page.goto(`${stage.http.url}/?worker=cleo`);
    await button('Retire…').click();
    await page.locator('dialog').getByRole('button', { name: 'Retire' }).click();
    await page.locator('aside .lead [data-state="stopped"]').waitFor();
    expect(await stored('worker.cleo.worker.retired')).toEqual([{ by: 'Ann' }]);
  });

  test('reads nothing of a service with a token until he has given it', async () => {
    const guarded = await openHttpServer({ ...options(), port: 0, token: 'for-readers', operatorToken });
    const { page } = browser;
    guardedUrl = guarded.url;
    try {
      await browser.context.clearCookies();
      browser.problems();
      await page.goto(guarded.url);
      await page.getByText('This service tells nothing without its token.').waitFor();
      expect(await page.content()).not.toContain('main</span>');
      expect(await browser.axe()).toEqual([]);
      await page.getByLabel('Token').fill('for-readers');
      await button('Go on').click();
      await page.locator('tr[data-id="ana"]').waitFor();
      await button('Sign in').waitFor();
      expect(browser.problems()).toEqual([]);
    } finally {
      await guarded.close();
    }
  }, 60_000);

  test('costs the service nothing while he does not look for half a minute', async () => {
    const { page } = browser;
    const { live } = stage.replica.inspection;
    const look = (hidden: boolean) =>
      page.evaluate(
        `Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));`,
      );
    await page.clock.install();
    await page.goto(stage.http.url);
    await page.locator('[data-link="live"]').waitFor();
    await expect.poll(() => live.size).toBe(1);
    await look(true);
    await page.clock.fastForward(29_000);
    expect(live.size).toBe(1);
    await page.clock.fastForward(2_000);
    await expect.poll(() => live.size).toBe(0);
    await page.locator('[data-link="asleep"]').waitFor();
    await look(false);
    await page.locator('[data-link="live"]').waitFor();
    expect(live.size).toBe(1);
  });

  test('is told when the service is gone, and how old what he sees is; and goes on when it is back', async () => {
    const { page } = browser;
    await page.goto(stage.http.url);
    await page.locator('tr[data-id="ana"]').waitFor();
    await stage.http.close();
    await page.getByRole('alert').filter({ hasText: 'The connection is lost' }).waitFor();
    await page.locator('[data-link="lost"]', { hasText: /\d+s old/ }).waitFor();
    expect(await page.locator('tr[data-id="ana"]').count()).toBe(1);
    const port = Number(new URL(stage.http.url).port);
    const again = await openHttpServer({ ...options(), port, token: null, operatorToken });
    try {
      await page.locator('[data-link="live"]').waitFor({ timeout: 15_000 });
      await stage.client.publish('worker.new.tool.used', { tool: 'Bash' });
      await page.locator('tr[data-id="new"]').waitFor();
      expect(browser.problems()).toEqual([]);
    } finally {
      await again.close();
    }
  }, 60_000);
});
