/** The command palette (Ctrl-K): finds workers, tasks, queues, policies and commands. */
import { useState } from 'preact/hooks';
import { visible } from '../visible-text.ts';
import { liveFleet, nowMs } from './data/connection.ts';
import { enterPast, goTo, isPast, leavePast } from './data/past.ts';
import { allShortcuts, isUseful } from './keys.ts';
import { copyMoment } from './moment-link.tsx';
import { navigate, noSelection, selection } from './route.ts';
import { dayOf, writeSpan } from './statistics/span.ts';
import { parseTarget } from './time-travel/travel-target.ts';
import { withoutName } from './ui/format.ts';

type Command = {
  readonly kind: 'command' | 'worker' | 'task' | 'queue' | 'policy';
  readonly title: string;
  readonly note: string;
  readonly run: () => void;
};

const foundMax = 12;
const everything = { q: '', state: '', presence: '', agent: '', queue: '', sort: '', span: '' };

/** Finds matching commands. Prefix matches come first, then substrings, then titles that have the letters in order. */
function findCommands(text: string): Command[] {
  const wanted = text.trim().toLowerCase();
  const place = parseTarget(text, nowMs.peek());
  const scored: { readonly command: Command; readonly score: number }[] = [];
  for (const command of allCommands()) {
    const score = scoreOf(command.title.toLowerCase(), command.note.toLowerCase(), wanted);
    if (score !== null) scored.push({ command, score });
    // Do not scan a large fleet for more.
    if (wanted === '' && scored.length >= foundMax) break;
  }
  const found = scored
    .sort((a, b) => a.score - b.score)
    .slice(0, foundMax)
    .map(({ command }) => command);
  const [, retries] = /^(?:what if )?retries:? ?(\d{1,3})$/.exec(wanted) ?? [];
  if (retries !== undefined) return [whatIfRetries(Number(retries)), ...found];
  if (place === null) return found;
  return [{ kind: 'command', title: place.title, note: 'time travel', run: () => void goTo(place) }, ...found];
}

/** The lab is loaded on demand. */
const whatIfRetries = (retries: number): Command => ({
  kind: 'command',
  title: `What if every policy had ${retries} retries`,
  note: 'policy lab',
  run() {
    navigate({ ...everything, ...noSelection, view: 'what-if' });
    void import('./lab/lab.tsx').then(({ tryRetries }) => tryRetries(retries));
  },
});

function scoreOf(title: string, note: string, wanted: string): number | null {
  if (wanted === '' || title === wanted) return 0;
  const index = title.indexOf(wanted);
  if (index === 0) return 1;
  if (index > 0) return 2;
  if (note.includes(wanted)) return 3;
  let from = 0;
  for (const letter of wanted) {
    from = title.indexOf(letter, from) + 1;
    if (from === 0) return null;
  }
  return 4;
}

function* allCommands(): Generator<Command> {
  yield* ownCommands();
  for (const row of liveFleet.workers.values())
    yield {
      kind: 'worker',
      title: row.id,
      note: [row.state, row.agent, row.title, withoutName(row.sentence, row.id)].filter(Boolean).join(' · '),
      run: () => navigate(selection('worker', row.id)),
    };
  for (const row of liveFleet.tasks.values())
    yield {
      kind: 'task',
      title: row.id,
      note: [row.state, row.title].filter(Boolean).join(' · '),
      run: () => navigate({ view: 'tasks', ...selection('task', row.id) }),
    };
  for (const queue of liveFleet.queues.keys())
    yield {
      kind: 'queue',
      title: queue,
      note: 'its tasks',
      run: () => navigate({ ...everything, view: 'tasks', queue }),
    };
  for (const policy of policiesInUse())
    yield {
      kind: 'policy',
      title: policy,
      note: 'its workers',
      run: () => navigate({ ...everything, view: 'workers', q: policy }),
    };
}

const policiesInUse = (): Set<string> => new Set([...liveFleet.workers.values()].map((row) => row.policy));

function* ownCommands(): Generator<Command> {
  const go = (title: string, change: Parameters<typeof navigate>[0], note = ''): Command => ({
    kind: 'command',
    title,
    note,
    run: () => navigate({ ...everything, ...noSelection, ...change }),
  });
  yield go('Go to workers', { view: 'workers' }, 'key w');
  yield go('Go to inbox', { view: 'inbox' }, 'key i');
  yield go('Go to the history of the fleet', { view: 'history' });
  yield go('Cost of agents today', { view: 'history', span: writeSpan(dayOf(nowMs.peek())) });
  yield go('Go to tasks', { view: 'tasks' });
  yield go('Go to queues', { view: 'queues' });
  yield go('Go to all entries', { view: 'entries' });
  yield go('Go to what if', { view: 'what-if' });
  yield go('Go to the service', { view: 'service' }, 'key v');
  yield go('Show escalated workers', { view: 'workers', state: 'escalated' });
  yield go('Show stale workers', { view: 'workers', presence: 'stale' });
  yield { kind: 'command', title: 'Copy a link to this moment', note: 'incident, share', run: () => void copyMoment() };
  yield {
    kind: 'command',
    title: isPast.peek() ? 'Back to live' : 'Time travel',
    note: '',
    run: () => (isPast.peek() ? leavePast() : void enterPast()),
  };
  for (const { key, title, run, mod } of allShortcuts().filter(isUseful))
    if (mod !== true) yield { kind: 'command', title, note: `key ${key}`, run };
}

/** The dialog is opened before its content is loaded, so the field takes the focus itself. */
const focus = (field: HTMLElement | null) => field?.focus();

export function PaletteContent({ close }: { close: () => void }) {
  const [text, setText] = useState('');
  const [active, setActive] = useState(0);
  const found = findCommands(text);
  const run = (command: Command | undefined) => {
    if (command === undefined) return;
    close();
    // Let the closing dialog return the focus first.
    requestAnimationFrame(command.run);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setActive((active + step + found.length) % Math.max(1, found.length));
    else if (event.key === 'Enter') run(found[active]);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <input
        ref={focus}
        type="text"
        role="combobox"
        aria-label="Find a worker, task, policy or command"
        aria-expanded="true"
        aria-controls="found"
        aria-activedescendant={found.length > 0 ? `found-${active}` : undefined}
        placeholder="Worker, task, policy, command; 02:13, yesterday 14:00, #4711"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setActive(0);
        }}
        onKeyDown={onKeyDown}
      />
      {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: its keys are those of the field */}
      <ul id="found" class="found" role="listbox" aria-label="Found">
        {found.map((command, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the field keeps the focus
          <li
            key={`${command.kind}${command.title}`}
            id={`found-${index}`}
            // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: an option of the listbox
            role="option"
            aria-selected={index === active}
            onClick={() => run(command)}
          >
            <span class="tag">{command.kind}</span> <bdi>{visible(command.title.slice(0, 80))}</bdi>{' '}
            <span class="muted">{visible(command.note.slice(0, 80))}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="muted">Nothing matches. Try part of a name.</p>}
    </>
  );
}
