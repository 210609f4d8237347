/** Compares screenshots of the page with the committed ones. */
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pixelmatch from 'pixelmatch';
import type { Page } from 'playwright-core';
import { PNG } from 'pngjs';
import { expect, vi } from 'vitest';

const font = '/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf';
/** Why pictures cannot be compared on this machine (they need a certain font), or null. */
export const noPictures: string | null = existsSync(font) ? null : 'skipped: no DejaVu Sans, in which the pictures are';

/**
 * Maximum share of differing pixels. Chromium releases smooth edges differently, which is not always recognised as
 * smoothing. A different colour of one state in a list of five workers exceeds it.
 */
const differentMax = 0.0005;

/**
 * Gives the page a fixed font, and fixed texts for times, dates and durations, also after it renders again. Call it
 * for each opened page.
 */
export async function holdTextStill(page: Page): Promise<void> {
  await page.evaluate(() => {
    // The tests do not include browser types.
    // biome-ignore lint/suspicious/noExplicitAny: as above
    const { document, CSSStyleSheet, MutationObserver } = globalThis as any;
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(
      '* { font-family: "DejaVu Sans" !important } code, pre, kbd { font-family: "DejaVu Sans Mono" !important }',
    );
    document.adoptedStyleSheets = [sheet];
    const still = (text: string) =>
      text
        .replace(/\d{4}-\d\d-\d\d/g, '2026-01-01')
        .replace(/\d\d:\d\d(:\d\d)?(\.\d+)?/g, (it) => it.replace(/\d/g, '0'))
        .replace('just now', '0 s ago')
        .replace(/\b\d+(\.\d+)?[  ]?(ms|s|min|h|d)\b/g, '0 s');
    const all = () => {
      const texts = document.createTreeWalker(document.body, 4);
      for (let it = texts.nextNode(); it !== null; it = texts.nextNode()) {
        const data = still(it.data);
        if (data !== it.data) it.data = data;
      }
    };
    all();
    new MutationObserver(all).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
}

/**
 * Compares a screenshot with `test/system/page/pictures/<name>.png`, repeatedly until the page is complete. `vitest -u`
 * writes that file: look at it before you commit it. If a picture differs, it is written to the temporary folder with
 * the differences marked.
 */
export async function expectPicture(page: Page, name: string): Promise<void> {
  const file = fileURLToPath(new URL(`../system/page/pictures/${name}.png`, import.meta.url));
  const take = () => page.screenshot({ animations: 'disabled' });
  if (expect.getState().snapshotState.snapshotUpdateState === 'all') {
    let last = await take();
    const isSettled = async () => {
      const before = last;
      last = await take();
      return last.equals(before);
    };
    await vi.waitUntil(isSettled, { timeout: 60_000, interval: 500 });
    return writeFile(file, last);
  }
  const wanted = PNG.sync.read(await readFile(file));
  const { width, height } = wanted;
  const compare = async () => {
    const found = PNG.sync.read(await take());
    expect([found.width, found.height], name).toEqual([width, height]);
    const marked = new PNG({ width, height });
    const count = pixelmatch(wanted.data, found.data, marked.data, width, height);
    return { found, marked, different: count / (width * height) };
  };
  let last = await compare();
  const fits = async () => {
    last = await compare();
    return last.different <= differentMax;
  };
  await vi.waitUntil(fits, { timeout: 60_000, interval: 250 }).catch(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'stopgate-pictures-'));
    for (const [kind, picture] of [
      ['shown', last.found],
      ['difference', last.marked],
    ] as const)
      await writeFile(join(folder, `${name}-${kind}.png`), PNG.sync.write(picture));
    const share = (100 * last.different).toFixed(2);
    expect.fail(
      `${name}: ${share} % of the pixels differ, see ${folder}; \`npm run test:system -- pictures -u\` accepts it`,
    );
  });
}
