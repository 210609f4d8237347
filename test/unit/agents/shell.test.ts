/** The generic adapter for any tool that can run a command. */
import { describe, expect, test } from 'vitest';
import { allowed, blocked, draftsOf } from './entry-drafts.ts';

const { read, translate, drafts } = draftsOf('shell');
const call = (event: string | undefined, more: object = {}) => ({
  worker: 'w1',
  ...(event === undefined ? {} : { event }),
  ...more,
});

test('a call with only a worker is its stop', () => {
  expect(translate(call(undefined))).toEqual({
    worker: 'w1',
    entries: [],
    stop: {},
    check: null,
    ask: null,
    immediateAnswer: null,
    command: null,
    scheduled: null,
    schedules: null,
    unread: [],
  });
  expect(read(call(undefined)).event).toBe('stop');
  expect(read(call(undefined), 'tool').event).toBe('tool');
});

test('a stop accepts all fields of an attempt; a long output is cut', () => {
  const attempt = {
    attempt: 'a1',
    output: 'done',
    validation: [{ rule: 'tests_pass', passed: true }],
    files: ['a.md'],
  };
  expect(translate(call('stop', attempt)).stop).toEqual(attempt);
  const { output = '' } = translate(call('stop', { output: 'x'.repeat(100_000) })).stop ?? {};
  expect(Buffer.byteLength(output)).toBeLessThanOrEqual(32_768);
  expect(output).toMatch(/^\[stopgate: only the end/);
});

test.each([
  ['start', { cwd: '/w' }, [['worker.registered', { agent: 'shell', cwd: '/w' }]]],
  ['prompt', { text: 'go' }, [['prompt.submitted', { text: 'go' }]]],
  ['tool-start', { tool: 'make', call: 'c1' }, [['tool.started', { tool: 'make', call: 'c1' }]]],
  ['tool', { tool: 'make', call: 'c1' }, [['tool.used', { tool: 'make', ok: true, call: 'c1', changes: 'unknown' }]]],
  ['tool', { changes: 'none' }, [['tool.used', { tool: 'command', ok: true }]]],
  ['tool', { command: 'git status' }, [['tool.used', { tool: 'command', ok: true, command: 'git status' }]]],
  [
    'tool',
    { tool: 'make', ok: false, files: ['/workspace/project/a.md'] },
    [['tool.used', { tool: 'make', ok: false, files: ['a.md'] }]],
  ],
  ['tool', {}, [['tool.used', { tool: 'command', ok: true, changes: 'unknown' }]]],
  [
    'plan',
    { steps: [{ title: 'a', status: 'done' }] },
    [['plan.updated', { steps: [{ title: 'a', status: 'done' }] }]],
  ],
  ['end', { reason: 'closed' }, [['session.ended', { reason: 'closed' }]]],
])('%s %j', (event, more, says) => {
  expect(drafts(call(event, more))).toEqual(says);
});

test('a block has a decision and a reason; any other answer is empty', () => {
  expect(read(call('stop')).answer(blocked('the reason'))).toEqual({ decision: 'block', reason: 'the reason' });
  expect(read(call('stop')).answer(allowed)).toBeNull();
  expect(read(call('tool')).answer(blocked('x'))).toBeNull();
});

describe('an invalid call is an error', () => {
  test.each([
    ['no worker', {}, 'worker'],
    [
      'an unknown event',
      { worker: 'w1', event: 'plann' },
      'use one of: start, prompt, tool-start, tool, plan, stop, end',
    ],
    ['a worker that is not an id', { worker: 'a.b' }, 'worker'],
    ['an output that is not a string', { worker: 'w1', output: 5 }, 'output'],
    ['rules in another shape', { worker: 'w1', validation: { tests: true } }, 'validation'],
  ])('%s', (_name, body, path) => {
    expect(() => read(body)).toThrow(
      expect.objectContaining({ code: 'input.bad', message: expect.stringContaining(path) }),
    );
  });
});
