/**
 * Reads Copilot CLI's plan. It keeps its steps in a table `todos (id, title, status)` of its session, and its hook calls
 * hold the text of each SQL statement, not its result. Simple statements are read here. After any other statement that
 * writes to the table the plan is unknown, and the adapter adds a note.
 */
import type { Plan } from '../../../machines/index.ts';
import { oneStep, type PlanChange } from '../shared/plan-entry.ts';
import { toId } from '../shared/text.ts';

/** `unread`: a statement changed the plan in a way that its text does not show. */
export type PlanReading = { readonly changes: readonly PlanChange[]; readonly unread: boolean };

type StepChange = Extract<PlanChange, { type: 'step.updated' }>;

const queryCharsMax = 100_000;
const changesMax = 200;
type Token = { readonly kind: 'word' | 'text' | 'sign'; readonly value: string };

/** `plan` null: not known, so a statement that does not name its steps cannot be read. */
export function readTodos(query: string, plan: Plan | null): PlanReading {
  const changes: PlanChange[] = [];
  if (query.length > queryCharsMax) return { changes, unread: /\btodos\b/i.test(query) };
  for (const statement of statements(query)) {
    const read = readStatement(statement, plan);
    if (read === null) return { changes: changes.slice(0, changesMax), unread: true };
    changes.push(...read);
  }
  return { changes: changes.slice(0, changesMax), unread: changes.length > changesMax };
}

/** Returns null if it writes to `todos` in a form that is not read here. */
function readStatement(tokens: readonly Token[], plan: Plan | null): readonly PlanChange[] | null {
  const at = cursor(tokens);
  if (at.takes('insert')) {
    const keeps = at.takes('or') && !at.takes('replace');
    if (keeps && !at.takes('ignore')) return elsewhere(tokens);
    if (!at.takes('into') || !at.takes('todos')) return elsewhere(tokens);
    const ids = keeps ? idsOf(plan) : [];
    if (ids === null) return null;
    const existing = new Set(ids.map(toId));
    return inserted(at)?.filter(({ data }) => !existing.has(data.step)) ?? null;
  }
  if (at.takes('update')) return at.takes('todos') && at.takes('set') ? updated(at, plan) : elsewhere(tokens);
  if (at.takes('delete')) return at.takes('from') && at.takes('todos') ? deleted(at, plan) : elsewhere(tokens);
  const reads = at.takes('select') || at.takes('create') || at.takes('pragma') || at.takes('explain');
  return reads ? [] : elsewhere(tokens);
}

const touches = (tokens: readonly Token[]) => tokens.some(({ value }) => value.toLowerCase() === 'todos');
const elsewhere = (tokens: readonly Token[]) => (touches(tokens) ? null : []);

/** `(id, title, status) VALUES ('a', 'b', 'c'), (…)`. */
function inserted(at: Cursor): readonly StepChange[] | null {
  const columns = at.list((token) => (token.kind === 'sign' ? null : token.value.toLowerCase()));
  if (columns === null || !columns.includes('id') || !at.takes('values')) return null;
  const changes: StepChange[] = [];
  do {
    const values = at.list(({ kind, value }) => (kind === 'sign' ? null : value));
    if (values === null || values.length !== columns.length) return null;
    const row = new Map(columns.map((column, index) => [column, values[index]]));
    const id = row.get('id') ?? '';
    if (id === '') return null;
    changes.push(oneStep(id, { title: row.get('title') ?? id, status: row.get('status') ?? 'pending' }));
  } while (at.takes(','));
  return at.isAtEnd() ? changes : null;
}

/** `status = 'done', title = '…' WHERE id = 'a'`, or `id IN (…)`, or a status, or every row. */
function updated(at: Cursor, plan: Plan | null): readonly PlanChange[] | null {
  const set: { title?: string; status?: string } = {};
  do {
    const column = at.take()?.value.toLowerCase();
    const value = at.takes('=') ? at.take() : null;
    if (value === null || value === undefined || column === undefined) return null;
    if (column === 'title' || column === 'status') {
      if (value.kind !== 'text') return null;
      set[column] = value.value;
    } else if (column === 'id' || at.skipsCall() === null) return null;
  } while (at.takes(','));
  const ids = where(at, plan);
  if (ids === null) return null;
  return Object.keys(set).length === 0 ? [] : ids.map((id) => oneStep(id, set));
}

function deleted(at: Cursor, plan: Plan | null): readonly PlanChange[] | null {
  return where(at, plan)?.map((id) => oneStep(id, { status: 'deleted' })) ?? null;
}

/** The ids of the rows that a condition names. */
function where(at: Cursor, plan: Plan | null): readonly string[] | null {
  if (at.isAtEnd()) return idsOf(plan);
  if (!at.takes('where')) return null;
  const column = at.take()?.value.toLowerCase();
  const values = at.takes('=')
    ? [at.text()]
    : at.takes('in')
      ? at.list((it) => (it.kind === 'sign' ? null : it.value))
      : null;
  if (values === null || values.includes(null) || !at.isAtEnd()) return null;
  if (column === 'id') return values as string[];
  return column === 'status' ? idsOf(plan?.filter(({ status }) => values.includes(status)) ?? null) : null;
}

const idsOf = (plan: Plan | null) => plan?.map(({ step, title }) => step ?? toId(title)) ?? null;

// --- tokens ---------------------------------------------------------------------------------------------------

type Cursor = ReturnType<typeof cursor>;

function cursor(tokens: readonly Token[]) {
  let index = 0;
  const take = () => tokens[index++];
  const takes = (word: string) => {
    const next = tokens[index];
    if (next === undefined || next.kind === 'text' || next.value.toLowerCase() !== word) return false;
    index += 1;
    return true;
  };
  return {
    take,
    takes,
    isAtEnd: () => index >= tokens.length,
    text: () => {
      const next = take();
      return next === undefined || next.kind === 'sign' ? null : next.value;
    },
    /** `(a, b)`. Null: no list, or one with a token that `read` rejects. */
    list<Item>(read: (token: Token) => Item | null): Item[] | null {
      if (!takes('(')) return null;
      const items: Item[] = [];
      do {
        const next = take();
        const item = next === undefined ? null : read(next);
        if (item === null) return null;
        items.push(item);
      } while (takes(','));
      return takes(')') ? items : null;
    },
    /** Skips `('now')` of `datetime('now')`. Null: it does not end. */
    skipsCall(): true | null {
      if (!takes('(')) return true;
      while (index < tokens.length)
        if (takes(')')) return true;
        else index += 1;
      return null;
    },
  };
}

/** Quoted text (in which quotes are doubled), words and single signs, without comments. */
function statements(query: string): Token[][] {
  const found: Token[][] = [[]];
  for (const [whole, text, quoted, word] of query.matchAll(
    /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'((?:[^']|'')*)'|["`[]([\w ]+)["`\]]|([\w.-]+)|[^\s]/g,
  )) {
    if (whole.startsWith('--') || whole.startsWith('/*')) continue;
    if (whole === ';') found.push([]);
    else if (text !== undefined) found.at(-1)?.push({ kind: 'text', value: text.replaceAll("''", "'") });
    else if (quoted !== undefined || word !== undefined) found.at(-1)?.push({ kind: 'word', value: quoted ?? whole });
    else found.at(-1)?.push({ kind: 'sign', value: whole });
  }
  return found.filter((tokens) => tokens.length > 0);
}
