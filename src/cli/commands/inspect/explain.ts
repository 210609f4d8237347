/** explain: one decision of a worker, as text and guard by guard, each with its input. */
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
import { argument, defineCommand, option } from '../../command.ts';
import { feedFold } from '../../log-source.ts';
import { clientArgs, idOf, readsLog } from '../../option-values.ts';

export const explain = defineCommand({
  args: {
    worker: argument('WORKER', 'the worker that tried to stop', idOf('worker')),
    attempt: option('A', 'which attempt (default: the last decided one)'),
    file: option('FILE.jsonl', 'a log in a file, or a folder of an archive, instead of the live one'),
    archive: option('DIR', 'the folder where the service archived what was cut from the live log'),
    ...clientArgs,
  },
  details: [
    'Folds the log and says in a few sentences what was answered, why, what would let the worker stop, and what has come ' +
      'of it since; then each guard with what it looked at, also those that passed, of which a decision itself keeps no input.',
    'If retention has removed the beginning of the log, decisions since the oldest snapshot are explained; earlier ones take --archive.',
    readsLog,
  ],
  examples: ['stopgate explain w1', 'stopgate explain w1 --attempt a1 --file log.jsonl --json'],
  run: async (context) => {
    const { flags, out, asTyped } = context;
    const { worker } = flags;
    const folded = createReplay({ inputs: true });
    let found: Decision | null = null;
    const take = () => {
      for (const line of folded.take()) if (isWanted(line, worker, flags.attempt)) found = line;
      return '';
    };
    let startSeq = 0;
    const startFrom: typeof folded.startFrom = (fleet) => {
      startSeq = fleet.seq;
      folded.startFrom(fleet);
    };
    const code = await feedFold({ ...folded, startFrom }, context, { reach: 'rest' }, take);
    if (found === null) throw describeMissing(worker, { attempt: flags.attempt, startSeq, isBadFile: code !== 0 });
    const decision: Decision = found;
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
        { text: `${check}: another had decided before it` },
        { text: '' },
      ]);
      const columns = ['', 'guard', 'found', 'looked at'];
      await out.print(
        ...[...sentences, ...inShort(decision)].flatMap((text) => wrap(clean(text), out.width())),
        '',
        ...formatTable(columns, [...verdicts, ...unreached], out.width()),
      );
    }
    return code;
  },
});

/** Nothing, if it is the reason again, which stands above already. */
function inShort(decision: Decision): string[] {
  const sentence = sentenceOfDecision(decision);
  const reason = decision.reason.toLowerCase().replace(/\.$/, '');
  const isSaid = reason !== '' && sentence.toLowerCase().replace(/\.$/, '').endsWith(reason);
  return isSaid ? [] : [`In short: ${sentence}`];
}

function isWanted(line: ReplayLine, worker: string, attempt: string | undefined): line is Decision {
  const isDecision = 'verdicts' in line && line.worker === worker;
  return isDecision && (attempt === undefined || line.attempt === attempt);
}

type Searched = {
  readonly attempt: string | undefined;
  /** The entry of the snapshot that the fold continued from; 0: the whole log was read. */
  readonly startSeq: number;
  /** Lines of the file are no entries: the problem is the file, and the service would not know better. */
  readonly isBadFile: boolean;
};

function describeMissing(worker: string, { attempt, startSeq, isBadFile }: Searched): AppError {
  const what =
    attempt === undefined ? `decision of worker ${worker}` : `decided attempt ${attempt} of worker ${worker}`;
  if (startSeq > 0) {
    const mend = 'retention has removed what stood before; name the archive folder with --archive';
    return new AppError('input.bad', `this log has no ${what} after entry ${startSeq}, and ${mend}`);
  }
  if (isBadFile)
    return new AppError('input.bad', `what could be read has no ${what}; "stopgate export" prints a log to read`);
  const hint = attempt === undefined ? `; "stopgate probe ${worker}" says what one would be` : '';
  return new AppError('actor.unknown', `this log has no ${what}${hint}`);
}

function describeEvidence(input: Record<string, unknown> | undefined): string {
  const fields = Object.entries(input ?? {});
  return fields
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
}
