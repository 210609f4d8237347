/** The screen of `stopgate top`: lines that fit, from what the model says. */
import { type Decision, explainDecision } from '../../../machines/index.ts';
import { formatTable } from '../../terminal/table.ts';
import { type Colors, clean, createColors, cut, wrap } from '../../terminal/text.ts';
import { itemsUnder, workerListing } from '../listing/listing.ts';
import { describePaused, describeWaits } from '../text/actor-text.ts';
import { formatOutdated } from '../text/state-text.ts';
import { type Model, rankOf, selectedOf } from './model.ts';

type Size = { readonly columns: number; readonly rows: number };

const keysLine = 'j k move · a acknowledge · r resume · s stop · p permission · ? help · q quit';
const help = [
  'j k ↑ ↓    move; g and G: first and last',
  'a          acknowledge the escalation of the selected worker: no more reminders',
  'r          resume it, with a prompt for its agent if you like',
  's          stop it',
  'p          answer what it asks permission for',
  'q, Ctrl-C  end',
  '',
  'Workers that wait for a person come first. Any key goes back.',
];
/** The list keeps at least so many lines. */
const listMin = 4;

/** Ages are those of the last reading: without a connection they stand still, and are dimmed. */
export function draw(model: Model, fleet: string, colors: Colors, { columns, rows }: Size): string[] {
  const head = [headLine(model, fleet, colors, columns), countsLine(model, colors, columns), ''];
  const foot = [footLine(model, colors, columns)];
  if (model.mode.kind === 'help') return [...head, ...help.map((line) => cut(line, columns)), '', ...foot];
  const room = rows - 1 - head.length - foot.length;
  const isOutdated = model.fault !== null;
  const paints = isOutdated ? createColors(false) : colors;
  const detail = detailLines(model, paints, columns).slice(0, Math.max(0, room - listMin));
  const list = listLines(model, paints, columns, room - detail.length);
  const body = [...list, ...detail];
  return [...head, ...(isOutdated ? body.map(colors.dim) : body), ...foot];
}

function headLine({ workers, isCut, fault, readMs }: Model, fleet: string, colors: Colors, columns: number): string {
  if (fault !== null) return colors.yellow(formatOutdated(readMs, fault, columns));
  const waiting = workers.filter((view) => ['escalated', 'asks'].includes(rankOf(view))).length;
  const text = `stopgate · fleet ${fleet} · ${workers.length}${isCut ? '+' : ''} workers · ${waiting} wait for a person`;
  return colors.bold(cut(text, columns));
}

function countsLine({ workers }: Model, colors: Colors, columns: number): string {
  const counts = new Map<string, number>();
  for (const { state } of workers) counts.set(state, (counts.get(state) ?? 0) + 1);
  return colors.dim(
    cut([...counts].map(([state, count]) => `${count} ${state}`).join(' · ') || 'no workers yet', columns),
  );
}

const narrowest = workerListing.narrowHeadings;
/** The headings for each least number of columns; the first row that fits is used. */
const shown: readonly (readonly [columns: number, headings: readonly string[]])[] = [
  [100, workerListing.headings],
  [70, [...narrowest, 'TASK', 'SEEN']],
  [0, narrowest],
];

/** The most important cells, where all would be cut too short to be read. */
function fitting<Cell>(cells: readonly Cell[], columns: number): Cell[] {
  const [, headings = narrowest] = shown.find(([from]) => columns >= from) ?? [];
  return itemsUnder(workerListing.headings, headings, cells);
}

/** Draws as many rows as there is room for, with the selected one among them. */
function listLines(model: Model, colors: Colors, columns: number, room: number): string[] {
  const { workers, selected } = model;
  const count = Math.max(1, room - 1);
  const at = workers.findIndex(({ worker }) => worker === selected);
  const from = Math.max(0, Math.min(at - Math.floor(count / 2), workers.length - count));
  const rows = workers
    .slice(from, from + count)
    .map((view) => [
      { text: view.worker === selected ? '▸' : ' ' },
      ...fitting(workerListing.rowOf(view, colors, model.readMs), columns),
    ]);
  return formatTable(['', ...fitting(workerListing.headings, columns)], rows, columns).slice(0, room);
}

function detailLines(model: Model, colors: Colors, columns: number): string[] {
  const view = selectedOf(model);
  if (view === undefined) return [];
  const { escalation, lastDecision, standing } = view;
  const texts = [
    ...(view.paused === null ? [] : [`paused ${describePaused(view.paused)}`]),
    ...describeWaits(view, model.readMs),
    ...(lastDecision === null
      ? [standing.note ?? '']
      : explainDecision(withoutReason(lastDecision, escalation?.reason), view)),
  ];
  return ['', colors.bold(cut(view.worker, columns)), ...texts.flatMap((text) => wrap(clean(text), columns))];
}

/** Returns the decision without its reason if that is shown above already; the guard's finding is shown instead. */
const withoutReason = (decision: Decision, shown: string | undefined): Decision =>
  decision.reason === shown ? { ...decision, reason: '' } : decision;

function footLine({ mode, news }: Model, colors: Colors, columns: number): string {
  const ask = (text: string) => colors.yellow(cut(clean(text), columns));
  switch (mode.kind) {
    case 'prompt':
      // The end of it is where one types.
      return colors.yellow(
        clean(`prompt for ${mode.worker} (Enter sends, Esc leaves): ${mode.text}█`).slice(-Math.max(1, columns)),
      );
    case 'stop':
      return ask(`stop ${mode.worker}? y: yes; any other key: no`);
    case 'answer':
      return ask(`${mode.worker}: a: allow it, d: deny it; any other key: neither`);
    default:
      return news === null ? colors.dim(cut(keysLine, columns)) : colors.cyan(cut(clean(news), columns));
  }
}
