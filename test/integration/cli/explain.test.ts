/** `stopgate explain` explains one decision of a log, guard by guard. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Decision } from '../../../machines/index.ts';
import { jsonLines, openTerminal } from '../../support/terminal.ts';

const entries: readonly [string, string, object][] = [
  [
    '00',
    'own.fleet.main.policy.set',
    { policies: { default: { checks: [{ plan: {} }], persistence: { idle: '12m' } } } },
  ],
  ['01', 'worker.w1.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] }],
  ['02', 'worker.w1.stop.attempted', { attempt: 'a1' }],
  ['03', 'worker.w1.plan.updated', { steps: [{ title: 'Write tests', status: 'done' }] }],
  ['04', 'worker.w1.stop.attempted', { attempt: 'a2' }],
];
const explain = (...argv: string[]) => explainLog(entries, ...argv);

async function explainLog(log: typeof entries, ...argv: string[]) {
  const lines = log.map(([second, tail, data]) =>
    JSON.stringify({ at: `2026-03-02T12:00:${second}.000Z`, subject: `stopgate.main.${tail}`, data }),
  );
  const terminal = await openTerminal({ columns: 120 });
  await writeFile(join(terminal.cwd, 'log.jsonl'), lines.join('\n'));
  const code = await terminal.run('explain', ...argv, '--file', 'log.jsonl');
  return { code, stdout: terminal.stdout(), stderr: terminal.stderr() };
}

describe('explain', () => {
  test('shows the answer, its reason, and what would let the worker stop', async () => {
    const { code, stdout } = await explain('w1', '--attempt', 'a1');
    expect(code).toBe(0);
    expect(stdout.split('\n').slice(0, 5)).toEqual([
      'w1 tried to stop at 2026-03-02T12:00:02.000Z (attempt a1): block · continue · incomplete.',
      'The guard "checks" decided: 1 of 1 plan steps remain: Write tests.',
      'These passed before it: retired, escalated, bypass, limited, waiting, promise.',
      'It left the worker blocked, with 1 of 3 blocked stops.',
      'It might have stopped once this was settled: plan: 1 of 1 plan steps remain: Write tests. It has tried again since (attempt a2): block · continue · idle. Since then it has sent more entries; "npx stopgate probe w1" asks again.',
    ]);
  });

  test('asks for the missing work if nothing has happened since', async () => {
    const { stdout } = await explainLog(entries.slice(0, 3), 'w1');
    expect(stdout.split('\n')[4]).toBe(
      'It may stop once this is settled: plan: 1 of 1 plan steps remain: Write tests.',
    );
  });

  test('shows the input of every guard; the last decided attempt is the default', async () => {
    const [explanation] = jsonLines((await explain('w1', '--json')).stdout) as [
      { decision: Decision; missing: string[] },
    ];
    expect(explanation.decision).toMatchObject({ attempt: 'a2', cause: 'idle', decision: 'block' });
    expect(explanation.decision.verdicts.map(({ guard, input }) => [guard, input !== undefined])).toEqual(
      explanation.decision.verdicts.map(({ guard }) => [guard, true]),
    );
    expect(explanation.decision.verdicts.find(({ guard }) => guard === 'pending')?.input).toEqual({
      queue: 'main',
      pendingTasks: 0,
    });
    expect(explanation.missing).toHaveLength(1);
  });

  test.each<[string, typeof entries, string]>([
    ['was allowed', [], 'It left the worker stopped, after 0 of 3 blocked stops.'],
    ['was allowed with nothing missing', [], 'Nothing keeps it from stopping.'],
    [
      'was allowed, and has worked since',
      [['03', 'worker.w1.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] }]],
      'Nothing stood in its way then. Since then it has sent more entries; "npx stopgate probe w1" asks again.',
    ],
    [
      'has escalated',
      [
        [
          '03',
          'own.fleet.main.policy.set',
          { policies: { default: { checks: [{ plan: {} }], retries: 0, onCap: 'escalate' } } },
        ],
        ['04', 'worker.w1.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] }],
        ['05', 'worker.w1.stop.attempted', { attempt: 'a2' }],
        ['06', 'worker.w1.stop.attempted', { attempt: 'a3' }],
      ],
      'It may stop; a person still has to answer: resume it, or let it stop.',
    ],
  ])('explains the outcome of a worker that %s', async (_, more, says) => {
    const allowed: typeof entries = [['02', 'worker.w1.stop.attempted', { attempt: 'a1' }]];
    expect((await explainLog([...allowed, ...more], 'w1')).stdout.split('\n')).toContain(says);
  });

  test('adds to the reason briefly, and repeats nothing', async () => {
    expect((await explain('w1', '--attempt', 'a1')).stdout).toMatch(/^In short: Blocked once: /m);
    // The agent must continue for that reason.
    expect((await explain('w1', '--attempt', 'a2')).stdout).not.toContain('In short');
  });

  test('counts blocked stops if there is no cap', async () => {
    const { stdout } = await explainLog(
      [
        ['00', 'own.fleet.main.policy.set', { policies: { default: { checks: [{ plan: {} }], retries: null } } }],
        ['01', 'worker.w1.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] }],
        ['02', 'worker.w1.stop.attempted', { attempt: 'a1' }],
      ],
      'w1',
    );
    expect(stdout.split('\n')).toContain('It left the worker blocked, with 1 blocked stop, without a cap.');
  });

  test('shows at the cap what failed, and which checks did not run', async () => {
    const { stdout } = await explainLog(
      [
        [
          '00',
          'own.fleet.main.policy.set',
          { policies: { default: { checks: [{ plan: {} }, { command: 'lint' }], retries: 0 } } },
        ],
        ['01', 'worker.w1.plan.updated', { steps: [{ title: 'Write tests', status: 'pending' }] }],
        ['02', 'worker.w1.stop.attempted', { attempt: 'a1' }],
      ],
      'w1',
    );
    const lines = stdout.split('\n');
    expect(lines).toContain('Before it, "checks" found (block): 1 of 1 plan steps remain: Write tests.');
    expect(lines).toContain('Checks that were not run: lint.');
    expect(lines).toContain(
      'It was allowed at the cap, and its work is not complete: plan: 1 of 1 plan steps remain: Write tests.',
    );
    expect(stdout).toMatch(/^not run +checks +lint: not needed after an earlier decision/m);
    expect(stdout).not.toMatch(/Nothing keeps it from stopping|passed before it: .*checks/);
  });

  test('if a file is not a log, the exit code is 2, with a hint how to export one', async () => {
    const terminal = await openTerminal();
    await writeFile(join(terminal.cwd, 'notes.txt'), 'root:x:0:0\n');
    expect(await terminal.run('explain', 'w1', '--file', 'notes.txt')).toBe(2);
    expect(terminal.stderr()).toMatch(
      /^line 1: is not JSON.*\nstopgate: the readable lines have no decision of worker w1; .* export"/,
    );
  });

  test.each([
    [['w9'], 'this log has no worker w9; "npx stopgate workers" lists the known ones'],
    [['w1', '--attempt', 'a9'], 'this log has no decided attempt a9 of worker w1'],
  ])('%s: exit code 1', async (argv, says) => {
    expect(await explain(...argv)).toEqual({ code: 1, stdout: '', stderr: `stopgate: ${says}\n` });
  });
});
