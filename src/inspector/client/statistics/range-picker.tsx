/** Which time the history shows: three spans that end now, or any range, typed as for "go to". */
import { useEffect, useState } from 'preact/hooks';
import type { EntriesPage } from '../../messages.ts';
import { get } from '../data/api.ts';
import { nowMs } from '../data/connection.ts';
import { navigate } from '../route.ts';
import { localTime } from '../ui/format.ts';
import { parseRange, type Range, type Span, spans, writeSpan } from './span.ts';

export const show = (span: Span | Range, how?: 'replace'): void => navigate({ span: writeSpan(span) }, how);

export function RangePicker({ span }: { span: Span | Range }) {
  const given = typeof span === 'string' ? { fromMs: undefined, toMs: undefined } : span;
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => setProblem(null), [given.fromMs, given.toMs]);
  const submit = async (form: HTMLFormElement) => {
    const typed = new FormData(form);
    const [from, to] = [String(typed.get('from')), String(typed.get('to'))];
    const range = await parseRange({ from, to }, nowMs.peek(), timeOfEntry).catch((error: Error) => error.message);
    if (typeof range === 'string') setProblem(range);
    else show(range);
  };
  const field = (name: 'from' | 'to', ms: number | undefined, placeholder: string) => (
    <label key={ms}>
      {name}
      <input
        type="text"
        name={name}
        placeholder={placeholder}
        defaultValue={ms === undefined ? '' : localTime(ms)}
        aria-invalid={problem !== null}
      />
    </label>
  );
  return (
    <search class="spans no-print">
      {(Object.keys(spans) as Span[]).map((it) => (
        <button key={it} type="button" aria-pressed={it === span} onClick={() => show(it, 'replace')}>
          {spans[it]}
        </button>
      ))}
      <form
        aria-label="Another time"
        onSubmit={(event) => {
          event.preventDefault();
          void submit(event.currentTarget);
        }}
      >
        {field('from', given.fromMs, 'yesterday 14:00')}
        {field('to', given.toMs, 'now')}
        <button type="submit">Show</button>
      </form>
      {problem !== null && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </search>
  );
}

/** The service's own entries have no place in the list: the one before it is as good. */
async function timeOfEntry(seq: number): Promise<number> {
  const { entries } = await get<EntriesPage>(`entries?limit=1&before=${seq + 1}`);
  const [found] = entries;
  if (found === undefined) throw new Error(`There is nothing at or before entry ${seq}.`);
  return found.atMs;
}
