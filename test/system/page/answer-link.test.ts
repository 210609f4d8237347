/** The page behind an answer link, on a phone without a session: the agent's question, answered with one tap. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger } from '../../../src/log.ts';
import { type AnswerLinks, createAnswerLinks } from '../../../src/notify/answer-links.ts';
import { createWebhook } from '../../../src/notify/webhook.ts';
import { type Browser, describeInBrowser, openBrowser } from '../../support/browser.ts';
import { openReceiver, type Receiver } from '../../support/receiver.ts';
import { openStage, type Stage } from '../../support/stage.ts';

const hostile = 'rm -rf "dist" <img src=x onerror=alert(1)>\u202e</pre><script>alert(1)</script>';
const logger = createLogger('silent');

let receiver: Receiver;
let stage: Stage;
let browser: Browser;
let links: AnswerLinks | null = null;

describeInBrowser('the page behind a link that answers', () => {
  beforeAll(async () => {
    receiver = await openReceiver();
    stage = await openStage({ policies: { policies: { default: { ask: '10m' } } }, answerLinks: () => links });
    const post = createWebhook({
      url: receiver.url,
      secret: 's',
      clock: Date.now,
      logger,
      count: () => {},
    });
    links = createAnswerLinks({ url: stage.http.url, by: 'on-call', secret: 's', clock: Date.now, logger, post });
    browser = await openBrowser(() => [stage.http.url], /status of 409/);
    await browser.page.setViewportSize({ width: 390, height: 844 });
  });
  afterAll(async () => {
    await browser?.close();
    await stage?.close();
    await receiver?.close();
  });

  test('shows the tool and its input as text, works by thumb, and can be answered once', async () => {
    const held = fetch(`${stage.http.url}/hooks/claude`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        session_id: 's1',
        hook_event_name: 'PermissionRequest',
        tool_name: 'Bash',
        tool_input: { command: hostile, description: 'Clean up' },
      }),
    });
    await expect.poll(() => receiver.received[0]?.body.link).toBeDefined();
    const { link = '', request = '' } = (receiver.received[0]?.body ?? {}) as Record<string, string>;
    const { page } = browser;
    await page.goto(link);
    await page.getByRole('heading', { name: 'Bash' }).waitFor();
    expect(await page.getByLabel('command').innerText()).toBe(hostile.replace('\u202e', '⟨U+202E⟩'));
    expect(await browser.axe()).toEqual([]);
    const wide = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
    expect(wide).toBe(false);
    const buttons = await page
      .getByRole('button')
      .evaluateAll((all) => all.map((element) => element.getBoundingClientRect().height));
    expect(buttons.every((height) => height >= 44)).toBe(true);
    await page.getByLabel('Message to the agent').fill('Not the build');
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.getByRole('heading', { name: 'Denied' }).waitFor();
    expect(await (await held).json()).toMatchObject({ hookSpecificOutput: { decision: { message: 'Not the build' } } });
    await page.goto(link);
    await page.getByText(`request ${request} of worker s1 was answered by on-call: deny`).waitFor();
    expect(await browser.axe()).toEqual([]);
    expect(browser.problems()).toEqual([]);
  });
});
