/** The stored parts of the service view: log and snapshots, NATS streams, and dead entries; and their tables. */

import type { ComponentChildren } from 'preact';
import type { ServiceReport } from '../../service-messages.ts';
import { Link } from '../ui/controls.tsx';
import { bytes, count, dateTime, duration, plural } from '../ui/format.ts';
import { Name, Text } from '../ui/text.tsx';
import { nearShare } from './standing.ts';

/** For unknown values, which must not be shown as 0. */
export const Unknown = () => <span class="muted">not known</span>;

export const percent = (share: number): string =>
  share > 0 && share < 0.01 ? '< 1 %' : `${Math.floor(share * 100)} %`;

type Row = { readonly key: string; readonly isBad?: boolean; readonly cells: readonly ComponentChildren[] };
type TableProps = {
  readonly title: string;
  readonly note?: ComponentChildren;
  /** The title of a numeric column begins with `#`. */
  readonly heads: readonly string[];
  readonly rows: readonly Row[];
};

export const Table = ({ title, note, heads, rows }: TableProps) => (
  <div class="part">
    <h3>{title}</h3>
    {note !== undefined && <p class="muted">{note}</p>}
    {rows.length > 0 && <Rows title={title} heads={heads} rows={rows} />}
  </div>
);

const Rows = ({ title, heads, rows }: Pick<TableProps, 'title' | 'heads' | 'rows'>) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls on narrow screens
  <section class="scroller" tabIndex={0} aria-label={title}>
    <table>
      <thead>
        <tr>
          {heads.map((head) => (
            <th key={head} scope="col" class={classOf(head)}>
              {head.replace('#', '')}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ key, isBad, cells }) => (
          <tr key={key} data-key={key} data-bad={isBad || undefined}>
            {cells.map((cell, index) => {
              const head = heads[index] ?? '';
              return (
                <td key={head} class={classOf(head)}>
                  {cell}
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  </section>
);

const classOf = (head: string) => (head.startsWith('#') ? 'number' : undefined);

type FactsProps = {
  readonly title: string;
  /** A null value is unknown. */
  readonly facts: readonly (readonly [name: string, value: ComponentChildren])[];
  readonly children?: ComponentChildren;
};

const Facts = ({ title, facts, children }: FactsProps) => (
  <section class="part" aria-label={title}>
    <h3>{title}</h3>
    {children}
    <dl class="fact-list">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value ?? <Unknown />}</dd>
        </div>
      ))}
    </dl>
  </section>
);

type Shown = { readonly report: ServiceReport };

export function Log({ report: { store, snapshots, retention, nowMs } }: Shown) {
  const log = store?.streams.find(({ holds }) => holds === 'log') ?? null;
  const entry = (seq: number, atMs: number | null) =>
    atMs === null ? (
      'none'
    ) : (
      <>
        <Link to={{ view: 'entries', at: seq }}>#{count(seq)}</Link> {dateTime(atMs)}
      </>
    );
  const kept = [
    ...(retention.forMs === null ? [] : [`for ${duration(retention.forMs)}`]),
    ...(retention.bytesMax === null ? [] : [`up to ${bytes(retention.bytesMax)}`]),
  ];
  const newest = snapshots?.newest ?? null;
  return (
    <Facts
      title="Log and snapshots"
      facts={[
        ['First entry', log && entry(log.firstSeq, log.firstMs)],
        ['Last entry', log && entry(log.lastSeq, log.lastMs)],
        ['Entries', log && count(log.messages)],
        ['Size', log && bytes(log.bytes)],
        ['Kept', `${kept.join(' and ') || 'forever'}${retention.archive === null ? '' : ', then archived'}`],
        [
          'Newest snapshot',
          snapshots &&
            (newest === null
              ? 'none yet: a restart reads the whole log'
              : `${bytes(newest.bytes)}, up to #${count(newest.seq)}, ${duration(nowMs - newest.atMs)} old`),
        ],
        ['Entries since', snapshots && count(snapshots.entriesSince)],
      ]}
    />
  );
}

export function Store({ report: { store, storeProblem } }: Shown) {
  if (store === null)
    return (
      <Facts title="NATS storage" facts={[['Streams', null]]}>
        {storeProblem !== null && <Text as="p" class="muted" value={storeProblem} />}
      </Facts>
    );
  const { streams, account } = store;
  const rows = [
    ...streams.map(({ name, holds, messages, bytes: used, bytesMax, leader }) => ({
      key: name,
      used,
      max: bytesMax,
      first: (
        <>
          {holds} {leader !== null && <span class="tag">led by {leader}</span>}
        </>
      ),
      messages: count(messages),
    })),
    ...(account === null
      ? []
      : [{ key: 'account', first: 'whole account', messages: '', used: account.bytes, max: account.bytesMax }]),
  ];
  return (
    <Table
      title="NATS storage"
      heads={['Stream', '#Messages', '#Size', '#Limit', '#Share']}
      rows={rows.map(({ key, first, messages, used, max }) => ({
        key,
        isBad: max !== null && used / max >= nearShare,
        cells: [
          first,
          messages,
          bytes(used),
          max === null ? 'none' : bytes(max),
          max === null ? '–' : percent(used / max),
        ],
      }))}
    />
  );
}

export function DeadEntries({ report: { dead } }: Shown) {
  if (dead === null) return <Facts title="Dead entries" facts={[['Refused', null]]} />;
  return (
    <section class="part" aria-label="Dead entries">
      <h3>Dead entries</h3>
      <p class="muted">
        {dead.count === 0
          ? 'None: every entry of the log could be read.'
          : `${plural(dead.count, 'entry was', 'entries were')} refused, and changed nothing. The last ${count(dead.max)} are kept.`}
      </p>
      <ol class="dead">
        {dead.newest.map(({ seq, at, subject, code, message, data }) => (
          <li key={seq}>
            <p>
              <time dateTime={at}>{dateTime(Date.parse(at))}</time> <span class="tag">{code}</span>{' '}
              <Name value={subject} /> <Link to={{ view: 'entries', at: seq }}>#{count(seq)}</Link>
            </p>
            <Text as="p" value={message} />
            <Text block value={data} />
          </li>
        ))}
      </ol>
    </section>
  );
}
