/** The chart in a real browser: marks, clicks, keys, and downloads. */
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { taskMachine, workerMachine } from '../../../machines/index.ts';
import { type ChartDrawing, drawOutline } from '../../../src/inspector/chart/drawing.ts';
import { drawingOf, outlineOf } from '../../../src/inspector/chart/layout.ts';
import {
  type Browser,
  findViolations,
  noChromium,
  openBrowser,
  type Site,
  serveModule,
} from '../../support/chromium.ts';

const css = `:root { color-scheme: light dark; --bg: light-dark(#fff, #0f1317); --fg: light-dark(#1b1f24, #e6e9ec);
  --line: light-dark(#cfd5db, #3a424a); --muted: light-dark(#57606a, #9aa4ae); --accent: light-dark(#0a58ca, #6cb0ff);
  --state-idle: light-dark(#57606a, #9aa4ae); --state-working: light-dark(#116329, #4ac26b);
  --state-validating: light-dark(#7d4e00, #d4a72c); --state-blocked: light-dark(#953800, #f0883e);
  --state-escalated: light-dark(#a40e26, #ff7b72); --state-stopped: light-dark(#512a97, #b392f0); }
  body { background: var(--bg); color: var(--fg); }`;

describe.skipIf(noChromium !== null)(`the chart${noChromium === null ? '' : ` (${noChromium})`}`, () => {
  let browser: Browser;
  let site: Site;
  let page: Page;
  const drawings = { worker: {}, task: {} };
  let outline: ChartDrawing;
  const show = (props: object) => page.evaluate((given) => Object(globalThis).show(given), props);
  const picks = (): Promise<string[]> => page.evaluate(() => Object(globalThis).picks);
  const state = (name: string) => page.locator(`[data-state="${name}"]`);
  const taken = () =>
    page.locator('[data-taken]').evaluateAll((all) => all.map((edge) => edge.getAttribute('data-edge')));
  const focused = () => page.evaluate(() => Object(globalThis).document.activeElement.dataset.id);

  beforeAll(async () => {
    drawings.worker = await drawingOf(workerMachine);
    drawings.task = await drawingOf(taskMachine);
    const worker = drawings.worker as ChartDrawing;
    outline = drawOutline(worker, await outlineOf(worker));
    site = await serveModule(
      `import { h, render } from 'preact';
       import { Chart } from '/src/inspector/client/chart/chart.tsx';
       const drawings = ${JSON.stringify(drawings)};
       globalThis.picks = [];
       globalThis.show = ({ machine = 'worker', ...props }) => render(
         h(Chart, { machine, drawing: drawings[machine], onPick: (state) => globalThis.picks.push(state), ...props }),
         document.querySelector('main'));
       globalThis.show({});`,
      { css, body: '<main></main>' },
    );
    browser = await openBrowser(({ origin }) => origin === new URL(site.url).origin);
  });
  afterAll(async () => {
    await browser.close();
    await site.close();
  });
  beforeEach(async () => {
    page = await browser.context.newPage();
    await page.goto(site.url);
  });
  afterEach(async () => {
    await page.close();
    expect(browser.complaints.splice(0)).toEqual([]);
  });

  test('marks the states of an actor, and no others', async () => {
    await show({ active: ['blocked', 'stale'] });
    expect(
      await page.locator('[aria-selected="true"]').evaluateAll((all) => all.map((element) => element.ariaLabel)),
    ).toEqual(['blocked, active', 'stale, active']);
    await show({ active: ['working', 'active'] });
    await expect.poll(() => state('working').getAttribute('aria-selected')).toBe('true');
    expect(await state('blocked').getAttribute('aria-selected')).toBe('false');
  });

  test('marks the last edge taken until another one is', async () => {
    await show({ transition: { from: 'idle', to: 'working', event: 'prompt.submitted' } });
    await expect.poll(taken).toEqual(['state.idle state.working']);
    await show({ transition: { from: 'working', to: 'working', event: 'tool.used' } });
    await expect.poll(() => page.locator('[data-latest]').textContent()).toBe('tool.used');
    expect(await taken()).toEqual(['state.idle state.working']);
    await show({ transition: { from: 'working', to: 'blocked', event: 'stop.attempted' } });
    await expect.poll(taken).toEqual(['state.validating state.blocked']);
    // The latest of each region.
    const transition = { from: 'working', to: 'blocked', event: 'stop.attempted' };
    await show({ outline, transition, beside: { from: 'active', to: 'stale', event: 'presence.changed' } });
    await expect.poll(taken).toEqual(['state.validating state.blocked', 'presence.active presence.stale']);
    await page.locator('.chart-caption', { hasText: /validating → blocked .*; active → stale/ }).waitFor();
  });

  test('shows how many actors are in each state, also to a screen reader', async () => {
    await show({ heat: true, counts: [524, 3021, 48, 230, 17, 1160, 4700, 210, 90] });
    await expect.poll(() => state('working').getAttribute('aria-label')).toBe('working, 3021 here');
    expect(await state('limited').locator('.chart-count').textContent()).toBe('90');
    const width = (name: string) =>
      state(name)
        .locator('.chart-share')
        .evaluate((bar) => Number(bar.getAttribute('width')));
    expect(await width('working')).toBeGreaterThan(await width('stopped'));
    const fill = (name: string) =>
      state(name)
        .locator('.chart-box')
        .evaluate((box) => Object(globalThis).getComputedStyle(box).fill);
    expect(await fill('working')).not.toBe(await fill('validating'));
  });

  test('shows how often edges were taken, on top of all edges', async () => {
    const flows = (drawings.worker as ChartDrawing).edges.slice(0, 6).map(({ id }, index) => [id, index + 1] as const);
    await page.evaluate(([taken, labels]) => Object(globalThis).show({ flows: new Map(taken), outline: labels }), [
      flows,
      outline,
    ] as const);
    const parts = page.locator('.chart-edges > *');
    await page.locator('.chart-edges > .chart-times').nth(5).waitFor({ state: 'attached' });
    const last = (await parts.evaluateAll((all) => all.map((element) => element.textContent))).slice(-6);
    expect(last.toSorted()).toEqual(['×1', '×2', '×3', '×4', '×5', '×6']);
  });

  test('a click on a state picks it', async () => {
    await state('escalated').click();
    await state('stale').click();
    expect(await picks()).toEqual(['escalated', 'stale']);
    await show({ picked: 'escalated' });
    await expect.poll(() => state('escalated').getAttribute('aria-label')).toBe('escalated, filtered');
    await show({ picked: ['idle', 'stale'] });
    await expect.poll(() => page.locator('[data-picked]').count()).toBe(2);
  });

  test('is a tree for the keyboard', async () => {
    await page.getByLabel('Save the chart').focus();
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('state.idle');
    const walk: [key: string, to: string][] = [
      ['ArrowDown', 'state.working'],
      ['ArrowUp', 'state.idle'],
      ['ArrowUp', 'state.idle'],
      ['ArrowRight', 'presence.active'],
      ['End', 'presence.limited'],
      ['ArrowDown', 'presence.limited'],
      ['ArrowLeft', 'state.idle'],
      ['End', 'presence.limited'],
      ['Home', 'state.idle'],
    ];
    for (const [key, to] of walk) {
      await page.keyboard.press(key);
      expect(await focused(), key).toBe(to);
    }
    await page.keyboard.press('Enter');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press(' ');
    expect(await picks()).toEqual(['idle', 'working']);
    expect(await page.locator('[role="treeitem"][tabindex="0"]').count()).toBe(1);
  });

  test.each(['light', 'dark'] as const)('has no axe violations in %s mode', async (colorScheme) => {
    await page.emulateMedia({ colorScheme });
    for (const machine of ['worker', 'task']) {
      await show({ machine, heat: true, counts: [5, 400, 3, 2, 1, 0, 1, 2, 3], picked: 'blocked', active: 'working' });
      await state('idle').focus();
      expect(await findViolations(page)).toEqual([]);
    }
  });

  test('is readable on a phone, with the active state in view', async () => {
    await page.setViewportSize({ width: 390, height: 800 });
    await show({ active: ['stopped', 'limited'] });
    const inView = () =>
      state('stopped').evaluate((element) => {
        const room = element.closest('.chart-room')?.getBoundingClientRect();
        const box = element.getBoundingClientRect();
        return room !== undefined && box.left >= room.left && box.right <= room.right;
      });
    await expect.poll(inView).toBe(true);
    expect(await page.evaluate(() => Object(globalThis).document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    const height = await state('stopped')
      .locator('.chart-name')
      .evaluate((element) => element.getBoundingClientRect().height);
    expect(height).toBeGreaterThan(10);
  });

  /** The part of the drawing that is shown. */
  const viewBox = async () =>
    (await page.locator('.chart-drawing').getAttribute('viewBox'))?.split(' ').map(Number) as [
      x: number,
      y: number,
      width: number,
      height: number,
    ];
  const unitsAt = async (x: number, y: number) => {
    const room = await page.locator('.chart-drawing').boundingBox();
    const [left, top, width, height] = await viewBox();
    if (room === null) throw new Error('no chart');
    return [left + ((x - room.x) / room.width) * width, top + ((y - room.y) / room.height) * height] as const;
  };

  test('zooms with two fingers around their middle, and pans with one', async () => {
    await page.setViewportSize({ width: 390, height: 800 });
    await show({ active: ['blocked', 'active'] });
    const touch = await browser.context.newCDPSession(page);
    await touch.send('Emulation.setTouchEmulationEnabled', { enabled: true, maxTouchPoints: 2 });
    const fingers = (type: 'touchStart' | 'touchMove' | 'touchEnd', ...xs: number[]) =>
      touch.send('Input.dispatchTouchEvent', { type, touchPoints: xs.map((x, id) => ({ x, y: 300, id })) });
    const [, , before] = await viewBox();
    const middle = await unitsAt(200, 300);
    await fingers('touchStart', 180, 220);
    for (const way of [40, 60, 80]) await fingers('touchMove', 200 - way, 200 + way);
    await fingers('touchEnd');
    await expect.poll(async () => before / (await viewBox())[2]).toBeCloseTo(4, 0);
    for (const [index, unit] of (await unitsAt(200, 300)).entries())
      expect(unit).toBeCloseTo(middle[index] as number, -1);
    const [x] = await viewBox();
    await fingers('touchStart', 200);
    for (const to of [180, 150]) await fingers('touchMove', to);
    await fingers('touchEnd');
    await expect.poll(async () => (await viewBox())[0]).toBeGreaterThan(x);
  });

  test('the wheel zooms around the pointer, and the view stays while actors move', async () => {
    await show({ active: ['idle', 'active'], transition: { from: 'idle', to: 'working', event: 'prompt.submitted' } });
    const [, , before] = await viewBox();
    const units = await unitsAt(300, 200);
    await page.mouse.move(300, 200);
    await page.mouse.wheel(0, -400);
    await expect.poll(async () => (await viewBox())[2]).toBeLessThan(before * 0.9);
    const [, , width] = await viewBox();
    for (const [index, unit] of (await unitsAt(300, 200)).entries())
      expect(unit).toBeCloseTo(units[index] as number, 0);
    await show({ active: ['stopped', 'active'] });
    await expect.poll(() => state('stopped').getAttribute('aria-selected')).toBe('true');
    expect((await viewBox())[2]).toBe(width);
  });

  test('an outline shows all states in a narrow panel, and describes the edge taken last', async () => {
    await page.setViewportSize({ width: 600, height: 800 });
    const transition = { from: 'validating', to: 'blocked', event: 'stop.attempted', guard: 'checks' };
    await show({ outline, active: ['blocked', 'stale'], transition });
    await page.locator('.chart-caption', { hasText: /validating → blocked \[checks\]$/ }).waitFor();
    const fontSizes = () =>
      page.locator('.chart-name').evaluateAll((all) => all.map((element) => element.getBoundingClientRect().height));
    await expect.poll(async () => Math.min(...(await fontSizes()))).toBeGreaterThan(13);
    const [x, y, width, height] = await viewBox();
    expect([x <= 0, y <= 0, x + width >= outline.width, y + height >= outline.height]).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(await taken()).toEqual(['state.validating state.blocked']);
    await page.getByRole('button', { name: 'Labels' }).click();
    await page.locator('[data-taken] .chart-text', { hasText: '[hooks], [pending]' }).waitFor();
    expect(await taken()).toEqual(['state.validating state.blocked']);
  });

  const saved = async (format: string) => {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByLabel('Save the chart').selectOption(format),
    ]);
    return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
  };

  test('downloads as an SVG without external styles', async () => {
    await page.emulateMedia({ colorScheme: 'dark' });
    const transition = { from: 'idle', to: 'working', event: 'prompt.submitted' };
    await show({ outline, active: ['working', 'active'], heat: true, counts: [1, 2, 3, 4, 5, 6], transition });
    const { name, bytes } = await saved('SVG');
    expect(name).toBe('stopgate-worker.svg');
    const svg = bytes.toString('utf8');
    expect(svg).toMatch(/^<svg [^>]*xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
    const needless = / (class|style|role|tabindex|href)=|var\(|color\(|color-mix/i.exec(svg)?.[0] ?? null;
    expect(needless).toBeNull();
    expect(svg).toMatch(/<rect width="\d/);
    expect(svg).toContain('rgb(15, 19, 23)');
    const texts = ['validating', '[retired], [bypass]', 'presence.changed', 'heartbeat.sent'];
    expect(texts.filter((text) => !svg.includes(text))).toEqual([]);
    expect(svg).toMatch(/data-edge="state.idle state.working"[^>]* data-taken=/);
  });

  test('downloads as a PNG with everything on it', async () => {
    await show({ active: ['working', 'active'] });
    const { name, bytes } = await saved('PNG');
    expect(name).toBe('stopgate-worker.png');
    expect(bytes.subarray(1, 4).toString()).toBe('PNG');
    const width = bytes.readUInt32BE(16);
    expect(width).toBe(Math.ceil((drawings.worker as { width: number }).width) * 2);
    // An empty image of this size has a few kilobytes.
    expect(bytes.length).toBeGreaterThan(100_000);
  });

  test('downloads as Mermaid text with the active state and the edge taken last', async () => {
    await show({ active: ['idle', 'active'], transition: { from: 'validating', to: 'idle', event: 'stop.attempted' } });
    await page.locator('[data-taken]').waitFor();
    const { name, bytes } = await saved('Mermaid');
    expect(name).toBe('stopgate-worker.mmd');
    const lines = bytes
      .toString('utf8')
      .split('\n')
      .map((line) => line.trim());
    expect(lines[0]).toBe('stateDiagram-v2');
    expect(lines).toContain('[*] --> state_idle');
    expect(lines).toContain('--');
    expect(lines).toContain('state_working --> state_validating : stop.attempted [else]');
    expect(lines).toContain(
      'state_validating --> state_idle : [bypass], [limited], [waiting], [done], [else] (taken last)',
    );
    expect(lines.filter((line) => line.endsWith(' active'))).toEqual([
      'class state_idle active',
      'class presence_active active',
    ]);
    const { boxes, edges } = drawings.worker as ChartDrawing;
    const arrows = edges.filter(({ to }) => to !== null).length + boxes.filter(({ initial }) => initial).length;
    expect(lines.filter((line) => line.includes('-->'))).toHaveLength(arrows);
  });
});
