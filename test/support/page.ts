/** The page in a browser, with a service of its own. Tests take workers of their own: the fleet is the file's. */
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { type Browser, openBrowser } from './browser.ts';
import { openStage, type Stage } from './stage.ts';

export type PageUnderTest = {
  readonly stage: Stage;
  readonly browser: Browser;
  readonly page: Page;
  /** Opens the page at this path. */
  open(path: string): Promise<void>;
  /** Of the first that fits, on one line. */
  text(selector: string): Promise<string>;
  row(worker: string): ReturnType<Page['locator']>;
  /** The ids of the rows in their order. */
  rows(): Promise<(string | null)[]>;
};

/**
 * To be called in a `describe`. Whatever a test does, nothing goes wrong in the page, which asks nobody but the service.
 * @param prepare what is in the log before the first test @param expected messages on the console that tests bring about
 */
export function usePage(
  policies: Record<string, unknown>,
  expected?: RegExp,
  prepare?: (stage: Stage) => Promise<void>,
): PageUnderTest {
  let stage: Stage;
  let browser: Browser;
  beforeAll(async () => {
    stage = await openStage({ policies: { policies } });
    await prepare?.(stage);
    browser = await openBrowser(() => [stage.http.url], expected);
  });
  afterAll(async () => {
    await browser?.close();
    await stage?.close();
  });
  afterEach(async () => {
    const { page } = browser;
    await page.evaluate('localStorage.clear(); sessionStorage.clear()');
    await page.mouse.move(0, 0);
    expect(browser.problems()).toEqual([]);
  });
  return {
    get stage() {
      return stage;
    },
    get browser() {
      return browser;
    },
    get page() {
      return browser.page;
    },
    async open(path) {
      await browser.page.goto(`${stage.http.url}${path}`);
    },
    text: async (selector) => (await browser.page.locator(selector).first().innerText()).replace(/\s+/g, ' '),
    row: (worker) => browser.page.locator(`tr[data-id="${worker}"]`),
    rows: () =>
      browser.page.locator('.grid tbody tr[data-id]').evaluateAll((all) => all.map((it) => it.getAttribute('data-id'))),
  };
}

/** The body of `plan.updated`: three steps with these statuses. */
export const plan = (...statuses: string[]) => ({
  steps: ['Read the code', 'Write tests', 'Fix lint'].map((title, index) => ({ title, status: statuses[index] })),
});
