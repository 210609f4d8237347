/**
 * Reads Copilot CLI's plan. Each session keeps its steps in an SQL table `todos (id, title, status)`. Hook calls
 * contain the statements, not their results. Simple statements are parsed here. After any other statement that writes
 * to the table, the plan is unknown and the adapter adds a note.
 */
import type { Plan } from '../../../machines/index.ts';
import { type PlanChange, stepUpdate } from '../shared/plan-entry.ts';
import { toId } from '../shared/text.ts';

/** `unread` is true if a statement may have changed the plan in a way that we cannot parse. */
export type PlanReading = { readonly changes: readonly PlanChange[]; readonly unread: boolean };

type StepChange = Extract<PlanChange, { type: 'step.updated' }>;

const queryCharsMax = 100_000;
const changesMax = 200;
type Token = { readonly kind: 'word' | 'text' | 'sign'; readonly value: string };

/** @param plan null if unknown. Statements that do not name their steps then cannot be read. */
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

/** Returns null if the statement writes to `todos` in a form that is not parsed here. */
function readStatement(tokens: readonly Token[], plan: Plan | null): readonly PlanChange[] | null {
  const cursor = createCursor(tokens);
  if (cursor.takes('insert')) {
    const keepsExisting = cursor.takes('or') && !cursor.takes('replace');
    if (keepsExisting && !cursor.takes('ignore')) return unparsed(tokens);
    if (!cursor.takes('into') || !cursor.takes('todos')) return unparsed(tokens);
    const ids = keepsExisting ? idsOf(plan) : [];
    if (ids === null) return null;
    const existing = new Set(ids.map(toId));
    return readInsert(cursor)?.filter(({ data }) => !existing.has(data.step)) ?? null;
  }
  if (cursor.takes('update'))
    return cursor.takes('todos') && cursor.takes('set') ? readUpdate(cursor, plan) : unparsed(tokens);
  if (cursor.takes('delete'))
    return cursor.takes('from') && cursor.takes('todos') ? readDelete(cursor, plan) : unparsed(tokens);
  const isRead = ['select', 'create', 'pragma', 'explain'].some((word) => cursor.takes(word));
  return isRead ? [] : unparsed(tokens);
}

/** An unparsed statement changes nothing unless it names the table. */
const unparsed = (tokens: readonly Token[]) =>
  tokens.some(({ value }) => value.toLowerCase() === 'todos') ? null : [];

/** Reads `(id, title, status) VALUES ('a', 'b', 'c'), (…)`. */
function readInsert(cursor: Cursor): readonly StepChange[] | null {
  const columns = cursor.list((token) => (token.kind === 'sign' ? null : token.value.toLowerCase()));
  if (columns === null || !columns.includes('id') || !cursor.takes('values')) return null;
  const changes: StepChange[] = [];
  do {
    const values = cursor.list(({ kind, value }) => (kind === 'sign' ? null : value));
    if (values === null || values.length !== columns.length) return null;
    const row = new Map(columns.map((column, index) => [column, values[index]]));
    const id = row.get('id') ?? '';
    if (id === '') return null;
    changes.push(stepUpdate(id, { title: row.get('title') ?? id, status: row.get('status') ?? 'pending' }));
  } while (cursor.takes(','));
  return cursor.isAtEnd() ? changes : null;
}

/**
 * Reads `status = 'done', title = '…' WHERE id = 'a'`. The condition may also be `id IN (…)`, a status, or missing.
 */
function readUpdate(cursor: Cursor, plan: Plan | null): readonly PlanChange[] | null {
  const set: { title?: string; status?: string } = {};
  do {
    const column = cursor.take()?.value.toLowerCase();
    const value = cursor.takes('=') ? cursor.take() : null;
    if (value === null || value === undefined || column === undefined) return null;
    if (column === 'title' || column === 'status') {
      if (value.kind !== 'text') return null;
      set[column] = value.value;
    } else if (column === 'id' || !cursor.skipArguments()) return null;
  } while (cursor.takes(','));
  const ids = readCondition(cursor, plan);
  if (ids === null) return null;
  return Object.keys(set).length === 0 ? [] : ids.map((id) => stepUpdate(id, set));
}

function readDelete(cursor: Cursor, plan: Plan | null): readonly PlanChange[] | null {
  return readCondition(cursor, plan)?.map((id) => stepUpdate(id, { status: 'deleted' })) ?? null;
}

/** The ids of the rows that match the WHERE clause. Null if it cannot be parsed. */
function readCondition(cursor: Cursor, plan: Plan | null): readonly string[] | null {
  if (cursor.isAtEnd()) return idsOf(plan);
  if (!cursor.takes('where')) return null;
  const column = cursor.take()?.value.toLowerCase();
  const values = cursor.takes('=')
    ? [cursor.text()]
    : cursor.takes('in')
      ? cursor.list(({ kind, value }) => (kind === 'sign' ? null : value))
      : null;
  if (values === null || values.includes(null) || !cursor.isAtEnd()) return null;
  if (column === 'id') return values as string[];
  return column === 'status' ? idsOf(plan?.filter(({ status }) => values.includes(status)) ?? null) : null;
}

const idsOf = (plan: Plan | null) => plan?.map(({ step, title }) => step ?? toId(title)) ?? null;

// --- tokens ---------------------------------------------------------------------------------------------------

type Cursor = ReturnType<typeof createCursor>;

function createCursor(tokens: readonly Token[]) {
  let index = 0;
  const take = () => tokens[index++];
  /** Advances and returns true if the next token is this word or sign. */
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
    /** Reads `(a, b)`. Returns null if there is no list or `read` rejects a token. */
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
    /** Skips `('now')` in `datetime('now')`, if present. Returns false if the closing parenthesis is missing. */
    skipArguments(): boolean {
      if (!takes('(')) return true;
      while (index < tokens.length)
        if (takes(')')) return true;
        else index += 1;
      return false;
    },
  };
}

/**
 * Splits a query into statements of tokens: quoted texts (with doubled quotes), words and signs. Comments are dropped.
 */
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
