/** The page behind a proxy that serves it under a path. */
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { type Browser, describeInBrowser, openBrowser } from '../../support/browser.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';
import { openPathProxy, type PathProxy } from '../../support/path-proxy.ts';

const token = 'a-long-secret-token';

for (const removes of [false, true]) {
  describeInBrowser(`the page under a path, which the proxy ${removes ? 'removes' : 'passes on'}`, () => {
    let proxy: PathProxy;
    let deployment: Deployment;
    let browser: Browser;
    beforeAll(async () => {
      proxy = await openPathProxy('/tools/stopgate', removes);
      deployment = await deploy({
        args: ['--public-url', `${proxy.url}/`, '--token', token, '--fleet', 'main', '--fleet', 'web'],
      });
      proxy.forwardTo(deployment.http);
      await deployment.client.ask('decide.w1');
      // The page tries the API before it asks for the token.
      browser = await openBrowser(() => [new URL(proxy.url).origin], /401/);
    });
    afterAll(async () => {
      await browser?.close();
      await deployment?.close();
      await proxy?.close();
    });

    test('signs in, follows the fleet, and keeps the path in its address', async () => {
      const { page } = browser;
      await page.goto(`${proxy.url}/`);
      await page.getByLabel('Token').fill(token);
      await page.keyboard.press('Enter');
      await page.locator('tr[data-id="w1"]').click();
      await page.locator('article.decision').first().waitFor();
      expect(page.url()).toBe(`${proxy.url}/?worker=w1`);
      await deployment.client.ask('decide.w2');
      await page.locator('tr[data-id="w2"]').waitFor();
      await page.getByLabel('Fleet').selectOption('web');
      await page.waitForURL(`${proxy.url}/?fleet=web`);
      await page.locator('.empty').waitFor();
      expect(browser.problems()).toEqual([]);
    });

    test('the socket for XState inspectors opens', async () => {
      const url = `${proxy.url.replace('http', 'ws')}/inspect/ws?fleet=main`;
      const socket = new WebSocket(url, { headers: { authorization: `Bearer ${token}` } });
      await once(socket, 'open');
      socket.terminate();
    });
  });
}
