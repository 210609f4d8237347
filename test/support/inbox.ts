/** The inbox in a browser, empty for each test. Tests must use their own workers, because the file shares one fleet. */
import { afterEach, expect } from 'vitest';
import type { TaskView, WorkerView } from '../../machines/index.ts';
import { type PageUnderTest, usePage } from './page.ts';
import { operatorToken, type Stage } from './stage.ts';

export type Inbox = Pick<PageUnderTest, 'stage' | 'browser'> & {
  /** Opens the page at this path. `as`: signed in as operator under this name. */
  open(path: string, options?: { readonly as?: string }): Promise<void>;
  /** Adds workers that ask a person "<worker>?", in this order. */
  escalate(...workers: string[]): Promise<void>;
  /** Resolves the worker's escalation as another operator. */
  resolve(worker: string): Promise<void>;
  press(...keys: string[]): Promise<void>;
  /** Ids of all cards and of the open card. */
  cards(): Promise<(string | null)[]>;
  current(): Promise<string | null>;
  /** Waits until the open panel shows this question. */
  question(text: string): Promise<void>;
  /** Waits until the document has this title. */
  title(text: string): Promise<void>;
  /** Bodies of the stored entries about workers. */
  stored(subject: string): Promise<unknown[]>;
};

/**
 * Call this in a `describe`.
 * @param expected console messages that a test causes on purpose
 */
export function useInbox(expected?: RegExp): Inbox {
  const inbox = usePage({ default: { promises: true, ask: '10m' }, brief: { ask: '10s' } }, expected);
  afterEach(() => settleAll(inbox.stage));
  return Object.assign(inbox, {
    async open(path: string, { as }: { readonly as?: string } = {}) {
      const { stage, browser } = inbox;
      const { page, context } = browser;
      if (as === undefined) await context.clearCookies();
      else {
        const session = `${stage.http.url}/api/main/session`;
        expect((await context.request.post(session, { data: { token: operatorToken } })).status()).toBe(204);
      }
      await page.goto(`${stage.http.url}${path}`);
      await page.evaluate(`localStorage.setItem('stopgate.by', '${as ?? ''}')`);
    },
    async escalate(...workers: string[]) {
      for (const worker of workers)
        await inbox.stage.client.ask(`decide.${worker}`, { output: `${worker}? <promise>ESCALATE</promise>` });
    },
    async resolve(id: string) {
      await inbox.stage.post('operator/resolve', { entity: 'worker', id, by: 'Bob', verdict: 'stop' }, operatorToken);
    },
    async press(...keys: string[]) {
      for (const key of keys) await inbox.page.keyboard.press(key);
    },
    cards: () => inbox.page.locator('.card').evaluateAll((all) => all.map((it) => it.getAttribute('data-id'))),
    current: () => inbox.page.locator('.card[data-current]').getAttribute('data-id'),
    question: (text: string) => inbox.page.locator('aside .question', { hasText: text }).waitFor(),
    title: (text: string) => expect.poll(() => inbox.page.title()).toBe(text),
    stored: (subject: string) => inbox.stage.client.stored('STOPGATE_main', `stopgate.main.own.worker.${subject}`),
  });
}

/** Retires or resolves everything that waits for a person. */
async function settleAll({ client, post }: Stage): Promise<void> {
  const list = async <View>(entities: string) =>
    ((await client.ask(`list.${entities}`)).body as unknown as { items: View[] }).items;
  for (const { worker, state, awaitsInput } of await list<WorkerView>('workers'))
    if (state === 'escalated' || awaitsInput) await post('operator/retire', { id: worker, by: 'Bob' }, operatorToken);
  for (const { task, state } of await list<TaskView>('tasks'))
    if (state === 'escalated')
      await post('operator/resolve', { entity: 'task', id: task, by: 'Bob', verdict: 'stop' }, operatorToken);
}
