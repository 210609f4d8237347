/** The page in a real browser, against a real service: the list, and one worker or task. */
import { expect, test } from 'vitest';
import type { Decision } from '../../../machines/index.ts';
import { describeInBrowser } from '../../support/browser.ts';
import { plan, usePage } from '../../support/page.ts';

describeInBrowser('the page', () => {
  const ui = usePage({
    default: { checks: [{ plan: {} }], retries: 3 },
    helper: { persistence: { idle: '10m', hold: '20s' } },
    capped: { checks: [{ plan: {} }, { remote: 'lint' }], retries: 1 },
    frugal: { checks: [{ plan: {} }], budget: { usd: 2, tokens: 1_000 } },
  });
  const { open, text, row, rows } = ui;

  // First, while the fleet is empty.
  test('shows how to create a worker while there is none, then its row, the counts and the chart', async () => {
    const { page, stage } = ui;
    await open('/');
    const lines = (await page.locator('.empty pre').innerText()).split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[1]).toBe('npx stopgate decide w1');
    const entry = /publish worker (\S+) (\S+) '(.*)'$/.exec(lines[0] ?? '');
    await stage.client.publish(`worker.${entry?.[1]}.${entry?.[2]}`, entry?.[3]);
    await row('w1').waitFor();
    expect(await text('tr[data-id="w1"] .state')).toBe('working');
    await page.getByRole('button', { name: 'Chart' }).click();
    const chart = '.chart-state[data-state="blocked"] .chart-count';
    expect(await page.locator(chart).textContent()).toBe('0');
    await stage.client.ask('decide.w1');
    await page.locator('tr[data-id="w1"] [data-state="blocked"]').waitFor();
    await expect.poll(() => page.locator(chart).textContent()).toBe('1');
    expect(await text('button.count[data-state="blocked"]')).toBe('blocked 1');
    expect(await text('tr[data-id="w1"] .c-retries')).toBe('1 of 3');
    expect(await text('tr[data-id="w1"] .c-why')).toBe(
      'Blocked once: 1 of 1 plan steps remain: Write tests; 2 tries left',
    );
    await expect.poll(() => page.locator('.chart-edge[data-taken]').count()).toBe(1);
    // A phone shows the list at once.
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await page.locator('.counts').isVisible()).toBe(false);
    await page.setViewportSize({ width: 1_280, height: 720 });
  });

  test('a bar shows how much of a budget is used, and grows with each report', async () => {
    const { page, stage } = ui;
    await stage.client.publish('worker.f1.worker.registered', { policy: 'frugal' });
    await stage.client.publish('worker.f1.usage.reported', { usd: 0.5, input: 100 });
    await open('/?worker=f1');
    const bar = page.locator('[data-budget="usd per session"]');
    await bar.getByText('$0.50 of $2.00').waitFor();
    expect(await bar.locator('.bar i').getAttribute('style')).toContain('25%');
    await stage.client.publish('worker.f1.usage.reported', { usd: 2 });
    await bar.getByText('used up: stops are not judged').waitFor();
    expect(await page.locator('[data-budget]').count()).toBe(2);
  });

  test('at the cap, shows what failed and which check was not run', async () => {
    const { page, stage } = ui;
    await stage.client.publish('worker.c-cap.worker.registered', { policy: 'capped' });
    await stage.client.publish('worker.c-cap.plan.updated', plan('pending', 'pending', 'pending'));
    await stage.client.ask('decide.c-cap', { attempt: 'a1' });
    await stage.client.publish('worker.c-cap.tool.used', { tool: 'Edit', files: ['a.ts', 'b.ts'] });
    await stage.client.publish('worker.c-cap.usage.reported', { usd: 0.5 });
    await stage.client.ask('decide.c-cap', { attempt: 'a2' });
    await open('/?worker=c-cap');
    await page.locator('.decision[data-cause="capped"] [data-guard="checks"][data-verdict="block"]').waitFor();
    // Nor do the check results.
    expect(await text('.decision .feedback')).toMatch(/^plan fail (▸ details )?lint not run$/);
    expect(await text('tr[data-id="c-cap"] .c-why')).toMatch(/^Allowed after 1 blocked stop: 3 of 3 plan step/);
    expect(await page.getByText('Nothing was missing').count()).toBe(0);
    // The guard does not repeat the card.
    expect(await text('.decision [data-guard="checks"] .detail')).toMatch(/^as above/);
    await page.locator('.attempts', { hasText: 'The checks gave the same results.' }).waitFor();
    expect(await text('aside .sentence')).toMatch(/^Allowed after 1 blocked stop: 3 of 3 plan steps/);
    expect(await text('.attempts summary')).toMatch(/^allowed at the cap 1 tool, 2 files, \d+s \$0\.50 \d+s$/);
  });

  test('keeps search, filters and sorting in the address', async () => {
    const { page, stage } = ui;
    for (const worker of ['f-ana', 'f-bob', 'f-cleo'])
      await stage.client.publish(`worker.${worker}.worker.registered`, {
        agent: worker === 'f-bob' ? 'codex' : 'claude',
      });
    await stage.client.publish('worker.f-dan.plan.updated', plan('pending', 'pending', 'pending'));
    await stage.client.ask('decide.f-dan');
    await open('/');
    await row('f-cleo').waitFor();
    await page.getByLabel('Search workers').fill('f-');
    await page.getByLabel('agent').selectOption('claude');
    await page.getByRole('columnheader', { name: 'Worker' }).getByRole('link').click();
    await page.getByRole('columnheader', { name: 'Worker' }).getByRole('link').click();
    const address = new URL(page.url());
    expect(Object.fromEntries(address.searchParams)).toEqual({ q: 'f-', agent: 'claude', sort: '-worker' });
    expect(await rows()).toEqual(['f-cleo', 'f-ana']);
    await page.reload();
    await row('f-cleo').waitFor();
    expect(await rows()).toEqual(['f-cleo', 'f-ana']);
    await page.getByLabel('Search workers').fill('nobody has this');
    await page.getByText('No matches.').waitFor();
    const idle = await text('button.count[data-state="idle"] b');
    await page.locator('.grid').getByRole('button', { name: 'Show all' }).click();
    await row('f-bob').waitFor();
    // The counts include all workers, whatever the filter.
    expect(await text('button.count[data-state="idle"] b')).toBe(idle);
    expect(Number(idle)).toBeGreaterThanOrEqual(3);
    await open('/?q=f-&state=blocked');
    await row('f-dan').waitFor();
    expect(await rows()).toEqual(['f-dan']);
    await page.getByRole('button', { name: 'Chart' }).click();
    await page.locator('.chart-state[data-state="blocked"]').click();
    // Equally idle workers may be in any order.
    await expect.poll(async () => (await rows()).toSorted()).toEqual(['f-ana', 'f-bob', 'f-cleo', 'f-dan']);
  });

  test('sorts by keyboard, and opens the focused row even after it has moved', async () => {
    const { page, stage } = ui;
    const use = (worker: string) => stage.client.publish(`worker.${worker}.tool.used`, { tool: 'Read' });
    for (const worker of ['k-ana', 'k-bob', 'k-cleo']) await use(worker);
    await open('/?q=k-&sort=seen');
    await row('k-cleo').waitFor();
    await page.getByRole('columnheader', { name: 'Worker' }).getByRole('link').focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => new URL(page.url()).searchParams.get('sort')).toBe('worker');
    await open('/?q=k-&sort=seen');
    await row('k-ana').focus();
    const before = (await rows()).indexOf('k-ana');
    // Once before the others and once after them, so that it has moved in one case.
    for (const worker of ['k-bob', 'k-cleo', 'k-ana']) await use(worker);
    await expect.poll(async () => (await rows()).indexOf('k-ana') !== before || before === 0).toBe(true);
    await page.keyboard.press('Enter');
    expect(new URL(page.url()).searchParams.get('worker')).toBe('k-ana');
  });

  test('reports an invalid or unknown id, and stays usable', async () => {
    const { page, stage } = ui;
    await stage.client.publish('worker.b-ana.tool.used', { tool: 'Read' });
    await open(`/?worker=${encodeURIComponent('\u202Eevil<b>')}`);
    await page.locator('aside', { hasText: 'There is no worker ⟨U+202E⟩evil<b> yet.' }).waitFor();
    await page.locator('aside', { hasText: 'ids consist of letters, digits' }).waitFor();
    await row('b-ana').waitFor();
    await open('/?worker=nobody');
    await page.locator('aside', { hasText: 'It appears here with its first entry.' }).waitFor();
    expect(await ui.browser.axe()).toEqual([]);
  });

  test('opens a worker with its last decision, guard by guard', async () => {
    const { page, stage } = ui;
    await stage.client.publish('worker.zoe.plan.updated', plan('completed', 'in_progress', 'pending'));
    await stage.client.ask('decide.zoe');
    await open('/');
    expect(await page.getByRole('button', { name: 'Cells' }).count()).toBe(0);
    await page.locator('tr[data-id="zoe"] a').click();
    expect(new URL(page.url()).search).toBe('?worker=zoe');
    await page.locator('article[aria-label="Last decision"]').waitFor();
    const decision = (await stage.get('get/worker/zoe')).body.lastDecision as Decision;
    const shown = (selector: string) =>
      page
        .locator(`article[aria-label="Last decision"] ${selector}`)
        .evaluateAll((lines) =>
          lines.map((line) => [line.getAttribute('data-guard'), line.getAttribute('data-verdict')]),
        );
    const verdicts = decision.verdicts.map(({ guard, verdict }) => [guard, verdict]);
    // The deciding guard; those that passed are collapsed.
    expect(await shown('> .guards li')).toEqual(verdicts.slice(-1));
    expect(await text('.passed summary')).toBe(`${verdicts.length - 1} guards passed`);
    expect(await shown('.passed li')).toEqual(verdicts.slice(0, -1));
    await page.getByRole('button', { name: 'the whole prompt' }).click();
    expect(await text('.next-prompt blockquote')).toBe(decision.nextPrompt);
    // The sentence above has the reason.
    expect(await text('aside .sentence')).toMatch(/^Blocked once: 2 of 3 plan steps remain: Write tests, Fix lint; /);
    expect(await page.locator('.decision .reason').count()).toBe(0);
    await page.locator('.guards details.input summary').first().click();
    expect(JSON.parse(await page.locator('.guards details.input[open] .untrusted').innerText())).toEqual(
      decision.verdicts.at(-1)?.input,
    );
    await page.getByRole('tab', { name: 'Chart' }).click();
    const active = page.locator('aside .chart-state[data-active]');
    const names = () => active.evaluateAll((all) => all.map((element) => element.getAttribute('data-state')));
    await expect.poll(names).toEqual(['blocked', 'active']);
  });

  test('adds new entries to the timeline', async () => {
    const { page, stage } = ui;
    await stage.client.ask('decide.tom');
    await open('/?worker=tom&tab=timeline');
    await page.locator('.timeline .line[data-type="decision"]').first().waitFor();
    const { seq } = await stage.client.publish('worker.tom.tool.used', { tool: 'Bash', ok: true });
    await page.locator(`.timeline .line[data-seq="${seq}"]`).waitFor();
    expect(await text(`.timeline .line[data-seq="${seq}"]`)).toContain('tool.used Bash (ok)');
    expect(await page.locator('.timeline .line').first().getAttribute('data-seq')).toBe(String(seq));
    // An open entry stays open when another comes before it.
    await page.locator(`.timeline .line[data-seq="${seq}"] summary`).click();
    const next = await stage.client.publish('worker.tom.tool.used', { tool: 'Read', ok: true });
    // Not under the pointer.
    await page.locator('.timeline h3', { hasText: /\d+ new, shown when you leave/ }).waitFor();
    expect(await page.locator(`.timeline .line[data-seq="${next.seq}"]`).count()).toBe(0);
    await page.mouse.move(5, 5);
    await page.locator(`.timeline .line[data-seq="${next.seq}"]`).waitFor();
    const opened = page.locator('.timeline .line:has(details[open])');
    expect(await opened.evaluateAll((all) => all.map((element) => element.getAttribute('data-seq')))).toEqual([
      String(seq),
    ]);
  });

  test('counts down the timers of a worker', async () => {
    const { page, stage } = ui;
    await stage.client.publish('worker.eve.worker.registered', { policy: 'helper' });
    const held = stage.client.ask('decide.eve', {}, 30_000);
    await open('/?worker=eve');
    const left = async () => Number(/(\d+)s left/.exec(await text('[data-timer="held stop"] .timer-left'))?.[1]);
    await page.locator('[data-timer="held stop"]').waitFor();
    const before = await left();
    expect(before).toBeGreaterThan(10);
    await expect.poll(left).toBeLessThan(before);
    expect(await row('eve').locator('.c-why').textContent()).toMatch(/^Held: a task may still come, \d+s left/);
    expect(await page.locator('[data-timer="idle"]').innerText()).toMatch(/left/);
    await stage.client.publish('task.E-1.task.created', { title: 'Something to do' });
    expect((await held).body.cause).toBe('pending-tasks');
    await page.locator('[data-timer="held stop"]').waitFor({ state: 'detached' });
  });

  test('shows a task with the results of its hooks', async () => {
    const { page, stage } = ui;
    const { client } = ui.stage;
    await client.publish('task.H-1.task.created', { title: 'Ship it' });
    await client.publish('task.H-1.hook.registered', { hook: 'rules', type: 'validation' });
    await client.publish('task.H-1.iteration.started', { iteration: 1, maxIterations: 5 });
    await client.publish('worker.fay.task.claimed', { task: 'H-1' });
    await client.ask('decide.fay');
    await open('/?view=tasks&task=H-1');
    await page.locator('.hooks li').waitFor();
    const { hookStats } = (await stage.get('get/task/H-1')).body;
    expect(await text('.hooks li')).toContain(`continue ${hookStats[0].last.reason}`);
    expect(await text('.hooks li')).toContain('run 1 time: 0 complete, 1 continue');
    expect(await text('aside .facts')).toContain('Iteration 1 of 5');
  });

  test('shows the text of agents as text, and long text collapsed', async () => {
    const { page, stage } = ui;
    const agent = '👩🏽\u200d💻 <img src=x onerror=alert(1)>\u202egnp.exe\u0000';
    const hostile = '\u001b[31mred\u001b[0m <script>alert(1)</script>';
    const title = `${hostile}${'y'.repeat(400)}`;
    await stage.client.publish('worker.evil.worker.registered', { agent });
    await stage.client.publish('worker.evil.plan.updated', { steps: [{ title, status: 'pending' }] });
    await stage.client.ask('decide.evil', { output: `${hostile}${'y'.repeat(60_000)}` });
    await open('/?worker=evil&tab=plan');
    await page.locator('aside .plan').waitFor();
    expect(await text('aside .facts')).toContain('👩🏽\u200d💻 <img src=x onerror=alert(1)>⟨U+202E⟩gnp.exe⟨NUL⟩');
    expect(await text('aside .plan')).toMatch(/⟨ESC⟩\[31mred⟨ESC⟩\[0m <script>alert\(1\)<\/script>y+… more/);
    expect(await page.locator('aside img, aside script').count()).toBe(0);
    expect((await text('aside')).length).toBeLessThan(10_000);
    const before = (await text('aside .plan')).length;
    await page.locator('aside .plan .more').click();
    await expect.poll(async () => (await text('aside .plan')).length).toBeGreaterThan(before);
    await page.getByRole('tab', { name: 'Timeline' }).click();
    const large = await stage.client.publish('worker.evil.tool.used', { tool: 'z'.repeat(66_000) });
    await page.locator(`.line[data-seq="${large.seq}"]`).waitFor();
    expect(await text(`.line[data-seq="${large.seq}"]`)).toContain(
      'refused, nothing changed: the payload has 66011 bytes',
    );
    const attempt = page.locator('.line[data-type="stop.attempted"]').first();
    await attempt.locator('summary').click();
    await attempt.getByRole('button', { name: 'Load the full entry' }).click();
    await expect.poll(async () => attempt.locator('.full .more').innerText()).toMatch(/more \(5\d,\d{3} characters\)/);
  });

  test('holds the plan still under the pointer', async () => {
    const { page, stage } = ui;
    const publish = (status: string) =>
      stage.client.publish('worker.of-plan.plan.updated', plan(status, 'pending', 'pending'));
    await publish('pending');
    await open('/?worker=of-plan&tab=plan');
    const rows = page.locator('aside .plan li');
    await rows.first().hover();
    const before = await rows.allInnerTexts();
    await publish('completed');
    const news = page.locator('aside .withheld span', { hasText: /^\d+ new, shown when/ });
    await news.waitFor();
    expect(await rows.allInnerTexts()).toEqual(before);
    await page.mouse.move(5, 5);
    await expect.poll(() => rows.allInnerTexts()).not.toEqual(before);
    await news.waitFor({ state: 'hidden' });
  });
});
