/** Compares screenshots of the page in a few states, light and dark, with the accepted ones. */
import { describe, test, vi } from 'vitest';
import { describeInBrowser } from '../../support/browser.ts';
import { plan, usePage } from '../../support/page.ts';
import { expectPicture, holdTextStill, noPictures } from '../../support/pictures.ts';
import type { Stage } from '../../support/stage.ts';

async function office({ client }: Stage): Promise<void> {
  let asked = 0;
  /** Waits until decisions are stored, because the pictures show their order. */
  const decide = async (worker: string, output?: string) => {
    asked += 1;
    await client.ask(`decide.${worker}`, output === undefined ? {} : { output });
    const stored = () => client.stored('STOPGATE_main', 'stopgate.main.decision.>');
    // Not `expect.poll`: it works in a test alone.
    await vi.waitUntil(async () => (await stored()).length === asked, { timeout: 60_000 });
  };
  await client.publish('worker.api-1.prompt.submitted', { text: 'Let people sign in with a passkey' });
  await client.publish('worker.web-1.prompt.submitted', { text: 'Make the header stay while the page scrolls' });
  await client.publish('worker.api-1.plan.updated', plan('completed', 'in_progress', 'pending'));
  await client.publish('worker.api-1.task.claimed', { task: 'T-1', title: 'Sign in with a passkey' });
  await decide('api-1');
  await decide('api-1');
  await client.publish('worker.api-2.tool.used', { tool: 'Bash', status: 'ok' });
  await client.publish('worker.web-1.plan.updated', plan('completed', 'completed', 'completed'));
  await decide('web-1');
  await decide('web-2', 'Which database do we use?\n<promise>ESCALATE</promise>');
  await decide('web-3', 'May I delete the old branch?\n<promise>ESCALATE</promise>');
}

const states = [
  { name: 'workers', path: '/', ready: 'tr[data-id="web-3"]' },
  { name: 'worker', path: '/?worker=api-1', ready: 'article.decision' },
  { name: 'inbox', path: '/?view=inbox', ready: 'aside [role="tab"]', readyOnPhone: '.card' },
  { name: 'tasks', path: '/?view=tasks', ready: 'tr[data-id="T-1"]' },
  { name: 'entries', path: '/?view=entries', ready: '.entries .line' },
];
const screens = [
  { screen: 'light', width: 1_280, height: 720, colorScheme: 'light' },
  { screen: 'dark', width: 1_280, height: 720, colorScheme: 'dark' },
  { screen: 'phone', width: 390, height: 700, colorScheme: 'light' },
] as const;

describe.skipIf(noPictures !== null)('a picture', () => {
  describeInBrowser('of the page', () => {
    const ui = usePage({ default: { checks: [{ plan: {} }], promises: true, ask: '10m' } }, undefined, office);

    for (const { name, path, ready, readyOnPhone = ready } of states)
      test.each(screens)(`of ${name}, $screen`, async ({ screen, width, height, colorScheme }) => {
        const { page } = ui;
        await page.setViewportSize({ width, height });
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        await ui.open(path);
        await page
          .locator(screen === 'phone' ? readyOnPhone : ready)
          .first()
          .waitFor();
        await holdTextStill(page);
        await expectPicture(page, `${name}-${screen}`);
      });
  });
});
