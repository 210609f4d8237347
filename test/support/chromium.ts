/** A real browser for page tests: Debian's Chromium, or the program named by CHROMIUM. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import axe from 'axe-core';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { build } from 'vite';
import { readEnvironment } from '../../src/config/environment.ts';
import { openLoopbackServer } from './loopback-server.ts';

const { CHROMIUM = '/usr/bin/chromium', CI } = readEnvironment();

/** Why there is no browser and the tests are skipped, or null. In CI a missing browser is a failure. */
export const noChromium: string | null =
  existsSync(CHROMIUM) || CI === 'true' ? null : `skipped: no Chromium at ${CHROMIUM}; set CHROMIUM to its path`;

export type Browser = {
  readonly context: BrowserContext;
  /** Errors in any page: console errors, and requests to forbidden addresses. */
  readonly complaints: string[];
  close(): Promise<void>;
};

/** @param isOurs whether the page may request this address */
export async function openBrowser(isOurs: (url: URL) => boolean): Promise<Browser> {
  const folder = await mkdtemp(join(tmpdir(), 'stopgate-chromium-'));
  const context = await chromium.launchPersistentContext(folder, {
    executablePath: CHROMIUM,
    headless: true,
    reducedMotion: 'reduce',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-sync',
      '--disable-background-networking',
      '--disable-component-update',
    ],
  });
  const complaints: string[] = [];
  const watch = (page: Page) => {
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('console', (message) => {
      const isIcon = message.location().url.endsWith('/favicon.ico');
      if (message.type() === 'error' && !isIcon) complaints.push(message.text());
    });
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.protocol.startsWith('http') && !isOurs(url)) complaints.push(`asked ${url.href}`);
    });
  };
  for (const page of context.pages()) watch(page);
  context.on('page', watch);
  return {
    context,
    complaints,
    async close() {
      await context.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Runs axe (WCAG 2.2 AA) on a page. @returns one line per violating element */
export async function findViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const { axe: here, document } = globalThis as unknown as { axe: typeof axe; document: axe.ElementContext };
    const runOnly = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
    const { violations } = await here.run(document, { runOnly });
    return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target.join(' ')}`));
  });
}

export type Site = { readonly url: string; close(): Promise<void> };

/** Serves a page with one module on its own port, with the same content security policy as ours. */
export async function serveModule(code: string, { css = '', body = '' } = {}): Promise<Site> {
  const id = 'virtual:entry';
  const plugin = {
    name: 'entry',
    resolveId: (asked: string) => (asked === id ? `\0${id}` : null),
    load: (asked: string) => (asked === `\0${id}` ? code : null),
  };
  const built = await build({
    configFile: false,
    logLevel: 'error',
    plugins: [plugin],
    root: new URL('../..', import.meta.url).pathname,
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: { write: false, minify: false, rolldownOptions: { input: id } },
  });
  const parts = ([built].flat() as { output: { type: string; fileName: string; code?: string; source?: unknown }[] }[])
    .flatMap(({ output }) => output)
    .map((part) => ({ name: part.fileName, text: part.code ?? String(part.source) }));
  const textOf = (end: string) =>
    parts
      .filter(({ name }) => name.endsWith(end))
      .map(({ text }) => text)
      .join('\n');
  const html = `<!doctype html><html lang="en"><meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Test</title><link rel="stylesheet" href="/page.css" />${body}<script type="module" src="/page.js"></script></html>`;
  const files: Record<string, { type: string; text: string }> = {
    '/': { type: 'text/html', text: html },
    '/page.js': { type: 'text/javascript', text: textOf('.js') },
    '/page.css': { type: 'text/css', text: `${css}\n${textOf('.css')}` },
  };
  const { origin, close } = await openLoopbackServer(({ url = '/' }, reply) => {
    const { type, text } = files[url] ?? { type: 'text/plain', text: '' };
    reply.setHeader('content-type', `${type}; charset=utf-8`);
    reply.setHeader('content-security-policy', "default-src 'self'; frame-src http://127.0.0.1:*");
    reply.end(text);
  });
  return { url: `${origin}/`, close };
}
