/** The tables of the service's page: words at the left, numbers at the right, a row that somebody should look at marked. */
import type { ComponentChildren } from 'preact';

/** Never a zero in its place. */
export const Unknown = () => <span class="muted">not known</span>;

/** From this share on a bound is near; the alert of a full fleet begins there too. */
export const nearShare = 0.8;
export const percent = (share: number): string =>
  share > 0 && share < 0.01 ? '< 1 %' : `${Math.floor(share * 100)} %`;

type Row = { readonly key: string; readonly isBad?: boolean; readonly cells: readonly ComponentChildren[] };
type TableProps = {
  readonly title: string;
  readonly note?: ComponentChildren;
  /** A column of numbers begins with `#`. */
  readonly heads: readonly string[];
  readonly rows: readonly Row[];
};

export const Table = ({ title, note, heads, rows }: TableProps) => (
  <div class="part">
    <h3>{title}</h3>
    {note !== undefined && <p class="muted">{note}</p>}
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls on narrow screens */}
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
  </div>
);

const classOf = (head: string) => (head.startsWith('#') ? 'number' : undefined);

type FactsProps = {
  readonly title: string;
  /** A value of null is not known. */
  readonly facts: readonly (readonly [name: string, value: ComponentChildren])[];
  readonly children?: ComponentChildren;
};

export const Facts = ({ title, facts, children }: FactsProps) => (
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
