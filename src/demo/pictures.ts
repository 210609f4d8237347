/** `npm run pictures`: runs a fleet on a real service and takes the screenshots for the docs. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Page } from 'playwright-core';
import { readEnvironment } from '../config/environment.ts';
import type { Requester } from '../nats/requester.ts';
import { openStage, type Stage } from './stage.ts';

type Scheme = 'light' | 'dark';
type Picture = {
  readonly name: string;
  readonly path: string;
  readonly schemes: readonly Scheme[];
  readonly height?: number;
  /** Brings the page into the state to show, and waits until it is ready. */
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

async function main(): Promise<void> {
  const stage = await openStage({ config: officeRules, http: '127.0.0.1:0' });
  const profile = mkdtempSync(join(tmpdir(), 'stopgate-pictures-'));
  try {
    await playOffice(stage);
    mkdirSync(folder, { recursive: true });
    const context = await chromium.launchPersistentContext(profile, {
      executablePath: readEnvironment().CHROMIUM ?? '/usr/bin/chromium',
      reducedMotion: 'reduce',
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

// The fleet in the screenshots: about forty agents, in every state.

const officeRules = `policies:
  default:
    checks: [{ plan: {} }]
    retries: 3
  helper: { persistence: { idle: 10m, hold: 50s } }
  careful: { checks: [{ plan: {} }], promises: true }
  tested:
    checks: [{ plan: {} }, { command: tests, onError: block }]
    retries: 5
commands:
  tests:
    run: [node, -e, "console.log('login.test.ts: 2 of 41 tests fail'); process.exit(1)"]
    cwd: .
`;

const agents = ['claude', 'codex', 'gemini', 'opencode'];
const crews = ['api', 'web', 'docs', 'billing', 'search'];
const perCrew = 8;
const steps = ['Read the code', 'Write a failing test', 'Make it pass', 'Update the docs'];
const titles = ['Fix the login', 'Page the audit log', 'Drop Node 18', 'Cache the index', 'Explain the limits'];
const answerTimeoutMs = 10_000;

const planOf = (done: number) => ({
  steps: steps.map((title, index) => ({
    title,
    status: index < done ? 'completed' : index === done ? 'in_progress' : 'pending',
  })),
});

/** Resolves when everything is published. Two stops are still held then. */
async function playOffice({ agents: client, operator }: Stage): Promise<void> {
  const workers = crews.flatMap((crew) => Array.from({ length: perCrew }, (_, index) => `${crew}-${index + 1}`));
  for (const [index, worker] of workers.entries()) await introduce(client, worker, index);
  for (const [index, worker] of workers.entries()) {
    if (index % 8 === 6) continue; // still at work
    if (index % 8 === 7) {
      if (index < 16) void ask(client, worker, {}); // held: a helper without a task
      continue;
    }
    const output = index % 8 === 4 ? 'Which of the two databases? <promise>ESCALATE</promise>' : 'I am done.';
    await ask(client, worker, { output });
    if (index % 8 === 2) await ask(client, worker, { output: 'Everything is done now.' });
  }
  await operator.publish('own.worker.api-5.escalation.acknowledged', { by: 'Ann' });
  await client.publish('worker.web-2.tool.used', { tool: 'Edit', ok: true, files: ['src/login.ts'] });
  await client.publish('worker.web-2.plan.updated', planOf(4));
  await ask(client, 'web-2', { output: 'All four steps are done.' });
}

async function introduce(client: Requester, worker: string, index: number): Promise<void> {
  const kind = index % 8;
  const policy = kind === 4 ? 'careful' : kind === 7 ? 'helper' : kind === 1 ? 'tested' : 'default';
  const [crew = ''] = worker.split('-');
  const parent = worker.endsWith('-1') ? {} : { parent: `${crew}-1` };
  await client.publish(`worker.${worker}.worker.registered`, {
    agent: agents[index % agents.length],
    policy,
    ...parent,
  });
  if (kind === 7) return;
  const task = `T-${101 + index}`;
  await client.publish(`task.${task}.task.created`, {
    title: titles[index % titles.length],
    queue: crew === 'docs' ? 'docs' : 'main',
  });
  await client.publish(`worker.${worker}.task.claimed`, { task });
  await client.publish(`worker.${worker}.prompt.submitted`, { text: titles[index % titles.length] });
  await client.publish(`worker.${worker}.tool.used`, { tool: 'Read', ok: true, files: ['src/login.ts'] });
  await client.publish(`worker.${worker}.plan.updated`, planOf(kind === 0 || kind === 1 ? 4 : 1 + (index % 3)));
}

const ask = (client: Requester, worker: string, body: object) =>
  client.request('decide', worker, body, answerTimeoutMs).catch(() => undefined);

await main();
