/** The page stays where it is: while it loads, while it is searched, at 200 % zoom, and on paper. */
import { expect, test } from 'vitest';
import { describeInBrowser } from '../../support/browser.ts';
import { plan, usePage } from '../../support/page.ts';
import { operatorToken, type Stage } from '../../support/stage.ts';

const workers = 90;
const question = `Which database? ${'It has to keep the orders of ten years. '.repeat(12)}Please name one at last.`;

async function fleet({ client }: Stage): Promise<void> {
  for (let index = 1; index <= workers; index += 1)
    await client.publish(`worker.w${index}.plan.updated`, plan('completed', 'in_progress', 'pending'));
  // The entries alternate, because equal ones in a row are drawn as one.
  for (let index = 0; index < 30; index += 1) {
    await client.publish('worker.busy.tool.used', { tool: 'Read', ok: true });
    await client.publish('worker.busy.prompt.submitted', { text: `Step ${index}` });
  }
  await client.ask('decide.busy');
  for (const asker of ['asker-1', 'asker-2', 'asker-3'])
    await client.ask(`decide.${asker}`, { output: `${question} I am ${asker}. <promise>ESCALATE</promise>` });
}

/** The layout shifts of a load, as the browser scores them. */
const watchShifts = `globalThis.shifted = 0;
new PerformanceObserver((list) => {
  for (const { value } of list.getEntries()) globalThis.shifted += value;
}).observe({ type: 'layout-shift', buffered: true });`;

/** The corners and the middle of an element that something else covers. */
const coveredOf = `(element) => {
  const { left, right, top, bottom } = element.getBoundingClientRect();
  const points = [[left + 3, top + 3], [right - 3, top + 3], [(left + right) / 2, (top + bottom) / 2], [left + 3, bottom - 3], [right - 3, bottom - 3]];
  return points.filter(([x, y]) => {
    const found = document.elementFromPoint(x, y);
    return found === null || !(element.contains(found) || found.contains(element));
  });
}`;

/** Called by the browser while it prints, after the page has prepared itself. */
const notePrint = (expression: string) =>
  `globalThis.printed = null; addEventListener('beforeprint', () => { globalThis.printed = ${expression}; }, { once: true })`;

describeInBrowser('the page', () => {
  const ui = usePage({ default: { checks: [{ plan: {} }], promises: true } }, undefined, fleet);
  const signIn = async () => {
    const session = `${ui.stage.http.url}/api/main/session`;
    await ui.browser.context.request.post(session, { data: { token: operatorToken } });
  };

  test('is no taller than the window on a long timeline, and a turn of the wheel leaves it in view', async () => {
    const { page } = ui;
    for (const width of [1_280, 390]) {
      await page.setViewportSize({ width, height: 700 });
      await ui.open('/?worker=busy&tab=timeline');
      await page.locator('.timeline .line').nth(40).waitFor();
      const pageBottom = await page.evaluate<number>(
        `Math.max(...[...document.querySelectorAll('.page, .page > *')].map((it) => it.getBoundingClientRect().bottom + scrollY))`,
      );
      expect(await page.evaluate('document.documentElement.scrollHeight')).toBeLessThanOrEqual(Math.ceil(pageBottom));
      await page.mouse.move(width - 100, 200);
      await page.mouse.wheel(0, 20_000);
      await page.mouse.wheel(0, 20_000);
      expect(await page.locator('aside').isVisible()).toBe(true);
      expect(
        await page.evaluate('document.elementFromPoint(innerWidth - 100, 200)?.closest("aside") !== null'),
        `at ${width}`,
      ).toBe(true);
    }
  });

  test('keeps the field of Find in its place, however many results there are', async () => {
    const { page } = ui;
    for (const width of [1_280, 390]) {
      await page.setViewportSize({ width, height: 720 });
      await ui.open('/');
      await ui.row('asker-1').waitFor();
      await page.keyboard.press('Control+k');
      const field = page.getByRole('combobox', { name: 'Find' });
      await page.locator('#found li').nth(5).waitFor();
      const before = await field.boundingBox();
      await field.fill('asker-2');
      await expect.poll(() => page.locator('#found li').count()).toBe(1);
      expect((await field.boundingBox())?.y).toBe(before?.y);
      await field.fill('no such worker');
      await page.getByText('Nothing matches.').waitFor();
      expect((await field.boundingBox())?.y).toBe(before?.y);
      await page.keyboard.press('Escape');
    }
  });

  test('shows its heading beside the name of the operator, on one line', async () => {
    const { page } = ui;
    await signIn();
    await ui.open('/');
    await page.evaluate("localStorage.setItem('stopgate.by', 'Ann')");
    for (const width of [1_440, 1_280, 1_024]) {
      await page.setViewportSize({ width, height: 720 });
      await ui.open('/');
      await page.getByRole('button', { name: 'Sign out' }).waitFor();
      expect(await page.getByRole('heading', { name: 'stopgate' }).isVisible(), `at ${width}`).toBe(true);
      expect((await page.locator('header').boundingBox())?.height, `at ${width}`).toBeLessThan(60);
    }
  });

  test.each([
    ['/', '.grid tr[data-id]'],
    ['/?worker=busy', 'ol.attempts li'],
    ['/?view=inbox', '.card'],
    ['/?view=entries', '.entries .line'],
    ['/?view=history', 'svg.bars'],
    ['/?view=what-if', '.cm-content'],
    ['/?view=service', '.service .part'],
    ['/?worker=busy&tab=timeline', '.timeline .line'],
    ['/?at=100&worker=busy', '.travel svg'],
  ])('hardly moves while it loads: %s', async (path, until) => {
    const { page } = ui;
    await signIn();
    const watching = await ui.browser.context.newPage();
    await watching.addInitScript(watchShifts);
    for (const width of [1_280, 390]) {
      await watching.setViewportSize({ width, height: 800 });
      await watching.goto(`${ui.stage.http.url}${path}`);
      await watching.locator(until).first().waitFor();
      await watching.waitForLoadState('load');
      // Two more frames, in which a shift would be counted.
      await watching.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
      expect(await watching.evaluate<number>('shifted'), `at ${width}`).toBeLessThan(0.02);
    }
    await watching.close();
    await page.bringToFront();
  });

  test('goes from the search to the first hit: with down and Enter, or with Enter alone', async () => {
    const { page } = ui;
    await page.setViewportSize({ width: 1_280, height: 720 });
    const selected = () => new URL(page.url()).searchParams.get('worker');
    await ui.open('/?sort=worker');
    await ui.row('w1').waitFor();
    // Somewhere else in the list before.
    await ui.row('w1').focus();
    await page.keyboard.press('End');
    await expect.poll(() => page.evaluate('document.activeElement.dataset.id')).toBe('w90');
    await page.keyboard.press('/');
    await page.keyboard.type('w7');
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => page.evaluate('document.activeElement.dataset.id')).toBe('w7');
    await page.keyboard.press('Enter');
    await expect.poll(selected).toBe('w7');
    await page.keyboard.press('Escape');
    await expect.poll(selected).toBe(null);
    await page.keyboard.press('/');
    await page.keyboard.press('Control+a');
    await page.keyboard.type('w8');
    await page.keyboard.press('Enter');
    await expect.poll(selected).toBe('w8');
  });

  test('covers no part of an answer at 200 % zoom', async () => {
    const { page } = ui;
    await signIn();
    // A window of 1,280 × 720 at 200 %, and a wider one.
    for (const [width, height] of [
      [640, 360],
      [960, 400],
    ] as const) {
      await page.setViewportSize({ width, height });
      await ui.open('/?view=inbox&worker=asker-1');
      await page.locator('.answer-box').waitFor();
      // With a notice, which overlays the page.
      await page.keyboard.press('p');
      await page.getByText('Paused at entry').waitFor();
      for (const part of ['.answer-box textarea', '.answer-box [type="submit"]', '.answer-box [data-action="stop"]']) {
        await page.locator(part).focus();
        expect(await page.evaluate(`(${coveredOf})(document.querySelector('${part}'))`), `${part} at ${width}`).toEqual(
          [],
        );
      }
    }
  });

  test('prints all rows of a list, all of the inbox, and whole questions', async () => {
    const { page } = ui;
    await page.setViewportSize({ width: 1_280, height: 720 });
    await ui.open('/');
    await ui.row('asker-1').waitFor();
    expect(await ui.page.locator('.grid tr[data-id]').count()).toBeLessThan(60);
    await page.evaluate(notePrint(`document.querySelectorAll('.grid tr[data-id]').length`));
    await page.pdf();
    expect(await page.evaluate('printed')).toBe(workers + 4);
    await expect.poll(() => page.locator('.grid tr[data-id]').count()).toBeLessThan(60);

    await ui.open('/?worker=asker-1');
    await page.locator('.escalation .question').waitFor();
    expect(await page.locator('.escalation .question').innerText()).not.toContain('at last');
    await page.evaluate(notePrint(`document.querySelector('.escalation .question').textContent`));
    await page.pdf();
    expect(await page.evaluate('printed')).toContain('at last');

    await ui.open('/?view=inbox');
    await page.locator('.card').nth(2).waitFor();
    await page.locator('aside').waitFor();
    // The width of A4.
    await page.setViewportSize({ width: 794, height: 1_123 });
    await page.emulateMedia({ media: 'print' });
    expect(await page.locator('.card').last().isVisible()).toBe(true);
    expect(await page.locator('aside').isVisible()).toBe(false);
    const cut = `[...document.querySelectorAll('.card-text')].filter((it) => it.scrollHeight > it.clientHeight + 1).length`;
    expect(await page.evaluate(cut)).toBe(0);
    expect(await page.locator('.card-text').allInnerTexts()).toEqual(
      expect.arrayContaining([expect.stringContaining('at last. I am asker-3')]),
    );
    await page.emulateMedia({ media: 'screen' });
    await page.setViewportSize({ width: 1_280, height: 720 });

    await ui.open('/');
    await ui.row('asker-1').waitFor();
    await page.emulateMedia({ media: 'print' });
    const cutCells = `[...document.querySelectorAll('.grid td')].filter((it) => it.scrollWidth > it.clientWidth + 1).length`;
    await page.setViewportSize({ width: 794, height: 1_123 });
    expect(await page.evaluate(cutCells)).toBe(0);
    await page.emulateMedia({ media: 'screen' });
    await page.setViewportSize({ width: 1_280, height: 720 });
  });
});
