/**
 * The usual tasks of an operator, each in at most three steps from the opened page, by mouse and by keyboard.
 * A step is a click, a key, or one typed text.
 */
import type { Locator } from 'playwright-core';
import { afterEach, expect, test } from 'vitest';
import { describeInBrowser } from '../../support/browser.ts';
import { usePage } from '../../support/page.ts';
import { operatorToken } from '../../support/stage.ts';

const toJson = (value: object) => new TextEncoder().encode(JSON.stringify(value));
const failed = { complete: false, reason: 'login.test.ts: expected 200' };
const isMouse = (way: string) => way === 'by mouse';

describeInBrowser('in three steps, an operator', () => {
  const policies = {
    default: { checks: [{ remote: 'tests' }, { remote: 'lint' }], retries: 3, promises: true },
    bounded: { budget: { usd: 10 }, onBudget: 'escalate' },
  };
  const ui = usePage(policies, undefined, async ({ client }) => {
    // The check of flo fails every other time; those of the others always.
    let runs = 0;
    client.nc.subscribe('stopgate.main.check.tests', {
      callback: (_error, asked) => {
        const isFlo = asked.json<{ worker: string }>().worker === 'flo';
        if (isFlo) runs += 1;
        asked.respond(toJson(isFlo && runs % 2 === 0 ? { complete: true } : failed));
      },
    });
    client.nc.subscribe('stopgate.main.check.lint', {
      callback: (_error, asked) => void asked.respond(toJson({ complete: true })),
    });
    await client.nc.flush();
    for (const [worker, attempts] of [
      ['ana', 3],
      ['dora', 4],
      ['flo', 4],
      ['leo', 1],
    ] as const)
      for (let attempt = 0; attempt < attempts; attempt += 1) await client.ask(`decide.${worker}`);
    await client.publish('task.T-42.task.created', { title: 'Fix the login' });
    await client.publish('worker.cleo.task.claimed', { task: 'T-42' });
  });
  const { open, text } = ui;
  const escalate = async (question: string, ...workers: string[]) => {
    for (const worker of workers)
      await ui.stage.client.ask(`decide.${worker}`, { output: `${question} <promise>ESCALATE</promise>` });
  };
  let steps = 0;
  const step = async (act: Promise<unknown>) => {
    steps += 1;
    await act;
  };
  const click = (button: Locator) => step(button.click());
  const press = (key: string) => step(ui.page.keyboard.press(key));
  const type = (typed: string) => step(ui.page.keyboard.type(typed));
  const view = (name: string) => ui.page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name });
  const row = (id: string) => ui.page.locator(`.grid tr[data-id="${id}"]`);
  /** The opened page, once the fleet is loaded. */
  async function start(path = '/') {
    await open(path);
    await row('ana').waitFor();
    steps = 0;
  }
  /** Finds by keys: three steps. */
  async function find(typed: string, option: string | RegExp) {
    await press('Control+k');
    await ui.page.getByRole('combobox', { name: /^Find a worker/ }).waitFor();
    await type(typed);
    await ui.page.getByRole('option', { name: option, selected: true }).waitFor();
    await press('Enter');
  }
  afterEach(() => expect(steps).toBeLessThanOrEqual(3));

  const ways = ['by mouse', 'by keys'] as const;

  test.each(ways)('sees who waits, and what for: %s', async (way) => {
    await escalate('Which database?', 'bob');
    await start();
    if (isMouse(way)) await click(view('Inbox'));
    else await press('i');
    const card = ui.page.locator('.card[data-id="bob"]');
    await card.locator('.card-text', { hasText: 'Which database?' }).waitFor();
    expect(await card.locator('.age').first().innerText()).toMatch(/^\d+s/);
  });

  test.each(ways)('sees why a worker was blocked three times: %s', async (way) => {
    await start();
    expect(await row('ana').locator('.c-why').innerText()).toContain('login.test.ts');
    if (isMouse(way)) await click(row('ana'));
    else await find('ana', /^worker ana/);
    await ui.page.locator('aside .attempts > li').nth(2).waitFor();
    const attempts = await ui.page.locator('aside .attempts > li summary').allInnerTexts();
    // The sentence about the worker says it of the last attempt.
    expect(await text('aside .sentence')).toContain('login.test.ts');
    expect(attempts.filter((attempt) => attempt.includes('login.test.ts'))).toHaveLength(2);
  });

  test.each(ways)('sees which check is flaky, and opens its failures: %s', async (way) => {
    const { page } = ui;
    await start();
    if (isMouse(way)) await click(view('History'));
    else await find('history', /the history of the fleet/);
    await page.getByText(/The flakiest check is tests: \d+ % of \d+ pairs of runs differ\./).waitFor();
    if (!isMouse(way)) return;
    await click(page.locator('tr[data-check="tests"]').getByRole('link', { name: 'tests' }));
    await page.locator('.entries .line[data-type="check.finished"]').first().waitFor();
  });

  test.each(ways)('sees what five retries would have changed: %s', async (way) => {
    const { page } = ui;
    await start();
    if (isMouse(way)) {
      await click(view('What if'));
      const retries = page.locator('.cm-line', { hasText: 'retries: 3' });
      await retries.waitFor();
      // The number is selected, and replaced.
      await step(retries.locator('span').last().dblclick());
      await type('5');
    } else await find('retries 5', 'What if every policy had 5 retries');
    await page
      .locator('.difference[data-worker="dora"]')
      .or(page.locator('.group', { hasText: 'retries → checks' }))
      .first()
      .waitFor();
    expect(await text('.differences h3')).toMatch(/^1 of \d+ stops would differ/);
  });

  test.each(ways)('goes to a time: %s', async (way) => {
    const { page, stage } = ui;
    const [first] = (await stage.get('entries?worker=ana&limit=1000')).body.entries;
    const time = new Date(first.atMs + 1_000).toTimeString().slice(0, 8);
    await start();
    if (isMouse(way)) {
      await click(page.getByRole('button', { name: 'Find' }));
      await page.getByRole('combobox', { name: /^Find a worker/ }).waitFor();
      await type(time);
      await click(page.getByRole('option', { name: /^command Go to \d{4}-/ }));
    } else await find(time, /^command Go to \d{4}-/);
    await page.locator('.connection', { hasText: `${time.slice(0, 5)}` }).waitFor();
    // The last entry in that second.
    const moment = await stage.get(`moment?ms=${Math.floor((first.atMs + 1_000) / 1_000) * 1_000}`);
    expect(new URL(page.url()).searchParams.get('at')).toBe(String(moment.body.seq));
  });

  test.each(ways)('sees who holds a task, its state, why, and for how long: %s', async (way) => {
    const { page } = ui;
    await start();
    if (isMouse(way)) {
      await click(view('Tasks'));
      await row('T-42').locator('.c-worker', { hasText: 'cleo' }).waitFor();
      expect(await row('T-42').locator('.c-worker').innerText()).toMatch(/^cleo /);
      // What its holder does.
      expect(await row('T-42').locator('.c-reason').innerText()).toBe('At work on T-42');
      expect(await row('T-42').locator('.c-since').innerText()).toMatch(/^\d+(s|m)/);
    } else {
      await find('T-42', /^task T-42/);
      await page.locator('aside', { hasText: 'cleo' }).waitFor();
    }
  });

  test.each(ways)('answers ten at once that ask the same: %s', async (way) => {
    const { page, stage } = ui;
    const ten = Array.from({ length: 10 }, (_, index) => `ten-${way.replace(' ', '-')}-${index}`);
    await stage.post('operator/retire', { id: 'bob', by: 'Bob' }, operatorToken);
    await escalate(`May I deploy ${way}?`, ...ten);
    await page.context().request.post(`${stage.http.url}/api/main/session`, { data: { token: operatorToken } });
    await start();
    await page.evaluate(`localStorage.setItem('stopgate.by', 'Ann')`);
    if (isMouse(way)) {
      await click(view('Inbox'));
      await page.getByText('Send the same answer to all 10 with this question and failure').waitFor();
      await click(page.locator('.answer-box .choice').first());
      await click(page.getByRole('button', { name: 'Send' }));
    } else {
      await press('i');
      await page.getByText('Send the same answer to all 10 with this question and failure').waitFor();
      await press('1');
    }
    await page.getByRole('button', { name: /^Undo \(\d+ s\)/ }).waitFor();
    // Leaving the page does not undo it.
    await page.reload();
    for (const worker of ten)
      await expect
        .poll(() => stage.client.stored('STOPGATE_main', `stopgate.main.own.worker.${worker}.escalation.resolved`))
        .toMatchObject([{ by: 'Ann', verdict: 'resume' }]);
  });

  test.each(ways)('sees why a worker is over its budget, and grants it a chosen amount: %s', async (way) => {
    const { page, stage } = ui;
    const worker = `over-${way.replace(' ', '-')}`;
    await stage.client.publish(`worker.${worker}.worker.registered`, { policy: 'bounded' });
    await stage.client.publish(`worker.${worker}.usage.reported`, { usd: 10.02 });
    await stage.client.ask(`decide.${worker}`);
    await page.context().request.post(`${stage.http.url}/api/main/session`, { data: { token: operatorToken } });
    await open('/');
    await page.evaluate(`localStorage.setItem('stopgate.by', 'Ann')`);
    // The link of the notice opens the worker.
    await start(isMouse(way) ? `/?worker=${worker}` : '/');
    const amount = page.locator(`[data-answers="worker/${worker}"] [name=grant]`);
    if (isMouse(way)) await click(amount);
    else {
      await row(worker).waitFor();
      await press('g');
    }
    await page.getByText('Used $10.02 of $10.00 in this session.').waitFor();
    await page.locator(`[data-answers="worker/${worker}"] [name=grant]:focus`).waitFor();
    expect(await amount.inputValue()).toBe('10');
    await type('5');
    if (isMouse(way)) await click(page.getByRole('button', { name: 'Grant' }));
    else await press('Enter');
    await page.getByRole('button', { name: /^Undo \(\d+ s\)/ }).waitFor();
    // Leaving the page sends it.
    await open(`/?worker=${worker}`);
    await expect
      .poll(() => stage.client.stored('STOPGATE_main', `stopgate.main.own.worker.${worker}.escalation.resolved`))
      .toMatchObject([{ by: 'Ann', verdict: 'resume', grant: { usd: 5 } }]);
    await page.locator('.resolution', { hasText: 'granted $5.00' }).waitFor();
    await page.locator('[data-budget="usd per session"]', { hasText: '$0.00 of $5.00 granted' }).waitFor();
  });

  test.each(ways)('copies a link to the view, which stays at its moment: %s', async (way) => {
    const { page, stage } = ui;
    await start('/?worker=leo');
    await page.locator('aside .lead .state', { hasText: 'blocked' }).waitFor();
    if (isMouse(way)) await click(page.getByRole('button', { name: 'Time travel' }));
    else await press('p');
    await expect.poll(() => page.url()).toMatch(/[?&](at|paused)=\d+/);
    await stage.client.publish('worker.leo.prompt.submitted');
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.locator('.travel').waitFor();
    await other.locator('aside .lead .state', { hasText: 'blocked' }).waitFor();
    await other.close();
    // Restore it for the next test.
    await stage.client.ask('decide.leo');
  });

  test.each(ways)('hands a link to the moment to a colleague, who sees it as it was: %s', async (way) => {
    const { page } = ui;
    await ui.browser.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await ui.stage.client.ask('decide.leo');
    await start(isMouse(way) ? '/' : '/?worker=leo');
    if (isMouse(way)) {
      await click(row('leo'));
      await click(page.getByRole('button', { name: 'Copy a link to this moment' }));
      await page.getByRole('button', { name: 'Copy a link' }).getByText('copied').waitFor();
    } else await find('link to', 'Copy a link to this moment');
    const copied = () => page.evaluate<string>('navigator.clipboard.readText()');
    await expect.poll(copied).toMatch(/\?worker=leo&at=\d+$/);
    const link = await copied();
    await ui.stage.client.publish('worker.leo.prompt.submitted');
    const other = await page.context().newPage();
    await other.goto(link);
    await other.locator('.travel').waitFor();
    await other.locator('aside .lead .state', { hasText: 'blocked' }).waitFor();
    await other.close();
    await page.evaluate("navigator.clipboard.writeText('')");
  });
});
