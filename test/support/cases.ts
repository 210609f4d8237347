/** The form of a conformance case, and how what was printed is compared with what it expects. */
import { expect } from 'vitest';
import type { ReplayLine } from '../../machines/index.ts';

export type Json = Record<string, unknown>;
export type CaseEntry = { at: string; subject: string; data: Json } | { raw: string };
export type View = { at: string } & Record<'workers' | 'tasks' | 'queues', Json>;
export type Case = {
  name: string;
  policy?: Json;
  entries: CaseEntry[];
  expect: Json[];
  views?: View[];
  bad?: number[];
};

/** In order for each worker and task; between them any order. */
export function expectResults(results: ReplayLine[], expected: Json[]): void {
  const rest = [...results];
  for (const part of expected) {
    const index = rest.findIndex((result) => {
      if ('taskId' in part) return 'taskId' in result && result.taskId === part.taskId;
      return 'worker' in result && (part.worker === undefined || part.worker === result.worker);
    });
    expect(index, `nothing was printed for ${JSON.stringify(part)}`).toBeGreaterThanOrEqual(0);
    expectPart(rest.splice(index, 1)[0], part);
  }
  expect(rest).toEqual([]);
}

/** A subset: what `part` does not name may be anything; a list must have the same length. */
export function expectPart(actual: unknown, part: unknown, path = ''): void {
  if (typeof part !== 'object' || part === null) {
    expect(actual, path).toEqual(part);
    return;
  }
  if ('$contains' in part) {
    const members = part.$contains as Json[];
    for (const member of members)
      expect(
        (actual as Json[]).some((it) => matches(it, member)),
        path,
      ).toBe(true);
  } else if ('$oneOf' in part) expect(part.$oneOf, path).toContainEqual(actual);
  else if ('$match' in part) expect(actual, path).toMatch(new RegExp(part.$match as string));
  else if (Array.isArray(part)) {
    expect(actual, path).toHaveLength(part.length);
    for (const [index, member] of part.entries()) expectPart((actual as unknown[])[index], member, `${path}[${index}]`);
  } else {
    for (const [key, member] of Object.entries(part)) {
      if (key === 'guard' && path === '') expect((actual as { verdicts: Json[] }).verdicts.at(-1)?.guard).toBe(member);
      else expectPart((actual as Json)[key], member, `${path}.${key}`);
    }
  }
}

function matches(actual: unknown, part: Json): boolean {
  return Object.entries(part).every(([key, value]) => JSON.stringify((actual as Json)[key]) === JSON.stringify(value));
}
