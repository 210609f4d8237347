/** `npm run fold:histories` records histories from a real service, and prints or updates their folded state. */
import { existsSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { expectationFile, foldHistory, historyFile, historyNames, readHistory } from '../../support/histories.ts';
import { play, scenarios } from './play.ts';

const usage = `npm run fold:histories                      the histories, and what each shows
npm run fold:histories -- --show NAME       what it folds to now
npm run fold:histories -- --expect NAME     writes that as its expectation
npm run fold:histories -- --record NAME...  plays it against a real service (from dist), and writes its log and its expectation
npm run fold:histories -- --record --all    does so for all that have no log yet
`;

/** The number of recordings at the same time. Each has its own nats-server and service. */
const recordedAtOnce = 3;

/** @returns the exit code: 1 if a history could not be recorded, 2 if the arguments are wrong */
export async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      show: { type: 'boolean' },
      expect: { type: 'boolean' },
      record: { type: 'boolean' },
      all: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  const given = positionals.map((name) => name.replace(/.*\//, '').replace(/\.(jsonl|txt)$/, ''));
  const hasLog = (name: string) => existsSync(historyFile(name));
  const known = values.record ? Object.keys(scenarios) : historyNames();
  const names = values.all ? known.filter((name) => !(values.record && hasLog(name))) : given;
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) return refuse(`there is no history ${unknown}; there are ${known.join(', ')}`);
  const recorded = values.record ? names.find(hasLog) : undefined;
  if (recorded !== undefined)
    return refuse(
      `${recorded} is recorded, and a change of the fold is no reason to do it again; if its scenario has changed, remove ${historyFile(recorded)} first`,
    );
  if (values.help) process.stdout.write(usage);
  else if (values.record || values.expect || values.show) {
    if (names.length === 0) return refuse(values.all ? 'there is none left' : usage.trimEnd());
    if (values.record) return record(names);
    for (const name of names)
      if (values.expect) expectNow(name);
      else process.stdout.write(foldHistory(readHistory(name)));
  } else for (const [name, { shows }] of Object.entries(scenarios)) process.stdout.write(`${name}: ${shows}\n`);
  return 0;
}

function refuse(why: string): 2 {
  process.stderr.write(`${why}\n`);
  return 2;
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
