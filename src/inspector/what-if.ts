/** What if: the newest attempts of the log, decided once more by other policies. Only folded: nothing is run. */
import { createWhatIf, type Decision, type Difference, decidingGuard } from '../../machines/index.ts';
import { readConfigFile } from '../config/file-reader.ts';
import { AppError } from '../errors.ts';
import type { EventLog } from '../nats/event-log.ts';

/** `last`: how many attempts are compared; `sinceMs`: those from then on, whatever their number. */
export type WhatIfQuestion = { readonly policy: string; readonly last: number; readonly sinceMs: number | null };
export type WhatIfAnswer = {
  /** How many attempts were compared. */
  readonly looked: number;
  /** How many cannot be told: of those `after` is null, and `check` names the answer that the log does not have. */
  readonly unknown: number;
  /** The newest last. */
  readonly differ: readonly WhatIfDifference[];
  /** How many more there were. */
  readonly more: number;
  readonly tookMs: number;
};
export type WhatIfDifference = {
  readonly worker: string;
  readonly attempt: string;
  readonly seq: number | null;
  readonly at: string;
  readonly before: Decision;
  readonly after: Decision | null;
  readonly check: string | null;
  /** The guards that decided. */
  readonly guards: readonly [before: string | null, after: string | null];
};

export type AskWhatIf = (question: WhatIfQuestion) => Promise<WhatIfAnswer>;

const differMax = 500;

/** Between so many entries other work goes on: decisions must not wait for a fold that nobody is in a hurry for. */
const yieldEvery = 50;

export function createAskWhatIf(fleet: string, log: Pick<EventLog, 'range' | 'history' | 'newest'>): AskWhatIf {
  /** One at a time: each folds the whole log twice. */
  let last: Promise<unknown> = Promise.resolve();
  const ask: AskWhatIf = async ({ policy, last: count, sinceMs: asked }) => {
    const startedMs = performance.now();
    const { policySet } = readPolicies(policy);
    const { lastSeq } = await log.range();
    const sinceMs = asked ?? (await timeOfNewest(log, fleet, count));
    const compared = createWhatIf({ policies: policySet, sinceMs });
    let differ: Difference[] = [];
    let more = 0;
    const take = () => {
      differ.push(...compared.take());
      if (differ.length > differMax) {
        more += differ.length - differMax;
        differ = differ.slice(-differMax);
      }
    };
    const decoder = new TextDecoder();
    // The state comes of everything that was ever said, so all is folded, and the newest attempts are compared.
    await log.history({ fromSeq: 1, toSeq: lastSeq }, ({ seq, atMs, subject, data }) => {
      compared.foldMessage({ seq, atMs, subject, text: decoder.decode(data), bytes: data.length });
      if (seq % yieldEvery !== 0) return;
      take();
      return new Promise((goOn) => setImmediate(goOn));
    });
    compared.end();
    take();
    const { attempts, unknown } = compared.counts;
    return { looked: attempts, unknown, differ: differ.map(toAnswer), more, tookMs: performance.now() - startedMs };
  };
  return (question) => {
    const answer = last.then(() => ask(question));
    last = answer.catch(() => {});
    return answer;
  };
}

function toAnswer(it: Difference): WhatIfDifference {
  const { worker, attempt, at, before, after } = it;
  const guards = [decidingGuard(before), after === null ? null : decidingGuard(after)] as const;
  return { worker, attempt, seq: before.seq, at, before, after, check: it.after === null ? it.check : null, guards };
}

async function timeOfNewest(log: Pick<EventLog, 'newest'>, fleet: string, count: number): Promise<number> {
  const newest = await log.newest(`stopgate.${fleet}.worker.*.stop.attempted`, count, null);
  return newest[0]?.atMs ?? 0;
}

function readPolicies(text: string) {
  const read = readConfigFile(text, 'policy.yaml');
  if (!read.ok) {
    const issues = read.problems.map(({ path, message, line, column }) => ({ path, message, line, column }));
    const [first] = issues;
    throw new AppError('input.bad', `line ${first?.line}: ${first?.message}`, { issues });
  }
  if (read.file.policyForm === null)
    throw new AppError('input.bad', "there is nothing to compare with: the text has no 'policies'", {
      issues: [{ path: 'policies', message: 'is missing', line: 1, column: 1 }],
    });
  return read.file;
}
