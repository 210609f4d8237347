/** Validators and checkers of seeds 000 and 002, called directly. */
import { describe, expect, test } from 'vitest';
import {
  CompositeChecker,
  compositeValidator,
  FileExistsChecker,
  PlanBasedChecker,
  type TaskCompletionContext,
  TaskCompletionResult,
  todoValidator,
  ValidationResult,
  type Validator,
} from '../../../src/client/index.ts';

const params = { stopReason: 'end_turn', toolCount: 0, retryCount: 0 };
const result = (complete: boolean, reason: string) => new ValidationResult({ complete, reason });

describe('ValidationResult', () => {
  test('renders its status and reason', () => {
    expect(result(true, 'All todos done').render()).toBe('[complete] All todos done');
    expect(result(false, '2 todos remaining').render()).toBe('[incomplete] 2 todos remaining');
  });
});

describe('todoValidator', () => {
  const todos = (...statuses: string[]) => statuses.map((status) => ({ status }));
  test.each([
    [todos(), '[complete] All todos done'],
    [todos('completed', 'done', 'cancelled'), '[complete] All todos done'],
    [todos('completed', 'in_progress', 'pending'), '[incomplete] 2 todos remaining'],
  ])('%j: %s', async (given, rendered) => {
    expect((await todoValidator(() => given)(params)).render()).toBe(rendered);
    const plan = given.map((it) => ({ ...it, title: 'a step' }));
    expect((await todoValidator()({ ...params, plan })).render()).toBe(rendered);
  });
});

describe('compositeValidator', () => {
  const validator =
    (called: string[], name: string, complete: boolean): Validator =>
    ({ retryCount }) => {
      called.push(name);
      return result(complete, `${name} at retry ${retryCount}`);
    };

  test('all pass: one sentence for all', async () => {
    const called: string[] = [];
    const all = compositeValidator(validator(called, 'a', true), validator(called, 'b', true));
    expect(await all(params)).toEqual(result(true, 'All validators passed'));
    expect(called).toEqual(['a', 'b']);
  });

  test('the first incomplete result decides, and the rest do not run', async () => {
    const called: string[] = [];
    const all = compositeValidator(
      validator(called, 'a', true),
      validator(called, 'b', false),
      validator(called, 'c', false),
    );
    expect(await all({ ...params, retryCount: 2 })).toEqual(result(false, 'b at retry 2'));
    expect(called).toEqual(['a', 'b']);
  });

  test('a throw is passed on, not taken for a pass', async () => {
    const broken = compositeValidator(() => {
      throw new Error('boom');
    });
    await expect(broken(params)).rejects.toThrow('boom');
  });
});

describe('checkers', () => {
  const steps = (...titles: string[]) => titles.map((title) => ({ title, status: 'pending' }));
  const context = (more: Partial<TaskCompletionContext> = {}): TaskCompletionContext => ({
    session: { plan: [] },
    tentativeOutput: null,
    filesystem: null,
    stopReason: 'end_turn',
    ...more,
  });
  const filesystem = { exists: (path: string) => path === 'there.txt' };

  test('the results of seed 002', () => {
    expect(TaskCompletionResult.ok()).toMatchObject({ complete: true, feedback: null });
    expect(TaskCompletionResult.incomplete('no')).toMatchObject({ complete: false, feedback: 'no' });
  });

  test('PlanBasedChecker names three titles at most', () => {
    const check = (plan: TaskCompletionContext['session']['plan']) =>
      new PlanBasedChecker().check(context({ session: { plan } }));
    expect(check([])).toEqual(TaskCompletionResult.ok());
    expect(check([{ title: 'A', status: 'done' }])).toEqual(TaskCompletionResult.ok());
    expect(check([{ title: 'A', status: 'done' }, ...steps('B', 'C', 'D', 'E')]).feedback).toBe(
      '4 of 5 plan steps remain: B, C, D, …',
    );
  });

  test('FileExistsChecker names all that is missing, and has nothing to say without a file system', async () => {
    const checker = new FileExistsChecker(['there.txt', 'a.md', 'b.md']);
    expect((await checker.check(context({ filesystem }))).feedback).toBe('Missing required files: a.md, b.md');
    expect(await checker.check(context())).toEqual(TaskCompletionResult.ok());
  });

  describe('CompositeChecker', () => {
    const [plan, there, missing] = [
      new PlanBasedChecker(),
      new FileExistsChecker(['there.txt']),
      new FileExistsChecker(['a.md']),
    ];
    const open = context({ session: { plan: steps('Write tests') }, filesystem });
    const messages = ['1 of 1 plan steps remain: Write tests', 'Missing required files: a.md'];
    test.each([
      { what: 'all: the first failure', checkers: [there, plan, missing], allMustPass: true, feedback: messages[0] },
      { what: 'all: none fails', checkers: [there], allMustPass: true, feedback: null },
      { what: 'any: one passes', checkers: [plan, there, missing], allMustPass: false, feedback: null },
      { what: 'any: none passes', checkers: [plan, missing], allMustPass: false, feedback: messages.join('; or ') },
      { what: 'any of none', checkers: [], allMustPass: false, feedback: null },
    ])('$what', async ({ checkers, allMustPass, feedback }) => {
      const found = await new CompositeChecker({ checkers, allMustPass }).check(open);
      expect(found).toMatchObject({ complete: feedback === null, feedback });
    });
  });
});
