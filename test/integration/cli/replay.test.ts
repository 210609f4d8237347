/**
 * `stopgate replay` as shipped: runs the conformance cases through the command, and tests its exit code and options.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { spellTimes, timeOf } from '../../support/case-times.ts';
import { type Ended, runCommand } from '../../support/command.ts';
import { type Folder, linesOf, makeFolder } from '../../support/deployment.ts';
import { runOnce } from '../../support/terminal.ts';

type Json = Record<string, unknown>;
type CaseEntry = { at: string; subject: string; data: Json } | { raw: string };
type Case = {
  name: string;
  policy?: Json;
  entries: CaseEntry[];
  expect: Json[];
  bad?: number[];
  fleet: string;
  lines: string[];
};

const cases = readCases(new URL('../../conformance/', import.meta.url));
let folder: Folder;
beforeAll(async () => {
  folder = await makeFolder();
});
afterAll(() => folder.remove());

const replay = (...argv: string[]) => runCommand(['replay', ...argv], { cwd: folder.path });

describe('the conformance cases, each as a separate fleet in one file', () => {
  let ended: Ended;
  let results: Json[];
  beforeAll(async () => {
    await folder.write('cases.jsonl', cases.flatMap(({ lines }) => lines.map((line) => `${line}\n`)).join(''));
    ended = await replay('cases.jsonl');
    results = linesOf(ended.stdout);
  });

  test.each(cases)('$fleet: $name', ({ fleet, expect: parts }) => {
    const rest = results.filter((result) => result.fleet === fleet);
    for (const part of parts) {
      const isOf = ({ worker, taskId }: Json) =>
        part.taskId === undefined ? worker !== undefined && worker === (part.worker ?? worker) : taskId === part.taskId;
      const index = rest.findIndex(isOf);
      expect(index, `nothing was printed for ${JSON.stringify(part)}`).toBeGreaterThanOrEqual(0);
      expect(rest.splice(index, 1)[0]).toMatchObject(plainIn(part));
    }
    expect(rest).toEqual([]);
  });

  test('bad lines are reported by number on stderr, and the exit code is 2', () => {
    const expected: number[] = [];
    let before = 0;
    for (const { lines, entries, bad = [] } of cases) {
      const own = lines.length - entries.length; // the line with its policy
      expected.push(...bad.map((number) => before + own + number));
      before += lines.length;
    }
    expect(expected.length).toBeGreaterThan(5);
    const numbers = ended.stderr
      .trimEnd()
      .split('\n')
      .map((line) => /^line (\d+): \S/.exec(line)?.[1]);
    expect(numbers).toEqual(expected.map(String));
    expect(ended.code).toBe(2);
  });
});

const at = (clock: string) => `2026-03-02T${clock}.000Z`;
const line = (clock: string, tail: string, data: object = {}) =>
  JSON.stringify({ at: at(clock), subject: `stopgate.main.${tail}`, data });
const held = line('12:00:00', 'own.fleet.main.policy.set', {
  policies: { default: { persistence: { idle: '10m', hold: '50s' }, checks: [{ plan: {} }] } },
});
const story = [
  held,
  line('12:00:00', 'worker.w1.worker.registered', { agent: 'claude' }),
  line('12:00:10', 'worker.w1.step.updated', { step: '1', title: 'Write tests' }),
  line('12:01:00', 'worker.w1.stop.attempted', { attempt: 'a1' }),
  line('12:02:00', 'worker.w1.step.updated', { step: '1', status: 'done' }),
  line('12:03:00', 'worker.w1.stop.attempted', { attempt: 'a2' }),
  line('12:20:00', 'worker.w2.heartbeat.sent'),
].join('\n');

test('prints one decision per line, in the order in which attempts end, and exits with 0', async () => {
  await folder.write('story.jsonl', story);
  const { code, stdout, stderr } = await replay('story.jsonl');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(linesOf(stdout)).toMatchObject([
    { attempt: 'a1', seq: 4, at: at('12:01:00'), decision: 'block', reason: '1 of 1 plan steps remain: Write tests' },
    { attempt: 'a2', seq: 6, at: at('12:03:50'), decision: 'block', cause: 'idle', idle: { ms: 230_000 } },
  ]);
  expect(stdout.endsWith('}\n')).toBe(true);
  // Reading from stdin gives the same results.
  expect(await runCommand(['replay', '-'], { cwd: folder.path, stdin: story })).toEqual({ code, stdout, stderr });
});

test.each([
  ['12:00:05', { state: 'idle', plan: [], lastDecision: null }],
  ['12:01:30', { state: 'blocked', retry: { count: 1, max: 3 }, plan: [{ title: 'Write tests', status: 'pending' }] }],
  ['12:03:20', { state: 'validating', attempt: { attempt: 'a2', until: at('12:03:50') } }],
  ['12:03:50', { state: 'blocked', attempt: null, lastDecision: { attempt: 'a2', cause: 'idle' } }],
])('--at %s shows all actors at that time', async (clock, worker) => {
  await folder.write('story.jsonl', story);
  const { code, stdout } = await replay('story.jsonl', '--at', at(clock));
  expect(code).toBe(0);
  expect(linesOf(stdout)).toMatchObject([
    { at: at(clock), fleets: { main: { workers: { w1: worker }, queues: { main: { pending: 0 } } } } },
  ]);
});

test('a time before the log and an unknown attempt are errors', async () => {
  await folder.write('story.jsonl', story);
  await folder.write('new.yaml', 'policies: { default: {} }\n');
  const early = await replay('story.jsonl', '--at', '2026-03-02');
  expect(early).toMatchObject({
    code: 0,
    stderr: `stopgate: this log had no workers or tasks at ${at('00:00:00')}\n`,
  });
  const compare = (...argv: string[]) => replay('story.jsonl', '--policy', 'new.yaml', '--diff', ...argv);
  const none = '0 attempts compared: 0 would differ\nstopgate: this log has no decided attempts';
  expect((await compare('--worker', 'nosuch')).stderr).toBe(`${none} of worker nosuch\n`);
  expect((await compare('--since', '2026-03-03')).stderr).toBe(`${none} since 2026-03-03T00:00:00.000Z\n`);
});

test('--policy replaces the policies of the log; a bad file is refused before the first line', async () => {
  await folder.write('story.jsonl', story);
  await folder.write('new.yaml', 'policies: { default: { checks: [{ plan: {} }] } }\n');
  const { code, stdout } = await replay('story.jsonl', '--policy', 'new.yaml');
  expect(code).toBe(0);
  expect(linesOf(stdout)).toMatchObject([
    { attempt: 'a1', decision: 'block' },
    { attempt: 'a2', decision: 'allow', cause: 'complete' },
  ]);
  await folder.write('bad.yaml', 'policies:\n  default: { retry: 3 }\n');
  expect(await replay('story.jsonl', '--policy', 'bad.yaml')).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('bad.yaml:2:14: '),
  });
});

test.each([
  ['a file that is not there', ['none.jsonl'], /there is no such file/],
  ['no file', [], /FILE\.jsonl is missing/],
  ['a time that is none', ['story.jsonl', '--at', 'noon'], /'noon' is not a time/],
])('%s: exit code 2 and one line', async (_what, argv, words) => {
  const { code, stdout, stderr } = await replay(...argv);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr.trimEnd().split('\n')).toEqual([expect.stringMatching(words)]);
});

/** Gives each case its own fleet, named after its file. The first line sets the policy. */
function readCases(place: URL): Case[] {
  const files = readdirSync(place).filter((name) => name.endsWith('.json'));
  return files.flatMap((file) => {
    const { topic, cases: found } = JSON.parse(readFileSync(new URL(file, place), 'utf8')) as {
      topic: string;
      cases: Case[];
    };
    return found.map((each, index) => {
      const fleet = `${topic}-${index}`.replaceAll(/[^A-Za-z0-9-]+/g, '-');
      const first = each.entries.find((entry) => 'at' in entry)?.at ?? '12:00';
      const policy = { at: first, subject: 'own.fleet.main.policy.set', data: { policies: each.policy } };
      const entries = each.policy === undefined ? each.entries : [policy as CaseEntry, ...each.entries];
      return { ...each, fleet, lines: entries.map((entry) => lineOf(entry, fleet)) };
    });
  });
}

function lineOf(entry: CaseEntry, fleet: string): string {
  if ('raw' in entry) return entry.raw;
  const subject = `stopgate.${fleet}.${entry.subject.replace(/^own\.fleet\.main\./, `own.fleet.${fleet}.`)}`;
  return JSON.stringify({
    at: entry.at === undefined ? undefined : timeOf(entry.at),
    subject,
    data: spellTimes(entry.data),
  });
}

/** Drops expectations with operators such as `$match`: only the conformance run of the machines evaluates them. */
function plainIn(part: Json): Json {
  const isPlain = (value: unknown): boolean =>
    typeof value !== 'object' ||
    value === null ||
    Object.entries(value).every(([key, member]) => !key.startsWith('$') && isPlain(member));
  return Object.fromEntries(
    Object.entries(part).filter(([key, value]) => key !== 'guard' && key !== 'fleet' && isPlain(value)),
  );
}

test('prints text on a terminal, and with --json the lines that a pipe gets', async () => {
  const at = (second: number) => `2026-03-02T12:00:0${second}.000Z`;
  const line = (second: number, tail: string, data: object) =>
    `${JSON.stringify({ at: at(second), subject: `stopgate.main.${tail}`, data })}\n`;
  const hooks = { policies: { default: { checks: [{ remote: 'ci' }] } } };
  const log = [
    line(1, 'worker.w1.stop.attempted', { attempt: 'a1' }),
    line(2, 'own.fleet.main.policy.set', hooks),
    line(3, 'worker.w2.stop.attempted', { attempt: 'a2' }),
  ];
  const file = await folder.write('text.jsonl', log.join(''));
  const text = await runOnce(['replay', file], { isTTY: true, env: { NO_COLOR: '1' } });
  expect([text.code, text.stdout.split('\n')]).toEqual([
    0,
    [
      `w1 · a1 · ${at(1)}`,
      expect.stringMatching(/^ {2}allow · complete · no-policy( {2}|$)/),
      `w2 · a2 · ${at(3)}`,
      '  open  waiting for ci',
      '',
    ],
  ]);
  const json = await runOnce(['replay', file, '--json'], { isTTY: true });
  expect(linesOf(json.stdout)).toMatchObject([
    { worker: 'w1', decision: 'allow' },
    { worker: 'w2', decision: null },
  ]);
  expect((await replay('text.jsonl')).stdout).toBe(json.stdout);
});
