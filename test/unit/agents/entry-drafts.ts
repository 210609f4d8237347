/** What an adapter makes of a call, checked: each entry is one that the machines take, and fits. */
import { expect } from 'vitest';
import { readFields } from '../../../machines/index.ts';
import { agents, type HookCall, type KnownWorker, type Translation, unknownWorker } from '../../../src/agents/index.ts';

export const registered: KnownWorker = { ...unknownWorker, registered: true, cwd: '/workspace/project' };

export type Sayer = {
  read(body: object, event?: string): HookCall;
  translate(body: object, known?: Partial<KnownWorker>, event?: string): Translation;
  /** Types and data of the entries. */
  said(body: object, known?: Partial<KnownWorker>, event?: string): unknown[];
};

export function sayerOf(agent: string): Sayer {
  const reader = agents.get(agent);
  if (reader === undefined) throw new Error(`no adapter ${agent}`);
  const translate: Sayer['translate'] = (body, known = {}, event) => {
    const translation = reader(body, event).translate({ ...registered, ...known });
    for (const { entity, id, type, data } of translation.entries) {
      const entry = readFields({ area: entity, fleet: 'main', id, type }, data);
      expect(entry, `${type} is an entry that the machines take`).not.toHaveProperty('code');
      expect(Buffer.byteLength(JSON.stringify(data))).toBeLessThan(65_536);
    }
    return translation;
  };
  return {
    read: (body, event) => reader(body, event),
    translate,
    said: (body, known, event) => translate(body, known, event).entries.map(({ type, data }) => [type, data]),
  };
}

export const heartbeat = ['heartbeat.sent', {}];
export const blocked = (reason: string, nextPrompt: string | null = null) =>
  ({ decision: 'block', action: 'continue', reason, nextPrompt }) as const;
export const allowed = { decision: 'allow', action: 'complete', reason: 'fine', nextPrompt: null } as const;
