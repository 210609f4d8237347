/** Drafts the entries for a call, and asserts that the machines accept each and that it fits its size limit. */
import { expect } from 'vitest';
import { readFields } from '../../../machines/index.ts';
import { agents, type HookCall, type PriorWorker, type Translation, unknownWorker } from '../../../src/agents/index.ts';

export const registered: PriorWorker = { ...unknownWorker, registered: true, cwd: '/workspace/project' };

export type AgentDrafts = {
  read(body: object, event?: string): HookCall;
  translate(body: object, prior?: Partial<PriorWorker>, event?: string): Translation;
  /** The types and data of the entries. */
  drafts(body: object, prior?: Partial<PriorWorker>, event?: string): [type: string, data: object][];
};

export function draftsOf(agent: string): AgentDrafts {
  const reader = agents.get(agent)?.readHook;
  if (reader === undefined) throw new Error(`no adapter ${agent}`);
  const translate: AgentDrafts['translate'] = (body, prior = {}, event) => {
    // The fleet already knows the call's mode.
    const { permission_mode: mode = null } = body as { permission_mode?: string };
    const translation = reader(body, event).translate({ ...registered, mode, ...prior });
    for (const { entity, id, type, data } of translation.entries) {
      const entry = readFields({ area: entity, fleet: 'main', id, type }, data);
      expect(entry, `${type} is an entry that the machines accept`).not.toHaveProperty('code');
      expect(Buffer.byteLength(JSON.stringify(data))).toBeLessThan(65_536);
    }
    return translation;
  };
  return {
    read: (body, event) => reader(body, event),
    translate,
    drafts: (body, prior, event) => translate(body, prior, event).entries.map(({ type, data }) => [type, data]),
  };
}

export const heartbeat = ['heartbeat.sent', {}];
export const blocked = (reason: string, nextPrompt: string | null = null) =>
  ({ decision: 'block', action: 'continue', reason, nextPrompt }) as const;
export const allowed = { decision: 'allow', action: 'complete', reason: 'fine', nextPrompt: null } as const;
