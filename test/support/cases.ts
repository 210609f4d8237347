/** The format of a conformance case, and the comparison of its output. */
import { expect } from 'vitest';
import type { ReplayLine } from '../../machines/index.ts';
import { compareResults } from '../../src/cli/commands/tools/policy-cases.ts';

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

/** Compares like `stopgate test`. */
export const expectResults = (results: ReplayLine[], expected: Json[]): void =>
  expect(compareResults(results, expected)).toEqual([]);
