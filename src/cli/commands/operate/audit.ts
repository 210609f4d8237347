/** audit: lists the actions of operators. */
import { describeGrant, formatIsoTime, isFields, topicOf } from '../../../../machines/index.ts';
import { formatDuration } from '../../../../machines/values/time.ts';
import { toLogLine } from '../../../nats/log/log-line.ts';
import type { LogMessage } from '../../../nats/log/log-reader.ts';
import { formatTable } from '../../../terminal/table.ts';
import { findWorker } from '../../actor-id.ts';
import { defineCommand, option } from '../../command.ts';
import { withRequester } from '../../connection.ts';
import { clientArgs, countFrom, idOf, readsLog, timeForms, toTime } from '../../option-values.ts';

/** The entries that operators publish (protocol.md §3), and the words for them in the list. */
const actions = {
  'escalation.acknowledged': 'acknowledged',
  'escalation.resolved': 'resolved',
  'input.answered': 'answered',
  'worker.retired': 'retired',
  'worker.paused': 'paused',
  'worker.unpaused': 'unpaused',
} as const;

/** How many of the newest entries are searched for a name. */
const windowMin = 10_000;

/** `action` is the entry's type. `text` is a grant, a prompt, a message, or the length of a pause, or null if there is none. */
type Action = {
  readonly seq: number;
  readonly at: string;
  readonly by: string | null;
  readonly action: string;
  readonly entity: string;
  readonly id: string;
  readonly verdict: string | null;
  readonly text: string | null;
};

export const audit = defineCommand({
  args: {
    last: option('N', 'print the newest N (default: 100)', countFrom(1, 1_000_000)),
    since: option('TIME', `only actions since then: ${timeForms}`, toTime),
    worker: option('W', 'only actions on this worker', idOf('worker')),
    by: option('NAME', 'only actions of this person'),
    ...clientArgs,
  },
  details: [
    'Prints from the log who acknowledged, resolved, answered, retired, paused or unpaused something, oldest first. Refused actions are included; "stopgate worker W" shows why they were refused.',
    'Over HTTP the name is that of the token (see "stopgate token"), followed by the name given in the request in brackets. Over NATS, and with the single token of --token, operators choose the name.',
    '--json prints one action per line.',
    readsLog,
  ],
  examples: ['stopgate audit', 'stopgate audit --by alice --since 2026-03-02', 'stopgate audit --json'],
  run: async ({ flags, io, out, note }) => {
    const { last = 100, since: sinceMs = 0 } = flags;
    return withRequester(flags, io, async (requester, fleet) => {
      const worker =
        flags.worker === undefined ? undefined : await findWorker(flags.worker, { requester, fleet, note });
      const about = worker === undefined ? '*.*' : `worker.${worker}`;
      const window = flags.by === undefined ? last : Math.max(last, windowMin);
      const read: LogMessage[][] = [];
      for (const type of Object.keys(actions)) read.push(await requester.readNewest(`own.${about}.${type}`, window));
      const found = read
        .flat()
        .filter(({ atMs }) => atMs >= sinceMs)
        .map(toAction)
        .filter(({ by }) => flags.by === undefined || by === flags.by || by?.startsWith(`${flags.by} (`))
        .sort((a, b) => a.seq - b.seq)
        .slice(-last);
      if (flags.json) for (const action of found) await out.json(action);
      else if (found.length === 0)
        await out.print(`No operator actions in fleet '${fleet}'${describeFilters({ ...flags, worker })}`);
      else await out.print(...formatTable(['AT', 'BY', 'WHAT', 'ABOUT', 'TEXT'], found.map(rowOf), out.width()));
      return 0;
    });
  },
});

type Filters = {
  readonly worker: string | undefined;
  readonly by: string | undefined;
  readonly since: number | undefined;
};
const describeFilters = ({ worker, by, since }: Filters): string =>
  [
    worker === undefined ? '' : ` on ${worker}`,
    by === undefined ? '' : ` by '${by}'`,
    since === undefined ? '' : ` since ${formatIsoTime(since)}`,
  ].join('');

function toAction(message: LogMessage): Action {
  const { at, subject, data, seq } = toLogLine(message);
  const { entity, id, type } = topicOf(subject);
  const given = isFields(data) ? data : {};
  const textOf = (name: string) => (typeof given[name] === 'string' ? given[name] : null);
  const text = describeResolution(given) ?? textOf('message') ?? pauseOf(type, given);
  return { seq, at, by: textOf('by'), action: type, entity, id, verdict: textOf('verdict'), text };
}

/** Returns what was granted and the prompt, or null if there is neither. */
function describeResolution({ verdict, grant, prompt }: Readonly<Record<string, unknown>>): string | null {
  const granted = verdict === 'resume' ? describeGrant(grant) : null;
  const texts = [granted, typeof prompt === 'string' ? prompt : null].filter((text) => text !== null);
  return texts.length === 0 ? null : texts.join(': ');
}

/** Returns the length of a pause, or null if it has no end or the entry is not a pause. */
const pauseOf = (type: string, { forMs }: Readonly<Record<string, unknown>>): string | null =>
  type === 'worker.paused' && typeof forMs === 'number' ? `for ${formatDuration(forMs)}` : null;

function rowOf({ at, by, action, entity, id, verdict, text }: Action) {
  const what = actions[action as keyof typeof actions];
  return [at, by ?? '-', verdict === null ? what : `${what}: ${verdict}`, `${entity} ${id}`, text ?? ''].map(
    (cell, column) => ({ text: cell, isWhole: column === 0 }),
  );
}
