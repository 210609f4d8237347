/** Which shell commands surely change no file. */
import { expect, test } from 'vitest';
import { commandIn, isReadOnly, shownCommand } from '../../../src/agents/shared/shell-command.ts';

test.each([
  'ls -la src',
  'cat src/*.ts',
  'git status --short',
  'git --no-pager log --oneline -5 HEAD~1..HEAD',
  'git diff HEAD^ -- "a file"',
  'git branch -a',
  "grep -rn 'a > b | c; d' src",
  'find . -name "*.ts" -type f',
  'sort -u names.txt',
  'rg --files -g "*.md"',
  'echo "done; really"',
  'pwd',
])('%s reads', (command) => {
  expect(isReadOnly(command)).toBe(true);
});

test.each([
  '',
  'npm test',
  './ls',
  '/bin/cat a',
  'FOO=1 cat a',
  'cat a > b',
  'cat a >> b',
  'cat < a',
  'cat a | tee b',
  'ls; rm a',
  'ls && rm a',
  'ls & rm a',
  'ls\nrm a',
  'cat $(rm a)',
  'cat `rm a`',
  'cat "$(rm a)"',
  'cat $A',
  'cat <(rm a)',
  'ls {a,b}',
  'cat ~/a',
  '! ls',
  "cat 'a",
  'find . -delete',
  'find . "-delete"',
  'find . -exec rm {} +',
  'find . -fprintf a x',
  'find *',
  'sort -o a b',
  'sort -uo a b',
  'sort --output=a b',
  'sort --outp a b',
  'sort *',
  'sed -i s/a/b/ a',
  'sed -n 1p a',
  'awk 1 a',
  'xargs rm',
  'tee a',
  'env rm a',
  'sudo ls',
  'uniq a b',
  'rg --pre=./x a',
  'tree -o a',
  'git checkout a',
  'git stash',
  'git branch new',
  'git branch -D old',
  'git tag v1',
  'git log --output=a',
  'git grep -Ovi a',
  'git -c core.pager=./x log',
  'git -C / clean -fd',
  'git',
  'git diff --outp=a',
])('%s may write', (command) => {
  expect(isReadOnly(command)).toBe(false);
});

test('a command is a string, a list of words, or a shell’s script', () => {
  expect(commandIn(['bash', '-lc', 'npm test'])).toBe('npm test');
  expect(commandIn(['git', 'commit', '-m', "it's done"])).toBe("git commit -m 'it'\\''s done'");
  for (const none of ['', ' ', [], [1], 7, null, undefined]) expect(commandIn(none)).toBeUndefined();
  expect([...shownCommand('😀'.repeat(400))]).toHaveLength(300);
});
