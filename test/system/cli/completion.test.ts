/** Completion of ids from the running service: fast, and silent if there is none. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readEnvironment } from '../../../src/config/environment.ts';
import { useStandIn } from '../../support/stand-in.ts';
import { openTerminal, runOnce } from '../../support/terminal.ts';

const standIn = useStandIn();

test('lists ids from the service, policies from the file, and agents', async () => {
  const fleet = standIn.newFleet();
  // Completion drops words that are not ids: bash would run them.
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
  // On a busy machine, the answer may come too late.
  const ids = (what: string) => () => list(what, '--nats', standIn.url(), '--fleet', fleet);
  await expect.poll(ids('workers')).toBe('w1\nbox-2\n');
  await expect.poll(ids('tasks')).toBe('T-1\n');
  expect(await list('workers', '--nats', 'nats://127.0.0.1:1')).toBe('');
  expect(await list('policies')).toBe('default\nstrict\n');
  expect(await list('agents')).toMatch(/^claude\n/);
  expect((await runOnce(['completion', '--help'])).stdout).toContain('npx stopgate completion SHELL');
});

/** Creates a folder with a program `stopgate` that records its arguments, also for `npx`. */
async function openFolder() {
  const { cwd } = await openTerminal();
  const program = join(cwd, 'stopgate');
  await writeFile(
    program,
    `#!/bin/sh\n[ "$1 $2" = "completion --list" ] && printf '%s\\n' "one-of-$3" other 'o$(touch ran)'\n`,
  );
  await chmod(program, 0o755);
  await mkdir(join(cwd, 'node_modules/.bin'), { recursive: true });
  await symlink(program, join(cwd, 'node_modules/.bin/stopgate'));
  return { cwd, program };
}

/** Like a clone of this repository, which contains the program but is not installed. */
async function becomeClone(cwd: string) {
  await rename(join(cwd, 'node_modules/.bin'), join(cwd, 'bin'));
  await rename(join(cwd, 'bin/stopgate'), join(cwd, 'bin/stopgate.js'));
  await writeFile(join(cwd, 'package.json'), '{\n  "name": "stopgate",\n  "version": "1.0.0"\n}\n');
}

test('bash completes ids, also after npx', async () => {
  const { stdout } = await runOnce(['completion', 'bash']);
  const { cwd, program } = await openFolder();
  const complete = (by: string, ...words: string[]) => {
    const script = `${stdout}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); ${by}; printf '%s ' "\${COMPREPLY[@]}"`;
    return execFileSync('bash', ['-c', script, 'bash', ...words], { cwd, encoding: 'utf8' }).trim();
  };
  expect(complete('_stopgate', program, 'worker', 'one')).toBe('one-of-workers');
  expect(complete('_stopgate', program, 'task', 'one')).toBe('one-of-tasks');
  expect(complete('_stopgate', program, 'tail', '--worker', 'o')).toBe('one-of-workers other o$(touch ran)');
  expect(complete('_stopgate', program, 'init', 'claude', '--policy', 'one')).toBe('one-of-policies');
  expect(complete('_stopgate', program, 'check', '--policy', 'one')).toBe('');
  // Only options of the command.
  expect(complete('_stopgate', program, 'doctor', 'c')).toBe('claude codex copilot cursor cline');
  expect(complete('_stopgate', program, 'doctor', 's')).toBe('');
  expect(complete('_stopgate', program, 'worker', '--js')).toBe('--json');
  expect(complete('_stopgate_npx', 'npx', 'stopgate', 'worker', 'one')).toBe('one-of-workers');
  expect(complete('_stopgate_npx', 'npx', 'stopgate', 'wor')).toBe('workers worker');
  expect(complete('_stopgate_npx', 'npx', 'other', 'w')).toBe('');
  await becomeClone(cwd);
  expect(complete('_stopgate_npx', 'npx', 'stopgate', 'worker', 'one')).toBe('one-of-workers');
  expect(complete('_stopgate_npx', 'npx', 'stopgate', 'wor')).toBe('workers worker');
  // A file with this name in another project is not run.
  await writeFile(join(cwd, 'package.json'), '{\n  "name": "other"\n}\n');
  expect(complete('_stopgate_npx', 'npx', 'stopgate', 'worker', 'one')).toBe('');
  // Listed words are data, and never run.
  expect(existsSync(join(cwd, 'ran'))).toBe(false);
});

const has = (shell: string) => spawnSync(shell, ['-c', ':']).status === 0;
/** What it finds where `stopgate` is on the PATH. */
const runShell = (cwd: string, shell: string, args: readonly string[]) =>
  execFileSync(shell, args, {
    cwd,
    encoding: 'utf8',
    timeout: 60_000,
    env: { ...readEnvironment(), PATH: `${cwd}:${readEnvironment().PATH}`, HOME: cwd, TERM: 'xterm' },
  });

test.skipIf(!has('fish'))('fish completes commands, options, their values and ids, also after npx', async () => {
  const { cwd } = await openFolder();
  await writeFile(join(cwd, 'stopgate.fish'), (await runOnce(['completion', 'fish'])).stdout);
  const lines = {
    'stopgate wor': ['worker', 'workers'],
    'stopgate --': ['--help', '--version'],
    'stopgate help wor': ['worker', 'workers'],
    'stopgate worker one': ['one-of-workers'],
    'stopgate worker w1 --js': ['--json'],
    'stopgate worker w1 one': [],
    'stopgate workers --state bl': ['blocked'],
    'stopgate tail --worker=one': ['--worker=one-of-workers'],
    // Only the first word is the command.
    'stopgate publish worker one': [],
    'npx stopgate wor': ['worker', 'workers'],
    'npx stopgate init claude --policy one': ['one-of-policies'],
  };
  const complete = (typed: readonly string[]) => {
    const asked = typed.map((line) => `complete -C '${line}'; echo =`);
    const found = runShell(cwd, 'fish', ['--no-config', '-c', `source stopgate.fish; ${asked.join('; ')}`]);
    const sections = found.split('=\n').slice(0, -1);
    return sections.map((section) => section.split('\n').flatMap((line) => line.split('\t')[0] || []));
  };
  expect(complete(Object.keys(lines))).toEqual(Object.values(lines));
  await becomeClone(cwd);
  expect(complete(['npx stopgate init claude --policy one'])).toEqual([['one-of-policies']]);
});

test.skipIf(!has('zsh'))('zsh completes commands, options, their values and ids, also after npx', async () => {
  const { cwd } = await openFolder();
  await writeFile(join(cwd, 'stopgate.zsh'), (await runOnce(['completion', 'zsh'])).stdout);
  const lines = {
    'stopgate wor': 'stopgate worker',
    'stopgate --v': 'stopgate --version ',
    'stopgate help explai': 'stopgate help explain ',
    'stopgate worker one': 'stopgate worker one-of-workers ',
    'stopgate worker w1 --js': 'stopgate worker w1 --json ',
    'stopgate workers --state bl': 'stopgate workers --state blocked ',
    'stopgate tail --worker=one': 'stopgate tail --worker=one-of-workers ',
    'npx stopgate explai': 'npx stopgate explain ',
    'npx stopgate init claude --policy one': 'npx stopgate init claude --policy one-of-policies ',
  };
  // A separate terminal, in which Ctrl-X prints the current line.
  const script = String.raw`zmodload zsh/zpty
    zpty shell zsh -f -i
    zpty -w shell 'autoload -U compinit; compinit -u -D; source stopgate.zsh
      show() { print -r -- "<""<$BUFFER>>"; BUFFER= }; zle -N show; bindkey "^X" show; print -r -- "<""ready>>"'
    zpty -r shell shown '*<ready>>*'
    for line in "$@"; do
      zpty -w -n shell "$line"$'\t\x18'
      zpty -r shell shown '*<<*>>*'
      print -r -- "\${\${shown##*<<}%%>>*}"
    done`.replaceAll('\\$', '$');
  const complete = (...typed: string[]) => runShell(cwd, 'zsh', ['-f', '-c', script, 'zsh', ...typed]);
  expect(complete(...Object.keys(lines))).toBe(`${Object.values(lines).join('\n')}\n`);
  await becomeClone(cwd);
  const npx = 'npx stopgate init claude --policy one';
  expect(complete(npx)).toBe(`${lines[npx]}\n`);
});
