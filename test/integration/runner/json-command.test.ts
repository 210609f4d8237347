/** Commands that speak JSON (protocol.md §8): their input and the meaning of their replies. */
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { CommandConfig } from '../../../src/config/file.ts';
import { createRepository } from './repository.ts';
import { createWorkspace, node, sh } from './workspace.ts';

const json = (source: string, more: Partial<CommandConfig> = {}) => sh(source, { speaks: 'json', ...more });
const says = (value: unknown, more: Partial<CommandConfig> = {}) =>
  json(`cat >/dev/null; echo '${JSON.stringify(value)}'`, more);

describe('the answer', () => {
  test.each([
    [{ complete: true }, { outcome: 'pass' }],
    [
      { complete: true, reason: 'All is there' },
      { outcome: 'pass', reason: 'All is there' },
    ],
    [
      { complete: false, reason: 'No test', feedback: { missing: ['a'] } },
      { outcome: 'fail', reason: 'No test', feedback: { missing: ['a'] } },
    ],
    [{ action: 'complete' }, { outcome: 'pass', action: 'complete' }],
    [
      { action: 'continue', reason: 'Go on' },
      { outcome: 'fail', action: 'continue', reason: 'Go on' },
    ],
    [
      { action: 'escalate', reason: 'A person' },
      { outcome: 'fail', action: 'escalate', reason: 'A person' },
    ],
    [
      { pending: true, reason: 'CI runs', retryAfterMs: 2_000 },
      { outcome: 'pending', reason: 'CI runs', retryAfterMs: 2_000 },
    ],
    [
      { complete: true, usage: { input: 10, output: 2, usd: 0.01, model: 'm' } },
      { outcome: 'pass', usage: { input: 10, output: 2, usd: 0.01, model: 'm' } },
    ],
    [{ complete: true, usage: { input: -1 } }, { outcome: 'pass' }],
  ])('%j is %j', async (answer, expected) => {
    const { command } = await createWorkspace({ judge: says(answer) });
    expect(await command('judge')).toEqual({ ...expected, tookMs: expect.any(Number) });
  });

  test.each([
    ['nothing', 'cat >/dev/null', 'did not print one JSON object'],
    ['text', 'echo yes', 'did not print one JSON object'],
    ['a list', "echo '[]'", 'did not print one JSON object'],
    ['null', 'echo null', 'did not print one JSON object'],
    ['two objects', `echo '{"complete":true}'; echo '{"complete":true}'`, 'did not print one JSON object'],
    ['an unknown form', `echo '{"complete":"yes"}'`, 'printed JSON that is not a check reply'],
    ['a pass that exits with 1', `echo '{"complete":true}'; exit 1`, 'failed (exit 1)'],
    ['more than 256 KiB', 'head -c 300000 /dev/zero | tr "\\0" " "', 'printed more than 262144 bytes'],
    [
      'JSON that nests too deep',
      `printf '{"a":%s1%s}' $(printf '[%.0s' $(seq 70)) $(printf ']%.0s' $(seq 70))`,
      'printed JSON that nests deeper than 64',
    ],
  ])('%s is an error, never a pass', async (_what, source, reason) => {
    const { command } = await createWorkspace({ judge: json(source) });
    expect(await command('judge')).toMatchObject({ outcome: 'error', reason: `Command judge ${reason}` });
  });

  test.each([
    ['no answer', 'exit 0'],
    ['an exit code', 'exit 1'],
  ])('an error with %s still reports its usage', async (_what, end) => {
    const { command } = await createWorkspace({ judge: json(`echo '{"usage":{"input":10,"usd":0.01}}'; ${end}`) });
    expect(await command('judge')).toMatchObject({ outcome: 'error', usage: { input: 10, usd: 0.01 } });
  });

  test('an error includes the end of stderr', async () => {
    const { command } = await createWorkspace({ judge: json('echo no key is set >&2; exit 2') });
    expect(await command('judge')).toMatchObject({ outcome: 'error', feedback: 'no key is set' });
  });

  test('a command that runs too long times out', async () => {
    const { command } = await createWorkspace({ judge: json(`echo '{"complete":true}'; exec sleep 30`) });
    expect(await command('judge', { timeoutMs: 300 })).toMatchObject({ outcome: 'timeout' });
  });
});

/** Returns its input as feedback. */
const echo = node(
  `let all = ''; process.stdin.on('data', (part) => { all += part; }).on('end', () => {
     console.log(JSON.stringify({ complete: false, reason: 'r', feedback: JSON.parse(all) })); });`,
  { speaks: 'json' },
);

describe('the question', () => {
  const ask = async (workspace: Awaited<ReturnType<typeof createWorkspace>>) => {
    const question = { worker: 'w1', plan: [{ title: 'Write tests', status: 'done' }], agentOutput: 'Done.' };
    const { feedback } = await workspace.runner.run(
      { kind: 'command', name: 'judge', cwd: workspace.cwd, timeoutMs: null, env: {}, question: () => question },
      new AbortController().signal,
    );
    expect(feedback).toMatchObject(question);
    return feedback as { readonly diff?: string | null };
  };

  test('is not built for a command that does not speak JSON', async () => {
    const workspace = await createWorkspace({ passes: sh('exit 0') });
    const question = () => expect.unreachable();
    const { outcome } = await workspace.runner.run(
      { kind: 'command', name: 'passes', cwd: workspace.cwd, timeoutMs: null, env: {}, question },
      new AbortController().signal,
    );
    expect(outcome).toBe('pass');
  });

  test('has no diff unless configured', async () => {
    expect(await ask(await createWorkspace({ judge: echo }))).not.toHaveProperty('diff');
  });

  test('has a null diff outside a git repository', async () => {
    expect(await ask(await createWorkspace({ judge: { ...echo, diff: true } }))).toMatchObject({ diff: null });
  });
});

describe('the diff', () => {
  const setUp = async () => {
    const repository = await createRepository({ commands: { judge: { ...echo, diff: true } } });
    const put = (name: string, text: string) => writeFile(join(repository.cwd, name), text);
    const diff = async () => {
      const { outcome, reason, feedback } = await repository.command('judge');
      expect({ outcome, reason }).toEqual({ outcome: 'fail', reason: 'r' });
      return (feedback as { readonly diff: string }).diff;
    };
    return { ...repository, put, diff };
  };

  test('contains changes and new files', async () => {
    const { put, git, diff } = await setUp();
    await put('kept.txt', 'edited\n');
    await put('new.txt', 'fresh\n');
    await put('other.txt', 'other\n');
    await git('add', 'new.txt');
    const text = await diff();
    expect(text).toMatch(/-kept\n\+edited\n[\s\S]*diff --git a\/new.txt b\/new.txt\nnew file\n\+fresh\n/);
    expect(text).toContain('+other');
  });

  test('contains a change that the index hides', async () => {
    const { put, git, diff } = await setUp();
    await git('update-index', '--assume-unchanged', 'kept.txt');
    await put('kept.txt', 'hidden\n');
    expect(await diff()).toContain('+hidden');
  });

  test('does not report files omitted by a sparse checkout as deleted', async () => {
    const { cwd, put, git, diff } = await setUp();
    await mkdir(join(cwd, 'far'));
    await put('far/away.txt', 'far away\n');
    await git('add', '.');
    await git('commit', '-qm', 'far');
    await git('sparse-checkout', 'set', '--no-cone', '/kept.txt');
    await put('kept.txt', 'edited\n');
    const text = await diff();
    expect(text).toContain('+edited');
    expect(text).not.toContain('far away');
  });

  test('changes no file in the repository', async () => {
    const { cwd, put, diff } = await setUp();
    await put('kept.txt', 'edited\n');
    await put('empty.txt', '');
    const state = async () => {
      const names = await readdir(join(cwd, '.git'), { recursive: true });
      return Promise.all(names.sort().map(async (name) => [name, (await stat(join(cwd, '.git', name))).mtimeMs]));
    };
    const before = await state();
    expect(await diff()).toContain('+edited');
    expect(await state()).toEqual(before);
  });

  test('is cut in the middle', async () => {
    const { put, diff } = await setUp();
    await put('kept.txt', 'a long line\n'.repeat(100_000));
    const text = await diff();
    expect(text.length).toBeLessThanOrEqual(96_000);
    expect(text).toContain('…');
  });
});
