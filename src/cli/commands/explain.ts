/** explain: one decision of a worker, as text and guard by guard, each with its input. */
import { createReplay, type Decision, explainDecision, missingFor, type ReplayLine } from '../../../machines/index.ts';
import { AppError } from '../../errors.ts';
import { formatTable } from '../../terminal/table.ts';
import { clean, wrap } from '../../terminal/text.ts';
import { clientArgs } from '../client-args.ts';
import { defineCommand } from '../command.ts';
import { feedFold } from '../log-source.ts';
import { readId } from '../option-values.ts';

export const explain = defineCommand({
  args: {
    worker: { type: 'positional', valueHint: 'WORKER', description: 'the worker that tried to stop' },
    attempt: { type: 'string', valueHint: 'A', description: 'which attempt (default: the last decided one)' },
    file: {
      type: 'string',
      valueHint: 'FILE.jsonl',
      description: 'a log in a file, or a folder of an archive, instead of the live one',
    },
    archive: {
      type: 'string',
      valueHint: 'DIR',
      description: 'the folder where the service archived what was cut from the live log',
    },
    ...clientArgs,
  },
  details: [
    'Folds the log up to the decision and says in a few sentences what was answered, why, and what would let the worker ' +
      'stop; then each guard with what it looked at, also those that passed, of which a decision itself keeps no input.',
    'Reading the log needs operator credentials. Those of "stopgate dev" are found automatically.',
  ],
  examples: ['stopgate explain w1', 'stopgate explain w1 --attempt a1 --file log.jsonl --json'],
  run: async (context) => {
    const { flags, out } = context;
    const worker = readId('worker', flags.worker);
    const folded = createReplay({ inputs: true });
    let found: Decision | null = null;
    const take = () => {
      for (const line of folded.take()) if (isWanted(line, worker, flags.attempt)) found = line;
      return '';
    };
    const code = await feedFold(folded, context, undefined, take);
    if (found === null) throw new AppError('actor.unknown', describeMissing(worker, flags.attempt));
    const decision: Decision = found;
    const sentences = explainDecision(decision, folded.view().fleets[decision.fleet]?.workers[worker]?.lastSeen);
    if (flags.json) await out.json({ decision, sentences, missing: missingFor(decision) });
    else {
      const rows = decision.verdicts.map(({ guard, verdict, detail, input }) => [
        { text: verdict },
        { text: guard },
        { text: detail },
        { text: describeEvidence(input) },
      ]);
      const columns = ['', 'guard', 'found', 'looked at'];
      await out.print(
        ...sentences.flatMap((text) => wrap(clean(text), out.width())),
        '',
        ...formatTable(columns, rows, out.width()),
      );
    }
    return code;
  },
});

function isWanted(line: ReplayLine, worker: string, attempt: string | undefined): line is Decision {
  const isDecision = 'verdicts' in line && line.worker === worker;
  return isDecision && (attempt === undefined || line.attempt === attempt);
}

const describeMissing = (worker: string, attempt: string | undefined): string =>
  attempt === undefined
    ? `this log has no decision of worker ${worker}; "stopgate probe ${worker}" says what one would be`
    : `this log has no decided attempt ${attempt} of worker ${worker}`;

function describeEvidence(input: Record<string, unknown> | undefined): string {
  const fields = Object.entries(input ?? {});
  return fields
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
}
