/** The past on the page: time travel, and "what if". */
import { expect, test } from 'vitest';
import { workerStates } from '../../../machines/values/states.ts';
import { idOf, type WorkerRow, workerRows } from '../../../src/inspector/rows.ts';
import { describeInBrowser } from '../../support/browser.ts';
import { plan, usePage } from '../../support/page.ts';

const policies = {
  default: { checks: [{ plan: {} }], retries: 3 },
  careful: { checks: [{ plan: {} }], promises: true },
};
/** A comparison folds the log, in a process that is started for it. */

describeInBrowser('the past', () => {
  // An entry beyond the log, and each invalid text of the lab.
  const ui = usePage(policies, /a status of 400 \(Bad Request\)$/, async ({ client }) => {
    for (const worker of ['ana', 'bob', 'cleo', 'ana', 'bob', 'cleo', 'ana', 'bob', 'cleo'])
      await client.publish(`worker.${worker}.tool.used`, { tool: 'Read' });
    await client.publish('worker.dan.plan.updated', plan('completed', 'in_progress', 'pending'));
    for (const worker of ['dan', 'ana']) await client.ask(`decide.${worker}`);
  });
  const { open, text, rows } = ui;

  test('shows the fleet and a worker at any entry, as the service folds them', async () => {
    const { page, stage } = ui;
    const before = (await stage.get('range')).body.lastSeq;
    await open('/?worker=dan');
    await page.getByRole('button', { name: 'Time travel' }).click();
    await page.locator('.travel').waitFor();
    // Timers of the service may have added entries since.
    const lastSeq = Number(new URL(page.url()).searchParams.get('at'));
    expect(lastSeq).toBeGreaterThanOrEqual(before);
    expect(lastSeq).toBeLessThanOrEqual((await stage.get('range')).body.lastSeq);
    const slider = page.getByLabel('Log entry');
    for (const seq of [lastSeq - 3, 12, 6, lastSeq]) {
      await slider.fill(String(seq));
      await page.locator('.travel-now', { hasText: `Entry ${seq} of` }).waitFor();
      const { body } = await stage.get(`at/${seq}`);
      await expect.poll(async () => (await rows()).sort()).toEqual(body.workers.map(idOf).sort());
      const stood: WorkerRow[] = body.workers.map(workerRows.unpack);
      const counted = workerStates.map((state) => stood.filter((row) => row.state === state).length);
      // The old rows stay until the new ones are loaded.
      const states = async () => (await page.locator('button.count b').allInnerTexts()).map(Number);
      await expect.poll(states).toEqual(counted);
      const one = await stage.get(`at/${seq}?worker=dan`);
      if (one.status === 404)
        await page.locator('aside', { hasText: 'There is no worker dan at this entry.' }).waitFor();
      else await expect.poll(() => text('aside .lead')).toMatch(new RegExp(`^${one.body.view.state}`));
    }
    await page.getByRole('button', { name: 'Previous entry' }).click();
    await page.locator('.travel-now', { hasText: `Entry ${lastSeq - 1} of` }).waitFor();
    await page.reload();
    await page.locator('.travel-now', { hasText: `Entry ${lastSeq - 1} of` }).waitFor();
    await page.getByRole('button', { name: 'Back to live' }).click();
    await page.locator('.travel').waitFor({ state: 'detached' });
  });

  test('shows the log along a time axis that can be zoomed and brushed and survives a reload', async () => {
    const { page, stage } = ui;
    await open('/?worker=dan');
    await page.getByRole('button', { name: 'Time travel' }).click();
    const axis = page.locator('.time-axis svg');
    await expect.poll(() => axis.getAttribute('aria-label')).toMatch(/stops \d+ allowed, [1-9]\d* blocked/);
    await axis.locator('.lane [data-verdict-kind]').first().waitFor();
    await page.locator('.travel-now', { hasText: 'nothing new since then' }).waitFor();
    await stage.client.publish('worker.dan.tool.used', { tool: 'Bash' });
    await page.locator('.travel-now', { hasText: /[1-9] new since then/ }).waitFor();
    const parameter = (name: string) => new URL(page.url()).searchParams.get(name);
    const paused = parameter('at');
    await page.getByRole('button', { name: 'Previous entry' }).click();
    await page.getByRole('button', { name: 'Show less of the log' }).click();
    expect(parameter('range')).toMatch(/^\d+-\d*$/);
    await page.getByRole('button', { name: 'All of the log' }).click();
    expect(parameter('range')).toBeNull();
    const box = await axis.boundingBox();
    if (box === null) throw new Error('the axis is not on screen');
    await page.mouse.move(box.x + box.width * 0.2, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.4, box.y + 25, { steps: 3 });
    await page.mouse.up();
    await expect.poll(() => parameter('range') ?? '').toMatch(/^\d+-\d*$/);
    const address = page.url();
    // The same part of the log, even if its range is known late.
    let answer = () => {};
    const live = new Promise<void>((done) => {
      answer = done;
    });
    await page.route('**/api/main/range', (route) => live.then(() => route.continue()));
    await page.reload();
    await page.locator('[data-connection="live"]').waitFor();
    const outline = page.waitForRequest(/\/outline\?/);
    answer();
    await axis.waitFor();
    await page.unroute('**/api/main/range');
    expect(page.url()).toBe(address);
    expect(new URL((await outline).url()).searchParams.get('from')).toBe(parameter('range')?.split('-')[0]);
    // Back to where the live view was left, and to the whole log.
    await page.locator('.travel-now button.link').click();
    expect(parameter('at')).toBe(paused);
    await page.getByRole('button', { name: 'All of the log' }).click();
    expect(parameter('range')).toBeNull();
    await axis.click({ position: { x: 2, y: 40 } });
    await expect.poll(() => Number(parameter('at'))).toBeLessThan(Number(paused));
    await page.getByRole('button', { name: 'Back to live' }).click();
    expect([parameter('at'), parameter('paused')]).toEqual([null, null]);
  });

  test('says that it still shows another entry, and returns to it', async () => {
    const { page } = ui;
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
    const { page, stage } = ui;
    const { lastSeq } = (await stage.get('range')).body;
    await open(`/?worker=dan&at=${lastSeq + 1_000}`);
    await page.locator('main', { hasText: `there is no entry ${lastSeq + 1_000} yet: the log ends at` }).waitFor();
    expect(await ui.browser.axe()).toEqual([]);
    await page.getByRole('button', { name: 'Go to the newest entry' }).click();
    await page.locator('aside .lead').waitFor();
  });

  test('shows how other policies would have decided while they are typed, and where they are invalid', async () => {
    const { page, stage } = ui;
    await open('/?view=what-if');
    const editor = page.getByLabel('Policies, as in stopgate.yaml');
    await expect.poll(() => editor.innerText()).toContain('retries: 3');
    await page.getByText('These are the policies in force.').waitFor();
    await editor.fill('policies: { default: { retrys: 2 } }');
    await page.locator('#policy-problems button').waitFor();
    expect(await text('#policy-problems')).toMatch(/^line 1, column 24 .*retrys/);
    await page.locator('.cm-lintRange-error', { hasText: 'retrys' }).waitFor();
    await page.locator('#policy-problems button').first().click();
    // The cursor is before the wrong key, and typing does not trigger shortcuts.
    await page.keyboard.type('i');
    await page.locator('#policy-problems', { hasText: 'iretrys' }).waitFor();
    const policy = 'policies: { default: { checks: [] }, careful: {} }';
    await editor.fill(policy);
    const group = page.locator('.group', { hasText: 'checks → done' });
    await group.waitFor();
    const { body } = await stage.post('what-if', { policy, last: 200 });
    expect(await text('.differences h3')).toContain(`${body.differ} of ${body.compared} stops would differ`);
    const dan = body.differences.find(({ worker }: { worker: string }) => worker === 'dan');
    expect(dan.guards).toEqual(['checks', 'done']);
    const line = page.locator('.difference[data-worker="dan"]');
    if (!(await line.isVisible())) await group.locator('summary').first().click();
    await line.waitFor();
    const lineText = async () => (await line.innerText()).replace(/\s+/g, ' ');
    // The group says which guard.
    expect(await lineText()).toMatch(/blocked → becomes allowed: nothing to check ?$/);
    await line.locator('summary').first().click();
    expect(await line.getByLabel('After').locator('.reason').innerText()).toBe(dan.after.reason);
    await page.getByText('by cause').click();
    const byCause = page.locator('.group', { hasText: 'incomplete → no-policy' });
    await byCause.waitFor();
    if (!(await line.isVisible())) await byCause.locator('summary').first().click();
    await expect.poll(lineText).toContain('allowed: nothing to check guard checks → done');
    await page.getByRole('button', { name: 'Difference' }).click();
    await page.locator('.cm-deletedChunk', { hasText: 'retries: 3' }).waitFor();
    expect(await ui.browser.axe()).toEqual([]);
  });

  test('completes by the schema, and a link contains the text', async () => {
    const { page } = ui;
    await ui.browser.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await open('/?view=what-if');
    const editor = page.getByLabel('Policies, as in stopgate.yaml');
    await editor.fill('policies: { default: { ');
    await page.keyboard.type('stuck');
    await page.locator('.cm-tooltip-autocomplete', { hasText: 'stuckAfter' }).waitFor();
    await page.keyboard.press('Escape');
    await editor.fill('policies: { default: { retries: 7 } }');
    await page.getByRole('button', { name: 'Copy link' }).click();
    await page.getByText('The link is copied.').waitFor();
    const link = await page.evaluate('navigator.clipboard.readText()');
    expect(link).toMatch(/\?view=what-if#policy=[\w-]+$/);
    await page.getByRole('button', { name: 'Reset' }).click();
    await page.getByText('These are the policies in force.').waitFor();
    await page.goto('about:blank');
    await page.goto(link as string);
    await expect.poll(() => editor.innerText()).toContain('retries: 7');
    await page.locator('.differences h3', { hasText: 'would differ' }).waitFor();
    expect(page.url()).not.toContain('#');
    await page.getByRole('button', { name: 'Copy YAML' }).click();
    await page.getByText('the service reloads the file at once').waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe('policies: { default: { retries: 7 } }');
  });
});
