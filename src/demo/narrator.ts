/** Prints the story of the demo: time, actor and action in short lines, with a pause for reading after each. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Decision } from '../../machines/index.ts';
import type { Output } from '../terminal/output.ts';
import { describeAnswer, pad, paintAnswer, wrap } from '../terminal/text.ts';

export type Narrator = {
  /** Prints lines unchanged. */
  plain(...lines: string[]): Promise<void>;
  heading(text: string): Promise<void>;
  say(who: string, what: string): Promise<void>;
  /** Prints the answer, its deciding guard and the reason. `again` omits a reason that was just printed. */
  decision(decision: Decision, again?: 'again'): Promise<void>;
  /** Waits, for something that takes time in the scene. */
  pause(ms: number): Promise<void>;
};

const lineMs = 220;
const headingMs = 350;
const decisionMs = 350;
const columnsMax = 100;

/** `fast`: no pauses. All methods throw once `signal` is aborted. */
export function createNarrator(
  out: Output,
  options: { readonly fast: boolean; readonly signal: AbortSignal },
): Narrator {
  const { colors } = out;
  const { fast, signal } = options;
  const startedMs = performance.now();
  const width = () => Math.min(out.width(), columnsMax);

  const print = async (lines: readonly string[], pauseMs: number) => {
    signal.throwIfAborted();
    await out.print(...lines);
    if (!fast) await sleep(pauseMs, undefined, { signal });
  };
  const prefix = (who: string) =>
    `${((performance.now() - startedMs) / 1_000).toFixed(1).padStart(5)}s  ${pad(who, 8)}  `;
  const wrapAfter = (start: string, text: string) => wrap(text, width() - start.length);

  return {
    plain: (...lines) =>
      print(
        lines.flatMap((line) => wrap(line, width())),
        headingMs,
      ),
    heading: (text) => print(['', colors.bold(text)], headingMs),
    say(who, what) {
      const start = prefix(who);
      const [first = '', ...more] = wrapAfter(start, what);
      return print([colors.dim(start) + first, ...more.map((line) => ' '.repeat(start.length) + line)], lineMs);
    },
    decision(decision, again) {
      const start = prefix('stopgate');
      const { retry } = decision;
      const max = retry.max === null ? '' : ` of ${retry.max}`;
      const count = guardOf(decision) === 'checks' ? `, block ${retry.count}${max}` : '';
      const by = colors.dim(`  by guard ${guardOf(decision)}${count}`);
      const answer = paintAnswer(decision, colors)(colors.bold(describeAnswer(decision))) + by;
      const reason = again === undefined ? wrapAfter(start, decision.reason) : [];
      return print([colors.dim(start) + answer, ...reason.map((line) => ' '.repeat(start.length) + line)], decisionMs);
    },
    pause: (ms) => print([], ms),
  };
}

/** The guard of the last verdict, which decided. */
export const guardOf = ({ verdicts }: Decision): string => verdicts.at(-1)?.guard ?? 'none';
