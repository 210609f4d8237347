/** A list that is updated: a redrawn screen, or a line per change. Ctrl-C ends it and restores the terminal. */
import { setTimeout as pause } from 'node:timers/promises';
import { stripVTControlCharacters } from 'node:util';
import { AppError } from '../../errors.ts';
import type { Requester } from '../../nats/requester.ts';
import { enterScreen, leaveScreen } from '../../terminal/colors.ts';
import type { Output } from '../../terminal/output.ts';
import type { Io } from '../../terminal/process-io.ts';
import { cut } from '../../terminal/text.ts';
import { connect, type Place, resolvePlace } from '../connection.ts';
import { formatOutdated } from '../text/state-text.ts';
import type { Listing } from './listing.ts';

const everyMs = 1_000;

type Watch<View> = {
  readonly listing: Listing<View>;
  readonly read: (requester: Requester) => Promise<View[]>;
  readonly format: (views: readonly View[], fleet: string, width: number) => string[];
  readonly place: Place;
  readonly json: boolean;
  readonly io: Io;
  readonly out: Output;
};

/** The first read must succeed; after that it waits for a service that is away. @throws AppError of the first read */
export async function watch<View>(options: Watch<View>): Promise<number> {
  const { read, place, json, io, out } = options;
  const end = AbortSignal.any([io.interrupt(), out.closed]);
  const connection = await resolvePlace(place, io);
  const show = json
    ? changesAsJson(options)
    : io.isTTY
      ? screen(options, connection.fleet)
      : changesAsTable(options, connection.fleet);
  let requester: Requester | null = null;
  let views: View[] | null = null;
  try {
    while (!end.aborted) {
      try {
        requester ??= await connect(connection);
        views = (await orEnd(read(requester), end)) ?? views;
        if (views !== null && !end.aborted) await show.draw(views, null);
      } catch (error) {
        if (!(error instanceof AppError) || views === null) throw error;
        await show.draw(views, error.message);
        await requester?.close();
        requester = null;
      }
      await pause(everyMs, undefined, { signal: end }).catch(() => undefined);
    }
    return 0;
  } finally {
    await show.close();
    await requester?.close();
  }
}

/** Undefined if the end comes first; the answer is then dropped. */
async function orEnd<Result>(answer: Promise<Result>, end: AbortSignal): Promise<Result | undefined> {
  let onEnd = () => {};
  const ended = new Promise<undefined>((done) => {
    onEnd = () => done(undefined);
  });
  end.addEventListener('abort', onEnd, { once: true });
  answer.catch(() => undefined);
  return Promise.race([answer, ended]).finally(() => end.removeEventListener('abort', onEnd));
}

type Show<View> = {
  /** `fault`: why `views` are outdated. */
  readonly draw: (views: readonly View[], fault: string | null) => Promise<void>;
  readonly close: () => Promise<void>;
};

function screen<View>({ listing, format, io, out }: Watch<View>, fleet: string): Show<View> {
  let entered = false;
  // The body that was read last: without the service, ages stand still.
  let body: readonly string[] = [];
  let readMs = Date.now();
  return {
    async draw(views, fault) {
      const { columns, rows } = io.size();
      if (fault === null) {
        body = format(views, fleet, columns);
        readMs = Date.now();
      }
      const title = `${listing.entity}s of ${fleet}: ${views.length}  (every second; Ctrl-C ends)`;
      const head =
        fault === null
          ? out.colors.dim(cut(title, columns))
          : out.colors.yellow(formatOutdated(readMs, fault, columns));
      const lines = [
        head,
        ...(fault === null ? body : body.map((line) => out.colors.dim(stripVTControlCharacters(line)))),
      ];
      const hidden = lines.length - (rows - 1);
      const shown =
        hidden > 0
          ? [...lines.slice(0, rows - 2), cut(`… ${hidden + 1} more lines; use --state or --limit`, columns)]
          : lines;
      await out.write(
        `${entered ? '' : enterScreen}\u001b[H${shown.map((line) => `${line}\u001b[K\r\n`).join('')}\u001b[J`,
      );
      entered = true;
    },
    close: async () => {
      if (entered) await out.write(leaveScreen);
    },
  };
}

function changesAsTable<View>({ listing, format, out }: Watch<View>, fleet: string): Show<View> {
  let before: string | null = null;
  return {
    async draw(views, fault) {
      const now = JSON.stringify(views.map(listing.steadyOf));
      if (fault !== null || now === before) return;
      if (before !== null) await out.print('');
      before = now;
      await out.print(...format(views, fleet, out.width()));
    },
    close: async () => undefined,
  };
}

/** A line for each actor that is new or changed; for one that has left the list `{ "<entity>": id, "gone": true }`. */
function changesAsJson<View>({ listing, out }: Watch<View>): Show<View> {
  const before = new Map<string, string>();
  return {
    async draw(views, fault) {
      if (fault !== null) return;
      const here = new Set(views.map(listing.idOf));
      for (const id of [...before.keys()].filter((each) => !here.has(each))) {
        before.delete(id);
        await out.json({ [listing.entity]: id, gone: true });
      }
      for (const view of views) {
        const now = JSON.stringify(listing.steadyOf(view));
        if (before.get(listing.idOf(view)) === now) continue;
        before.set(listing.idOf(view), now);
        await out.json(view);
      }
    },
    close: async () => undefined,
  };
}
