/** The history of the fleet: any time range, and links from each number to its entries. */
import { expect, test } from 'vitest';
import type { FleetStatistics } from '../../../src/inspector/messages.ts';
import { describeInBrowser } from '../../support/browser.ts';
import { usePage } from '../../support/page.ts';

const toJson = (value: object) => new TextEncoder().encode(JSON.stringify(value));

describeInBrowser('the history of the fleet', () => {
  const workers = ['ana', 'bob', 'cleo'];
  const ui = usePage({ default: { checks: [{ remote: 'tests' }, { plan: {} }] } }, undefined, async ({ client }) => {
    // It fails every other time, on unchanged work.
    let runs = 0;
    client.nc.subscribe('stopgate.main.check.tests', {
      callback: (_error, asked) => {
        runs += 1;
        asked.respond(toJson(runs % 2 === 1 ? { complete: false, reason: 'login.test.ts' } : { complete: true }));
      },
    });
    await client.nc.flush();
    // Immediately one after the other, so nothing can have changed in between.
    for (const worker of workers) for (let time = 0; time < 2; time += 1) await client.ask(`decide.${worker}`);
  });
  const statistics = async (query = 'span=hour') => (await ui.stage.get(`statistics?${query}`)).body as FleetStatistics;
  const lines = () => ui.page.locator('.entries .line');
  const outcomes = () => lines().evaluateAll((all) => all.map((line) => line.textContent?.includes('fail')));
  const stopsIn = ({ verdicts }: FleetStatistics['buckets'][number]) =>
    Object.values(verdicts).reduce((all, count) => all + count, 0);
  /** The time range of the prepared entries, to the minute. */
  async function rangeOfAll() {
    const { entries } = (await ui.stage.get('entries?limit=1000')).body;
    return { seq: entries[0].seq, fromMs: entries[0].atMs - 60_000, toMs: entries.at(-1).atMs + 60_000 };
  }

  test('shows the typed time, and the address keeps it', async () => {
    const { page } = ui;
    await ui.open('/?view=history');
    await page.locator('.headline', { hasText: /^6 stops in the last hour: 3 blocked/ }).waitFor();
    const { fromMs, toMs, seq } = await rangeOfAll();
    await page.getByLabel('from', { exact: true }).fill(new Date(fromMs - 60_000).toISOString());
    await page.getByLabel('to', { exact: true }).fill(new Date(fromMs).toISOString());
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.getByRole('heading', { name: /^No stops in the 1m from \d{4}-/ }).waitFor();
    await page.getByLabel('from', { exact: true }).fill(`#${seq}`);
    await page.getByLabel('to', { exact: true }).fill(new Date(toMs).toISOString());
    await page.keyboard.press('Enter');
    await page.locator('.headline', { hasText: /^6 stops in the .* from \d{4}-.* to \d{4}-.* UTC/ }).waitFor();
    await page.reload();
    await page.locator('.headline', { hasText: /^6 stops in the .* from/ }).waitFor();
    await page.getByLabel('from', { exact: true }).fill('25:61');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('“25:61” is not a time. Try 02:13').waitFor();
    await page.getByLabel('from', { exact: true }).fill('1m ago');
    await page.getByLabel('to', { exact: true }).fill('2m ago');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('The end must be after the beginning.').waitFor();
    await page.getByRole('button', { name: 'Last 24 hours' }).click();
    await page.locator('.headline', { hasText: /^6 stops in the last 24 hours/ }).waitFor();
  });

  test('counts the rules on demand, and says which deserve a look', async () => {
    const { page } = ui;
    await ui.open('/?view=history');
    await page.getByRole('button', { name: 'Which deserve a look?' }).click();
    const rule = (name: string) => page.locator(`tr[data-rule="${name}"]`);
    await rule('default/tests').waitFor();
    expect((await rule('default/tests').innerText()).split('\t').slice(0, 9)).toEqual([
      'default',
      'tests',
      'flaky',
      '6',
      '3',
      '3',
      '–',
      '3',
      '–',
    ]);
    expect(await rule('default/plan').innerText()).toMatch(/never failed/);
    await page.getByText('it gave different results for the same work').waitFor();
  });

  test('a bar leads to its entries; dragging over several zooms in', async () => {
    const { page } = ui;
    const { fromMs, toMs } = await rangeOfAll();
    const address = `/?view=history&span=${new Date(fromMs).toISOString()}/${new Date(toMs).toISOString()}`;
    const { buckets } = await statistics(`from=${fromMs}&to=${toMs}`);
    const [busiest, stops] = buckets
      .map(stopsIn)
      .reduce((best, count, index) => (count > best[1] ? [index, count] : best), [0, 0]);
    await ui.open(address);
    const bars = page.locator('.multiple', { hasText: 'Stops' }).locator('.bars');
    const box = async () => (await bars.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    await bars.waitFor();
    const { x, y, width, height } = await box();
    const xOf = (index: number) => x + ((index + 0.5) * width) / buckets.length;
    await page.mouse.click(xOf(busiest), y + height / 2);
    await expect.poll(() => lines().count()).toBe(stops);
    expect(new URL(page.url()).searchParams.get('q')).toMatch(/^type:decision outcome:\S+ from:\S+Z to:\S+Z$/);
    await page.goBack();
    await bars.waitFor();
    await page.mouse.move(xOf(busiest - 3), y + height / 2);
    await page.mouse.down();
    await page.mouse.move(xOf(busiest + 3), y + height / 2);
    await page.mouse.up();
    const begin = buckets[busiest - 3]?.atMs ?? 0;
    await expect.poll(() => Date.parse(new URL(page.url()).searchParams.get('span')?.split('/')[0] ?? '')).toBe(begin);
  });

  test('a check leads to its failures, and shows on how many pairs of runs its flakiness is based', async () => {
    const { page } = ui;
    await ui.open('/?view=history');
    const row = page.locator('tr[data-check="tests"]');
    const { compared, differing } = (await statistics()).checks.find(({ check }) => check === 'tests') ?? {};
    expect([compared, differing]).toEqual([3, 3]);
    expect(await row.locator('[data-flaky]').textContent()).toBe('100 % of 3 pairs');
    await page.getByText('The flakiest check is tests: 100 % of 3 pairs of runs differ.').waitFor();
    await row.getByRole('link', { name: 'tests' }).click();
    await expect.poll(outcomes).toEqual([true, true, true]);
    await page.goBack();
    await row.getByRole('link', { name: '6', exact: true }).click();
    await expect.poll(outcomes).toEqual([false, true, false, true, false, true]);
  });

  test('has axis labels that do not overlap, even on a phone, and prints its legends', async () => {
    const { page } = ui;
    await ui.open('/?view=history');
    await page.locator('.multiples').waitFor();
    for (const width of [1_440, 390]) {
      await page.setViewportSize({ width, height: 844 });
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      const overlaps = await page.locator('.plot').evaluateAll((plots) =>
        plots.flatMap((plot) => {
          const boxes = [...plot.querySelectorAll('span')].map((element) => ({
            it: element,
            box: element.getBoundingClientRect(),
          }));
          return boxes.flatMap(({ it: element, box: a }, index) =>
            boxes
              .slice(index + 1)
              .filter(
                ({ box: b }) => a.left < b.right && b.left < a.right && a.top + 3 < b.bottom && b.top + 3 < a.bottom,
              )
              .map((other) => `${element.textContent} and ${other.it.textContent}`),
          );
        }),
      );
      expect(overlaps).toEqual([]);
    }
    await page.setViewportSize({ width: 1_280, height: 720 });
    expect(await page.locator('.plot .zone').first().textContent()).toMatch(/^UTC/);
    expect(await page.locator('.plot').first().locator('.scale span').allTextContents()).toEqual(['0', '2', '4', '6']);
    await page.emulateMedia({ media: 'print' });
    await page.locator('.legend', { hasText: 'blocked 3' }).waitFor();
    await page.locator('.words').waitFor();
    expect(await page.getByRole('button', { name: 'Last hour' }).isVisible()).toBe(false);
    await page.emulateMedia({ media: null });
  });
});
