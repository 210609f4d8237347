/**
 * Seed 001, the stop hook system: hooks on a task say complete, continue or escalate after each iteration. Order,
 * presets and results are shown one by one in `test/conformance/hooks-*.json`; here stands what needs more than a log:
 * whole tables, loops, and what becomes of hooks, in virtual time.
 */
import { describe, expect, test } from 'vitest';
import type { HookResult } from '../../machines/index.ts';
import { minutesAfter, play } from './play.ts';

type Form = { readonly type: string; readonly [key: string]: unknown };

/** A task with these hooks, in an iteration. */
function iterate(hooks: readonly Form[], iteration: object = {}) {
  const loop = play();
  for (const [index, form] of hooks.entries()) {
    loop.say('12:00', 'task.T.hook.registered', { hook: `h${index + 1}`, ...form });
  }
  const { iteration: number = 1 } = iteration as { iteration?: number };
  loop.say('12:00', 'task.T.iteration.started', { iteration: number, maxIterations: 20, ...iteration });
  return {
    ...loop,
    ask: (fields: object = {}) => loop.validate('12:01', 'T', { iteration: number, ...fields }) as HookResult,
  };
}

const promise = (...names: string[]) => ({ output: names.map((name) => `<promise>${name}</promise>`).join(' ') });
const rules = (...passed: boolean[]) => ({
  validation: passed.map((it, index) => ({ rule: `rule${index + 1}`, passed: it })),
});

describe('the presets, by what they look at', () => {
  const inputs: Record<string, object> = {
    nothing: {},
    COMPLETE: promise('COMPLETE'),
    ESCALATE: promise('ESCALATE'),
    BLOCKED: promise('BLOCKED'),
    'BLOCKED and ESCALATE': promise('BLOCKED', 'ESCALATE'),
    'all three promises': promise('BLOCKED', 'ESCALATE', 'COMPLETE'),
    'rules that pass': rules(true, true),
    'a rule that fails': rules(true, false),
    'COMPLETE and a rule that fails': { ...promise('COMPLETE'), ...rules(false) },
    'BLOCKED and rules that pass': { ...promise('BLOCKED'), ...rules(true) },
  };

  test.each<[string, string, string, string]>([
    ['nothing', 'continue', 'continue', 'continue'],
    ['COMPLETE', 'complete', 'continue', 'complete'],
    ['ESCALATE', 'escalate', 'continue', 'escalate'],
    ['BLOCKED', 'escalate', 'continue', 'escalate'],
    ['BLOCKED and ESCALATE', 'escalate', 'continue', 'escalate'],
    ['all three promises', 'complete', 'continue', 'complete'],
    ['rules that pass', 'complete', 'complete', 'continue'],
    ['a rule that fails', 'continue', 'continue', 'continue'],
    ['COMPLETE and a rule that fails', 'complete', 'continue', 'complete'],
    ['BLOCKED and rules that pass', 'escalate', 'complete', 'escalate'],
  ])('%s: default says %s, validation %s, promise %s', (what, ...expected) => {
    const actions = ['default', 'validation', 'promise'].map((type) => iterate([{ type }]).ask(inputs[what]).action);
    expect(actions).toEqual(expected);
  });

  test('of BLOCKED and ESCALATE the second is the reason, being the higher of the two', () => {
    expect(iterate([{ type: 'default' }]).ask(promise('BLOCKED', 'ESCALATE')).reason).toContain('ESCALATE');
  });

  test('failed rules are the feedback, by name', () => {
    const validation = [
      { rule: 'tests_pass', passed: false, message: '3 tests fail' },
      { rule: 'lint_clean', passed: true },
    ];
    expect(iterate([{ type: 'default' }]).ask({ validation })).toMatchObject({
      action: 'continue',
      reason: 'Failed rules: tests_pass',
      metadata: { failedRules: ['tests_pass'], feedback: [{ rule: 'tests_pass', message: '3 tests fail' }] },
    });
  });
});

test('a result has these fields and no others', () => {
  expect(iterate([{ type: 'default' }], { iteration: 3 }).ask({ attempt: 'i3', ...promise('COMPLETE') })).toEqual({
    fleet: 'main',
    attempt: 'i3',
    hookId: 'h1',
    taskId: 'T',
    iteration: 3,
    action: 'complete',
    reason: 'Agent signaled completion via <promise>COMPLETE</promise>',
    nextPrompt: null,
    checkpointCreated: false,
    metadata: {},
  });
});

describe('several hooks', () => {
  test('are asked in the order in which they were registered, up to the first that is not continue', () => {
    const order = iterate([{ type: 'validation' }, { type: 'promise' }, { type: 'default' }]);
    expect(order.ask(rules(true))).toMatchObject({ hookId: 'h1', action: 'complete' });
    expect(order.ask(promise('COMPLETE'))).toMatchObject({ hookId: 'h2', action: 'complete' });
    expect(order.ask(promise('BLOCKED'))).toMatchObject({ hookId: 'h2', action: 'escalate' });
    expect(order.ask()).toMatchObject({ hookId: 'h3', action: 'continue', reason: 'Iteration in progress' });
  });

  test('all disabled are as none', () => {
    expect(iterate([{ type: 'default', enabled: false }]).ask(promise('COMPLETE'))).toMatchObject({
      hookId: 'default',
      action: 'continue',
      reason: 'No hooks registered for this task',
    });
  });

  test('keep to their task', () => {
    const loop = iterate([{ type: 'promise' }]);
    loop.say('12:00', 'task.U.hook.registered', { type: 'validation' });
    loop.say('12:00', 'task.U.iteration.started', { iteration: 1, maxIterations: 9 });
    expect(loop.validate('12:01', 'U', { iteration: 1, ...promise('COMPLETE') })).toMatchObject({
      taskId: 'U',
      action: 'continue',
    });
  });

  test('are listed with id, type and whether they are enabled; one without an id gets one', () => {
    const loop = iterate([{ type: 'default' }, { type: 'tdd', enabled: false }]);
    loop.say('12:00', 'task.T.hook.registered', { type: 'promise' });
    expect(loop.look('12:01').tasks.T?.hooks).toMatchObject([
      { hook: 'h1', type: 'default', enabled: true },
      { hook: 'h2', type: 'tdd', enabled: false },
      { hook: 'hook-3', type: 'promise', enabled: true },
    ]);
  });
});

describe('chained hooks', () => {
  const member = { yes: { type: 'validation' }, no: { type: 'promise' }, flee: { type: 'promise' } };
  const groups = (type: string, ...of: Form[]) => iterate([{ type, of }]);

  test.each([
    ['all', 'complete when each member is', [member.yes, member.yes], rules(true), 'complete'],
    ['all', 'continue when one is not', [member.yes, member.no], rules(true), 'continue'],
    ['any', 'complete when one member is', [member.no, member.yes], rules(true), 'complete'],
    ['any', 'continue when none is', [member.no, member.yes], rules(false), 'continue'],
    ['all', 'escalate when one does', [member.yes, member.flee], { ...rules(true), ...promise('BLOCKED') }, 'escalate'],
    ['any', 'escalate when one does', [member.yes, member.flee], { ...rules(true), ...promise('BLOCKED') }, 'escalate'],
  ])('%s: %s', (type, _when, of, fields, action) => {
    expect(groups(type, ...of).ask(fields)).toMatchObject({ action });
  });

  test('all gives its first continue’s words, any all of them', () => {
    const of = [{ type: 'validation' }, { type: 'promise' }];
    expect(groups('all', ...of).ask(rules(false)).reason).toBe('Failed rules: rule1');
    expect(groups('any', ...of).ask(rules(false)).reason).toBe(
      'Failed rules: rule1; or No completion promise detected',
    );
  });

  test('may hold groups, to a depth of four', () => {
    const nest = (depth: number): Form => (depth === 0 ? { type: 'promise' } : { type: 'all', of: [nest(depth - 1)] });
    expect(iterate([nest(4)]).ask(promise('COMPLETE'))).toMatchObject({ action: 'complete' });
    expect(() => iterate([nest(5)])).toThrow('hooks may nest 4 deep');
  });
});

describe('templates', () => {
  test('tdd: the rule tests_pass alone decides, and the next prompt says what to do', () => {
    const loop = iterate([{ type: 'tdd' }]);
    expect(loop.ask({ validation: [{ rule: 'other', passed: true }] })).toMatchObject({
      action: 'continue',
      reason: 'Tests still failing',
      nextPrompt: 'Fix failing tests and run again',
    });
    expect(loop.ask({ validation: [{ rule: 'tests_pass', passed: true }] })).toMatchObject({
      action: 'complete',
      reason: 'All tests pass',
    });
  });

  const scan = (fixed: boolean, clean: boolean) => ({
    validation: [
      { rule: 'vulns_fixed', passed: fixed },
      { rule: 'sast_clean', passed: clean },
    ],
  });
  test.each([
    [1, true, true, 'complete'],
    [1, true, false, 'continue'],
    [1, false, true, 'continue'],
    [9, false, false, 'continue'],
    [10, false, false, 'escalate'],
    [10, true, true, 'complete'],
  ])('security: iteration %i, fixed %s, clean %s: %s', (iteration, fixed, clean, action) => {
    expect(iterate([{ type: 'security' }], { iteration }).ask(scan(fixed, clean))).toMatchObject({ action });
  });

  test('checkpoint: saves one at its iteration, halfway by default, and lets the others decide', () => {
    for (const [iteration, saved] of [
      [4, false],
      [5, true],
      [6, false],
    ] as const) {
      const loop = iterate([{ type: 'checkpoint' }, { type: 'promise' }], { iteration });
      expect(loop.ask()).toMatchObject({ hookId: 'h2', action: 'continue', checkpointCreated: saved });
      expect(loop.look('12:01').tasks.T?.checkpoints).toHaveLength(saved ? 1 : 0);
    }
  });
});

describe('conditional hooks', () => {
  test.each<[string, object, object, string, string]>([
    ['iterationAtLeast', { iterationAtLeast: 3 }, { iteration: 2 }, 'h2', 'not yet'],
    ['iterationAtLeast', { iterationAtLeast: 3 }, { iteration: 3 }, 'h1', 'from then on'],
    ['filesMatch', { filesMatch: 'src/**' }, { files: ['docs/a.md'] }, 'h2', 'no file of those'],
    ['filesMatch', { filesMatch: 'src/**' }, { files: ['src/a/b.ts'] }, 'h1', 'one of them'],
    ['filesModified', { filesModified: true }, {}, 'h2', 'none was changed'],
    ['filesModified', { filesModified: true }, { files: ['a'] }, 'h1', 'one was changed'],
    ['filesModified', { filesModified: false }, { files: ['a'] }, 'h2', 'one was changed, none must be'],
    ['all of what is given', { iterationAtLeast: 1, filesModified: true }, {}, 'h2', 'one holds, one does not'],
  ])('%s: %j', (_name, when, { iteration = 1, ...fields }: { iteration?: number }, hookId) => {
    const loop = iterate([{ type: 'promise', when }, { type: 'validation' }], { iteration });
    const asked = loop.ask({ ...promise('COMPLETE'), ...fields });
    expect(asked).toMatchObject({ hookId, action: hookId === 'h1' ? 'complete' : 'continue' });
  });

  test('by the phase of the last checkpoint, and by a label of the worker', () => {
    const loop = iterate([
      { type: 'promise', when: { phase: 'testing' } },
      { type: 'promise', when: { label: 'tier=gold' } },
      { type: 'validation' },
    ]);
    expect(loop.ask(promise('COMPLETE'))).toMatchObject({ hookId: 'h3' });
    loop.say('12:02', 'worker.w.worker.registered', { labels: { tier: 'gold' } });
    loop.say('12:02', 'worker.w.task.claimed', { task: 'T' });
    expect(loop.validate('12:03', 'T', { iteration: 1, ...promise('COMPLETE') })).toMatchObject({ hookId: 'h2' });
    loop.say('12:04', 'task.T.checkpoint.saved', { checkpoint: 'c1', phase: 'testing' });
    expect(loop.validate('12:05', 'T', { iteration: 1, ...promise('COMPLETE') })).toMatchObject({ hookId: 'h1' });
  });
});

describe('the loop', () => {
  /** The agent's flow of the seed: start, validate, then complete, escalate or go on. */
  function run(outputs: readonly object[], started: object) {
    const loop = play();
    loop.say('12:00', 'task.T.task.created', { title: 'Build it' });
    loop.say('12:00', 'task.T.hook.registered', { hook: 'h1', type: 'default' });
    loop.say('12:00', 'task.T.iteration.started', { iteration: 1, ...started });
    const actions: string[] = [];
    for (const [index, fields] of outputs.entries()) {
      const at = minutesAfter('12:01', index);
      const result = loop.validate(at, 'T', { iteration: index + 1, ...fields });
      actions.push(result?.action ?? 'none');
      if (result?.action === 'complete') {
        loop.say(at, 'task.T.iteration.completed', { iteration: index + 1, promise: 'COMPLETE' });
      }
      if (result?.action === 'escalate') loop.say(at, 'task.T.hooks.cleared');
      if (result?.action === 'continue') loop.say(at, 'task.T.iteration.advanced');
    }
    return { actions, loop };
  }

  test('goes on until COMPLETE; the completed iteration takes its hooks along', () => {
    const { actions, loop } = run([{ output: 'working' }, rules(false), promise('COMPLETE')], { maxIterations: 10 });
    expect(actions).toEqual(['continue', 'continue', 'complete']);
    const task = loop.look('12:10').tasks.T;
    expect(task).toMatchObject({ state: 'idle', iteration: 3, hooks: [] });
  });

  test('ends with ESCALATE or BLOCKED: a person must look, and the hooks are cleared', () => {
    const { actions, loop } = run([{ output: 'working' }, promise('BLOCKED')], { maxIterations: 10 });
    expect(actions).toEqual(['continue', 'escalate']);
    expect(loop.look('12:10').tasks.T?.hooks).toEqual([]);
  });

  test('ends at maxIterations: the last continue is an escalate', () => {
    const { actions } = run([{}, {}, {}], { maxIterations: 3 });
    expect(actions).toEqual(['continue', 'continue', 'escalate']);
  });

  test('looks at the completion promises that the iteration names, and at no others', () => {
    const only = { maxIterations: 10, completionPromises: ['COMPLETE', 'BLOCKED'] };
    expect(run([promise('ESCALATE'), promise('BLOCKED')], only).actions).toEqual(['continue', 'escalate']);
  });

  test('has no need of hooks: without one it is asked to continue', () => {
    const loop = play();
    loop.say('12:00', 'task.T.iteration.started', { iteration: 1, maxIterations: 3 });
    expect(loop.validate('12:01', 'T', { iteration: 1 })).toMatchObject({ hookId: 'default', action: 'continue' });
    loop.say('12:02', 'task.T.iteration.advanced');
    loop.say('12:03', 'task.T.iteration.completed', { iteration: 2, promise: 'COMPLETE' });
    expect(loop.refused()).toEqual([]);
  });
});

describe('promises', () => {
  test.each([
    ['as it stands', 'Implementation complete. <promise>COMPLETE</promise>', 'complete'],
    ['in a fence', 'Write this at the end:\n```\n<promise>COMPLETE</promise>\n```', 'continue'],
    ['in a quoted line', '> <promise>COMPLETE</promise>', 'continue'],
    ['with other words', '<promise>COMPLETE soon</promise>', 'continue'],
  ])('%s', (_where, output, action) => {
    expect(iterate([{ type: 'promise' }]).ask({ output })).toMatchObject({ action });
  });

  test('that a caller has detected already are taken as they are', () => {
    const said = (detected: boolean) => ({ promises: [{ type: 'COMPLETE', detected, content: 'COMPLETE' }] });
    expect(iterate([{ type: 'promise' }]).ask(said(true))).toMatchObject({ action: 'complete' });
    expect(iterate([{ type: 'promise' }]).ask({ ...said(false), ...promise('COMPLETE') })).toMatchObject({
      action: 'continue',
    });
  });
});

describe('hooks are removed', () => {
  const hooksAfter = (end: (loop: ReturnType<typeof play>) => void) => {
    const loop = play();
    loop.say('12:00', 'task.T.hook.registered', { hook: 'h1', type: 'promise' });
    loop.say('12:00', 'task.T.iteration.started', { iteration: 1, maxIterations: 3 });
    loop.say('12:00', 'worker.w.task.claimed', { task: 'T' });
    end(loop);
    return loop.look('12:05').tasks.T?.hooks;
  };

  test.each<[string, string, object]>([
    ['by hooks.cleared', 'task.T.hooks.cleared', {}],
    ['by the end of the iteration', 'task.T.iteration.completed', { iteration: 1, promise: 'COMPLETE' }],
    ['when the task is completed', 'worker.w.task.completed', { task: 'T' }],
    ['when the task is cancelled', 'task.T.task.cancelled', {}],
  ])('%s', (_how, tail, data) => {
    expect(hooksAfter((loop) => loop.say('12:01', tail, data))).toEqual([]);
  });

  test('not by a release: the next worker is held to them', () => {
    expect(hooksAfter((loop) => loop.say('12:01', 'worker.w.task.released', { task: 'T' }))).toHaveLength(1);
  });
});

test('where an escalate is an answer only, the loop that asked acts on it: the task stays as it is', () => {
  const loop = iterate([{ type: 'promise' }]);
  loop.say('12:00', 'task.T.task.created');
  expect(loop.ask(promise('ESCALATE'))).toMatchObject({ action: 'escalate' });
  expect(loop.look('12:01').tasks.T).toMatchObject({ state: 'idle', hooks: [{ hook: 'h1' }] });
});
