/** The inspector's page in a real browser, against a real service: the fleet, one worker, time travel, and what if. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Decision } from '../../../machines/index.ts';
import { type Browser, describeInBrowser, openBrowser } from '../../support/browser.ts';
import { openStage, type Stage } from '../../support/stage.ts';

let stage: Stage;
let browser: Browser;

const policies = {
  policies: {
    default: { checks: [{ plan: {} }], retries: 3 },
    helper: { persistence: { idle: '10m', hold: '20s' } },
    careful: { checks: [{ plan: {} }], promises: true },
  },
};
const plan = (...statuses: string[]) => ({
  steps: ['Read the code', 'Write tests', 'Fix lint'].map((title, index) => ({ title, status: statuses[index] })),
});
const text = async (selector: string) =>
  (await browser.page.locator(selector).first().innerText()).replace(/\s+/g, ' ');
const open = (path: string) => browser.page.goto(`${stage.http.url}${path}`);
/** It stays open from then on, as the browser remembers. */
const openChart = async () => {
  const button = browser.page.getByRole('button', { name: 'Chart' });
  if ((await button.getAttribute('aria-expanded')) === 'false') await button.click();
};
const rowOf = (worker: string) => browser.page.locator(`tr[data-id="${worker}"]`);
const names = async () =>
  browser.page.locator('.grid tbody tr[data-id]').evaluateAll((rows) => rows.map((row) => row.getAttribute('data-id')));

/** A comparison folds the log, in a process that is started for it. */
const patient = { timeout: 30_000 };

describeInBrowser('the page', () => {
  beforeAll(async () => {
    stage = await openStage({ policies });
    browser = await openBrowser(() => [stage.http.url]);
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await stage?.close();
  });

  test('shows how to create a worker in an empty fleet, and updates by itself', async () => {
    await open('/');
    const lines = (await browser.page.locator('.empty pre').innerText()).split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[1]).toBe('npx stopgate decide w1');
    const entry = /publish worker (\S+) (\S+) '(.*)'$/.exec(lines[0] ?? '');
    await stage.client.publish(`worker.${entry?.[1]}.${entry?.[2]}`, entry?.[3]);
    await rowOf('w1').waitFor();
    expect(await text('tr[data-id="w1"] .state')).toBe('working');
  });

  test('shows changes of a worker live: its row, the counts, the chart', async () => {
    await open('/');
    await rowOf('w1').waitFor();
    await openChart();
    const chart = '.chart-state[data-state="blocked"] .chart-count';
    expect(await browser.page.locator(chart).textContent()).toBe('0');
    await stage.client.ask('decide.w1');
    await browser.page.locator('tr[data-id="w1"] [data-state="blocked"]').waitFor();
    await expect.poll(() => browser.page.locator(chart).textContent()).toBe('1');
    expect(await text('button.count[data-state="blocked"]')).toBe(
      'blocked 1 → 1 0 → , 1 came and 0 left in the last 10 minutes',
    );
    expect(await text('tr[data-id="w1"] .c-retries')).toBe('1 of 3');
    expect(await text('tr[data-id="w1"] .c-why')).toBe('1 of 1 plan steps remain: Write tests');
    await expect.poll(() => browser.page.locator('.chart-edge[data-taken]').count()).toBe(1);
    // The widest counts stand apart on a phone too, and in their box.
    await browser.page.setViewportSize({ width: 390, height: 800 });
    const gaps = await browser.page.locator('.flow:has(:nth-child(3))').evaluateAll((all) =>
      all.flatMap((flow) => {
        const [came, left] = [...flow.children];
        if (came === undefined || left === undefined) return [];
        [came.textContent, left.textContent] = ['→ 9.9k', '9.9k →'];
        const [a, b, box] = [came, left, flow].map((it) => it.getBoundingClientRect());
        return [(b?.left ?? 0) - (a?.right ?? 0), (box?.right ?? 0) - (b?.right ?? 0) + 6];
      }),
    );
    expect(gaps.length).toBeGreaterThan(0);
    for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(6);
    await browser.page.setViewportSize({ width: 1_280, height: 720 });
  });

  test('keeps search, filters and sorting in the address', async () => {
    for (const worker of ['ana', 'bob', 'cleo'])
      await stage.client.publish(`worker.${worker}.worker.registered`, {
        agent: worker === 'bob' ? 'codex' : 'claude',
      });
    await open('/');
    await rowOf('cleo').waitFor();
    await browser.page.getByLabel('Search workers').fill('o');
    await browser.page.getByLabel('agent').selectOption('claude');
    await browser.page.getByRole('columnheader', { name: 'Worker' }).getByRole('link').click();
    await browser.page.getByRole('columnheader', { name: 'Worker' }).getByRole('link').click();
    const address = new URL(browser.page.url());
    expect(Object.fromEntries(address.searchParams)).toEqual({ q: 'o', agent: 'claude', sort: '-worker' });
    expect(await names()).toEqual(['cleo']);
    await browser.page.reload();
    await rowOf('cleo').waitFor();
    expect(await names()).toEqual(['cleo']);
    await browser.page.getByLabel('Search workers').fill('nobody has this');
    await browser.page.getByText('None fits the search and the filters.').waitFor();
    await browser.page.locator('.grid').getByRole('button', { name: 'Show all' }).click();
    await rowOf('bob').waitFor();
    await open('/?state=blocked');
    await rowOf('w1').waitFor();
    expect(await names()).toEqual(['w1']);
    // The counts are those of all workers, whatever the filter.
    expect(await text('button.count[data-state="idle"] b')).toBe('3');
    await openChart();
    await browser.page.locator('.chart-state[data-state="blocked"]').click();
    // Who is idle as long as another may stand before it or behind it.
    await expect.poll(async () => (await names()).toSorted()).toEqual(['ana', 'bob', 'cleo', 'w1']);
  });

  test('sorts by keyboard, and opens the focused row even after it has moved', async () => {
    const { page } = browser;
    await open('/?sort=seen');
    await rowOf('cleo').waitFor();
    await page.getByRole('columnheader', { name: 'Worker' }).getByRole('link').focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => new URL(page.url()).searchParams.get('sort'), { timeout: 20_000 }).toBe('worker');
    await open('/?sort=seen');
    await rowOf('ana').focus();
    const before = (await names()).indexOf('ana');
    for (const worker of ['bob', 'cleo', 'w1'])
      await stage.client.publish(`worker.${worker}.tool.used`, { tool: 'Read' });
    await stage.client.publish('worker.ana.tool.used', { tool: 'Read' });
    await expect.poll(async () => (await names()).indexOf('ana') !== before || before === 0).toBe(true);
    await page.keyboard.press('Enter');
    expect(new URL(page.url()).searchParams.get('worker')).toBe('ana');
  });

  test('reports an invalid or unknown id, and stays usable', async () => {
    await open(`/?worker=${encodeURIComponent('\u202Eevil<b>')}`);
    await browser.page.locator('aside', { hasText: 'There is no worker ⟨U+202E⟩evil<b> yet.' }).waitFor();
    await browser.page.locator('aside', { hasText: 'ids consist of letters, digits' }).waitFor();
    await rowOf('ana').waitFor();
    await open('/?worker=nobody');
    await browser.page.locator('aside', { hasText: 'It appears here with its first entry.' }).waitFor();
    expect(await browser.axe()).toEqual([]);
  });

  test('opens a worker with its last decision, guard by guard', async () => {
    await stage.client.publish('worker.dan.plan.updated', plan('completed', 'in_progress', 'pending'));
    await stage.client.ask('decide.dan');
    await open('/');
    await browser.page.getByRole('button', { name: 'Cells' }).click();
    await browser.page.locator('.chip', { hasText: 'dan' }).click();
    expect(new URL(browser.page.url()).search).toBe('?worker=dan');
    await browser.page.locator('article[aria-label="Last decision"]').waitFor();
    const decision = (await stage.get('get/worker/dan')).body.lastDecision as Decision;
    const shown = (selector: string) =>
      browser.page
        .locator(`article[aria-label="Last decision"] ${selector}`)
        .evaluateAll((lines) => lines.map((it) => [it.getAttribute('data-guard'), it.getAttribute('data-verdict')]));
    const verdicts = decision.verdicts.map(({ guard, verdict }) => [guard, verdict]);
    // The one that decided; those that passed are folded.
    expect(await shown('> .guards li')).toEqual(verdicts.slice(-1));
    expect(await text('.passed summary')).toBe(`${verdicts.length - 1} guards passed`);
    expect(await shown('.passed li')).toEqual(verdicts.slice(0, -1));
    await browser.page.getByRole('button', { name: 'the whole prompt' }).click();
    expect(await text('.next-prompt blockquote')).toBe(decision.nextPrompt);
    expect(await text('.decision .reason')).toBe('2 of 3 plan steps remain: Write tests, Fix lint');
    await browser.page.locator('.guards details.input summary').first().click();
    expect(JSON.parse(await browser.page.locator('.guards details.input[open] .untrusted').innerText())).toEqual(
      decision.verdicts.at(-1)?.input,
    );
    await browser.page.getByRole('tab', { name: 'Chart' }).click();
    expect(
      await browser.page
        .locator('aside .chart-state[data-active]')
        .evaluateAll((all) => all.map((it) => it.getAttribute('data-state'))),
    ).toEqual(['blocked', 'active']);
  });

  test('adds new entries to the timeline', async () => {
    await open('/?worker=dan&tab=timeline');
    await browser.page.locator('.timeline .line[data-type="decision"]').first().waitFor();
    const { seq } = await stage.client.publish('worker.dan.tool.used', { tool: 'Bash', ok: true });
    await browser.page.locator(`.timeline .line[data-seq="${seq}"]`).waitFor();
    expect(await text(`.timeline .line[data-seq="${seq}"]`)).toContain('tool.used Bash (ok)');
    expect(await browser.page.locator('.timeline .line').first().getAttribute('data-seq')).toBe(String(seq));
    // An open entry stays open when another comes before it.
    await browser.page.locator(`.timeline .line[data-seq="${seq}"] summary`).click();
    const next = await stage.client.publish('worker.dan.tool.used', { tool: 'Read', ok: true });
    // Not under the pointer.
    await browser.page.locator('.timeline h3', { hasText: /\d+ new, shown when you leave/ }).waitFor();
    expect(await browser.page.locator(`.timeline .line[data-seq="${next.seq}"]`).count()).toBe(0);
    await browser.page.mouse.move(5, 5);
    await browser.page.locator(`.timeline .line[data-seq="${next.seq}"]`).waitFor();
    const opened = browser.page.locator('.timeline .line:has(details[open])');
    expect(await opened.evaluateAll((all) => all.map((it) => it.getAttribute('data-seq')))).toEqual([String(seq)]);
  });

  test('counts down the timers of a worker', async () => {
    await stage.client.publish('worker.eve.worker.registered', { policy: 'helper' });
    const held = stage.client.ask('decide.eve', {}, 30_000);
    await open('/?worker=eve');
    const left = async () => Number(/(\d+)s left/.exec(await text('[data-timer="held stop"] .timer-left'))?.[1]);
    await browser.page.locator('[data-timer="held stop"]').waitFor();
    const before = await left();
    expect(before).toBeGreaterThan(10);
    await expect.poll(left, { timeout: 5_000 }).toBeLessThan(before);
    expect(await rowOf('eve').locator('.c-why').textContent()).toMatch(/^held: a task may still come, \d+s left/);
    expect(await browser.page.locator('[data-timer="idle"]').innerText()).toMatch(/left/);
    await stage.client.publish('task.E-1.task.created', { title: 'Something to do' });
    expect((await held).body.cause).toBe('pending-tasks');
    await browser.page.locator('[data-timer="held stop"]').waitFor({ state: 'detached' });
  });

  test('shows a task with the results of its hooks', async () => {
    const { client } = stage;
    await client.publish('task.H-1.task.created', { title: 'Ship it' });
    await client.publish('task.H-1.hook.registered', { hook: 'rules', type: 'validation' });
    await client.publish('task.H-1.iteration.started', { iteration: 1, maxIterations: 5 });
    await client.publish('worker.fay.task.claimed', { task: 'H-1' });
    await client.ask('decide.fay');
    await open('/?view=tasks&task=H-1');
    await browser.page.locator('.hooks li').waitFor();
    const { hookStats } = (await stage.get('get/task/H-1')).body;
    expect(await text('.hooks li')).toContain(`continue ${hookStats[0].last.reason}`);
    expect(await text('.hooks li')).toContain('run 1 time: 0 complete, 1 continue');
    expect(await text('aside .facts')).toContain('Iteration 1 of 5');
  });

  test('shows the fleet and a worker at any entry, as the service folds them', async () => {
    const before = (await stage.get('range')).body.lastSeq;
    await open('/?worker=dan');
    await browser.page.getByRole('button', { name: 'Time travel' }).click();
    await browser.page.locator('.travel').waitFor();
    // Timers of the service may have added entries since.
    const lastSeq = Number(new URL(browser.page.url()).searchParams.get('at'));
    expect(lastSeq).toBeGreaterThanOrEqual(before);
    expect(lastSeq).toBeLessThanOrEqual((await stage.get('range')).body.lastSeq);
    const slider = browser.page.getByLabel('Log entry');
    for (const at of [lastSeq - 3, 12, 6, lastSeq]) {
      await slider.fill(String(at));
      await browser.page.locator('.travel-now', { hasText: `Entry ${at} of` }).waitFor();
      const { body } = await stage.get(`at/${at}`);
      await expect
        .poll(async () => (await names()).sort())
        .toEqual(body.workers.map(([name]: string[]) => name).sort());
      const states = await browser.page.locator('button.count b').allInnerTexts();
      const counted = [0, 1, 2, 3, 4, 5].map(
        (state) => body.workers.filter((row: number[]) => row[1] === state).length,
      );
      expect(states.map(Number)).toEqual(counted);
      const one = await stage.get(`at/${at}?worker=dan`);
      if (one.status === 404)
        await browser.page.locator('aside', { hasText: 'There is no worker dan at this entry.' }).waitFor();
      else expect(await text('aside .lead')).toMatch(new RegExp(`^${one.body.view.state}`));
    }
    await browser.page.getByRole('button', { name: 'Previous entry' }).click();
    await browser.page.locator('.travel-now', { hasText: `Entry ${lastSeq - 1} of` }).waitFor();
    await browser.page.reload();
    await browser.page.locator('.travel-now', { hasText: `Entry ${lastSeq - 1} of` }).waitFor();
    await browser.page.getByRole('button', { name: 'Live', exact: true }).click();
    await browser.page.locator('.travel').waitFor({ state: 'detached' });
  });

  test('shows the log along a time axis: zoomed, brushed, and as it was after a reload', async () => {
    await open('/?worker=dan');
    await browser.page.getByRole('button', { name: 'Time travel' }).click();
    const axis = browser.page.locator('.time-axis svg');
    await expect.poll(() => axis.getAttribute('aria-label')).toMatch(/stops \d+ allowed, [1-9]\d* blocked/);
    await axis.locator('.lane [data-verdict-kind]').first().waitFor();
    await browser.page.locator('.travel-now', { hasText: 'nothing new since then' }).waitFor();
    await stage.client.publish('worker.dan.tool.used', { tool: 'Bash' });
    await browser.page.locator('.travel-now', { hasText: /[1-9] new since then/ }).waitFor();
    const parameter = (name: string) => new URL(browser.page.url()).searchParams.get(name);
    const paused = parameter('at');
    await browser.page.getByRole('button', { name: 'Previous entry' }).click();
    await browser.page.getByRole('button', { name: 'Show less of the log' }).click();
    expect(parameter('range')).toMatch(/^\d+-\d*$/);
    await browser.page.getByRole('button', { name: 'All of the log' }).click();
    expect(parameter('range')).toBeNull();
    const box = await axis.boundingBox();
    if (box === null) throw new Error('the axis is not on screen');
    await browser.page.mouse.move(box.x + box.width * 0.2, box.y + 20);
    await browser.page.mouse.down();
    await browser.page.mouse.move(box.x + box.width * 0.4, box.y + 25, { steps: 3 });
    await browser.page.mouse.up();
    await expect.poll(() => parameter('range') ?? '').toMatch(/^\d+-\d*$/);
    const address = browser.page.url();
    // The same part of the log, also where its ends are known late.
    let answer = () => {};
    const live = new Promise<void>((done) => {
      answer = done;
    });
    await browser.page.route('**/api/main/range', (route) => live.then(() => route.continue()));
    await browser.page.reload();
    await browser.page.locator('[data-connection="live"]').waitFor();
    const outline = browser.page.waitForRequest(/\/outline\?/);
    answer();
    await axis.waitFor();
    await browser.page.unroute('**/api/main/range');
    expect(browser.page.url()).toBe(address);
    expect(new URL((await outline).url()).searchParams.get('from')).toBe(parameter('range')?.split('-')[0]);
    expect(await browser.axe()).toEqual([]);
    // Back to where the live fleet was left, and all of the log.
    await browser.page.locator('.travel-now button.link').click();
    expect(parameter('at')).toBe(paused);
    await browser.page.getByRole('button', { name: 'All of the log' }).click();
    expect(parameter('range')).toBeNull();
    await axis.click({ position: { x: 2, y: 40 } });
    await expect.poll(() => Number(parameter('at'))).toBeLessThan(Number(paused));
    await browser.page.getByRole('button', { name: 'Live', exact: true }).click();
    expect([parameter('at'), parameter('paused')]).toEqual([null, null]);
    expect(browser.problems()).toEqual([]);
  });

  test('says that what is shown is still of another entry, and goes back to it', async () => {
    const { page } = browser;
    await open('/?at=2');
    await page.locator('.travel-now', { hasText: /Entry 2 of \d+ · \d{4}-/ }).waitFor();
    let answer = () => {};
    await page.route('**/at/3', async (asked) => {
      await new Promise<void>((done) => (answer = done));
      await asked.abort().catch(() => {});
    });
    await page.getByRole('button', { name: 'Next entry' }).click();
    await page.locator('.travel-now', { hasText: 'Entry 3' }).getByRole('button', { name: 'Cancel' }).click();
    await page.waitForURL('**/?at=2');
    await page.locator('.travel-now', { hasText: /Entry 2 of \d+ · \d{4}-/ }).waitFor();
    expect(await page.locator('.late').count()).toBe(0);
    answer();
    await page.unroute('**/at/3');
  });

  test('reports an entry beyond the end of the log, and leads back', async () => {
    const { lastSeq } = (await stage.get('range')).body;
    await open(`/?worker=dan&at=${lastSeq + 1_000}`);
    await browser.page
      .locator('main', { hasText: `there is no entry ${lastSeq + 1_000} yet: the log ends at` })
      .waitFor();
    expect(await browser.axe()).toEqual([]);
    await browser.page.getByRole('button', { name: 'Go to the newest entry' }).click();
    await browser.page.locator('aside .lead').waitFor();
    expect(browser.problems().filter((it) => !it.includes('400 (Bad Request)'))).toEqual([]);
  });

  test('shows what other policies would have decided, as they are typed, and where they are invalid', async () => {
    const { page } = browser;
    await open('/?view=what-if');
    const editor = page.getByLabel('Policies, as in stopgate.yaml');
    await expect.poll(() => editor.innerText(), { timeout: 20_000 }).toContain('retries: 3');
    await page.getByText('These are the policies in force.').waitFor(patient);
    await editor.fill('policies: { default: { retrys: 2 } }');
    await page.locator('#policy-problems button').waitFor(patient);
    expect(await text('#policy-problems')).toMatch(/^line 1, column 24 .*retrys/);
    await page.locator('.cm-lintRange-error', { hasText: 'retrys' }).waitFor(patient);
    await page.locator('#policy-problems button').first().click();
    // The cursor stands before the wrong key, and the keys of the page do not take what is typed.
    await page.keyboard.type('i');
    await page.locator('#policy-problems', { hasText: 'iretrys' }).waitFor(patient);
    const policy = 'policies: { default: { checks: [] }, careful: {} }';
    await editor.fill(policy);
    const group = page.locator('.group', { hasText: 'checks → done' });
    await group.waitFor(patient);
    const { body } = await stage.post('what-if', { policy, last: 200 });
    expect(await text('.differences h3')).toContain(`${body.differ} of ${body.compared} stops would differ`);
    const dan = body.differences.find(({ worker }: { worker: string }) => worker === 'dan');
    expect(dan.guards).toEqual(['checks', 'done']);
    const line = page.locator('.difference[data-worker="dan"]');
    if (!(await line.isVisible())) await group.locator('summary').first().click();
    await line.waitFor(patient);
    expect((await line.innerText()).replace(/\s+/g, ' ')).toContain(
      'blocked block · continue · incomplete → becomes let go: nothing to check allow · complete · no-policy guard checks → done',
    );
    await line.locator('summary').first().click();
    expect(await line.getByLabel('After').locator('.reason').innerText()).toBe(dan.after.reason);
    await page.getByText('by cause').click();
    await page.locator('.group summary', { hasText: 'incomplete → no-policy' }).waitFor(patient);
    await page.locator('.group summary', { hasText: 'On the chart' }).click();
    await page.locator('figure .chart-state').first().waitFor(patient);
    await page.getByRole('button', { name: 'Difference' }).click();
    await page.locator('.cm-deletedChunk', { hasText: 'retries: 3' }).waitFor(patient);
    expect(await browser.axe()).toEqual([]);
  }, 120_000);

  test('completes by the schema, and a link takes the text along', async () => {
    const { page } = browser;
    await browser.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await open('/?view=what-if');
    const editor = page.getByLabel('Policies, as in stopgate.yaml');
    await editor.fill('policies: { default: { ');
    await page.keyboard.type('stuck');
    await page.locator('.cm-tooltip-autocomplete', { hasText: 'stuckAfter' }).waitFor(patient);
    await page.keyboard.press('Escape');
    await editor.fill('policies: { default: { retries: 7 } }');
    await page.getByRole('button', { name: 'Copy link' }).click();
    await page.getByText('The link is copied.').waitFor(patient);
    const link = await page.evaluate('navigator.clipboard.readText()');
    expect(link).toMatch(/\?view=what-if#policy=[\w-]+$/);
    await page.getByRole('button', { name: 'Reset' }).click();
    await page.getByText('These are the policies in force.').waitFor(patient);
    await page.goto('about:blank');
    await page.goto(link as string);
    await expect.poll(() => editor.innerText(), { timeout: 20_000 }).toContain('retries: 7');
    await page.locator('.differences h3', { hasText: 'would differ' }).waitFor(patient);
    expect(page.url()).not.toContain('#');
    await page.getByRole('button', { name: 'Copy YAML' }).click();
    await page.getByText('the service reloads the file at once').waitFor(patient);
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe('policies: { default: { retries: 7 } }');
  }, 120_000);

  test('shows the text of agents as text, and long text collapsed', async () => {
    const agent = '👩🏽\u200d💻 <img src=x onerror=alert(1)>\u202egnp.exe\u0000';
    const hostile = '\u001b[31mred\u001b[0m <script>alert(1)</script>';
    const title = `${hostile}${'y'.repeat(400)}`;
    await stage.client.publish('worker.evil.worker.registered', { agent });
    await stage.client.publish('worker.evil.plan.updated', { steps: [{ title, status: 'pending' }] });
    await stage.client.ask('decide.evil', { output: `${hostile}${'y'.repeat(60_000)}` });
    await open('/?worker=evil&tab=plan');
    await browser.page.locator('aside .plan').waitFor();
    expect(await text('aside .facts')).toContain('👩🏽\u200d💻 <img src=x onerror=alert(1)>⟨U+202E⟩gnp.exe⟨NUL⟩');
    expect(await text('aside .plan')).toMatch(/⟨ESC⟩\[31mred⟨ESC⟩\[0m <script>alert\(1\)<\/script>y+… more/);
    expect(await browser.page.locator('aside img, aside script').count()).toBe(0);
    expect((await text('aside')).length).toBeLessThan(10_000);
    const before = (await text('aside .plan')).length;
    await browser.page.locator('aside .plan .more').click();
    await expect.poll(async () => (await text('aside .plan')).length).toBeGreaterThan(before);
    await browser.page.getByRole('tab', { name: 'Timeline' }).click();
    const large = await stage.client.publish('worker.evil.tool.used', { tool: 'z'.repeat(66_000) });
    await browser.page.locator(`.line[data-seq="${large.seq}"]`).waitFor();
    expect(await text(`.line[data-seq="${large.seq}"]`)).toContain(
      'refused, so nothing changed: the payload has 66011 bytes',
    );
    const attempt = browser.page.locator('.line[data-type="stop.attempted"]').first();
    await attempt.locator('summary').click();
    await attempt.getByRole('button', { name: 'Load the full entry' }).click();
    await expect.poll(async () => attempt.locator('.full .more').innerText()).toMatch(/more \(5\d,\d{3} characters\)/);
  });

  test.each([
    ['plan', '.plan li'],
    ['sequence', '.lanes li'],
  ])(
    'holds the %s still under the pointer',
    async (tab, each) => {
      const publish = (status: string) =>
        stage.client.publish(`worker.of-${tab}.plan.updated`, plan(status, 'pending', 'pending'));
      await publish('pending');
      await open(`/?worker=of-${tab}&tab=${tab}`);
      const rows = browser.page.locator(`aside ${each}`);
      await rows.first().hover();
      const before = await rows.allInnerTexts();
      await publish('completed');
      const news = browser.page.locator('aside .withheld span', { hasText: /^\d+ new, shown when/ });
      await news.waitFor();
      expect(await rows.allInnerTexts()).toEqual(before);
      await browser.page.mouse.move(5, 5);
      await expect.poll(() => rows.allInnerTexts(), patient).not.toEqual(before);
      await news.waitFor({ state: 'hidden' });
    },
    60_000,
  );

  test('causes no errors and no requests to other origins', () => {
    // Each invalid text of the lab.
    const expected = /a status of 400 \(Bad Request\)$/;
    expect(browser.problems().filter((it) => !expected.test(it))).toEqual([]);
  });
});
