/**
 * Asks npm's registry for known holes in the packages of package-lock.json. Exit code 1: there is a high or critical one. A
 * registry that does not answer such questions, or none, is told, and is no failure.
 */
import { spawnSync } from 'node:child_process';

const { stdout } = spawnSync('npm', ['audit', '--json'], { encoding: 'utf8', timeout: 60_000 });
const counts = countsOf(stdout);
if (counts === null) process.stderr.write('audit: NOT RUN: the registry does not answer it\n');
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
