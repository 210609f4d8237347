/** The page in a browser, with its own service. Tests must use their own workers, because the file shares one fleet. */
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
  /** Text of the first matching element, on one line. */
  text(selector: string): Promise<string>;
  row(worker: string): ReturnType<Page['locator']>;
  /** Ids of the rows, in order. */
  rows(): Promise<(string | null)[]>;
};

/**
 * Call this in a `describe`. Verifies that the page has no errors and sends requests only to the service.
 * @param prepare fills the log before the first test @param expected console messages that tests cause on purpose
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

/** A body of `plan.updated` with three steps of these statuses. */
export const plan = (...statuses: string[]) => ({
  steps: ['Read the code', 'Write tests', 'Fix lint'].map((title, index) => ({ title, status: statuses[index] })),
});
