/**
 * Which settings give Claude Code its plan tools, like the real program (test/system/agents/claude-plan-tools.test.ts).
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readPlanTools } from '../../../src/agents/claude/settings.ts';

const variable = 'CLAUDE_CODE_ENABLE_TODO_TOOLS';
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'stopgate-plan-tools-'));
  for (const name of ['home', 'project/.claude']) mkdirSync(join(folder, name), { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true }));

const files = {
  user: 'home/settings.json',
  project: 'project/.claude/settings.json',
  local: 'project/.claude/settings.local.json',
};
type Settings = Partial<Record<keyof typeof files, object | string>>;

function read(settings: Settings, env: Record<string, string> = {}) {
  for (const [scope, value] of Object.entries(settings)) {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    writeFileSync(join(folder, files[scope as keyof typeof files]), text);
  }
  const home = join(folder, 'home');
  return readPlanTools({ cwd: join(folder, 'project'), home, env }, home);
}

test.each([
  ['1', 'on'],
  ['TRUE', 'on'],
  ['yes', 'on'],
  ['0', 'refused'],
  ['2', 'refused'],
  ['', 'off'],
])('the variable with %j: %s', (value, state) => {
  expect(read({ user: { env: { [variable]: value } } }).state).toBe(state);
});

test.each([
  ['claude-opus-4-5', 'on'],
  ['claude-opus-4-7', 'on'],
  ['claude-sonnet-4-6[1m]', 'on'],
  ['claude-sonnet-4-20250514', 'on'],
  ['claude-3-7-sonnet-20250219', 'on'],
  ['us.anthropic.claude-haiku-4-5-20251001-v1:0', 'on'],
  ['claude-opus-4-8', 'off'],
  ['claude-sonnet-5', 'off'],
  ['claude-opus-4-50', 'off'],
  ['opus', 'off'],
  ['some-gateway-model', 'off'],
])('model %s: %s', (model, state) => {
  expect(read({ project: { model } }).state).toBe(state);
});

describe('precedence', () => {
  test('local settings override project settings, these override user settings, and all override the environment', () => {
    const on = { env: { [variable]: '1' } };
    const off = { env: { [variable]: '0' } };
    expect(read({}, { [variable]: '1' })).toMatchObject({ state: 'on', why: `${variable}=1 in the environment` });
    expect(read({ user: off }, { [variable]: '1' }).state).toBe('refused');
    expect(read({ user: off, project: on }).state).toBe('on');
    expect(read({ user: on, project: on, local: off })).toMatchObject({
      state: 'refused',
      why: `the default model, and ${variable}=0 in ${join(folder, files.local)}`,
    });
  });

  test('ANTHROPIC_MODEL overrides "model", wherever each is set', () => {
    expect(read({ local: { model: 'opus' } }, { ANTHROPIC_MODEL: 'claude-opus-4-5' }).state).toBe('on');
    expect(read({ user: { env: { ANTHROPIC_MODEL: 'opus' } }, local: { model: 'claude-opus-4-5' } }).state).toBe('off');
  });

  test('an alias may be pinned to an older model', () => {
    expect(read({ user: { model: 'sonnet' } }, { ANTHROPIC_DEFAULT_SONNET_MODEL: 'claude-sonnet-4-5' })).toMatchObject({
      state: 'on',
      why: `model claude-sonnet-4-5 by ${join(folder, files.user)}`,
    });
  });

  test('an unreadable file is ignored', () => {
    expect(read({ user: '{ "model":', project: '[]', local: { env: 7, model: ['claude-opus-4-5'] } })).toEqual({
      state: 'off',
      why: 'the default model',
      variable,
    });
  });
});
