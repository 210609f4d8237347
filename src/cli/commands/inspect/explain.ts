/** explain: explains one decision of a worker in sentences, then guard by guard with the input of each. */
import {
  checksNotRun,
  createReplay,
  type Decision,
  explainDecision,
  missingIn,
  type ReplayLine,
  sentenceOfDecision,
} from '../../../../machines/index.ts';
import { AppError } from '../../../errors.ts';
import { formatTable } from '../../../terminal/table.ts';
import { clean, wrap } from '../../../terminal/text.ts';
import { onlyIdWithPrefix } from '../../actor-id.ts';
import { argument, defineCommand, option } from '../../command.ts';
import { feedFold } from '../../log-source.ts';
import { clientArgs, idOf, readsLog } from '../../option-values.ts';

export const explain = defineCommand({
  args: {
    worker: argument('WORKER', 'the worker that tried to stop', idOf('worker')),
    attempt: option('A', 'the attempt to explain (default: the last decided one)'),
    file: option('FILE.jsonl', 'read the log from a file or an archive folder instead'),
    archive: option('DIR', 'the folder in which the service archives entries that it removes from the log'),
    ...clientArgs,
  },
  details: [
    'Folds the log and explains the decision, its reason, what would let the worker stop, and what has happened since. ' +
      'Then lists each guard with the input it saw, which the stored decision does not contain.',
    'If retention has removed the beginning of the log, decisions since the oldest snapshot can be explained; earlier ones need --archive.',
    readsLog,
  ],
  examples: ['stopgate explain w1', 'stopgate explain w1 --attempt a1 --file log.jsonl --json'],
  run: async (context) => {
    const { flags, out, note, asTyped } = context;
    const folded = createReplay({ inputs: true });
    // The last wanted decision of each worker whose id begins with the given one.
    const found = new Map<string, Decision>();
    const take = () => {
      for (const line of folded.take()) if (isWanted(line, flags)) found.set(line.worker, line);
      return '';
    };
    let startSeq = 0;
    const startFrom: typeof folded.startFrom = (fleet) => {
      startSeq = fleet.seq;
      folded.startFrom(fleet);
    };
    const code = await feedFold({ ...folded, startFrom }, context, { reach: 'rest' }, take);
    const isKnown = Object.values(folded.view().fleets).some(({ workers }) => Object.hasOwn(workers, flags.worker));
    const worker = (isKnown ? null : onlyIdWithPrefix('worker', flags.worker, [...found.keys()])) ?? flags.worker;
    if (worker !== flags.worker) note(`stopgate: worker ${worker}`);
    const decision = found.get(worker);
    if (decision === undefined) {
      const isTask = Object.values(folded.view().fleets).some(({ tasks }) => Object.hasOwn(tasks, worker));
      throw describeMissing(worker, { attempt: flags.attempt, startSeq, isBadFile: code !== 0, isKnown, isTask });
    }
    const now = folded.view().fleets[decision.fleet]?.workers[worker] ?? null;
    const sentences = explainDecision(decision, now).map(asTyped);
    const notRun = checksNotRun(decision);
    if (flags.json) {
      const sentence = sentenceOfDecision(decision);
      await out.json({
        decision,
        sentence,
        sentences,
        missing: missingIn(decision),
        notRun,
        standing: now?.standing ?? null,
      });
    } else {
      const verdicts = decision.verdicts.map(({ guard, verdict, detail, input }) => [
        { text: verdict },
        { text: guard },
        { text: detail },
        { text: describeEvidence(input) },
      ]);
      const unreached = notRun.map((check) => [
        { text: 'not run' },
        { text: 'checks' },
        { text: `${check}: not needed after an earlier decision` },
        { text: '' },
      ]);
      const columns = ['', 'guard', 'finding', 'input'];
      await out.print(
        ...[...sentences, ...inShort(decision)].flatMap((text) => wrap(clean(text), out.width())),
        '',
        ...formatTable(columns, [...verdicts, ...unreached], out.width()),
      );
    }
    return code;
  },
});

/** Returns no line if it would only repeat the reason, which is printed above. */
function inShort(decision: Decision): string[] {
  const sentence = sentenceOfDecision(decision);
  const reason = decision.reason.toLowerCase().replace(/\.$/, '');
  const isSaid = reason !== '' && sentence.toLowerCase().replace(/\.$/, '').endsWith(reason);
  return isSaid ? [] : [`In short: ${sentence}`];
}

type Wanted = { readonly worker: string; readonly attempt: string | undefined };

function isWanted(line: ReplayLine, { worker, attempt }: Wanted): line is Decision {
  const isDecision = 'verdicts' in line && line.worker.startsWith(worker);
  return isDecision && (attempt === undefined || line.attempt === attempt);
}

type Searched = {
  readonly attempt: string | undefined;
  /** The entry of the snapshot from which the fold continued; 0 if the whole log was read. */
  readonly startSeq: number;
  /** Whether the file has lines that are not entries, so that the file needs fixing. */
  readonly isBadFile: boolean;
  /** The log has entries of that worker. */
  readonly isKnown: boolean;
  /** The log has a task of that id. */
  readonly isTask: boolean;
};

function describeMissing(worker: string, { attempt, startSeq, isBadFile, isKnown, isTask }: Searched): AppError {
  const what =
    attempt === undefined ? `decision of worker ${worker}` : `decided attempt ${attempt} of worker ${worker}`;
  if (startSeq > 0) {
    const remedy = 'retention has removed the earlier entries; give the archive folder with --archive';
    return new AppError('input.bad', `this log has no ${what} after entry ${startSeq}; ${remedy}`);
  }
  if (isBadFile)
    return new AppError('input.bad', `the readable lines have no ${what}; "stopgate export" prints a valid log`);
  if (!isKnown && isTask)
    return new AppError('actor.unknown', `${worker} is a task; "stopgate task ${worker}" shows it, and its worker`);
  if (!isKnown)
    return new AppError('actor.unknown', `this log has no worker ${worker}; "stopgate workers" lists the known ones`);
  const hint = attempt === undefined ? `; "stopgate probe ${worker}" shows what it would be` : '';
  return new AppError('actor.unknown', `this log has no ${what}${hint}`);
}

function describeEvidence(input: Record<string, unknown> | undefined): string {
  const fields = Object.entries(input ?? {});
  return fields
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
}
