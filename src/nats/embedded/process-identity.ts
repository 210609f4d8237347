/** Identifies processes by start time and arguments. A pid alone is reused, in a container after every restart. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const hasProc = process.platform === 'linux';

/** Returns the start time of a process in a system-dependent format, or undefined if there is no such process. */
export function startTimeOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // proc(5): the name in parentheses may contain anything. State is field 3, start time (ticks since boot) field 22.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : `${fields[19]} ${bootId()}`;
  } catch {
    return hasProc ? undefined : readFromPs('lstart', pid);
  }
}

/** Start times are relative to the boot. */
const bootId = () => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();

/** Tells whether a process was started with exactly these arguments. */
export function hasArguments(pid: number, args: readonly string[]): boolean {
  try {
    const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(1, -1);
    return line.join('\0') === args.join('\0');
  } catch {
    return !hasProc && (readFromPs('args', pid)?.endsWith(` ${args.join(' ')}`) ?? false);
  }
}

function readFromPs(column: 'lstart' | 'args', pid: number): string | undefined {
  try {
    const args = ['-ww', '-o', `${column}=`, '-p', String(pid)];
    return execFileSync('ps', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim() || undefined;
  } catch {
    return undefined; // `ps` fails if there is no such process
  }
}
