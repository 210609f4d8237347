/**
 * CPU time and memory of processes, as counted by Linux. Unlike elapsed time, they are meaningful on a busy machine.
 */
import { readdirSync, readFileSync } from 'node:fs';

/** CPU time of all living threads since the start, in microseconds. NaN if the system does not report it. */
export function cpuUsOf(pid: number): number {
  try {
    const folder = `/proc/${pid}/task`;
    return readdirSync(folder).reduce((sum, thread) => sum + runNs(`${folder}/${thread}/schedstat`), 0) / 1_000;
  } catch {
    return Number.NaN;
  }
}

/** The first number: nanoseconds on a core. */
const runNs = (file: string): number => Number(readFileSync(file, 'utf8').split(' ')[0]);

/** Resident memory in bytes. NaN if the system does not report it. */
export function rssOf(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024;
  } catch {
    return Number.NaN;
  }
}

/** The process and all its descendants. */
export function processTree(pid: number): number[] {
  try {
    const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number),
    );
    return [pid, ...children.flatMap(processTree)];
  } catch {
    return [pid];
  }
}

/** Milliseconds of all ended child processes, in steps of 10. Null if the system does not report it. */
export function childCpuMs(): number | null {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[13]) + Number(fields[14])) * 10;
  } catch {
    return null;
  }
}
