/** Logs of the conformance cases, for fleet `main`, without invalid lines. */
import { readdirSync, readFileSync } from 'node:fs';
import { readFields, readSubject, type StoredEntry } from '../../machines/index.ts';
import { spellTimes, timeOf } from './case-times.ts';

type Entry = { at?: string; subject: string; data?: unknown } | { raw: string };
type Case = { name: string; policy?: object; entries: readonly Entry[] };

const folder = new URL('../conformance/', import.meta.url);

type ConformanceLog = { readonly name: string; readonly log: readonly StoredEntry[] };
/** Read once per vitest worker. */
let logs: readonly ConformanceLog[] | null = null;

export function conformanceLogs(): readonly ConformanceLog[] {
  logs ??= readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .flatMap((file) => (JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as { cases: Case[] }).cases)
    .map((it) => ({ name: it.name, log: logOf(it) }));
  return logs;
}

function logOf({ policy, entries }: Case): StoredEntry[] {
  const policySet = { at: '00:00', subject: 'own.fleet.main.policy.set', data: { policies: policy ?? {} } };
  const log: StoredEntry[] = [];
  for (const entry of policy === undefined ? entries : [policySet, ...entries]) {
    if ('raw' in entry || entry.subject.startsWith('!')) continue;
    const address = readSubject(`stopgate.main.${entry.subject}`);
    if (address === null || 'code' in address) continue;
    const read = readFields(address, spellTimes(entry.data ?? {}));
    const atMs = Date.parse(timeOf(entry.at ?? ''));
    if ('data' in read && !Number.isNaN(atMs)) log.push({ seq: log.length + 1, atMs, entry: read });
  }
  return log;
}
