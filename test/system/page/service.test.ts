/** The service view, with a NATS server that dies and comes back. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Browser, describeInBrowser, openBrowser } from '../../support/browser.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';

let deployment: Deployment;
let browser: Browser;
const config = `policies:
  default: { checks: [{ command: tests }], retries: 3 }
  careful: { checks: [{ plan: {} }], runner: build-box }
commands:
  tests: { run: ["true"], cwd: . }
`;

describeInBrowser('the service', () => {
  beforeAll(async () => {
    deployment = await deploy({ config, args: ['--replica', 'box-1'], nats: {} });
    await deployment.client.publish('worker.ana.tool.used', { tool: 'Bash' });
    deployment.client.nc.publish('stopgate.main.worker.ana.tool.used', 'tool: Bash, which is no JSON');
    browser = await openBrowser(() => [deployment.http]);
  });
  afterAll(async () => {
    await browser?.close();
    await deployment?.close();
  });
  const part = (name: string) =>
    browser.page.locator('.service .part').filter({ has: browser.page.getByRole('heading', { name }) });
  const rowOf = (name: string, key: string) => part(name).locator(`[data-key="${key}"]`);

  test('opens by key, command and address, and shows each part', async () => {
    const { page } = browser;
    await page.goto(deployment.http);
    await page.locator('tr[data-id="ana"]').waitFor();
    await page.keyboard.press('v');
    await page.waitForURL('**/?view=service');
    await page.getByText('nobody serves the runner build-box').waitFor();
    await page.keyboard.press('w');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: /^Find a worker/ }).fill('go to the service');
    await page.getByRole('option', { name: 'Go to the service', selected: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL('**/?view=service');
    await page.reload();
    await part('Policies in force')
      .getByText(/^Set by box-1 at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d with entry #\d+$/)
      .waitFor();
    expect(await rowOf('Policies in force', 'default').innerText()).toBe('default\ttests\t3\t1');
    expect(await rowOf('Replicas', 'box-1').innerText()).toMatch(/^box-1 here\tjudges\t0 entries\t0s\t\S+$/);
    expect(await rowOf('NATS', 'log').innerText()).toMatch(/^log\tconnected\t\S+\t0$/);
    expect(await rowOf('Runners', 'runner build-box').innerText()).toBe('build-box\tnobody\t0\t0\t–');
    await part('Dead entries').getByText('tool: Bash, which is no JSON').waitFor();
    await part('Dead entries').getByText('NOT_JSON').waitFor();
    // None is near, so none is listed.
    await part('Limits')
      .getByText(/^\d+ are below 80 %\.$/)
      .waitFor();
  });

  test('fits each width with all parts filled, and is reachable from the header on a phone', async () => {
    const { page } = browser;
    await page.goto(`${deployment.http}/?view=service`);
    await part('Dead entries').getByText('NOT_JSON').waitFor();
    expect(await browser.axe()).toEqual([]);
    for (const width of [1_440, 1_024, 390]) {
      await page.setViewportSize({ width, height: 800 });
      await expect
        .poll(() => page.evaluate(() => Object(globalThis).document.documentElement.scrollWidth))
        .toBeLessThanOrEqual(width);
    }
    await page.goto(deployment.http);
    expect(await page.getByRole('navigation').evaluate((nav) => nav.scrollWidth - nav.clientWidth)).toBeLessThanOrEqual(
      0,
    );
    await page.locator('.connection[data-connection="live"]').click();
    await part('Replicas').waitFor();
    await page.setViewportSize({ width: 1_440, height: 800 });
    expect(browser.problems()).toEqual([]);
  });

  test('while nothing is judged, every view says since when and what to do', async () => {
    const { page, context } = browser;
    const banner = page.locator('.notice[data-fault="nats-away"]');
    await page.goto(`${deployment.http}/?view=service`);
    await rowOf('NATS', 'log').getByText('connected').waitFor();
    const past = await context.newPage();
    await past.goto(`${deployment.http}/?at=3`);
    await past.locator('.travel').waitFor();
    await deployment.server.kill();
    await banner.waitFor();
    expect(await banner.innerText()).toMatch(
      /^NATS is away since \d\d:\d\d:\d\d \(\d+s\)\. No stop can be decided now: the connection to NATS is broken\. Start the NATS server/,
    );
    const [width] = await banner.evaluate((element) => [element.getBoundingClientRect().width]);
    expect(width).toBe(1_440);
    await past.locator('.notice[data-fault="nats-away"]').waitFor();
    // Unknown values are not shown as 0.
    await rowOf('NATS', 'log').getByText('broken, reconnecting').waitFor();
    expect(await part('Log and snapshots').locator('dl').innerText()).toMatch(
      /Last entry\s+not known\s+Entries\s+not known/,
    );
    expect(await rowOf('Replicas', 'box-1').innerText()).toMatch(/judges nothing\tnot known\tnot known/);
    expect(await browser.axe()).toEqual([]);
    await page.keyboard.press('w');
    await page.locator('tr[data-id="ana"]').waitFor();
    await banner.waitFor();
    await banner.getByRole('link', { name: 'Show the service' }).click();
    await page.waitForURL('**/?view=service');
    await deployment.server.restart();
    await banner.waitFor({ state: 'detached' });
    await past.locator('.notice[data-fault]').waitFor({ state: 'detached' });
    await rowOf('Replicas', 'box-1').getByText('judges', { exact: true }).waitFor();
    await expect.poll(() => rowOf('NATS', 'log').innerText()).toMatch(/connected\t\S+\t[1-9]\d*$/);
    await past.close();
  });
});
