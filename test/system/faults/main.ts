/** `npm run test:faults`: runs each fault on real servers and prints a table row for it. */
import '../../support/current-server.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runCluster } from './cluster.ts';
import { runFullDisk, runSlowDisk } from './disk-faults.ts';
import { faults, type Row, runFault, runRewind, storeFull } from './faults.ts';
import { historyRuns, judgeHistories, missingChecker, recordHistory } from './judged.ts';

const usage = `npm run test:faults [-- --short] [--only WORDS]

  --short        run every fault once or twice; takes minutes
  --only WORDS   run only faults whose name contains WORDS
  --porcupine    record histories of concurrent clients during faults and check them with Porcupine (needs Go)
  --help         print this text and the names
`;

/** @returns the exit code: 1 if something was lost, doubled or left undecided, or replicas do not agree */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      short: { type: 'boolean' },
      only: { type: 'string' },
      porcupine: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  const isLong = values.short !== true;
  if (values.porcupine === true && values.help !== true) return judgeAll(isLong);
  const runs: [name: string, run: () => Promise<Row | string>][] = [
    ...[...faults, storeFull].map(
      (fault) => [fault.name, () => runFault(fault, isLong)] as [string, () => Promise<Row>],
    ),
    ['disk full and emptied: own server', () => runFullDisk(isLong, 'own')],
    ['disk full and emptied: embedded server', () => runFullDisk(isLong, 'embedded')],
    ['disk slow: 200 ms for each write', () => runSlowDisk(isLong)],
    ['store rewound to an older copy', runRewind],
    ['three nodes: leader and followers killed', () => runCluster(isLong)],
  ];
  const names = `the faults:\n${runs.map(([name]) => `  ${name}\n`).join('')}`;
  if (values.help) {
    process.stdout.write(`${usage}\n${names}`);
    return 0;
  }
  const chosen = runs.filter(([name]) => values.only === undefined || name.includes(values.only));
  if (chosen.length === 0) {
    process.stderr.write(`no fault has '${values.only}' in its name; ${names}`);
    return 2;
  }
  const head = '| fault | times | acknowledged | lost | double | undecided | longest gap |';
  process.stdout.write(`${head}\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n`);
  let code = 0;
  for (const [name, run] of chosen) {
    const row = await run().catch((error: Error) => `failed: ${error.message}`);
    if (typeof row === 'string') {
      process.stdout.write(`| ${name} | | | | | | ${row} |\n`);
      if (row.startsWith('failed')) code = 1;
      continue;
    }
    const { times, acknowledged, lost, double, undecided, longestGapMs } = row;
    if (lost + double + undecided > 0) code = 1;
    const gap = `${(longestGapMs / 1_000).toFixed(1)} s`;
    process.stdout.write(`| ${name} | ${times} | ${acknowledged} | ${lost} | ${double} | ${undecided} | ${gap} |\n`);
  }
  return code;
}

/** @returns the exit code: 1 if a history is not linearizable, or could not be checked in time */
async function judgeAll(isLong: boolean): Promise<number> {
  const missing = await missingChecker();
  if (missing !== null) {
    process.stdout.write(`not run: ${missing}\n`);
    return 0;
  }
  const folder = await mkdtemp(join(tmpdir(), 'stopgate-histories-'));
  process.stdout.write(
    '| history | operations | workers and tasks | no order explains |\n| --- | ---: | ---: | --- |\n',
  );
  let code = 0;
  for (const run of await historyRuns(isLong)) {
    const file = join(folder, `${run.name}.json`);
    await recordHistory(run, file, isLong);
    for (const { operations, parts, violations, unjudged } of await judgeHistories([file])) {
      const found = [
        ...violations.map(({ of, operation }) => `${of}: ${operation}`),
        ...unjudged.map((part) => `${part}: timeout`),
      ];
      if (found.length > 0) code = 1;
      process.stdout.write(`| ${run.name} | ${operations} | ${parts} | ${found.join(', ') || 'nothing'} |\n`);
    }
  }
  if (code === 0) await rm(folder, { recursive: true });
  else process.stdout.write(`the histories, with pictures: ${folder}\n`);
  return code;
}
