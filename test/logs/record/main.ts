/** `npm run fold:histories`: records histories from a real service, and shows or sets what they fold to. */
import { existsSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { expectationFile, foldHistory, historyFile, historyNames, readHistory } from '../../support/histories.ts';
import { checks } from './checks.ts';
import { fleets } from './fleets.ts';
import { people } from './people.ts';
import type { Scenarios } from './scenario.ts';
import { openStage } from './stage.ts';
import { stops } from './stops.ts';
import { tasks } from './tasks.ts';

const scenarios: Scenarios = { ...stops, ...checks, ...tasks, ...people, ...fleets };

const usage = `npm run fold:histories                      the histories, and what each shows
npm run fold:histories -- --show NAME       what it folds to now
npm run fold:histories -- --expect NAME     writes that as its expectation
npm run fold:histories -- --record NAME...  plays it against a real service (from dist), and writes its log and its expectation;
                                            --missing: those that have no log yet
`;

/** Each has a nats-server and a service of its own. */
const recordedAtOnce = 3;

/** @returns the exit code: 1 where a history could not be recorded, 2 where the arguments are wrong */
export async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      show: { type: 'boolean' },
      expect: { type: 'boolean' },
      record: { type: 'boolean' },
      missing: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  const names = values.missing
    ? Object.keys(scenarios).filter((name) => !existsSync(historyFile(name)))
    : positionals.map((name) => name.replace(/.*\//, '').replace(/\.(jsonl|txt)$/, ''));
  const known = values.record ? Object.keys(scenarios) : historyNames();
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    process.stderr.write(`there is no history ${unknown.join(', ')}; there are ${known.join(', ')}\n`);
    return 2;
  }
  if (values.help) process.stdout.write(usage);
  else if (values.record) return record(names);
  else if (values.expect) for (const name of names) expectNow(name);
  else if (values.show) for (const name of names) process.stdout.write(foldHistory(readHistory(name)));
  else for (const [name, { shows }] of Object.entries(scenarios)) process.stdout.write(`${name}: ${shows}\n`);
  return 0;
}

function expectNow(name: string): void {
  writeFileSync(expectationFile(name), foldHistory(readHistory(name)));
  process.stdout.write(`${expectationFile(name)}\n`);
}

async function record(names: readonly string[]): Promise<number> {
  const left = [...names];
  let failed = 0;
  const recordNext = async () => {
    for (let name = left.shift(); name !== undefined; name = left.shift()) {
      try {
        writeFileSync(historyFile(name), await play(name));
        expectNow(name);
      } catch (error) {
        failed += 1;
        process.stderr.write(`${name}: ${(error as Error).stack}\n`);
      }
    }
  };
  await Promise.all(Array.from({ length: recordedAtOnce }, recordNext));
  return failed === 0 ? 0 : 1;
}

/** @returns the log, as `stopgate export` prints it */
async function play(name: string): Promise<string> {
  const { config = {}, play: run } = scenarios[name] as Scenarios[string];
  const stage = await openStage((webhook) => (typeof config === 'function' ? config(webhook) : config));
  try {
    await run(stage);
  } catch (error) {
    await stage.close().catch(() => '');
    throw error;
  }
  return stage.close();
}
