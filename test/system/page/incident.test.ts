/** A worker's whole history in one file: it opens from a disk, shows any entry, and sends nothing. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Browser, describeInBrowser, openBrowser } from '../../support/browser.ts';
import { openStage, type Stage } from '../../support/stage.ts';

let stage: Stage;
let browser: Browser;
let folder: string;
const hostile = '</script><img src=x onerror="document.title=1"><script>document.title=2</script>\u202egpj.exe\u0007';
const shown = '⟨U+202E⟩gpj.exe⟨BEL⟩';

describeInBrowser('the history of a worker in a file', () => {
  beforeAll(async () => {
    stage = await openStage({ policies: { policies: { default: { checks: [{ plan: {} }] } } } });
    folder = await mkdtemp(join(tmpdir(), 'stopgate-incident-'));
    browser = await openBrowser(() => []);
  });
  afterAll(async () => {
    await browser?.close();
    await stage?.close();
    await rm(folder, { recursive: true, force: true });
  });

  test('opens without the service, at any entry, and holds what agents wrote as text', async () => {
    const { client, http } = stage;
    const { seq } = await client.publish('worker.f1.plan.updated', { steps: [{ title: hostile, status: 'pending' }] });
    await client.publish('worker.sub.worker.registered', { parent: 'f1' });
    await client.publish('worker.other.tool.used', { tool: 'Bash' });
    await client.ask('decide.f1', { output: hostile });
    const reply = await fetch(`${http.url}/api/main/incident/f1.html`);
    expect(reply.headers.get('content-disposition')).toBe('attachment; filename="f1.html"');
    const path = join(folder, 'f1.html');
    await writeFile(path, await reply.text());
    const { page } = browser;
    await page.goto(pathToFileURL(path).href);
    await page.locator('aside article.decision').waitFor();
    expect(await page.locator('aside .lead .state').innerText()).toBe('blocked');
    expect(await page.locator('.connection').innerText()).toBe('history in a file');
    expect(await page.locator('.file-headline').innerText()).toMatch(
      /^f1: Blocked once: .* · \d+ entries, [-\d]{10} [:\d]{8} UTC\S* to .* · saved .*; ages are those of the entry that is shown$/,
    );
    const isText = async () => {
      expect(await page.locator('aside').innerText()).toContain(shown);
      expect(await page.locator('img[src="x"]').count()).toBe(0);
    };
    await isText();
    await page.emulateMedia({ media: 'print' }); // as for a PDF
    await isText();
    const pdf = (await page.pdf()).toString('latin1');
    expect(pdf.slice(0, 5)).toBe('%PDF-');
    expect(pdf).not.toMatch(/\/(JavaScript|JS|Launch|EmbeddedFile)\b/);
    expect(await page.title()).not.toMatch(/^[12]$/);
    await page.emulateMedia({ media: 'screen' });
    // Of the fleet it has those who belong to it.
    const rows = page.locator('.grid tr[data-id]');
    expect((await rows.evaluateAll((all) => all.map((it) => it.getAttribute('data-id')))).sort()).toEqual([
      'f1',
      'sub',
    ]);
    await page.getByRole('tab', { name: 'Sequence' }).click();
    await page.locator('.lanes li[data-type="decision"]').waitFor();
    await page.getByRole('tab', { name: 'Timeline' }).click();
    await page.locator(`.timeline .line[data-seq="${seq}"] .seq`).click();
    await expect.poll(() => page.locator('aside .lead .state').innerText()).toBe('working');
    // The time axis is drawn, and there is no present to go back to.
    await page.locator('.time-axis svg .bars rect').first().waitFor();
    expect(await page.getByRole('button', { name: 'Live' }).count()).toBe(0);
    expect(await page.locator('.time-axis .unread').count()).toBe(0);
    expect(await page.title()).toBe('f1 · stopgate');
    expect(await browser.axe()).toEqual([]);
    expect(browser.problems()).toEqual([]);
  });
});
