/** replay: folds a file of entries with the machines of the service, without a server. */
import { createReplay, type PolicySet, parseIsoTime, type Replay } from '../../../machines/index.ts';
import { describePosition, readConfigFile } from '../../config-file.ts';
import { AppError } from '../../errors.ts';
import type { Flags } from '../arguments.ts';
import { type Context, defineCommand } from '../command.ts';
import { readLines, readText } from '../lines.ts';

const args = {
  file: { type: 'positional', valueHint: 'FILE.jsonl', description: 'entries, one JSON object a line; "-" is stdin' },
  policy: {
    type: 'string',
    valueHint: 'FILE',
    description: 'a stopgate.yaml whose policies hold, instead of those in the file',
  },
  at: {
    type: 'string',
    valueHint: 'TIME',
    description: 'print all actors as they were then, e.g. 2026-03-02T12:00:00.000Z',
  },
  json: { type: 'boolean', description: 'JSON lines; so it is always' },
} as const;

type ReplayContext = Context<Flags<typeof args>>;

export const replay = defineCommand({
  args,
  details: [
    'A line is {"at":"<time>","subject":"stopgate.main.worker.w1.tool.used","data":{"tool":"Bash"}}, as "tail --json" prints it.',
    'Prints one decision a line for each stop that ends, and a hook result for each iteration.validated; what the file',
    'leaves open comes last, with "decision": null. Time is that of the file, checks are answered by its check.finished.',
    'Bad lines are named on stderr and passed over; the exit code is 2 then.',
  ],
  examples: [
    'stopgate replay log.jsonl --policy stopgate.yaml',
    'stopgate replay log.jsonl --at 2026-03-02T12:00:00.000Z',
  ],
  run: async (context) => {
    const { flags, out } = context;
    const untilMs = flags.at === undefined ? undefined : readTime(flags.at);
    const policies = flags.policy === undefined ? undefined : await readPolicies(flags.policy, context);
    const folded = createReplay({
      ...(policies === undefined ? {} : { policies }),
      ...(untilMs === undefined ? {} : { untilMs }),
    });
    const bad = await foldFile(folded, untilMs === undefined, context);
    if (untilMs !== undefined) await out.json(folded.view());
    else await out.write(toLines(folded.open()));
    return bad > 0 && !out.closed.aborted ? 2 : 0;
  },
});

/** Gives the number of bad lines. Ends early where nobody reads any more. */
async function foldFile(folded: Replay, prints: boolean, { flags, io, out, note }: ReplayContext): Promise<number> {
  let number = 0;
  let bad = 0;
  for await (const lines of readLines(flags.file, io)) {
    let text = '';
    for (const line of lines) {
      number += 1;
      const why = line === null ? 'is too long' : folded.fold(line);
      if (why !== null) {
        note(`line ${number}: ${why}`);
        bad += 1;
      }
      const results = folded.take();
      if (prints && results.length > 0) text += toLines(results);
    }
    await out.write(text);
    if (out.closed.aborted) return bad;
  }
  return bad;
}

const toLines = (values: readonly unknown[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join('');

function readTime(text: string): number {
  const atMs = parseIsoTime(text);
  if (atMs !== null) return atMs;
  throw new AppError('input.bad', `--at '${text}' is no time: write ISO 8601 in UTC, e.g. 2026-03-02T12:00:00.000Z`);
}

/** Undefined: the file says nothing of policies, so those among the entries hold, as they would for a service. */
async function readPolicies(path: string, { io, note }: ReplayContext): Promise<PolicySet | undefined> {
  const read = readConfigFile(await readText(path, io), path);
  if (!read.ok) {
    const issues = read.problems.map((problem) => ({
      path: describePosition(problem, path),
      message: problem.message,
    }));
    throw new AppError('config.bad', `'${path}' is no configuration`, { issues });
  }
  for (const warning of read.warnings) note(`stopgate: ${warning}`);
  if (read.file.policyForm !== null) return read.file.policySet;
  note(`stopgate: '${path}' has no policies; those among the entries hold`);
  return undefined;
}
