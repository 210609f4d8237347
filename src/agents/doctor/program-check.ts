/** Is an agent's program here, in a version that we know? */
import { execFile } from 'node:child_process';
import type { CheckContext } from './doctor.ts';
import { type Finding, ok, skip, warn } from './finding.ts';

const versionTimeoutMs = 30_000;

export async function checkProgram({
  agent: { name, title, program },
  binary,
  runsDryTurn,
}: Pick<CheckContext, 'agent' | 'binary' | 'runsDryTurn'>): Promise<Finding> {
  if (binary === null) return skip(name, `${title} is not on PATH`);
  const version = await readVersion(binary);
  if (version === null) return warn(name, `${binary} does not print its version`, 'check whether it starts at all');
  if (version === program.seen) return ok(name, `${title} ${version}`);
  const tested =
    program.seen === null ? 'stopgate was never tested with it' : `stopgate was tested with ${program.seen}`;
  const where = runsDryTurn ? 'the dry turn below' : `a dry turn ("stopgate doctor ${name}")`;
  return warn(name, `${title} ${version}: ${tested}`, `${where} shows whether it works`);
}

/** Null: the program fails, or prints none. */
function readVersion(binary: string): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(binary, ['--version'], { timeout: versionTimeoutMs }, (error, stdout) => {
      resolve(error === null ? (/\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? null) : null);
    });
  });
}
