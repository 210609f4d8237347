/** Usage on the page: in the lists, in the history, and a budget that a person grants again. */
import { expect, test } from 'vitest';
import type { WorkerView } from '../../../machines/index.ts';
import { describeInBrowser } from '../../support/browser.ts';
import { usePage } from '../../support/page.ts';
import { operatorToken } from '../../support/stage.ts';

const desktop = { width: 1_400, height: 900 };
const phone = { width: 390, height: 800 };

describeInBrowser('what agents use', () => {
  const ui = usePage({
    default: { checks: [{ plan: {} }] },
    frugal: { checks: [{ plan: {} }], budget: { usd: 2 }, onBudget: 'escalate' },
  });
  const { open, row, rows, text } = ui;
  const publish = (tail: string, data: object = {}) => ui.stage.client.publish(`worker.${tail}`, data);
  const heads = () => ui.page.locator('.grid thead th').allInnerTexts();

  // First, while nobody has reported anything.
  test('a list shows the cost column from the first report on', async () => {
    await ui.page.setViewportSize(desktop);
    await publish('quiet.worker.registered');
    await open('/');
    await row('quiet').waitFor();
    expect(await heads()).not.toContain('Tokens');
    await publish('quiet.usage.reported', { input: 12_300 });
    await row('quiet').getByText('12k', { exact: true }).waitFor();
    expect(await heads()).toContain('Tokens');
    expect(await heads()).not.toContain('Cost');
    await open('/?view=history');
    await ui.page.getByText('no agent reports dollars').waitFor();
  });

  test('workers and tasks can be sorted by cost, most expensive first', async () => {
    for (const [worker, usd] of [
      ['cheap', 0.004],
      ['dear', 12.5],
      ['fair', 1],
    ] as const) {
      await publish(`${worker}.task.claimed`, { task: `T-${worker}` });
      await publish(`${worker}.usage.reported`, { usd, input: 1_000, cacheRead: 50, model: `m-${worker}` });
    }
    await publish('none.worker.registered');
    await open('/?sort=cost');
    await row('none').waitFor();
    await expect.poll(rows).toEqual(['dear', 'fair', 'cheap', 'quiet', 'none']);
    expect(await text('tr[data-id="dear"] .c-cost')).toBe('$12.50');
    expect(await text('tr[data-id="cheap"] .c-cost')).toBe('$0.0040');
    // Tokens without dollars are no cost.
    expect(await text('tr[data-id="quiet"] .c-cost')).toBe('–');
    expect(await text('tr[data-id="quiet"] .c-tokens')).toMatch(/^\d/);
    await ui.page.getByRole('link', { name: 'Cost' }).click();
    await expect.poll(rows).toEqual(['quiet', 'cheap', 'fair', 'dear', 'none']);
    await open('/?view=tasks&sort=cost');
    await expect.poll(rows).toEqual(['T-dear', 'T-fair', 'T-cheap']);
    expect(await text('tr[data-id="T-fair"] .c-cost')).toBe('$1.00');
  });

  test('the history sums usage by day, model and task', async () => {
    const { page } = ui;
    await open('/?view=history&span=week');
    const lines = (title: string) =>
      page
        .locator(`section[aria-label="${title}"] tbody tr`)
        .evaluateAll((all) => all.map((line) => [...line.children].map((cell) => cell.textContent?.trim())));
    // Assigning usage to tasks needs a fold, which takes a little longer.
    await page.locator('section[aria-label="Cost by task"]').waitFor();
    await expect.poll(() => lines('Cost by task')).toHaveLength(4);
    expect(await lines('Cost by task')).toEqual([
      ['T-dear', '$12.50', '1,000', '50'],
      ['T-fair', '$1.00', '1,000', '50'],
      ['T-cheap', '$0.0040', '1,000', '50'],
      ['none', '–', '12,300', '–'],
    ]);
    expect((await lines('Cost by model')).map(([name]) => name)).toEqual(['m-dear', 'm-fair', 'm-cheap', 'none']);
    const days = await lines('Cost by day');
    // A test may run over midnight.
    expect(days.length).toBeGreaterThanOrEqual(1);
    expect(days.at(-1)?.[0]).toBe(new Date().toISOString().slice(0, 10));
    await page.locator('.multiple', { hasText: 'Cost' }).getByText('$13.50').waitFor();
    expect(await ui.browser.axe()).toEqual([]);
    await page.setViewportSize(phone);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(phone.width);
    await page.setViewportSize(desktop);
    await page.getByRole('link', { name: 'T-fair' }).click();
    await page.locator('aside h2', { hasText: 'T-fair' }).waitFor();
  });

  test('an exhausted budget waits in the inbox, and resuming grants it again, on a phone', async () => {
    const { page, stage } = ui;
    const worker = 'runaway';
    const view = async () => (await stage.client.ask(`get.worker.${worker}`)).body as unknown as WorkerView;
    await page.setViewportSize(phone);
    await publish(`${worker}.worker.registered`, { policy: 'frugal' });
    await publish(`${worker}.plan.updated`, { steps: [{ title: 'Write tests', status: 'pending' }] });
    await publish(`${worker}.usage.reported`, { usd: 2.5 });
    expect((await stage.client.ask(`decide.${worker}`)).body).toMatchObject({ action: 'escalate', cause: 'budget' });
    await page.context().request.post(`${stage.http.url}/api/main/session`, { data: { token: operatorToken } });
    await open('/?view=inbox');
    await page.evaluate(`localStorage.setItem('stopgate.by', 'Ann')`);
    await page.reload();
    await page.locator(`.card[data-id="${worker}"]`).click();
    await page.locator('aside').getByText('$2.50 of $2.00').first().waitFor();
    await page.locator('aside').getByText('Used $2.50 of $2.00 in this session.').waitFor();
    expect(await page.locator('aside [name=grant]').inputValue()).toBe('2');
    await page.locator('aside').getByRole('button', { name: 'Grant' }).click();
    await page.reload();
    await expect.poll(async () => (await view()).state).not.toBe('escalated');
    // Another two dollars.
    expect((await view()).budgets).toEqual([{ per: 'session', kind: 'usd', used: 0, limit: 2 }]);
    expect((await view()).usage.session.usd).toBe(2.5);
  });
});
