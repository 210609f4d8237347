/** "What if": decides the newest attempts of the log again with other policies. Only folds; runs no checks. */
import { createWhatIf, type Difference, decidingGuard, type Fleet, type PolicySet } from '../../../machines/index.ts';
import { readConfigFile } from '../../config/file-reader.ts';
import { AppError } from '../../errors.ts';
import type { StoredLog } from '../../nats/log/stored-log.ts';
import type { WhatIfAnswer, WhatIfDifference } from '../messages.ts';
import type { HistoryWork } from './history-process.ts';
import type { Job } from './jobs.ts';
import { findFirst, readUnbroken } from './log-entries.ts';
import type { Past } from './past.ts';

export type History = { readonly log: StoredLog; readonly past: Past };

type WhatIfRequest = Extract<HistoryWork, { kind: 'whatIf' }>;

const differencesMax = 500;

/**
 * @throws AppError input.bad with issues if the policies are invalid, log.unavailable if the log was truncated
 * meanwhile
 */
export async function compareDecisions(
  { log, past }: History,
  fleet: string,
  request: WhatIfRequest,
  job: Job,
): Promise<WhatIfAnswer> {
  const startedMs = performance.now();
  const policies = parsePolicies(request.policy);
  const start = await past.copyBefore(await firstCompared(log, fleet, request), job);
  const found = await findDifferences(log, { policies, ...since(request), ...(start === null ? {} : { start }) }, job);
  return { ...found, tookMs: performance.now() - startedMs };
}

const since = ({ sinceMs }: WhatIfRequest) => (sinceMs === null ? {} : { sinceMs });

/** Finds the first entry to compare, at which the new policies come into force. */
async function firstCompared(log: StoredLog, fleet: string, { last, sinceMs }: WhatIfRequest): Promise<number> {
  if (sinceMs !== null) return findFirst(log, await log.range(), sinceMs);
  const newest = await log.newest(`stopgate.${fleet}.worker.*.stop.attempted`, last, null);
  return newest[0]?.seq ?? (await log.range()).lastSeq + 1;
}

/** Folds the log from `start` to its end. */
async function findDifferences(
  log: StoredLog,
  { start, ...options }: { policies: PolicySet; sinceMs?: number; start?: Fleet },
  job: Job,
): Promise<Omit<WhatIfAnswer, 'tookMs'>> {
  const whatIf = createWhatIf(options);
  if (start !== undefined) whatIf.startFrom(start);
  const fromSeq = (start?.seq ?? 0) + 1;
  const { lastSeq } = await log.range();
  let differences: Difference[] = [];
  let omitted = 0;
  const collect = () => {
    differences.push(...whatIf.take());
    if (differences.length > differencesMax) {
      omitted += differences.length - differencesMax;
      differences = differences.slice(-differencesMax);
    }
  };
  const decoder = new TextDecoder();
  await readUnbroken(log, { fromSeq, toSeq: lastSeq }, ({ seq, atMs, subject, data }) => {
    whatIf.foldMessage({ seq, atMs, subject, text: decoder.decode(data), bytes: data.length });
    collect();
    return job.step(seq - fromSeq + 1, lastSeq - fromSeq + 1);
  });
  whatIf.end();
  collect();
  const { attempts: compared, differ, unknown } = whatIf.counts;
  return { compared, differ, unknown, differences: differences.map(toAnswer), omitted };
}

function toAnswer(difference: Difference): WhatIfDifference {
  const { worker, attempt, at, before, after } = difference;
  const guards = [decidingGuard(before), after === null ? null : decidingGuard(after)] as const;
  const missingCheck = difference.after === null ? difference.check : null;
  return { worker, attempt, seq: before.seq, at, before, after, missingCheck, guards };
}

function parsePolicies(text: string): PolicySet {
  const read = readConfigFile(text, 'policy.yaml');
  if (!read.ok) {
    const issues = read.problems.map(({ path, message, line, column }) => ({ path, message, line, column }));
    const [first] = issues;
    throw new AppError('input.bad', `line ${first?.line}: ${first?.message}`, { issues });
  }
  if (read.file.policyForm === null)
    throw new AppError('input.bad', "the text has no 'policies' section", {
      issues: [{ path: 'policies', message: 'is missing', line: 1, column: 1 }],
    });
  return read.file.policySet;
}
