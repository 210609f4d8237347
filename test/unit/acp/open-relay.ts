/** A relay between an editor and an agent that the test plays, with a service that answers as told. */
import type { WorkerView } from '../../../machines/index.ts';
import type { LineWriter } from '../../../src/acp/lines.ts';
import { createRelay } from '../../../src/acp/relay.ts';
import { createSessions } from '../../../src/acp/sessions.ts';
import type { Judgement, WorkerLink } from '../../../src/acp/worker-link.ts';
import type { EntryDraft } from '../../../src/agents/shared/entry-drafts.ts';

export const block: Judgement = {
  decision: 'block',
  action: 'continue',
  cause: 'incomplete',
  reason: 'Fix lint',
  nextPrompt: null,
  retry: { count: 1, max: 3 },
};
export const allow: Judgement = { ...block, decision: 'allow', action: 'complete', cause: 'complete' };

/** `judgements`: the answers to the stops, in order; the last is repeated. */
export function openRelay(judgements: readonly Judgement[] = [allow]) {
  const sent = { editor: [] as string[], agent: [] as string[] };
  const drafts: EntryDraft[] = [];
  const notes: string[] = [];
  const folders: string[] = [];
  const writer = (to: string[]): LineWriter => ({
    closed: new Promise(() => {}),
    write: async (line) =>
      void to.push(line instanceof Uint8Array ? Buffer.from(line).toString() : JSON.stringify(line)),
  });
  let stops = 0;
  const link = (worker: string): WorkerLink => ({
    worker,
    record: (draft) => void drafts.push(draft),
    async decide() {
      stops += 1;
      return judgements[Math.min(stops, judgements.length) - 1] as Judgement;
    },
    view: async () => {
      // The operator denies whatever is asked.
      const request = drafts.findLast(({ type }) => type === 'input.requested')?.data as
        | { request?: string }
        | undefined;
      const lastAnswer = { by: 'ann', verdict: 'deny', message: 'No', ...request };
      return { rules: { askMs: 60_000 }, lastAnswer } as unknown as WorkerView;
    },
    obey: async () => 'stopgate: done.',
    close: async () => {},
  });
  const note = (line: string) => void notes.push(line);
  const sessions = createSessions({
    command: ['some-agent'],
    cwd: '/p',
    policy: undefined,
    open(worker, folder) {
      folders.push(folder);
      return link(worker);
    },
    note,
  });
  const relay = createRelay({ editor: writer(sent.editor), agent: writer(sent.agent), sessions, note });
  const settled = () => new Promise(setImmediate);
  return {
    sent,
    drafts,
    notes,
    /** The folders in which sessions looked for their service. */
    folders,
    fromEditor: async (line: string) => relay.fromEditor(Buffer.from(line)).then(settled),
    fromAgent: async (line: string) => relay.fromAgent(Buffer.from(line)).then(settled),
  };
}
