/** Picks the time that the history shows: a span that ends now, or a typed range. */

import { useEffect, useState } from 'preact/hooks';
import type { EntriesPage } from '../../messages.ts';
import { type Span, spanNames, type TimeRange } from '../../statistics/spans.ts';
import { get } from '../data/api.ts';
import { nowMs } from '../data/connection.ts';
import { navigate } from '../route.ts';
import { Button, Form, Problem } from '../ui/controls.tsx';
import { localTime } from '../ui/format.ts';
import { dayOf, parseRange, spanTitles, writeSpan } from './span.ts';

export const show = (span: Span | TimeRange, how?: 'replace'): void => navigate({ span: writeSpan(span) }, how);

export function RangePicker({ span }: { span: Span | TimeRange }) {
  const given = typeof span === 'string' ? { fromMs: undefined, toMs: undefined } : span;
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => setProblem(null), [given.fromMs, given.toMs]);
  const submit = async (typed: FormData) => {
    const [from, to] = [String(typed.get('from')), String(typed.get('to'))];
    const range = await parseRange({ from, to }, nowMs.peek(), timeOfEntry).catch((error: Error) => error.message);
    if (typeof range === 'string') setProblem(range);
    else show(range);
  };
  const field = (name: 'from' | 'to', ms: number | undefined, placeholder: string) => (
    <label key={ms} class="row muted">
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
    <search class="row spans no-print">
      {spanNames.map((name) => (
        <Button key={name} aria-pressed={name === span} onClick={() => show(name, 'replace')}>
          {spanTitles[name]}
        </Button>
      ))}
      <Today span={span} />
      <Form class="row" aria-label="Another time" submit={submit}>
        {field('from', given.fromMs, 'yesterday 14:00')}
        {field('to', given.toMs, 'now')}
        <button type="submit">Show</button>
      </Form>
      <Problem text={problem} />
    </search>
  );
}

function Today({ span }: { span: Span | TimeRange }) {
  const today = dayOf(nowMs.value);
  const isShown = typeof span !== 'string' && span.fromMs === today.fromMs && span.toMs === today.toMs;
  return (
    <Button
      aria-pressed={isShown}
      title="The day in UTC, as for “stopgate spend”"
      onClick={() => show(today, 'replace')}
    >
      Today
    </Button>
  );
}

/** Returns the time of an entry. Housekeeping entries are not listed, so this may be the time of the one before. */
async function timeOfEntry(seq: number): Promise<number> {
  const { entries } = await get<EntriesPage>(`entries?limit=1&before=${seq + 1}`);
  const [found] = entries;
  if (found === undefined) throw new Error(`There is no entry at or before ${seq}.`);
  return found.atMs;
}
