/**
 * `npm run fold:baseline`: sets the baseline of the fold, with a reason, or shows one of its logs and what it folds to.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { releasedRules } from '../../machines/index.ts';
import { baselineFile, baselineLog, foldGroup, groupLine, groups } from '../support/fold-baseline.ts';
import { foldLines } from '../support/folded.ts';

const usage = `npm run fold:baseline -- --reason TEXT   sets the baseline of the newest rules to the fold of this commit
npm run fold:baseline -- --show SEED     a random log, and what it folds to
  --rules N   another version of the rules
`;

/** @returns the exit code: 2 where the arguments are wrong */
export async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { reason: { type: 'string' }, show: { type: 'string' }, rules: { type: 'string' } },
  });
  const version = Number(values.rules ?? releasedRules.at(-1)?.version);
  if (!releasedRules.some((rules) => rules.version === version)) throw new Error(`no rules have version ${version}`);
  if (values.show !== undefined) {
    const log = baselineLog(Number(values.show), version);
    process.stdout.write(`${log.join('\n')}\n${JSON.stringify(foldLines(log), null, 1)}\n`);
    return 0;
  }
  if (values.reason === undefined || values.reason.trim() === '') {
    process.stderr.write(usage);
    return 2;
  }
  const file = baselineFile(version);
  const head = existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => line.startsWith('#'))
    : [
        '# Fingerprints of 20 random logs a line, and of what each folds to (test/support/fold-baseline.ts). Set because:',
      ];
  const lines = groups.map((group) => groupLine(foldGroup(group, version)));
  const reason = `# ${new Date().toISOString().slice(0, 10)} ${values.reason.replaceAll(/\s+/g, ' ').trim()}`;
  writeFileSync(file, `${[...head, reason, ...lines].join('\n')}\n`);
  process.stdout.write(`${file}\n`);
  return 0;
}
