/**
 * Makes the receipt of a decision from the log (docs/receipts.md). The log is folded, because a stored decision does
 * not say what every check found. The tree is the one that the runner named when the checks passed, never the current
 * one.
 */
import { z } from 'zod';
import {
  type Attempt,
  type Check,
  type Decision,
  type Fleet,
  type Policy,
  readEntry,
} from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import { foldMessage } from '../../host/fold/fold-message.ts';
import type { LogMessage } from '../../nats/log/log-reader.ts';
import { canonicalJson, predicateType, type Statement, sha256, statementType } from './statement.ts';

/** The decision that a receipt is about. `seq`: the entry of the attempt. */
export type Judged = { readonly worker: string; readonly attempt: string; readonly seq: number };

/** A check of the attempt that a runner or another process answered. */
type Answer = { readonly check: string; readonly kind: string; readonly passed: boolean; readonly git: unknown };

export type ReceiptReader = {
  /** Folds an entry. The fleet must be before the attempt at first, and show the inputs of guards. */
  fold(fleet: Fleet, message: LogMessage): void;
  readonly isDecided: () => boolean;
  /** @throws AppError stop.incomplete if the decision cannot be attested */
  statement(): Statement;
};

const decoder = new TextDecoder();

export function createReceiptReader({ worker, attempt }: Judged): ReceiptReader {
  const answers: Answer[] = [];
  let found: Decided | null = null;
  const openAttempt = (fleet: Fleet) => {
    const open = fleet.workers.get(worker)?.snapshot.context.worker.attempt ?? null;
    return open?.attempt === attempt ? open : null;
  };
  return {
    fold(fleet, message) {
      const before = openAttempt(fleet);
      const { outcomes } = foldMessage(fleet, message);
      const decided = outcomes.find(
        (outcome) =>
          outcome.kind === 'decided' && outcome.decision.worker === worker && outcome.decision.attempt === attempt,
      );
      const answer = answerIn(worker, message, before, openAttempt(fleet));
      if (answer !== null) answers.push(answer);
      if (decided?.kind === 'decided' && found === null)
        found = { decision: decided.decision, policy: before?.inForce.policy ?? null, seq: message.seq };
    },
    isDecided: () => found !== null,
    statement() {
      if (found === null)
        throw new AppError('actor.unknown', `this log has no decided attempt ${attempt} of ${worker}`);
      return toStatement(found, answers);
    },
  };
}

/** `policy` is null if the attempt was decided at once, and so without any check on a runner. */
type Decided = { readonly decision: Decision; readonly policy: Policy | null; readonly seq: number };

/** Returns the answer that an entry gave to the attempt's pending check, or null. */
function answerIn(worker: string, message: LogMessage, before: Attempt | null, after: Attempt | null): Answer | null {
  const pending = before?.pending ?? null;
  if (pending === null || pending.by !== 'checks' || after?.pending === pending) return null;
  const entry = readEntry(message.subject, decoder.decode(message.data), message.data.length);
  if (entry === null || !('data' in entry) || entry.type !== 'check.finished' || entry.area !== 'ownWorker')
    return null;
  const { name: check } = pending;
  const { outcome, metadata, ...about } = entry.data;
  if (entry.id !== worker || about.check !== check || about.attempt !== before?.attempt) return null;
  return { check, kind: pending.check.kind, passed: outcome === 'pass', git: metadata?.git };
}

/** @throws AppError stop.incomplete unless the work was judged complete */
export function requireComplete({ worker, attempt, decision, action, cause, reason }: Decision): void {
  if (cause === 'complete') return;
  const what = cause === 'no-policy' ? 'nothing was checked' : reason;
  throw notAttested(`attempt ${attempt} of ${worker} ended as ${decision} · ${action} · ${cause}: ${what}`);
}

const notAttested = (why: string): AppError => new AppError('stop.incomplete', `there is no receipt, because ${why}`);

function toStatement({ decision, policy, seq }: Decided, answers: readonly Answer[]): Statement {
  requireComplete(decision);
  const outcomes = outcomesOf(decision);
  // An answer that came too late was not the check's outcome.
  const { commit, tree } = treeOf(answers.filter(({ check }) => outcomes[check] === 'pass'));
  // Without a policy there were no answers, and hence no tree.
  const content = JSON.parse(canonicalJson(policy)) as Record<string, unknown>;
  const { fleet, worker, task, tasks, attempt, at, reason, retry } = decision;
  return {
    _type: statementType,
    subject: [
      { name: 'commit', digest: { gitCommit: commit } },
      { name: 'tree', digest: { gitTree: tree } },
    ],
    predicateType,
    predicate: {
      fleet,
      worker,
      task,
      tasks: [...tasks],
      decision: {
        attempt: attempt ?? '',
        at,
        decision: 'allow',
        action: 'complete',
        cause: 'complete',
        reason,
        retry,
      },
      policy: { ...decision.policy, digest: { sha256: sha256(canonicalJson(content)) }, content },
      checks: checksOf(decision, outcomes, policy?.checks ?? []),
      log: { stream: `STOPGATE_${fleet}`, attempt: decision.seq ?? 0, decided: seq },
    },
  };
}

/** The checks that look at the whole folder. `files` looks only for names, and `remote` somewhere else. */
const treeKinds: ReadonlySet<string> = new Set(['command', 'git']);
const objectId = z.string().regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/);
const treeSchema = z.object({ commit: objectId, tree: objectId });
const unknownSchema = z.object({ unknown: z.string() });

/** @throws AppError stop.incomplete unless all checks that passed saw the same tree */
function treeOf(answers: readonly Answer[]): z.infer<typeof treeSchema> {
  const judged = answers.filter(({ kind, passed }) => passed && treeKinds.has(kind));
  const [first] = judged;
  if (first === undefined)
    throw notAttested(
      'no check of this decision looked at a repository. Add one to the policy that does: "git: { clean: true }" or a command',
    );
  const trees = judged.map(({ check, git }) => {
    const known = treeSchema.safeParse(git);
    if (known.success) return known.data;
    const why = unknownSchema.safeParse(git).data?.unknown ?? 'its runner named no git tree';
    throw notAttested(`it is not known which tree check ${check} judged: ${why}`);
  });
  const [judgedTree] = trees as [z.infer<typeof treeSchema>];
  if (trees.every(({ commit, tree }) => commit === judgedTree.commit && tree === judgedTree.tree)) return judgedTree;
  throw notAttested('its checks judged different trees: a commit came between them');
}

type Outcomes = Readonly<Record<string, string>>;

/** Has no prototype, because a check may be named `constructor`. */
const outcomesOf = ({ verdicts }: Decision): Outcomes =>
  Object.assign(Object.create(null), verdicts.find(({ guard }) => guard === 'checks')?.input?.outcomes);

function checksOf(decision: Decision, outcomes: Outcomes, checks: readonly Check[]): Statement['predicate']['checks'] {
  return leavesOf(checks).flatMap(({ name, kind }) => {
    const outcome = outcomes[name];
    if (outcome === undefined) return []; // a member of a group that was not reached
    const message = decision.feedback.find(({ check }) => check === name)?.message;
    return [{ check: name, kind, outcome, ...(message === undefined ? {} : { message }) }];
  });
}

const leavesOf = (checks: readonly Check[]): Check[] =>
  checks.flatMap((check) => ('of' in check ? leavesOf(check.of) : [check]));
