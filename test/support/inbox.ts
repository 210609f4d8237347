/** The page in a browser, with a fleet of its own for each test: what one test leaves behind is gone for the next. */
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { type Browser, openBrowser } from './browser.ts';
import { openStage, operatorToken, type Stage } from './stage.ts';

export type Inbox = {
  readonly stage: Stage;
  readonly browser: Browser;
  /** Opens the page at this path. `as`: signed in as operator under this name. */
  open(path: string, options?: { readonly as?: string }): Promise<void>;
  /** Workers that have asked a person "<worker>?", in this order. */
  escalate(...workers: string[]): Promise<void>;
  /** What somebody else does meanwhile. */
  resolve(worker: string): Promise<void>;
  press(...keys: string[]): Promise<void>;
  /** The ids of the cards, and of the one that is open. */
  cards(): Promise<(string | null)[]>;
  current(): Promise<string | null>;
  /** The bodies of what the service has stored about workers. */
  stored(subject: string): Promise<unknown[]>;
};

/** To be called in a `describe`: the same object has the stage of the test that runs. */
export function useInbox(): Inbox {
  let stage: Stage;
  let browser: Browser;
  beforeAll(async () => {
    browser = await openBrowser(() => [stage.http.url]);
  });
  afterAll(() => browser?.close());
  beforeEach(async () => {
    stage = await openStage({ policies: { policies: { default: { promises: true, ask: '10m' } } } });
  });
  afterEach(async () => {
    // Without requests to a service that is gone.
    await browser.page.goto('about:blank');
    await browser.page.setViewportSize({ width: 1_280, height: 720 });
    await stage?.close();
    expect(browser.problems()).toEqual([]);
  });
  return {
    get stage() {
      return stage;
    },
    get browser() {
      return browser;
    },
    async open(path, { as } = {}) {
      const { page, context } = browser;
      if (as !== undefined) {
        const { status } = await context.request
          .post(`${stage.http.url}/api/main/session`, { data: { token: operatorToken } })
          .then((it) => ({ status: it.status() }));
        expect(status).toBe(204);
      }
      await page.goto(`${stage.http.url}${path}`);
      if (as !== undefined) await page.evaluate(`localStorage.setItem('stopgate.by', '${as}')`);
    },
    async escalate(...workers) {
      for (const worker of workers)
        await stage.client.ask(`decide.${worker}`, { output: `${worker}? <promise>ESCALATE</promise>` });
    },
    async resolve(id) {
      await stage.post('operator/resolve', { entity: 'worker', id, by: 'Bob', verdict: 'stop' }, operatorToken);
    },
    async press(...keys) {
      for (const key of keys) await browser.page.keyboard.press(key);
    },
    cards: () => browser.page.locator('.card').evaluateAll((all) => all.map((it) => it.getAttribute('data-id'))),
    current: () => browser.page.locator('.card[data-current]').getAttribute('data-id'),
    stored: (subject) => stage.client.stored('STOPGATE_main', `stopgate.main.own.worker.${subject}`),
  };
}
