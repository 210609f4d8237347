/** rules: what each check has found, and the word for what deserves a look, on the command line and over HTTP. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RulesReport } from '../../../src/inspector/rules/rules-report.ts';
import { runCommand } from '../../support/command.ts';
import { type Deployment, deploy } from '../../support/deployment.ts';

const sh = (source: string) => ({ run: ['sh', '-c', source] });
const config = JSON.stringify({
  policies: {
    default: {
      retries: null,
      failures: 'all',
      checks: [
        { plan: {} },
        { command: 'tests' },
        { command: 'coin' },
        { command: 'broken' },
        { command: 'strict', name: 'style' },
        { command: 'gone', onFail: 'warn' },
        { rules: ['docs'], when: { filesMatch: 'docs/**' } },
      ],
    },
    unused: { checks: [{ any: [{ plan: {} }, { files: ['a.md'] }] }] },
  },
  commands: {
    tests: sh('! test -e failing'),
    coin: sh('if test -e heads; then rm heads; else touch heads; exit 1; fi'),
    broken: { run: ['no-such-program'] },
    strict: sh('! test -e messy'),
    gone: sh('false'),
  },
});

let at: Deployment;
beforeAll(async () => {
  at = await deploy({ config });
  const { client, folder } = at;
  const stop = async (worker: string, count: number) => {
    for (let number = 1; number <= count; number += 1)
      await client.ask(`decide.${worker}`, { attempt: `${worker}-${number}` });
  };
  await folder.write('heads', '');
  // Passes apart from what is broken or only warns.
  await stop('w1', 1);
  await folder.write('messy', '');
  // Blocked twice, then a person lets it go.
  await stop('w2', 2);
  await client.publish('own.worker.w2.worker.paused', { by: 'ada' });
  await stop('w2', 1);
  // Blocked, and then prompted: what a person does after that is not about the block.
  await writeFile(join(folder.path, 'failing'), '');
  await stop('w3', 1);
  await client.publish('worker.w3.prompt.submitted', { text: 'Fix the test' });
  await client.publish('own.worker.w3.worker.retired', { by: 'ada' });
});
afterAll(() => at.close());

const type = (...args: string[]) => runCommand(['rules', '--nats', at.server.url, ...args], { cwd: at.folder.path });

test('each check of each policy has its counts and its word', async () => {
  const { code, stdout, stderr } = await type('--json');
  expect([code, stderr]).toEqual([0, '']);
  const report = JSON.parse(stdout) as RulesReport;
  expect(report.decisions).toBe(4);
  const rows = report.rules.map(({ policy, check, runs, passes, failures, errors, blocks, overturned, look }) =>
    [policy, check, runs, passes, failures, errors, blocks, overturned, look].join(' '),
  );
  expect(rows).toEqual([
    'default plan 4 4 0 0 0 0 never failed',
    'default tests 4 3 1 0 1 0 ',
    'default coin 4 2 2 0 2 1 flaky',
    'default broken 4 0 0 4 0 0 always fails',
    'default style 4 1 3 0 3 2 mostly overturned',
    'default gone 4 0 4 0 0 0 always fails',
    'default rules 0 0 0 0 0 0 never ran',
    'unused plan 0 0 0 0 0 0 never ran',
    'unused files 0 0 0 0 0 0 never ran',
  ]);
  const [plan, tests] = report.rules;
  expect(plan).toMatchObject({ kind: 'plan', medianMs: null, lastFailure: null });
  expect(tests).toMatchObject({
    kind: 'command',
    medianMs: expect.any(Number),
    lastFailure: { worker: 'w3', attempt: 'w3-1', reason: 'Command tests failed (exit 1)' },
  });
});

test('as a table, and only since a time', async () => {
  const { stdout } = await type();
  const lines = stdout.split('\n').map((line) => line.split(/ {2,}/));
  expect(lines[0]).toEqual([
    'POLICY',
    'CHECK',
    'RUNS',
    'PASSES',
    'FAILURES',
    'ERRORS',
    'BLOCKS',
    'OVERTURNED',
    'MEDIAN',
    'LAST FAILURE',
    'LOOK',
  ]);
  expect(lines[1]).toEqual(['default', 'plan', '4', '4', '0', '0', '0', '0', '-', '-', 'never failed']);
  const later = await type('--json', '--since', '0s');
  const report = JSON.parse(later.stdout) as RulesReport;
  expect([report.decisions, report.rules[0]]).toMatchObject([0, { runs: 0, look: 'never ran' }]);
});

test('over HTTP', async () => {
  const whole = JSON.parse((await type('--json', '--since', '2020-01-01')).stdout);
  const answer = await fetch(`${at.http}/api/main/rules?from=${Date.parse('2020-01-01')}`);
  expect([answer.status, await answer.json()]).toEqual([200, whole]);
});
