/**
 * The commands that resume a session. Those of Cursor and, in the table, of all but Kimi were not run without a person:
 * they need a terminal or a login, or their program is in no registry.
 */
import { expect, test } from 'vitest';
import { resumeCommand } from '../../../src/agents/index.ts';

const session = { worker: 's-1', parent: null, cwd: null };

test.each([
  ['claude', "claude --resume s-1 'Go on'"],
  ['codex', "codex exec resume s-1 'Go on'"],
  ['gemini', "gemini --resume s-1 'Go on'"],
  ['copilot', "copilot --resume=s-1 --prompt 'Go on'"],
  ['qwen', "qwen --resume s-1 --prompt-interactive 'Go on'"],
  ['cursor', "cursor-agent --resume s-1 'Go on'"],
  ['opencode', "opencode run --session s-1 'Go on'"],
  ['agy', "agy --conversation s-1 -p 'Go on'"],
  ['kiro', "kiro-cli chat --resume-id s-1 'Go on'"],
  ['droid', "droid exec --session-id s-1 'Go on'"],
  ['goose', "goose run --resume --session-id s-1 --text 'Go on'"],
  ['kimi', "kimi --session s-1 --prompt 'Go on'"],
  ['cline', "cline --id s-1 'Go on'"],
  ['shell', null],
  [null, null],
])('%s', (agent, command) => {
  expect(resumeCommand({ ...session, agent }, 'Go on')).toBe(command);
});

test('changes to the session’s folder and quotes for the shell', () => {
  const at = { ...session, agent: 'claude', cwd: "/home/o'neil/a b" };
  expect(resumeCommand(at, '$(rm -rf /) `x` \u001b[31m"it\'s"')).toBe(
    `cd '/home/o'\\''neil/a b' && claude --resume s-1 '$(rm -rf /) \`x\` "it'\\''s"'`,
  );
});

test('a sub-agent has no such command', () => {
  expect(resumeCommand({ ...session, agent: 'claude', parent: 's-0' }, 'Go on')).toBeNull();
});
