/** Look and handling of the page: rows, panel width, copying ids, times, the operator's name, printing. */
import { expect, test } from 'vitest';
import { describeInBrowser } from '../../support/browser.ts';
import { plan, usePage } from '../../support/page.ts';
import { operatorToken } from '../../support/stage.ts';

describeInBrowser('the page', () => {
  const ui = usePage({ default: { checks: [{ plan: {} }], promises: true } });
  const widthOf = async (selector: string) => (await ui.page.locator(selector).boundingBox())?.width ?? 0;
  const styleOf = (selector: string, property: string) =>
    ui.page.evaluate<string>(`getComputedStyle(document.querySelector('${selector}')).${property}`);

  test('has rows of 32 px, numbers on the right in one unit, and colour only where a person is needed', async () => {
    await ui.stage.client.publish('worker.w1.plan.updated', plan('completed', 'in_progress', 'pending'));
    await ui.stage.client.ask('decide.w1');
    await ui.stage.client.publish('worker.w2.tool.used', { tool: 'Bash' });
    await ui.open('/');
    await ui.page.locator('tr[data-id="w1"] [data-state="blocked"]').waitFor();
    expect(await ui.row('w1').evaluate((element) => element.getBoundingClientRect().height)).toBe(32);
    for (const column of ['since', 'retries', 'seen'])
      expect(await styleOf(`tr[data-id="w1"] .c-${column}`, 'textAlign')).toBe('right');
    expect(await ui.row('w1').locator('.c-since').innerText()).toMatch(/^\d+[smhd]$/);
    expect(await ui.row('w1').locator('.age').first().getAttribute('title')).toMatch(/^\d{4}-\d\d-\d\d [\d:]{8} UTC/);
    const plain = await styleOf('body', 'color');
    expect(await styleOf('tr[data-id="w2"] .state', 'color')).toBe(plain);
    expect(await styleOf('tr[data-id="w1"] .state', 'color')).not.toBe(plain);
  });

  test('has a panel that can be resized by keys and mouse, and keeps its width', async () => {
    const { page } = ui;
    await page.setViewportSize({ width: 1_280, height: 720 });
    await ui.open('/?worker=w1');
    const edge = page.getByRole('separator', { name: 'Width of the panel' });
    const percent = (text: string) => expect.poll(() => edge.getAttribute('aria-valuenow')).toBe(text);
    await edge.waitFor();
    await percent('44');
    const usual = await widthOf('aside');
    await edge.focus();
    await page.keyboard.press('ArrowLeft');
    await percent('46');
    expect(await widthOf('aside')).toBeGreaterThan(usual);
    await page.keyboard.press('Home');
    await percent('75');
    await page.keyboard.press('Enter');
    await percent('44');
    expect(await widthOf('aside')).toBe(usual);
    const { x, y } = (await edge.boundingBox()) ?? { x: 0, y: 0 };
    await page.mouse.move(x + 4, y + 300);
    await page.mouse.down();
    await page.mouse.move(640, y + 310, { steps: 4 });
    await page.mouse.up();
    await percent('50');
    await page.reload();
    await percent('50');
    await page.setViewportSize({ width: 390, height: 700 });
    expect(await edge.isVisible()).toBe(false);
  });

  test('copies the id of the open actor', async () => {
    const { page } = ui;
    await ui.browser.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.setViewportSize({ width: 1_280, height: 720 });
    await ui.open('/?worker=w1');
    await page.getByRole('button', { name: 'Copy w1' }).click();
    await page.getByRole('button', { name: 'Copy w1' }).and(page.getByText('copied')).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe('w1');
  });

  test('names the signed-in operator', async () => {
    const { page } = ui;
    const session = `${ui.stage.http.url}/api/main/session`;
    await ui.browser.context.request.post(session, { data: { token: operatorToken } });
    await page.setViewportSize({ width: 1_440, height: 720 });
    await ui.open('/');
    await page.evaluate("localStorage.setItem('stopgate.by', 'Ann')");
    await page.locator('header .who', { hasText: 'Ann' }).waitFor();
    // On one line with everything else.
    expect((await page.locator('header').boundingBox())?.height).toBeLessThan(60);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.locator('header .who').waitFor({ state: 'detached' });
  });

  test('animates moved rows, unless reduced motion is preferred', async () => {
    const { page } = ui;
    const glides = () =>
      page.evaluate<number>(`document.getAnimations().filter((it) => it.effect.target.matches('tr')).length`);
    const escalate = (worker: string) =>
      ui.stage.client.ask(`decide.${worker}`, { output: 'Which key? <promise>ESCALATE</promise>' });
    await page.emulateMedia({ reducedMotion: 'no-preference' });
    await ui.open('/');
    await ui.row('w2').waitFor();
    await page.evaluate(`{
      globalThis.glided = 0;
      const look = () => {
        glided = Math.max(glided, document.getAnimations().filter((it) => it.effect.target.matches('tr')).length);
        requestAnimationFrame(look);
      };
      look();
    }`);
    await escalate('w2');
    await expect.poll(async () => (await ui.rows())[0]).toBe('w2');
    await expect.poll(() => page.evaluate('glided')).toBeGreaterThan(0);
    await page.emulateMedia({ reducedMotion: 'reduce' });
    await page.reload();
    await ui.row('w2').waitFor();
    expect(await glides()).toBe(0);
  });

  test('prints an actor with a legend and the time', async () => {
    const { page } = ui;
    await ui.open('/?worker=w1');
    await page.locator('article.decision').waitFor();
    expect(await page.getByText('the agent was told to continue').isVisible()).toBe(false);
    await page.emulateMedia({ media: 'print' });
    expect(await page.getByText('the agent was told to continue').isVisible()).toBe(true);
    expect(await page.locator('main').isVisible()).toBe(false);
    expect(await page.getByText(/^as of \d{4}-\d\d-\d\d [\d:]{8} UTC/).isVisible()).toBe(true);
    await page.emulateMedia({ media: 'screen' });
  });
});
