/**
 * The specification of log, fold, snapshots, cut and takeover (test/system/specification/Log.tla), checked by TLC in a
 * small form: every order of the steps of two replicas, up to a number of entries. Each invariant catches a bug that is
 * planted in the specification. Takes Java, and TLC from Python's package index.
 */
import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { root } from '../../support/markdown.ts';

const invariants = [
  'ReplicasAgree',
  'NothingLost',
  'OneDecision',
  'CountWithinCap',
  'SnapshotFolds',
  'NothingNeededIsCut',
] as const;
type Form = { readonly replicas: number; readonly attempts: number; readonly entries: number };
/** Another entry would take minutes. */
const small: Form = { replicas: 2, attempts: 2, entries: 3 };
const longer: Form = { replicas: 1, attempts: 2, entries: 4 };
const deeper: Form = { replicas: 2, attempts: 1, entries: 4 };

const tools = join(root, 'node_modules', '.cache', 'tlc');
beforeAll(async () => {
  await run('bash', [join(root, 'docker/install-tlc.sh'), tools], root);
}, 200_000);

test.each([small, longer])('every order of steps: %o', async (form) => {
  expect(await check(form, 'none', invariants)).toBe('no error');
});

test.each<[bug: string, invariant: (typeof invariants)[number], form: Form]>([
  ['start skips', 'ReplicasAgree', small],
  ['told before stored', 'NothingLost', small],
  ['judged again', 'OneDecision', deeper],
  ['last result', 'OneDecision', small],
  ['takeover without the fold', 'OneDecision', small],
  ['cap', 'CountWithinCap', longer],
  ['snapshot forgets', 'SnapshotFolds', small],
  ['cut behind the newest', 'NothingNeededIsCut', longer],
  ['counts damaged ones', 'NothingNeededIsCut', longer],
])('with the bug "%s", %s does not hold', async (bug, invariant, form) => {
  expect(await check(form, bug, [invariant])).toBe(`Invariant ${invariant} is violated.`);
});

/** @returns the output of TLC */
async function check({ replicas, attempts, entries }: Form, bug: string, names: readonly string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'stopgate-tlc-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await copyFile(join(root, 'test/system/specification/Log.tla'), join(folder, 'Log.tla'));
  const values = (letter: string, count: number) =>
    Array.from({ length: count }, (_, index) => `${letter}${index}`).join(', ');
  await writeFile(
    join(folder, 'Log.cfg'),
    `SPECIFICATION Spec
CONSTANTS
  Replicas = {${values('r', replicas)}}
  Attempts = {${values('a', attempts)}}
  Cap = 1
  LogMax = ${entries}
  Bug = "${bug}"
INVARIANTS ${names.join(' ')}
SYMMETRY Symmetry
`,
  );
  const java = ['-XX:+UseParallelGC', '-Xmx1g', `-Djava.io.tmpdir=${folder}`, '-cp', join(tools, 'tla2tools.jar')];
  const text = await run('java', [...java, 'tlc2.TLC', '-workers', '2', '-deadlock', 'Log.tla'], folder);
  if (text.includes('No error has been found')) return 'no error';
  return /^Error: (.*)$/m.exec(text)?.[1] ?? text;
}

/** Returns the standard output. With a finding, TLC exits with another code than 0. */
function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(command, args, { cwd, maxBuffer: 64 * 1_048_576 }, (error, stdout, stderr) => {
      if (error !== null && stdout === '') reject(new Error(stderr || error.message));
      else resolve(stdout);
    });
  });
}
