/** `npm run pictures`: runs a fleet against a real service, and takes the screenshots of the docs. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { readEnvironment } from '../config/environment.ts';
import { officeRules, playOffice } from './office.ts';
import { openStage } from './stage.ts';

type Scheme = 'light' | 'dark';
type Picture = {
  readonly name: string;
  readonly path: string;
  readonly schemes: readonly Scheme[];
  readonly height?: number;
  /** Prepares the page before the picture is taken, and waits until it is ready. */
  readonly prepare: (page: Page) => Promise<void>;
};

const folder = 'docs/pictures';
const size = { width: 1_280, height: 860 };
const both = ['light', 'dark'] as const;

const pictures: readonly Picture[] = [
  {
    name: 'fleet',
    path: '/',
    schemes: both,
    prepare: (page) => seen(page, '.grid tr[data-id]'),
  },
  { name: 'inbox', path: '/?view=inbox', schemes: both, prepare: (page) => seen(page, '.said') },
  {
    name: 'chart',
    path: '/?worker=web-2&tab=chart',
    schemes: ['light'],
    prepare: (page) => seen(page, '[data-taken]'),
  },
  { name: 'worker', path: '/?worker=web-2', schemes: both, prepare: (page) => seen(page, 'article.decision') },
  {
    name: 'past',
    path: '/?worker=api-3',
    schemes: ['light'],
    async prepare(page) {
      await page.getByRole('button', { name: 'Time travel' }).click();
      await page.locator('.travel').waitFor();
      const slider = page.getByLabel('Log entry');
      await slider.fill(String(Math.round(Number(await slider.getAttribute('max')) * 0.78)));
      await page.locator('.late').waitFor({ state: 'detached' });
      await seen(page, 'article.decision');
      await page.getByText('of the log read so far').waitFor({ state: 'hidden' });
    },
  },
  {
    name: 'what-if',
    path: '/?view=what-if',
    schemes: ['light'],
    async prepare(page) {
      const editor = page.getByLabel('Policies, as in stopgate.yaml');
      await page.getByText('These are the policies in force.').waitFor();
      await editor.fill(officeRules.replace('retries: 3', 'retries: 1').replace('promises: true', 'promises: false'));
      await seen(page, '.group');
      await page.locator('.group summary').first().click();
    },
  },
];

const seen = (page: Page, selector: string) => page.locator(selector).first().waitFor();

await main();

async function main(): Promise<void> {
  const stage = await openStage({ config: officeRules, http: '127.0.0.1:0' });
  const profile = mkdtempSync(join(tmpdir(), 'stopgate-pictures-'));
  try {
    await playOffice(stage);
    mkdirSync(folder, { recursive: true });
    const context = await chromium.launchPersistentContext(profile, {
      ...{ executablePath: readEnvironment().CHROMIUM ?? '/usr/bin/chromium', reducedMotion: 'reduce' },
      args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-sync', '--hide-scrollbars'],
    });
    const page = context.pages()[0] ?? (await context.newPage());
    for (const picture of pictures) for (const scheme of picture.schemes) await take(page, stage.page, picture, scheme);
    await context.close();
  } finally {
    await stage.close();
    rmSync(profile, { recursive: true, force: true });
  }
}

async function take(
  page: Page,
  url: string,
  { name, path, prepare, height }: Picture,
  colorScheme: Scheme,
): Promise<void> {
  await page.setViewportSize({ ...size, ...(height === undefined ? {} : { height }) });
  await page.emulateMedia({ colorScheme });
  await page.goto(`${url}${path}`);
  await prepare(page);
  await page.waitForTimeout(300); // for canvases and fonts
  const file = join(folder, `${name}-${colorScheme}.png`);
  await page.screenshot({ path: file });
  process.stdout.write(`${file}\n`);
}
