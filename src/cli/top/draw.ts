/** Draws the screen of `stopgate top`. */
import { type Decision, explainDecision } from '../../../machines/index.ts';
import { type Colors, clean, createColors, cut, wrap } from '../../terminal/text.ts';
import { formatListing, workerListing } from '../listing/listing.ts';
import { describePaused, describeWaits } from '../text/actor-text.ts';
import { formatOutdated } from '../text/state-text.ts';
import { type Model, rankOf, selectedOf } from './model.ts';

type Size = { readonly columns: number; readonly rows: number };

const keysLine = 'j k move · a acknowledge · r resume · s stop · p permission · ? help · q quit';
const help = [
  'j k ↑ ↓    move; g and G: first and last',
  'a          acknowledge the escalation of the selected worker (ends reminders)',
  'r          resume the worker, optionally with a prompt',
  's          stop the worker',
  'p          answer its permission request',
  'q, Ctrl-C  quit',
  '',
  'Workers that wait for a person come first. Press any key to go back.',
];
/** Minimum height of the list, in lines. */
const listMin = 4;

/** Without a connection, ages stay those of the last read and the screen is dimmed. */
export function draw(
  model: Model,
  fleet: string,
  colors: Colors,
  { columns, rows }: Size,
  asTyped: (text: string) => string = String,
): string[] {
  const head = [headLine(model, fleet, colors, columns), countsLine(model, colors, columns), ''];
  const foot = [footLine(model, colors, columns)];
  if (model.mode.kind === 'help') return [...head, ...help.map((line) => cut(line, columns)), '', ...foot];
  const room = rows - 1 - head.length - foot.length;
  const isOutdated = model.fault !== null;
  const paints = isOutdated ? createColors(false) : colors;
  const detail = detailLines(model, { colors: paints, columns, asTyped }).slice(0, Math.max(0, room - listMin));
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

/** The mark of the selected worker, and two spaces. */
const markWidth = 3;

/** Draws as many rows as fit, including the selected one. */
function listLines(model: Model, colors: Colors, columns: number, room: number): string[] {
  const { workers, selected } = model;
  const count = Math.max(1, room - 1);
  const selectedIndex = workers.findIndex(({ worker }) => worker === selected);
  const from = Math.max(0, Math.min(selectedIndex - Math.floor(count / 2), workers.length - count));
  const shown = workers.slice(from, from + count);
  const lines = formatListing(workerListing, shown, { colors, width: columns - markWidth, nowMs: model.readMs });
  return lines
    .map((line, index) => `${shown[index - 1]?.worker === selected ? '▸' : ' '}  ${line}`.trimEnd())
    .slice(0, room);
}

type Details = { readonly colors: Colors; readonly columns: number; readonly asTyped: (text: string) => string };

function detailLines(model: Model, { colors, columns, asTyped }: Details): string[] {
  const view = selectedOf(model);
  if (view === undefined) return [];
  const { escalation, lastDecision, standing } = view;
  const texts = [
    ...(view.paused === null ? [] : [`paused ${describePaused(view.paused)}`]),
    ...describeWaits(view, model.readMs),
    ...(lastDecision === null
      ? [standing.note ?? '']
      : explainDecision(withoutReason(lastDecision, escalation?.reason), view).map(asTyped)),
  ];
  return ['', colors.bold(cut(view.worker, columns)), ...texts.flatMap((text) => wrap(clean(text), columns))];
}

/** Drops the reason if it is already shown above, so that the guard's finding is shown instead. */
const withoutReason = (decision: Decision, shown: string | undefined): Decision =>
  decision.reason === shown ? { ...decision, reason: '' } : decision;

function footLine({ mode, news }: Model, colors: Colors, columns: number): string {
  const ask = (text: string) => colors.yellow(cut(clean(text), columns));
  switch (mode.kind) {
    case 'prompt':
      // Keep the end visible, where the user types.
      return colors.yellow(
        clean(`prompt for ${mode.worker} (Enter sends, Esc cancels): ${mode.text}█`).slice(-Math.max(1, columns)),
      );
    case 'stop':
      return ask(`stop ${mode.worker}? y: yes, any other key: no`);
    case 'answer':
      return ask(`${mode.worker}: a: allow, d: deny, any other key: cancel`);
    default:
      return news === null ? colors.dim(cut(keysLine, columns)) : colors.cyan(cut(clean(news), columns));
  }
}
