/** Accessibility of the page: keyboard, both colour schemes, phones, and the rules for screen readers. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Browser, describeInBrowser, openBrowser } from '../../support/browser.ts';
import { openStage, type Stage } from '../../support/stage.ts';

let stage: Stage;
let browser: Browser;

const open = async (path: string, until: string) => {
  await browser.page.goto(`${stage.http.url}${path}`);
  await browser.page.locator(until).first().waitFor();
};
const focused = () =>
  browser.page.evaluate<string>(
    `(({ dataset, ariaLabel, textContent }) => dataset.id ?? ariaLabel ?? textContent)(document.activeElement)`,
  );
const press = (...keys: string[]) =>
  keys.reduce((done, key) => done.then(() => browser.page.keyboard.press(key)), Promise.resolve());

const unreadable = readFileSync(new URL('../../support/unreadable.js', import.meta.url), 'utf8');

const pages = [
  ['an empty fleet', '/?at=0', '.empty'],
  ['the fleet', '/', '.grid tr[data-id]'],
  ['a worker', '/?worker=w2', 'article.decision'],
  ['an escalated worker', '/?worker=w3', '.escalation'],
  ['a worker whose stop was not judged', '/?worker=w4', 'article[data-cause="unjudged"]'],
  ['tasks, and one of them', '/?view=tasks&task=T-1', '.hooks li'],
  ['queues', '/?view=queues', '.grid tr[data-id]'],
  // Until the past is there, the page is dimmed.
  ['time travel', '/?at=5&worker=w1', '.travel:not(:has(.travel-now .progress))'],
  ['the inbox', '/?view=inbox', '.card'],
  ['a timeline', '/?worker=w3&tab=timeline', '.timeline .line'],
  ['the chart of a worker', '/?worker=w3&tab=chart', '.chart-state'],
  ['the history of the fleet', '/?view=history&span=day', 'svg.bars'],
  ['all entries', '/?view=entries', '.entries .line'],
  ['the service', '/?view=service', '.service .part'],
  ['an answer in the inbox', '/?view=inbox&worker=w3', '.answer-box'],
  ['the policy lab', '/?view=what-if', '.cm-content'],
] as const;

describeInBrowser('the page', () => {
  beforeAll(async () => {
    stage = await openStage({
      policies: {
        policies: {
          default: { checks: [{ plan: {} }] },
          careful: { promises: true, persistence: 'default' },
          broken: { checks: [{ remote: 'nobody-serves-it' }] },
        },
      },
    });
    const { client } = stage;
    for (let index = 1; index <= 30; index += 1)
      await client.publish(`worker.w${index}.plan.updated`, { steps: [{ title: 'Write tests', status: 'pending' }] });
    await client.publish('task.T-1.task.created', { title: 'First' });
    await client.publish('task.T-1.hook.registered', { hook: 'rules', type: 'validation' });
    await client.publish('worker.w1.task.claimed', { task: 'T-1' });
    for (const worker of ['w1', 'w2']) await client.ask(`decide.${worker}`);
    await client.publish('worker.w3.worker.registered', { policy: 'careful' });
    await client.ask('decide.w3', { output: 'Which one? <promise>ESCALATE</promise>' });
    await client.publish('worker.w4.worker.registered', { policy: 'broken' });
    await client.ask('decide.w4');
    browser = await openBrowser(() => [stage.http.url]);
  });
  afterAll(async () => {
    await browser?.close();
    await stage?.close();
  });

  test.each(pages)(
    'meets WCAG 2.2 AA, can be read at every width, and fits a phone of 360 pixels: %s',
    async (name, path, until) => {
      const { page } = browser;
      await page.setViewportSize({ width: 1_280, height: 900 });
      await open(path, until);
      expect(await browser.axe()).toEqual([]);
      for (const width of [1_440, 1_024, 390, 360]) {
        await page.setViewportSize({ width, height: 800 });
        // A narrow window shows the card that was opened automatically; a phone starts with the list.
        if (name === 'the inbox' && width === 390) await open(path, until);
        await expect.poll(() => page.evaluate(unreadable)).toEqual([]);
      }
      await page.setViewportSize({ width: 360, height: 740 });
      const tooWide = 'document.documentElement.scrollWidth - innerWidth';
      await expect.poll(() => page.evaluate<number>(tooWide)).toBeLessThanOrEqual(0);
    },
  );

  test('can be used with the keyboard alone', async () => {
    await browser.page.setViewportSize({ width: 1_280, height: 900 });
    await open('/', '.grid tr[data-id]');
    await press('Tab');
    expect(await focused()).toBe('Skip to the list');
    await press('Enter');
    expect(await browser.page.evaluate('document.activeElement.id')).toBe('main');
    await press('/');
    expect(await focused()).toBe('Search workers');
    await browser.page.keyboard.type('w1');
    await expect.poll(() => browser.page.locator('.grid tr[data-id]').count()).toBe(11);
    await press('Escape');
    await expect.poll(() => browser.page.locator('.grid tr[data-id="w2"]').count()).toBe(1);
    // Workers that wait for a person come first, then blocked ones.
    await browser.page.locator('.grid tr[data-id="w3"]').focus();
    await press('ArrowDown', 'ArrowDown');
    await expect.poll(focused).toBe('w2');
    await press('End');
    await expect.poll(focused).toBe('w30');
    await press('Home', 'ArrowDown', 'ArrowDown', 'Enter');
    await browser.page.locator('aside article.decision').waitFor();
    expect(new URL(browser.page.url()).searchParams.get('worker')).toBe('w2');
    expect(await focused()).toContain('w2');
    await press('Escape');
    await browser.page.locator('aside').waitFor({ state: 'detached' });
    await expect.poll(focused).toBe('w2');
    expect(browser.page.url()).toBe(`${stage.http.url}/`);
  });

  test('shows what happened when, by keyboard too', async () => {
    await open('/?view=history', 'svg.bars');
    const stops = browser.page.locator('.multiple', { hasText: 'Stops' }).locator('.value');
    await expect.poll(() => stops.innerText()).toBe('4');
    await browser.page.getByRole('textbox', { name: 'from' }).focus();
    await browser.page.keyboard.type('10m ago');
    await press('Enter');
    await expect.poll(() => new URL(browser.page.url()).searchParams.get('span')).toMatch(/Z\/\S+Z$/);
    await expect.poll(() => stops.innerText()).toBe('4');
    expect(await browser.page.locator('.check-table tr[data-check="plan"]').innerText()).toMatch(/2$/);
  });

  test('supports back and forward', async () => {
    await open('/', '.grid tr[data-id]');
    await browser.page.locator('.grid tr[data-id]').first().click();
    await browser.page.locator('aside').waitFor();
    await browser.page.goBack();
    await browser.page.locator('aside').waitFor({ state: 'detached' });
    await browser.page.goForward();
    await browser.page.locator('aside').waitFor();
  });

  test('causes no errors and no requests to other origins', () => {
    expect(browser.problems()).toEqual([]);
  });
});
