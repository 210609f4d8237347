/** Completion with what there is: asked of the running service, quick, and silent where there is none. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { useStandIn } from '../../support/stand-in.ts';
import { openTerminal, runOnce } from '../../support/terminal.ts';

const standIn = useStandIn();

test('lists ids from the service, policies from the file, and agents', async () => {
  const fleet = standIn.newFleet();
  // What is no id is dropped: bash would run it.
  const items = [{ worker: 'w1' }, { worker: '$(touch owned)' }, { worker: 'box-2' }];
  await standIn.answer(fleet, 'list.workers', () => ({ items, next: null }));
  await standIn.answer(fleet, 'list.tasks', () => ({ items: [{ task: 'T-1' }], next: null }));
  const terminal = await openTerminal();
  await writeFile(join(terminal.cwd, 'stopgate.yaml'), 'policies: { strict: {} }\n');
  const list = async (what: string, ...place: string[]) => {
    const at = await openTerminal({ cwd: terminal.cwd });
    expect(await at.run('completion', '--list', what, ...place)).toBe(0);
    expect(at.stderr()).toBe('');
    return at.stdout();
  };
  // On a busy machine it may not be in time.
  const ids = (what: string) => () => list(what, '--nats', standIn.url(), '--fleet', fleet);
  await expect.poll(ids('workers'), { timeout: 30_000 }).toBe('w1\nbox-2\n');
  await expect.poll(ids('tasks'), { timeout: 30_000 }).toBe('T-1\n');
  expect(await list('workers', '--nats', 'nats://127.0.0.1:1')).toBe('');
  expect(await list('policies')).toBe('default\nstrict\n');
  expect(await list('agents')).toMatch(/^claude\n/);
});

test('bash completes ids, also after npx', async () => {
  const { stdout } = await runOnce(['completion', 'bash']);
  const { cwd } = await openTerminal();
  // A program that says what it was asked for.
  const program = join(cwd, 'stopgate');
  await writeFile(
    program,
    `#!/bin/sh\n[ "$1 $2" = "completion --list" ] && printf '%s\\n' "one-of-$3" other 'o$(touch ran)'\n`,
  );
  await chmod(program, 0o755);
  await mkdir(join(cwd, 'node_modules/.bin'), { recursive: true });
  await symlink(program, join(cwd, 'node_modules/.bin/stopgate'));
  const complete = (by: string, ...words: string[]) => {
    const script = `${stdout}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); ${by}; printf '%s ' "\${COMPREPLY[@]}"`;
    return execFileSync('bash', ['-c', script, 'bash', ...words], { cwd, encoding: 'utf8' }).trim();
  };
  expect(complete('_stopgate', program, 'worker', 'one')).toBe('one-of-workers');
  expect(complete('_stopgate', program, 'task', 'one')).toBe('one-of-tasks');
  expect(complete('_stopgate', program, 'tail', '--worker', 'o')).toBe('one-of-workers other o$(touch ran)');
  expect(complete('_stopgate', program, 'init', 'claude', '--policy', 'one')).toBe('one-of-policies');
  expect(complete('_stopgate', program, 'check', '--policy', 'one')).toBe('');
  // Only what the command knows.
  expect(complete('_stopgate', program, 'doctor', 'c')).toBe('claude codex copilot cursor');
  expect(complete('_stopgate', program, 'doctor', 's')).toBe('');
  expect(complete('_stopgate', program, 'worker', '--js')).toBe('--json');
  expect(complete('_stopgate_npx', 'npx', 'stopgate', 'worker', 'one')).toBe('one-of-workers');
  expect(complete('_stopgate_npx', 'npx', 'stopgate', 'wor')).toBe('workers worker');
  expect(complete('_stopgate_npx', 'npx', 'other', 'w')).toBe('');
  // What was listed is data.
  expect(existsSync(join(cwd, 'ran'))).toBe(false);
});
