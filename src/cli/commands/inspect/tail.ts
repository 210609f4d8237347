/** tail: follows the log. */
import { isHousekeeping, readEntry, topicOf } from '../../../../machines/index.ts';
import { AppError } from '../../../errors.ts';
import { type LogLine, toLogLine } from '../../../nats/log/log-line.ts';
import type { LogMessage } from '../../../nats/log/log-reader.ts';
import type { Requester } from '../../../nats/requester.ts';
import { clean, cut } from '../../../terminal/text.ts';
import { findWorker } from '../../actor-id.ts';
import { defineCommand, flag, option } from '../../command.ts';
import { withRequester } from '../../connection.ts';
import { clientArgs, countFrom, idOf, readsLog } from '../../option-values.ts';
import { formatLogLine } from '../../text/timeline.ts';

/** How many of the newest entries are searched for matches. */
const windowMin = 10_000;
/** The newest entries are read by then, unless the log is far away. */
const silenceMs = 1_000;

export const tail = defineCommand({
  args: {
    last: option('N', 'start with the newest N matching entries (default: 20)', countFrom(0, 1_000_000_000)),
    worker: option('W', 'only entries about this worker', idOf('worker')),
    'no-follow': flag('exit after the newest entry'),
    all: flag('include internal entries: replica.joined, timer.fired'),
    ...clientArgs,
  },
  details: [
    'Prints the newest entries of the log, then each new one, including decisions, until Ctrl-C. With --no-follow it exits after the newest. Times are in UTC. An entry that is not valid is marked with the reason.',
    `Searches the newest ${windowMin.toLocaleString('en')} entries for matches.`,
    '--json implies --all. "stopgate replay" and "stopgate publish -" can read its lines.',
    readsLog,
  ],
  examples: ['stopgate tail --worker w1', 'stopgate tail --no-follow --last 1000 --json >log.jsonl'],
  run: async ({ flags, io, out, note }) => {
    const { last = 20 } = flags;
    let only = flags.worker ?? null;
    const signal = AbortSignal.any([io.interrupt(), out.closed]);
    let printed = Promise.resolve();
    let isEmpty = true;
    const show = (line: LogLine & { readonly fault: string | null }) => {
      isEmpty = false;
      const { fault, ...entry } = line;
      printed = printed.then(() =>
        flags.json
          ? out.json(entry)
          : out.print(
              formatLogLine(entry, out.colors, out.width()),
              ...(fault === null
                ? []
                : [out.colors.red(cut(clean(`  not valid, so it changes nothing: ${fault}`), out.width()))]),
            ),
      );
    };
    const matches = (subject: string): boolean => {
      const { entity, id, type } = topicOf(subject);
      if (only !== null && (entity !== 'worker' || id !== only)) return false;
      return flags.all || flags.json || !isHousekeeping(type);
    };
    const window = last === 0 ? 0 : Math.max(last, windowMin);
    const recent = createNewestEntries(last, window, show);
    const onMessage = (message: LogMessage) =>
      recent.push(matches(message.subject) ? { ...toLogLine(message), fault: faultOf(message) } : null, message.seq);
    await withRequester(flags, io, async (requester, fleet) => {
      const isFollowing = !flags['no-follow'];
      if (only !== null) only = await findWorker(only, { requester, fleet, note });
      const about = only === null ? '' : ` about worker ${only}`;
      const noteEmptyLog = () => {
        if (isEmpty && isFollowing && io.isTTY)
          note(`stopgate: no entries${about} yet; waiting for one (press Ctrl-C to exit)`);
      };
      const silence = setTimeout(noteEmptyLog, silenceMs);
      const reading = isFollowing
        ? requester.follow({ last: window, signal }, onMessage)
        : readTo(requester, window, onMessage);
      await reading
        .finally(() => clearTimeout(silence))
        .catch((cause: unknown) => {
          if (cause instanceof AppError) throw cause;
          const why = (cause as Error).message;
          throw new AppError('log.unavailable', `the log of fleet '${fleet}' cannot be read: ${why}`, { cause });
        });
      recent.end();
      await printed;
      if (isEmpty && !isFollowing && io.isTTY) note(`stopgate: no entries${about}`);
      if (isFollowing && !signal.aborted)
        throw new AppError('service.unreachable', 'the connection to NATS was lost; run it again');
    });
    return 0;
  },
});

/** Why the machines ignore an entry (protocol.md §9), or null. The rules version in force does not matter here. */
function faultOf({ subject, data }: LogMessage): string | null {
  const entry = readEntry(subject, Buffer.from(data).toString(), data.length);
  return entry !== null && 'code' in entry ? entry.message : null;
}

async function readTo(requester: Requester, count: number, onMessage: (message: LogMessage) => void): Promise<void> {
  if (count > 0) for (const message of await requester.readNewest('>', count)) onMessage(message);
}

/** A reader that receives no message for this long has reached the head of the log. */
const quietMs = 100;

type Recent<Item> = {
  /** @param item null if the message does not match. @param seq the sequence of the message */
  readonly push: (item: Item | null, seq: number) => void;
  /** Shows the items that are held back. */
  readonly end: () => void;
};

/**
 * Shows the newest `last` matches of the first `window` messages, then every match. Holds matches back until it reaches
 * the head of the log: after `window` messages, or when none arrives for a moment.
 */
export function createNewestEntries<Item>(last: number, window: number, show: (item: Item) => void): Recent<Item> {
  let held: Item[] | null = window > 0 ? [] : null;
  let headSeq: number | null = null;
  let timer: NodeJS.Timeout | undefined;
  const end = () => {
    clearTimeout(timer);
    for (const item of held ?? []) show(item);
    held = null;
  };
  return {
    end,
    push(item, seq) {
      if (held === null) {
        if (item !== null) show(item);
        return;
      }
      headSeq ??= seq + window - 1;
      if (item !== null) held.push(item);
      if (held.length > last) held.shift();
      clearTimeout(timer);
      if (seq >= headSeq) end();
      else timer = setTimeout(end, quietMs);
    },
  };
}
