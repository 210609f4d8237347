/** `npm run test:attack`: repeats all attacks in parallel on the shipped program with an embedded nats-server. */
import '../../support/current-server.ts';
import { parseArgs } from 'node:util';
import { type AttackReport, attack } from './attack.ts';
import { attackers } from './attackers.ts';

const usage = `npm run test:attack [-- --minutes N] [--only WORDS]

  --minutes N    duration, default 1
  --only WORDS   run only attacks whose name contains WORDS
  --help         print this text and the names
`;

/** @returns the exit code: 1 if a reply was wrong, an entry was lost, a process exited, or an attack sent nothing */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { minutes: { type: 'string' }, only: { type: 'string' }, help: { type: 'boolean' } },
  });
  const chosen = attackers.filter(({ name }) => values.only === undefined || name.includes(values.only));
  const names = `the attacks:\n${attackers.map(({ name }) => `  ${name}\n`).join('')}`;
  const minutes = Number(values.minutes ?? 1);
  if (values.help) {
    process.stdout.write(`${usage}\n${names}`);
    return 0;
  }
  if (chosen.length === 0 || !(minutes > 0)) {
    process.stderr.write(chosen.length === 0 ? `no attack has '${values.only}' in its name; ${names}` : usage);
    return 2;
  }
  const endMs = performance.now() + minutes * 60_000;
  const report = await attack({ attackers: chosen, isOver: () => performance.now() >= endMs });
  process.stdout.write(describe(report));
  return isSound(report) ? 0 : 1;
}

/** Whether the honest worker got replies and acknowledgements, each attack sent something, and nothing broke. */
function isSound({ wrong, lost, unanswered, ended, restarted, answers, entries, attacks }: AttackReport): boolean {
  const hasTried = answers > 0 && entries > 0 && Object.values(attacks).every(({ sent }) => sent > 0);
  return hasTried && wrong.length + lost + unanswered + ended.length === 0 && restarted;
}

function describe(report: AttackReport): string {
  const { rounds, answers, retries, wrong, entries, lost, unanswered, ended, restarted, attacks, ...rest } = report;
  const mib = (bytes: number | null) => (bytes === null ? 'not known' : `${Math.round(bytes / 1_048_576)} MiB`);
  const rows = Object.entries(attacks).map(([name, { sent, failed }]) => `| ${name} | ${sent} | ${failed} |\n`);
  return `| attack | sent | refused or failed |
| --- | ---: | ---: |
${rows.join('')}
${rounds} rounds; the honest worker: ${answers} answers, ${wrong.length} wrong, ${unanswered} missing, asked again ${retries} times,
p50 ${Math.round(rest.p50Ms)} ms, p99 ${Math.round(rest.p99Ms)} ms; ${entries} entries acknowledged, ${lost} lost
at most: service ${mib(rest.serviceBytes)}, nats-server ${rest.natsVersion} ${mib(rest.natsBytes)}; log ${rest.logEntries} entries
exited unexpectedly: ${ended.join(', ') || 'none'}; restarted with the poisoned snapshots: ${restarted ? 'yes' : 'NO'}
${wrong
  .slice(0, 5)
  .map((reply) => `wrong: ${reply}\n`)
  .join('')}`;
}
