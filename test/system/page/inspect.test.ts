/** The page /inspect as the inspector of a real XState app on another port. */
import { createWebSocketInspector } from '@statelyai/inspect';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createActor, createMachine } from 'xstate';
import {
  type Browser,
  findViolations,
  noChromium,
  openBrowser,
  type Site,
  serveModule,
} from '../../support/chromium.ts';
import { openStage, type Stage } from '../../support/stage.ts';

/** A traffic light with a child actor; its context shows what it was sent, markup included. */
const app = (inspector: string) => `
  import { createBrowserInspector } from '@statelyai/inspect';
  import { assign, createActor, createMachine } from 'xstate';
  const child = createMachine({ id: 'walker', initial: 'walking', states: { walking: { on: { arrive: 'there' } }, there: { type: 'final' } } });
  const light = createMachine({
    id: 'light', initial: 'green', context: { text: '' }, invoke: { src: child, id: 'walk' },
    states: {
      green: { on: { timer: 'yellow' } },
      yellow: { on: { timer: { target: 'red', guard: () => true } } },
      red: { initial: 'walk', after: { 100000: 'green' }, states: { walk: { on: { hurry: 'wait' } }, wait: {} } },
    },
    on: { say: { actions: assign({ text: ({ event }) => event.text }) } },
  });
  globalThis.begin = (options = {}) => {
    const inspector = createBrowserInspector({ url: '${inspector}', ...options });
    globalThis.actor = createActor(light, { inspect: inspector.inspect }).start();
  };
  globalThis.beginFramed = () => globalThis.begin({ iframe: document.querySelector('iframe') });`;

describe.skipIf(noChromium !== null)(
  `the inspector of XState apps${noChromium === null ? '' : ` (${noChromium})`}`,
  () => {
    let stage: Stage;
    let site: Site;
    let browser: Browser;
    const address = () => `${stage.http.url}/inspect`;
    const open = async () => {
      const page = await browser.context.newPage();
      await page.goto(site.url);
      return page;
    };
    const openBoth = async () => {
      const page = await open();
      const [inspector] = await Promise.all([
        browser.context.waitForEvent('page'),
        page.evaluate(() => Object(globalThis).begin()),
      ]);
      return { page, inspector };
    };
    const send = (page: Page, event: object) => page.evaluate((it) => Object(globalThis).actor.send(it), event);
    const active = (inspector: Pick<Page, 'locator'>) =>
      inspector.locator('.state[data-active]').evaluateAll((all) => all.map((it) => it.getAttribute('data-state')));

    beforeAll(async () => {
      stage = await openStage();
      site = await serveModule(app(address()), { body: '<iframe title="inspector"></iframe>' });
      const ours = [site.url, stage.http.url].map((url) => new URL(url).origin);
      browser = await openBrowser(({ origin }) => ours.includes(origin));
    });
    afterAll(async () => {
      await browser.close();
      await site.close();
      await stage.close();
    });
    afterEach(async () => {
      for (const page of browser.context.pages()) await page.close();
      expect(browser.complaints.splice(0)).toEqual([]);
    });

    test('shows the actors, their states, and each transition', async () => {
      const { page, inspector } = await openBoth();
      await expect.poll(() => active(inspector)).toEqual(['green']);
      await expect
        .poll(() => inspector.getByRole('status').first().textContent())
        .toBe(`From ${new URL(site.url).origin}`);
      expect(await inspector.locator('.actors .name').allTextContents()).toEqual(['light', 'walk']);
      expect(await inspector.locator('.state[data-state="yellow"]').textContent()).toContain('timer [guard] → red');
      await send(page, { type: 'timer' });
      await send(page, { type: 'timer' });
      await expect.poll(() => active(inspector)).toEqual(['red', 'red.walk']);
      const events = () => inspector.locator('.events summary bdi').allTextContents();
      await expect.poll(events).toEqual(['timer', 'timer', 'xstate.init']);
      await inspector.getByRole('button', { name: 'walk walking' }).click();
      await expect.poll(() => active(inspector)).toEqual(['walking']);
    });

    test('draws the machine with its edges, the states it is in, and the transition taken last', async () => {
      const { page, inspector } = await openBoth();
      const onChart = (selector: string) =>
        inspector
          .locator(`.chart ${selector}`)
          .evaluateAll((all) => all.map((it) => it.getAttribute('data-id') ?? it.getAttribute('data-edge')));
      await inspector.locator('.chart-state').first().waitFor();
      expect((await onChart('.chart-state')).sort()).toEqual(['green', 'red', 'red.wait', 'red.walk', 'yellow']);
      expect(await onChart('.chart-edge:has(.chart-line)')).toEqual(
        expect.arrayContaining(['green yellow', 'yellow red', 'red green', 'red.walk red.wait']),
      );
      for (const type of ['timer', 'timer', 'hurry']) await send(page, { type });
      await expect.poll(() => onChart('.chart-state[data-active]')).toEqual(['red.wait']);
      expect(await onChart('[data-taken]')).toEqual(['red.walk red.wait']);
    });

    test('an event shows the actor as it was after it, and what changed', async () => {
      const { page, inspector } = await openBoth();
      await send(page, { type: 'timer' });
      await send(page, { type: 'say', text: 'hello' });
      await send(page, { type: 'timer' });
      await inspector.locator('.chart-state').first().waitFor();
      await expect.poll(() => active(inspector)).toEqual(['red', 'red.walk']);
      const show = (name: RegExp) => inspector.getByRole('button', { name }).click();
      await show(/after event 2, timer/);
      expect(await active(inspector)).toEqual(['yellow']);
      expect(await inspector.locator('.chart [data-taken]').getAttribute('data-edge')).toBe('green yellow');
      await show(/after event 3, say/);
      const snapshot = inspector.locator('section[aria-label="Snapshot"]');
      expect(await snapshot.textContent()).toContain('Changed: text.');
      expect(await snapshot.locator('pre').first().textContent()).toContain('hello');
      await show(/Show the present/);
      expect(await active(inspector)).toEqual(['red', 'red.walk']);
      expect(await findViolations(inspector)).toEqual([]);
    });

    test('shows events as text, whatever they contain, and long ones truncated', async () => {
      const { page, inspector } = await openBoth();
      const text = `<img src=x onerror="document.title='run'"> \u202egpj.exe ${'long '.repeat(2_000)}`;
      await send(page, { type: 'say', text });
      const context = inspector.locator('section[aria-label="Snapshot"] pre').first();
      await expect.poll(() => context.textContent()).toContain('<img src=x');
      expect((await context.textContent())?.length).toBeLessThan(5_000);
      expect(await inspector.locator('img').count()).toBe(0);
      await inspector.getByRole('button', { name: /^Show all \d+ characters$/ }).click();
      expect((await context.textContent())?.length).toBeGreaterThan(10_000);
    });

    test('accepts messages only from the app that opened it', async () => {
      const { page, inspector } = await openBoth();
      await expect.poll(() => active(inspector)).toEqual(['green']);
      const frame = { type: '@xstate.actor', _version: '0.7.2', sessionId: 'evil', name: 'evil', createdAt: '0' };
      await inspector.evaluate((it) => Object(globalThis).postMessage(it, '*'), frame);
      await send(page, { type: 'timer' });
      await expect.poll(() => active(inspector)).toEqual(['yellow']);
      expect(await inspector.locator('.actors .name').allTextContents()).toEqual(['light', 'walk']);
    });

    test('survives malformed frames, too many actors, and actors that are their own ancestors', async () => {
      const { page, inspector } = await openBoth();
      await expect.poll(() => active(inspector)).toEqual(['green']);
      await page.evaluate(() => {
        const opened = Object(globalThis).open('', 'xstateinspector');
        const post = (frame: unknown) => opened.postMessage(frame, '*');
        for (const frame of [null, 'text', 7, {}, { type: '@xstate.actor', _version: '1' }]) post(frame);
        const actor = { type: '@xstate.actor', _version: '0.7.2' };
        post({ ...actor, sessionId: 'a', parentId: 'b', name: 'first', definition: '{"states":' });
        post({
          ...actor,
          sessionId: 'b',
          parentId: 'a',
          name: 7,
          definition: '{"states":{"one":7,"two":null}}',
          snapshot: 3,
        });
        for (let at = 0; at < 1_000; at += 1) post({ ...actor, sessionId: `many ${at}` });
        for (let at = 0; at < 1_000; at += 1)
          post({ ...actor, type: '@xstate.event', sessionId: 'last', event: { type: `e${at}` } });
      });
      await inspector.getByRole('button', { name: 'last' }).click();
      await expect.poll(() => inspector.locator('.events summary bdi').first().textContent()).toBe('e999');
      expect(await inspector.locator('.events li').count()).toBe(100);
      expect(await inspector.locator('.actors li').count()).toBe(500);
    });

    test('lists the states of a machine that is too large for a chart, folded to those that are active', async () => {
      const { page, inspector } = await openBoth();
      await expect.poll(() => active(inspector)).toEqual(['green']);
      await page.evaluate(() => {
        const opened = Object(globalThis).open('', 'xstateinspector');
        const numbered = (name: string, state: object) =>
          Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`${name}${at}`, state]));
        const definition = {
          initial: 'area0',
          states: numbered('area', { initial: 'step0', states: numbered('step', {}) }),
        };
        const snapshot = { status: 'active', value: { area7: 'step3' } };
        const actor = { type: '@xstate.actor', _version: '0.7.2', sessionId: 'plant', name: 'plant', createdAt: '0' };
        opened.postMessage({ ...actor, definition: JSON.stringify(definition), snapshot }, '*');
      });
      await inspector.getByRole('button', { name: 'plant' }).click();
      await inspector.getByText('This machine is too large for a chart.').waitFor();
      await inspector.locator('[data-state="area7.step3"][data-active]').waitFor();
      await inspector.locator('[data-state="area8"]').waitFor();
      expect(await inspector.locator('[data-state="area8.step3"]').isVisible()).toBe(false);
      await inspector.locator('[data-state="area8"] summary').click();
      await inspector.locator('[data-state="area8.step3"]').waitFor();
    });

    test('shows names of machines, states, events and actors as text, in the list and in the chart', async () => {
      const { page, inspector } = await openBoth();
      await expect.poll(() => active(inspector)).toEqual(['green']);
      const evil = `<img src=x onerror="document.title='run'"><script>document.title='run'</script>`;
      await page.evaluate((name) => {
        const opened = Object(globalThis).open('', 'xstateinspector');
        const definition = {
          id: name,
          initial: name,
          states: { [name]: { on: { [name]: { target: `#${name}.other`, actions: [name], guard: name } } }, other: {} },
        };
        const frame = { _version: '0.7.2', sessionId: 'evil', createdAt: '0' };
        const post = (fields: object) => opened.postMessage({ ...frame, ...fields }, '*');
        const snapshot = { status: 'active', value: name, context: { [name]: name } };
        post({ type: '@xstate.actor', name, definition: JSON.stringify(definition), snapshot });
        post({ type: '@xstate.event', event: { type: name, [name]: name }, sourceId: name });
        post({ type: '@xstate.snapshot', event: { type: name }, snapshot });
      }, evil);
      await inspector.locator('.actors button', { hasText: '<img' }).click();
      await expect.poll(() => inspector.locator('.events summary bdi').first().textContent()).toBe(evil);
      await inspector.locator('.chart-state').first().waitFor();
      expect(await inspector.locator('article').textContent()).toContain(evil);
      expect(await inspector.locator('img, main script').count()).toBe(0);
      expect(await inspector.title()).toBe('XState actors · stopgate');
    });

    test('works in a frame of the app', async () => {
      const page = await open();
      await page.evaluate(() => Object(globalThis).beginFramed());
      const inspector = page.frameLocator('iframe');
      await expect.poll(() => active(inspector)).toEqual(['green']);
    });

    test('opened by hand, shows how to connect an app', async () => {
      const page = await browser.context.newPage();
      await page.goto(address());
      await expect.poll(() => page.getByRole('status').textContent()).toBe('Connected, waiting for the first actor');
      expect(await page.locator('pre').first().textContent()).toContain(
        `createBrowserInspector({ url: '${address()}' })`,
      );
    });

    test('opened by hand, shows the apps that send to this service by a WebSocket', async () => {
      const inspector = await browser.context.newPage();
      await inspector.goto(address());
      const sender = createWebSocketInspector({ url: address().replace('http', 'ws') });
      const machine = createMachine({ id: 'lamp', initial: 'off', states: { off: { on: { press: 'on' } }, on: {} } });
      const lamp = createActor(machine, { inspect: sender.inspect, id: 'lamp' }).start();
      await expect.poll(() => active(inspector)).toEqual(['off']);
      lamp.send({ type: 'press' });
      await expect.poll(() => active(inspector)).toEqual(['on']);
      expect(await inspector.getByRole('status').first().textContent()).toBe(`From ${stage.http.url}`);
      sender.adapter.stop?.();
    });

    test.each(['light', 'dark'] as const)('has no axe violations in %s mode', async (colorScheme) => {
      const { inspector } = await openBoth();
      await inspector.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await expect.poll(() => active(inspector)).toEqual(['green']);
      expect(await findViolations(inspector)).toEqual([]);
      const empty = await browser.context.newPage();
      await empty.emulateMedia({ colorScheme });
      await empty.goto(address());
      expect(await findViolations(empty)).toEqual([]);
    });
  },
);
