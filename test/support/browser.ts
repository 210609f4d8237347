/** The page's tests in Chromium: one browser a file, with what must never happen in the page. */
import type { BrowserContext, Page } from 'playwright-core';
import { describe } from 'vitest';
import * as chromium from './chromium.ts';

/** Left out, visibly, where there is no Chromium; but a CI must have one. */
export function describeInBrowser(title: string, tests: () => void): void {
  if (chromium.noChromium === null) describe(title, tests);
  else describe.skip(`${title} (${chromium.noChromium})`, tests);
}

export type Browser = {
  readonly context: BrowserContext;
  readonly page: Page;
  /** What went wrong in the page since the last call: errors, and requests to anybody but the service. */
  problems(): string[];
  /** Rules of WCAG 2.2 AA that what is shown breaks, in both colour schemes. */
  axe(): Promise<string[]>;
  close(): Promise<void>;
};

/** @param urls the only origins that may be asked. @param expected messages on the console that a test brings about */
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
