/** More tasks of an operator (operator-tasks.test.ts) about answers, tasks, cost, budgets and queues, in three steps. */
import { expect, test } from 'vitest';
import { describeInBrowser } from '../../support/browser.ts';
import { plan, usePage } from '../../support/page.ts';
import { operatorToken, type Stage } from '../../support/stage.ts';

const policies = {
  default: { checks: [{ plan: {} }], promises: true, retries: 9 },
  frugal: { checks: [{ plan: {} }], budget: { usd: 2 }, onBudget: 'escalate' },
};

async function day({ client }: Stage): Promise<void> {
  await client.publish('task.T-1.task.created', { title: 'Sign in with a passkey' });
  await client.publish('worker.ana.task.claimed', { task: 'T-1' });
  await client.publish('worker.ana.plan.updated', plan('completed', 'in_progress', 'pending'));
  await client.ask('decide.ana');
  await client.ask('decide.bob', { output: 'Staging or production? <promise>ESCALATE</promise>' });
  await client.publish('worker.runaway.worker.registered', { policy: 'frugal' });
  await client.publish('worker.runaway.plan.updated', plan('completed', 'in_progress', 'pending'));
  for (const [worker, usd] of [
    ['cheap', 0.5],
    ['dear', 12.5],
    ['runaway', 2.5],
  ] as const)
    await client.publish(`worker.${worker}.usage.reported`, { usd, input: 1_000 });
  await client.ask('decide.runaway');
  await client.publish('task.B-1.task.created', { title: 'Build it', queue: 'build' });
}

/** A click on this, a key, or a text that is typed. */
type Step = { readonly click: string } | { readonly key: string } | { readonly type: string };
type Task = {
  readonly mouse: readonly Step[];
  readonly keys: readonly Step[];
  /** Where the task begins. Default: the list of workers. */
  readonly from?: string;
  /** What answers the question, or shows that it is done. */
  readonly shows: readonly (readonly [selector: string, text: string | RegExp])[];
  /** Takes it back for the next test. */
  readonly undo?: readonly Step[];
};

const nav = (view: string): Step => ({ click: `nav a.${view}` });
const openByKey: Step = { key: 'Control+k' };
const find = (text: string): readonly Step[] => [openByKey, { type: text }, { key: 'Enter' }];
const tasks: Readonly<Record<string, Task>> = {
  'answer the first': {
    mouse: [nav('inbox'), { click: 'aside .choice >> nth=0' }, { click: 'aside .answer-box [type=submit]' }],
    keys: [{ key: 'i' }, { key: '1' }],
    shows: [['.notices', 'Not sent yet: Resume bob']],
    undo: [{ key: 'u' }],
  },
  'who holds this task, since when, and what failed?': {
    mouse: [nav('tasks'), { click: 'tr[data-id="T-1"]' }],
    keys: find('T-1'),
    shows: [
      ['aside .lead', /held by\s*ana\s*for \d+/],
      ['aside article.decision', '2 of 3 plan steps remain'],
    ],
  },
  'what happened to this task?': {
    mouse: [nav('tasks'), { click: 'tr[data-id="T-1"]' }, { click: '#tab-timeline' }],
    keys: find('T-1'),
    from: '/?view=tasks&tab=timeline',
    shows: [
      ['aside .line[data-type="task.claimed"]', 'ana'],
      ['aside .line[data-type="decision"]', 'Blocked once'],
    ],
  },
  'which workers are escalated?': {
    mouse: [{ click: 'button.count:has-text("escalated")' }],
    keys: find('show escalated'),
    shows: [['.filters .shown', '2 of 5 workers']],
  },
  'pause the judging of this worker': {
    mouse: [{ click: 'aside [data-action="pause"]' }, { click: 'dialog [type=submit]' }],
    keys: [{ key: 'P' }, { key: 'Control+Enter' }],
    from: '/?worker=ana',
    shows: [['aside', 'by Ann']],
    undo: [{ key: 'P' }],
  },
  'which agents cost most today?': {
    mouse: [nav('history'), { click: 'button:text-is("Today")' }],
    keys: find('cost of agents today'),
    shows: [
      ['section[aria-label="Cost by agent"] tbody tr:nth-child(1)', /^dear\s*\$12\.50/],
      ['section[aria-label="Cost by agent"] tbody tr:nth-child(2)', /^runaway\s*\$2\.50/],
      ['section[aria-label="Cost by agent"] tbody tr:nth-child(3)', /^cheap\s*\$0\.50/],
      ['.headline', 'in the 24h from'],
    ],
  },
  'why is this worker over its budget?': {
    mouse: [{ click: 'tr[data-id="runaway"]' }],
    keys: find('runaway'),
    shows: [
      ['aside .escalation', 'budget'],
      ['aside [data-budget="usd per session"]', '$2.50 of $2.00'],
    ],
  },
  'grant it the budget again': {
    mouse: [nav('inbox'), { click: '.card[data-id="runaway"] a' }, { click: 'aside .answer-box [type=submit]' }],
    keys: [{ key: 'i' }, { key: 'j' }, { key: '1' }],
    shows: [['.notices', 'Not sent yet: Resume runaway']],
    undo: [{ key: 'u' }],
  },
  'which queue is unattended?': {
    mouse: [nav('queues')],
    keys: find('go to queues'),
    shows: [['tr[data-id="build"]', 'unattended']],
  },
};

describeInBrowser('a task of an operator', () => {
  const ui = usePage(policies, undefined, day);

  async function take(step: Step): Promise<void> {
    if ('click' in step) await ui.page.locator(step.click).click();
    else if ('key' in step) await ui.page.keyboard.press(step.key);
    else await ui.page.keyboard.type(step.type);
  }

  /** Keys act on what is on screen, so wait until the page has answered the one before. */
  async function settle(step: Step): Promise<void> {
    const { page } = ui;
    if (step === openByKey) await page.locator('dialog [role="combobox"]:focus').waitFor();
    if (new URL(page.url()).searchParams.get('view') === 'inbox')
      await page.locator('aside .answer-box [type=submit]').waitFor();
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
  }

  async function perform({ from = '/', shows, undo = [] }: Task, steps: readonly Step[]): Promise<void> {
    const { page, stage } = ui;
    const session = `${stage.http.url}/api/main/session`;
    expect((await page.context().request.post(session, { data: { token: operatorToken } })).status()).toBe(204);
    await page.setViewportSize({ width: 1_280, height: 900 });
    await ui.open(from);
    await page.evaluate("localStorage.setItem('stopgate.by', 'Ann')");
    await page.reload();
    await page.locator('tr[data-id], .travel-now:has-text("Entry")').first().waitFor();
    // Keys of the panel act on the worker that it shows.
    if (from.includes('worker=')) await page.locator('aside .lead').waitFor();
    expect(steps.length).toBeLessThanOrEqual(3);
    for (const step of steps) {
      await take(step);
      await settle(step);
    }
    for (const [selector, text] of shows)
      await page.locator(selector).filter({ hasText: text }).first().waitFor({ timeout: 15_000 });
    for (const step of undo) await take(step);
    if (undo.length > 0)
      await page
        .locator(shows[0]?.[0] ?? '')
        .filter({ hasText: shows[0]?.[1] ?? '' })
        .waitFor({ state: 'detached' });
  }

  for (const [name, task] of Object.entries(tasks)) {
    test(`${name} By mouse`, () => perform(task, task.mouse));
    test(`${name} By keys`, () => perform(task, task.keys));
  }

  test('a moment is found exactly, and its link leads there', async () => {
    const { page, stage } = ui;
    await ui.open('/');
    await page.locator('tr[data-id="ana"]').waitFor();
    // A time at which nothing happened.
    const newestMs = async () => (await stage.get('entries?limit=1')).body.entries[0].atMs as number;
    await expect.poll(async () => Date.now() - (await newestMs()), { timeout: 20_000 }).toBeGreaterThan(3_000);
    const asked = new Date(Math.floor((Date.now() - 1_000) / 1_000) * 1_000);
    const typed = asked.toTimeString().slice(0, 8);
    for (const step of find(typed)) {
      await take(step);
      await settle(step);
    }
    await page.locator('.travel-now', { hasText: typed }).waitFor();
    await page.locator('.travel-now', { hasText: 'after that entry' }).waitFor();
    await page.reload();
    await page.locator('.travel-now', { hasText: typed }).waitFor();
    // Entries go on from there, in both directions.
    await page.locator('nav a.entries').click();
    await page.locator('.entries', { hasText: typed }).locator('.line').first().waitFor();
    await stage.client.publish('worker.cheap.tool.used', { tool: 'Later' });
    await page.getByRole('button', { name: 'Later entries' }).click();
    await page.locator('.line', { hasText: 'Later' }).waitFor();
    expect(await ui.browser.axe()).toEqual([]);
  });
});
