/** Page tests in Chromium: one browser per file, with checks that apply to every page. */
import type { BrowserContext, Page } from 'playwright-core';
import { describe } from 'vitest';
import * as chromium from './chromium.ts';

/** Skips the tests visibly if there is no Chromium. In CI that is an error. */
export function describeInBrowser(title: string, tests: () => void): void {
  if (chromium.noChromium === null) describe(title, tests);
  else describe.skip(`${title} (${chromium.noChromium})`, tests);
}

export type Browser = {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Errors in the page since the last call, including requests to other origins. */
  problems(): string[];
  /** Violated WCAG 2.2 AA rules, in both colour schemes. */
  axe(): Promise<string[]>;
  close(): Promise<void>;
};

/** @param urls the only allowed origins. @param expected console messages that a test causes on purpose */
export async function openBrowser(urls: () => readonly string[], expected?: RegExp): Promise<Browser> {
  const { context, complaints, close } = await chromium.openBrowser(({ origin }) => urls().includes(origin));
  const page = context.pages()[0] ?? (await context.newPage());
  page.setDefaultTimeout(60_000);
  return {
    context,
    page,
    close,
    problems: () => complaints.splice(0).filter((it) => expected === undefined || !expected.test(it)),
    async axe() {
      const found: string[] = [];
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        for (const it of await chromium.findViolations(page)) found.push(`${colorScheme} ${it}`);
      }
      await page.emulateMedia({ colorScheme: 'light' });
      return found;
    },
  };
}
