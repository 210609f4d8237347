/**
 * Checks the packages of package-lock.json for known vulnerabilities with npm's registry. Exits with 1 if at least one
 * is high or critical. A registry that does not answer is reported, but is not a failure.
 */
import { spawnSync } from 'node:child_process';

const { stdout } = spawnSync('npm', ['audit', '--json'], { encoding: 'utf8', timeout: 60_000 });
const counts = countsOf(stdout);
if (counts === null) process.stderr.write('audit: NOT RUN: the registry did not answer\n');
else {
  process.stderr.write(
    `audit: ${Object.entries(counts)
      .map(([level, count]) => `${count} ${level}`)
      .join(', ')}\n`,
  );
  if (counts.high + counts.critical > 0) {
    process.stderr.write('audit: "npm audit" says where; "npm audit fix" updates what it can\n');
    process.exitCode = 1;
  }
}

function countsOf(text) {
  try {
    return JSON.parse(text).metadata?.vulnerabilities ?? null;
  } catch {
    return null;
  }
}
