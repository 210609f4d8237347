/** The page in a file: the history of one worker, at any of its entries. There is no service, and nothing is sent. */
import { effect } from '@preact/signals';
import { render } from 'preact';
import { createFleet, type Fleet, viewTask, viewWorker } from '../../../../machines/index.ts';
import { foldMessage } from '../../../host/fold/fold-message.ts';
import { readAttempts } from '../../attempts.ts';
import { wholeOf } from '../../fleet-rows.ts';
import { createOutline } from '../../history/outline.ts';
import type { IncidentFile } from '../../incident.ts';
import type { OutlineReply, TimelineEntry } from '../../messages.ts';
import { timelineEntry } from '../../timeline.ts';
import { App } from '../app.tsx';
import { identifyService } from '../data/api.ts';
import { connection, headline } from '../data/connection.ts';
import { startOutline } from '../data/outline.ts';
import { startPast } from '../data/past.ts';
import { startKeys } from '../keys.ts';
import { startListing } from '../lists/listed-ids.ts';
import { renderByFrames } from '../measure.ts';
import { fileKeys } from '../page-keys.tsx';
import { navigate, route } from '../route.ts';
import { dateTime, plural } from '../ui/format.ts';
import '../styles/index.css';

/** In place of the service: answers the page's requests from the entries in its own file, folded by the same machines. */
type Message = Parameters<typeof foldMessage>[1];
type Answer = { readonly status: number; readonly body: unknown };

const messageOf = ([seq, atMs, subject, text]: IncidentFile['entries'][number]): Message => ({
  seq,
  atMs,
  subject,
  data: new TextEncoder().encode(text),
  header: () => undefined,
});

function createOfflineService({ fleet: name, entries }: IncidentFile) {
  const messages = entries.map(messageOf);
  const shown = messages.map(timelineEntry).filter((it) => it !== null);
  const foldTo = createFolder(name, messages);
  const [first, last] = [messages[0], messages.at(-1)];
  const range = {
    firstSeq: first?.seq ?? 0,
    lastSeq: last?.seq ?? 0,
    firstMs: first?.atMs ?? 0,
    lastMs: last?.atMs ?? 0,
  };
  const at = (seq: number, query: URLSearchParams): Answer => {
    const fleet = foldTo(seq);
    const moment = { seq, atMs: fleet.nowMs, entry: shown.find((it) => it.seq === seq) ?? null };
    const [worker, task] = [query.get('worker'), query.get('task')];
    if (worker === null && task === null) return ok({ ...moment, ...wholeOf(fleet) });
    const view = worker !== null ? viewWorker(fleet, worker, fleet.nowMs) : viewTask(fleet, task ?? '');
    return view === null ? notHere(`${worker ?? task} was not known yet`) : ok({ ...moment, view });
  };
  const outline = readOutline(name, messages);
  const newest = async (subject: string, count: number, before: number | null) =>
    messages.filter((it) => isOn(it, subject) && it.seq < (before ?? Number.POSITIVE_INFINITY)).slice(-count);
  return async (path: string): Promise<Answer> => {
    const { pathname, searchParams } = new URL(path, 'http://file.invalid');
    const before = searchParams.get('before');
    const page = {
      before: before === null ? null : Number(before),
      limit: Number(searchParams.get('limit') ?? 100),
    };
    const [, , , verb = '', one = '', other = ''] = pathname.split('/').map(decodeURIComponent);
    if (pathname === '/api') return ok({ fleet: name, fleets: [name] });
    if (verb === 'range') return ok(range);
    if (verb === 'outline') return ok(outline(searchParams));
    if (verb === 'at') return at(Number(one), searchParams);
    if (verb === 'timeline') return ok(timelineOf(shown, one, other, page));
    if (verb === 'entry') return ok(shown.find(({ seq }) => seq === Number(one)) ?? null);
    if (verb === 'attempts') return ok({ attempts: await readAttempts({ newest } as never, name, one, page) });
    return notHere('this file contains only the history of a worker');
  };
}

/** `>` at the end of the subject stands for whatever follows. */
const isOn = (message: Message, subject: string): boolean =>
  subject.endsWith('>') ? message.subject.startsWith(subject.slice(0, -1)) : message.subject === subject;

const ok = (body: unknown): Answer => ({ status: 200, body });
const notHere = (message: string): Answer => ({ status: 404, body: { error: { message } } });

/** Folds on, or from the beginning where the entry lies before. */
function createFolder(name: string, messages: readonly Message[]): (seq: number) => Fleet {
  let [fleet, count] = [createFleet(name), 0];
  return (seq) => {
    if (count > 0 && (messages[count - 1]?.seq ?? 0) > seq) [fleet, count] = [createFleet(name), 0];
    for (let next = messages[count]; next !== undefined && next.seq <= seq; next = messages[count]) {
      foldMessage(fleet, next);
      count += 1;
    }
    return fleet;
  };
}

/** Counts every entry at once: a file has few. */
function readOutline(name: string, messages: readonly Message[]): (query: URLSearchParams) => OutlineReply {
  const [fleet, outline] = [createFleet(name), createOutline()];
  for (const message of messages) {
    const silentFromMs = fleet.nowMs;
    const { outcomes } = foldMessage(fleet, message);
    outline.add({ message, outcomes, fleet, silentFromMs });
  }
  const [firstSeq, lastSeq] = [messages[0]?.seq ?? 0, messages.at(-1)?.seq ?? 0];
  const whole = { firstSeq, lastSeq, shownFrom: firstSeq, covered: lastSeq - firstSeq + 1 };
  return (query) => {
    const [from, to, width] = ['from', 'to', 'width'].map((key) => Number(query.get(key)));
    const buckets = outline.read(from ?? firstSeq, to ?? lastSeq, width ?? 1);
    return { ...whole, width: Math.max(width ?? 1, outline.width), buckets };
  };
}

function timelineOf(
  shown: readonly TimelineEntry[],
  entity: string,
  id: string,
  { before, limit }: { readonly before: number | null; readonly limit: number },
) {
  const all = shown.filter(
    (it) => it.entity === entity && it.id === id && it.seq < (before ?? Number.POSITIVE_INFINITY),
  );
  return { entries: all.slice(-limit), before: all.length > limit ? (all.at(-limit)?.seq ?? null) : null };
}

const file: IncidentFile = JSON.parse(document.querySelector('#incident')?.textContent ?? '{}');
const answer = createOfflineService(file);
globalThis.fetch = async (input) => {
  const { status, body } = await answer(String(input));
  // What takes long is asked for in lines, of which the last is the result; a short answer is one line.
  const isInLines = /\/(?:at\/|outline\?)/.test(String(input)) && status === 200;
  const text = isInLines ? `${JSON.stringify({ result: body })}\n` : JSON.stringify(body);
  return new Response(text, { status });
};

connection.value = 'file';
const lastSeq = file.entries.at(-1)?.[0] ?? 0;
const whole = createFolder(file.fleet, file.entries.map(messageOf))(lastSeq);
headline.value = [
  `${file.worker}: ${viewWorker(whole, file.worker, whole.nowMs)?.sentence ?? 'unknown'}`,
  `${plural(file.entries.length, 'entry', 'entries')}, ${dateTime(file.entries[0]?.[1] ?? 0)} to ${dateTime(whole.nowMs)}`,
  `saved ${dateTime(file.exportedMs)}; ages are those of the entry that is shown`,
].join(' · ');
// There is no present in a file: where it ends is where it begins.
effect(() => {
  if (route.value.at === null) navigate({ at: lastSeq }, 'replace');
});
if (route.peek().worker === null) navigate({ worker: file.worker }, 'replace');
renderByFrames();
startListing();
startPast();
startOutline();
startKeys(fileKeys);
void identifyService();
render(<App />, document.querySelector('#app') as HTMLElement);
