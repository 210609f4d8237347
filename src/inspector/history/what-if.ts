/** What if: decides the newest attempts of the log again with other policies. It only folds; nothing is run. */
import { createWhatIf, type Difference, decidingGuard, type PolicySet } from '../../../machines/index.ts';
import { readConfigFile } from '../../config/file-reader.ts';
import { AppError } from '../../errors.ts';
import type { StoredLog } from '../../nats/stored-log.ts';
import type { WhatIfAnswer, WhatIfDifference } from '../messages.ts';
import type { Pace } from './turns.ts';
import type { HistoryWork } from './work.ts';

type Question = Extract<HistoryWork, { kind: 'whatIf' }>;

const differencesMax = 500;

/** @throws AppError input.bad with issues: the policies are invalid */
export async function compareDecisions(
  log: StoredLog,
  fleet: string,
  { policy, last, sinceMs }: Question,
  pace: Pace,
): Promise<WhatIfAnswer> {
  const startedMs = performance.now();
  const policies = parsePolicies(policy);
  const found = await findDifferences(log, policies, sinceMs ?? (await timeOfNewest(log, fleet, last)), pace);
  return { ...found, tookMs: performance.now() - startedMs };
}

/** Folds the whole log, since the state depends on all of it, but compares only the attempts since `sinceMs`. */
async function findDifferences(
  log: StoredLog,
  policies: PolicySet,
  sinceMs: number,
  pace: Pace,
): Promise<Omit<WhatIfAnswer, 'tookMs'>> {
  const { firstSeq, lastSeq } = await log.range();
  if (firstSeq > 1)
    throw new AppError('input.bad', `the log starts at entry ${firstSeq}: earlier entries have been removed`);
  const whatIf = createWhatIf({ policies, sinceMs });
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
  await log.history({ fromSeq: 1, toSeq: lastSeq }, ({ seq, atMs, subject, data }) => {
    whatIf.foldMessage({ seq, atMs, subject, text: decoder.decode(data), bytes: data.length });
    collect();
    return pace.step(seq, lastSeq);
  });
  whatIf.end();
  collect();
  const { attempts: compared, unknown } = whatIf.counts;
  return { compared, unknown, differences: differences.map(toAnswer), omitted };
}

function toAnswer(difference: Difference): WhatIfDifference {
  const { worker, attempt, at, before, after } = difference;
  const guards = [decidingGuard(before), after === null ? null : decidingGuard(after)] as const;
  const missingCheck = difference.after === null ? difference.check : null;
  return { worker, attempt, seq: before.seq, at, before, after, missingCheck, guards };
}

async function timeOfNewest(log: StoredLog, fleet: string, count: number): Promise<number> {
  const newest = await log.newest(`stopgate.${fleet}.worker.*.stop.attempted`, count, null);
  return newest[0]?.atMs ?? 0;
}

function parsePolicies(text: string): PolicySet {
  const read = readConfigFile(text, 'policy.yaml');
  if (!read.ok) {
    const issues = read.problems.map(({ path, message, line, column }) => ({ path, message, line, column }));
    const [first] = issues;
    throw new AppError('input.bad', `line ${first?.line}: ${first?.message}`, { issues });
  }
  if (read.file.policyForm === null)
    throw new AppError('input.bad', "the text has no 'policies' to compare with", {
      issues: [{ path: 'policies', message: 'is missing', line: 1, column: 1 }],
    });
  return read.file.policySet;
}
