/** Formats the output of a backtest for people: a line per session, then the summary. */
import { basename } from 'node:path';
import type { JudgedSession, JudgedStop, StopOutcome } from '../../backtest/past-stop.ts';
import type { StopThatMattered, Summary } from '../../backtest/summary.ts';
import { type Colors, clean, cut, formatCount, pad, widthOf, wrap } from '../../terminal/text.ts';

/** `promptColumns` is 0 if the terminal is too narrow for prompts, and in a file, where reasons are shown in full. */
export type BacktestLayout = {
  readonly width: number;
  readonly colors: Colors;
  readonly projectColumns: number;
  readonly promptColumns: number;
};

const whenColumns = 12;
const agentColumns = 6;
const wideFrom = 110;

export const backtestLayout = (width: number, colors: Colors): BacktestLayout => ({
  width,
  colors,
  projectColumns: width < wideFrom ? 14 : 18,
  promptColumns: width < wideFrom || width === Number.POSITIVE_INFINITY ? 0 : 28,
});

export function formatIntroduction(file: string | null, yaml: string | null, layout: BacktestLayout): string[] {
  const { colors, width } = layout;
  const policy =
    yaml === null
      ? wrap(`Judged by ${clean(file ?? '')}. Nothing is run or sent.`, width)
      : [
          ...wrap('No stopgate.yaml here, so a starter policy judges. Nothing is run or sent.', width),
          '',
          ...yaml
            .trimEnd()
            .split('\n')
            .map((line) => colors.dim(`  ${line}`)),
        ];
  const heading = columnsOf(layout, {
    when: 'SESSION',
    agent: 'AGENT',
    project: 'PROJECT',
    prompt: 'PROMPT',
    stops: 'STOPS',
  });
  return [...policy, '', colors.bold(`${heading}WOULD HAVE BEEN`)];
}

type Columns = Readonly<Record<'when' | 'agent' | 'project' | 'prompt' | 'stops', string>>;

function columnsOf({ projectColumns, promptColumns }: BacktestLayout, columns: Columns): string {
  const cell = (text: string, columns: number) => `${pad(cut(text, columns), columns)}  `;
  const { when, agent, project, prompt, stops } = columns;
  return [
    cell(when, whenColumns),
    cell(agent, agentColumns),
    cell(project, projectColumns),
    promptColumns === 0 ? '' : cell(prompt, promptColumns),
    `${stops.padStart(5)}  `,
  ].join('');
}

export function formatSession(session: JudgedSession, layout: BacktestLayout): string {
  const { from, agent, cwd, prompt, stops } = session;
  const { colors, width } = layout;
  const start = columnsOf(layout, {
    when: shownTime(from),
    agent,
    project: shownProject(cwd),
    prompt: clean(prompt ?? ''),
    stops: String(stops.length),
  });
  return `${start}${paintWithin(verdictOf(stops, colors), width - widthOf(start))}`.trimEnd();
}

type Piece = { readonly text: string; readonly paint: (text: string) => string };
const plain = (text: string): string => text;

/** `1 blocked, 2 allowed · tests: npm test has not run` */
function verdictOf(stops: readonly JudgedStop[], colors: Colors): Piece[] {
  if (stops.length === 0) return [{ text: 'no stop', paint: colors.dim }];
  const pieces: Piece[] = [];
  for (const { outcome, words, paint } of outcomesIn(colors)) {
    const matching = stops.filter((stop) => stop.outcome === outcome);
    if (matching.length === 0) continue;
    const missing = [...new Set(matching.flatMap((stop) => stop.missing))];
    const why = missing.length === 0 ? '' : ` (${clean(missing.join(', '))})`;
    if (pieces.length > 0) pieces.push({ text: ', ', paint: plain });
    pieces.push({ text: `${matching.length} ${words}${why}`, paint });
  }
  const first = stops.find(({ outcome }) => outcome === 'blocked' || outcome === 'escalated');
  if (first !== undefined) pieces.push({ text: ` · ${whyBlocked(first)}`, paint: plain });
  return pieces;
}

const outcomesIn = (
  colors: Colors,
): { readonly outcome: StopOutcome; readonly words: string; readonly paint: (text: string) => string }[] => [
  { outcome: 'blocked', words: 'blocked', paint: colors.red },
  { outcome: 'escalated', words: 'left to a person', paint: colors.magenta },
  { outcome: 'unjudged', words: 'not judged', paint: colors.blue },
  { outcome: 'allowed', words: 'allowed', paint: colors.green },
];

const whyBlocked = ({ by, reason }: JudgedStop): string => clean(`${by.join(', ')}: ${reason}`);

/** Paints the pieces, and cuts them off where the width ends. */
function paintWithin(pieces: readonly Piece[], width: number): string {
  let left = width;
  let line = '';
  for (const { text, paint } of pieces) {
    const short = cut(text, left);
    left -= widthOf(short);
    if (short !== '') line += paint(short);
    if (short !== text) break;
  }
  return line;
}

export function formatSummary(summary: Summary, layout: BacktestLayout): string[] {
  const { sessions, sessionsByAgent, stops, outcomes: counts, blockedBy, notJudgedFor, neverFired } = summary;
  const { colors } = layout;
  const agents = Object.entries(sessionsByAgent).map(([agent, count]) => `${count} of ${agent}`);
  const outcomes = outcomesIn(colors)
    .filter(({ outcome }) => counts[outcome] > 0)
    .map(({ outcome, words, paint }) => paint(`${counts[outcome]} ${words}`));
  const head = `${formatCount(sessions, 'session')} (${agents.join(', ')}), ${formatCount(stops, 'stop')}`;
  return [
    '',
    `${colors.bold(head)}${outcomes.length === 0 ? '' : `: ${outcomes.join(', ')}`}`,
    ...section('Blocked by', bars(blockedBy, colors.red), layout),
    ...section('Not judged, because these have no result in the past', bars(notJudgedFor, colors.blue), layout),
    ...section('Never fired', neverFired.map(clean), layout),
    ...formatMattered(summary.mattered, layout),
    ...formatFaults(summary),
    '',
    ...closing,
  ];
}

const section = (title: string, lines: readonly string[], { colors, width }: BacktestLayout): string[] =>
  lines.length === 0 ? [] : ['', colors.bold(cut(title, width)), ...lines.map((line) => `  ${line}`)];

const barColumns = 24;

function bars(counts: Readonly<Record<string, number>>, paint: (text: string) => string): string[] {
  const rows = Object.entries(counts).map(([name, count]) => ({ name: cut(clean(name), 24), count }));
  const widest = Math.max(0, ...rows.map(({ name }) => widthOf(name)));
  const most = Math.max(1, ...rows.map(({ count }) => count));
  return rows.map(({ name, count }) => {
    const bar = '█'.repeat(Math.max(1, Math.round((count / most) * barColumns)));
    return `${pad(name, widest)}  ${String(count).padStart(String(most).length)}  ${paint(bar)}`;
  });
}

function formatMattered(mattered: readonly StopThatMattered[], { colors, width }: BacktestLayout): string[] {
  if (mattered.length === 0) return [];
  const title =
    mattered.length === 1 ? 'The stop that mattered most' : `The ${numbers[mattered.length]} stops that mattered most`;
  const rows = mattered.flatMap(({ session, stop }, index) => {
    const { agent, cwd, prompt } = session;
    const line = (text: string, paint = plain) => `     ${paint(cut(text, width - 5))}`;
    const where = [shownTime(stop.at), agent, shownProject(cwd)].filter((text) => text !== '').join(' · ');
    return [
      '',
      `  ${index + 1}  ${colors.bold(cut(where, width - 5))}`,
      ...(prompt === null ? [] : [line(`“${clean(prompt)}”`, colors.dim)]),
      line(`blocked by ${whyBlocked(stop)}`, colors.red),
      line(whatFollowed(stop)),
    ];
  });
  return ['', colors.bold(title), ...rows];
}

const numbers: Readonly<Record<number, string>> = { 2: 'two', 3: 'three' };

function whatFollowed({ next, again, subagent }: JudgedStop): string {
  if (subagent !== null) return `it was a sub-agent's stop (${clean(subagent)})`;
  if (again) return 'the agent continued on its own';
  if (next === null) return 'nothing followed: the work was left as it was';
  return `you came back after ${shownDuration(next.afterMs)}: “${clean(next.prompt)}”`;
}

function formatFaults({ damagedLines, refusedCalls }: Summary): string[] {
  const faults = [
    ...(damagedLines === 0 ? [] : [`${formatCount(damagedLines, 'damaged line')} skipped`]),
    ...(refusedCalls === 0 ? [] : [`${formatCount(refusedCalls, 'step')} could not be read as a hook call`]),
  ];
  return faults.length === 0 ? [] : ['', `Note: ${faults.join(', ')}.`];
}

const closing = ['Try other rules:  stopgate backtest --policy FILE', 'Use them:         stopgate up'];

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** In UTC, like all times that commands print: `Nov 29 00:56`. */
function shownTime(iso: string | null): string {
  if (iso === null) return '';
  const date = new Date(iso);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${months[date.getUTCMonth()]} ${two(date.getUTCDate())} ${two(date.getUTCHours())}:${two(date.getUTCMinutes())}`;
}

const shownProject = (cwd: string | null): string => clean(basename((cwd ?? '').replaceAll('\\', '/')));

/** `20 s`, `12 min`, `3 h`, `2 days` */
function shownDuration(ms: number): string {
  const minutes = ms / 60_000;
  if (minutes < 1) return `${Math.max(1, Math.round(ms / 1_000))} s`;
  if (minutes < 60) return `${Math.round(minutes)} min`;
  if (minutes < 48 * 60) return `${Math.round(minutes / 60)} h`;
  return `${Math.round(minutes / 1_440)} days`;
}
