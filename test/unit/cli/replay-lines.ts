/** Builds lines of a log as `stopgate tail --json` prints them, and replays them. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { jsonLines, openTerminal, type TerminalOptions } from '../../support/terminal.ts';

export const day = (clock: string) => `2026-03-02T${clock}:00.000Z`;
export const line = (clock: string, tail: string, data: object = {}, fleet = 'main') =>
  JSON.stringify({ at: day(clock), subject: `stopgate.${fleet}.${tail}`, data });
export const policy = (policies: object, clock = '12:00', fleet = 'main') =>
  line(clock, `own.fleet.${fleet}.policy.set`, { policies }, fleet);
export const planned = policy({ default: { checks: [{ plan: {} }] } });
export const plan = (clock: string, status: string, fleet = 'main') =>
  line(clock, 'worker.w1.plan.updated', { steps: [{ title: 'Write tests', status }] }, fleet);
export const stop = (clock: string, attempt: string, fleet = 'main') =>
  line(clock, 'worker.w1.stop.attempted', { attempt }, fleet);

/** Writes `lines` to a file and replays it. */
export async function replay(lines: readonly string[], argv: readonly string[] = [], options: TerminalOptions = {}) {
  const terminal = await openTerminal(options);
  await writeFile(join(terminal.cwd, 'log.jsonl'), lines.map((each) => `${each}\n`).join(''));
  const code = await terminal.run('replay', 'log.jsonl', ...argv);
  const [stdout, stderr] = [terminal.stdout(), terminal.stderr()];
  return {
    code,
    stdout,
    stderr,
    /** Empty on a terminal. */
    get results() {
      return jsonLines(stdout);
    },
  };
}
