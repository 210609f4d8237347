/** The pages of the documentation, read as far as the tests need it: fences, tables, links, inline code. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

export const root = new URL('../..', import.meta.url).pathname;

export type Fence = {
  /** 1-based, of its first line of content. */
  readonly line: number;
  readonly lang: string;
  readonly text: string;
  /** What `<!-- not run: … -->` right before it gives as a reason; null: it is run. */
  readonly notRun: string | null;
};
/** A hidden step, from an HTML comment: `<!-- service -->`, or commands in `<!-- setup … -->`. */
export type Directive = { readonly line: number; readonly kind: 'service' | 'setup'; readonly text: string };
export type Table = { readonly line: number; readonly heading: string; readonly rows: readonly (readonly string[])[] };
export type Page = {
  /** From the root of the repository. */
  readonly path: string;
  readonly text: string;
  /** Fences and directives in the order of the page. */
  readonly steps: readonly (Fence | Directive)[];
  readonly fences: readonly Fence[];
  /** With its header row. `heading` is the last one before it. */
  readonly tables: readonly Table[];
  /** As GitHub makes them. */
  readonly anchors: ReadonlySet<string>;
  readonly links: readonly { readonly line: number; readonly target: string }[];
  /** `code spans` outside of fences. */
  readonly code: readonly { readonly line: number; readonly text: string }[];
};

const skipped = new Set(['node_modules', 'dist', '.git', '.stopgate']);

/** Every page of ours, from the root of the repository, sorted. */
export function pagePaths(): string[] {
  const walk = (folder: string): string[] =>
    readdirSync(folder, { withFileTypes: true }).flatMap((it) => {
      if (skipped.has(it.name)) return [];
      const path = join(folder, it.name);
      return it.isDirectory() ? walk(path) : it.name.endsWith('.md') ? [relative(root, path)] : [];
    });
  return walk(root).sort();
}

export const readPage = (path: string): Page => parsePage(path, readFileSync(join(root, path), 'utf8'));

function parsePage(path: string, text: string): Page {
  const steps: (Fence | Directive)[] = [];
  const tables: { line: number; heading: string; rows: string[][] }[] = [];
  const anchors = new Set<string>();
  const links: { line: number; target: string }[] = [];
  const code: { line: number; text: string }[] = [];
  const lines = text.split('\n');
  let notRun: string | null = null;
  let heading = '';
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] as string;
    const opening = /^(`{3,})(\w*)/.exec(line);
    if (opening !== null) {
      const [, marks = '', lang = ''] = opening;
      const end = lines.indexOf(marks, at + 1);
      if (end < 0) throw new Error(`${path}:${at + 1}: this fence has no end`);
      steps.push({ line: at + 2, lang, text: lines.slice(at + 1, end).join('\n'), notRun });
      notRun = null;
      at = end;
      continue;
    }
    const comment = /^<!-- (not run: |service\b|setup\b)(.*)$/.exec(line);
    if (comment !== null) {
      const end = lines.findIndex((it, index) => index >= at && it.endsWith('-->'));
      const body = [comment[2] ?? '', ...lines.slice(at + 1, end + 1)]
        .join('\n')
        .replace(/\s*-->$/, '')
        .trim();
      const kind = comment[1] as string;
      if (kind.startsWith('not run')) notRun = body;
      else steps.push({ line: at + 1, kind: kind as Directive['kind'], text: body });
      at = end;
      continue;
    }
    if (line.startsWith('|') && lines[at - 1]?.startsWith('|') !== true) {
      const rows = takeWhile(lines.slice(at), (it) => it.startsWith('|'));
      tables.push({ line: at + 1, heading, rows: rows.filter((it) => !/^\|[\s|:-]+\|$/.test(it)).map(cellsOf) });
    }
    const title = /^#+ (.*)$/.exec(line)?.[1];
    if (title !== undefined) {
      heading = title;
      anchors.add(anchorOf(title));
    }
    for (const [, link, picture] of line.matchAll(/\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"/g)) {
      links.push({ line: at + 1, target: link ?? picture ?? '' });
    }
    for (const [, , span = ''] of line.matchAll(/(`+)(.+?)\1(?!`)/g)) code.push({ line: at + 1, text: span.trim() });
  }
  const fences = steps.filter((it): it is Fence => 'lang' in it);
  return { path, text, steps, fences, tables, anchors, links, code };
}

/** What stands between the pipes; `\|` is a pipe. */
const cellsOf = (row: string): string[] =>
  row
    .slice(1, row.lastIndexOf('|'))
    .split(/(?<!\\)\|/)
    .map((cell) => cell.replaceAll('\\|', '|').trim());

const anchorOf = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(/\s/g, '-');

function takeWhile<Item>(items: readonly Item[], holds: (item: Item) => boolean): Item[] {
  const end = items.findIndex((item) => !holds(item));
  return items.slice(0, end < 0 ? undefined : end);
}

/** The `code spans` of a cell. */
export const spansIn = (cell: string): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, span = '']) => span);

/** @throws Error: the page has no table under this heading, or, with `first`, none whose header begins so */
export function tableUnder(page: Page, heading: string, first?: string): readonly (readonly string[])[] {
  const found = page.tables.find((it) => it.heading === heading && (first === undefined || it.rows[0]?.[0] === first));
  if (found === undefined) throw new Error(`${page.path} has no table under "${heading}"`);
  return found.rows.slice(1);
}
