/** Links, sections, files, commands and options that pages mention exist. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Command } from '../../../src/cli/command.ts';
import { commands } from '../../../src/cli/command-table.ts';
import { type Page, pagePaths, readPage, root } from '../../support/markdown.ts';

const pages = pagePaths().map(readPage);
const scripts = (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> })
  .scripts;
const docs = pages.filter(({ path }) => path.startsWith('docs/'));
const given = new Map<string, Command>();
for (const [name, { load }] of Object.entries(commands)) given.set(name, await load());

test('every page of docs can be reached from README', () => {
  const reached = new Set(['README.md']);
  for (const path of reached) {
    for (const { target } of readPage(path).links) {
      const place = placeOf(path, target)?.path;
      if (place?.endsWith('.md') && existsSync(join(root, place))) reached.add(place);
    }
  }
  expect(docs.map(({ path }) => path).filter((path) => !reached.has(path))).toEqual([]);
});

test('docs/architecture.md lists every module', () => {
  const fence = readPage('docs/architecture.md').fences.find(({ text }) => text.startsWith('machines/ '));
  const listed = (fence?.text ?? '').split('\n').flatMap((line) => {
    const [, indent = '', names = ''] = /^(\s*)((?:[\w-]+\/ ?)+)/.exec(line) ?? [];
    return names.split(/ |\//).flatMap((name) => (name === '' ? [] : [{ name, isModule: indent !== '' }]));
  });
  const folders = listed.filter(({ isModule }) => !isModule).map(({ name }) => name);
  const there = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { withFileTypes: true }).filter((it) => it.isDirectory() && it.name !== 'support'),
  );
  expect(
    listed
      .filter(({ isModule }) => isModule)
      .map(({ name }) => name)
      .sort(),
  ).toEqual(there.map(({ name }) => name).sort());
});

test.each(docs.map(({ path, text }) => [path, text] as const))('%s begins with its purpose', (_path, text) => {
  const introduction = introductionOf(text);
  expect(introduction).toMatch(/^[\w`[(]/);
  expect(sentencesIn(introduction)).toBeGreaterThanOrEqual(1);
  expect(sentencesIn(introduction)).toBeLessThanOrEqual(2);
  // llms.txt quotes the first sentence, and a colon ends it.
  expect(introduction).not.toMatch(/^[^.]*:\s/);
});

describe.each(pages.map((page) => [page.path, page] as const))('%s', (_path, page) => {
  test('its links have targets', () => {
    expect(page.links.filter(({ target }) => isBroken(page.path, target))).toEqual([]);
  });

  test('its files exist', () => {
    expect(filesNamedIn(page).filter(({ path }) => !existsSync(join(root, path)))).toEqual([]);
  });

  test('its commands and options exist', () => {
    const wrong = commandsNamedIn(page).flatMap(({ line, text }) => {
      const fault = faultOf(text);
      return fault === null ? [] : [`${page.path}:${line}: ${fault}`];
    });
    expect(wrong).toEqual([]);
  });
});

test('pages and sections that the code mentions exist', () => {
  const missing = sources().flatMap((path) => {
    const text = commentsOf(readFileSync(join(root, path), 'utf8'));
    const named = [...text.matchAll(/\bdocs\/[\w./-]*\.md\b/g)].map(([file]) => file);
    const sections = [...text.matchAll(/\bprotocol(?:\.md)? §(\d+)/g)].map(([, section = '']) => section);
    return [
      ...named.filter((file) => !existsSync(join(root, file))).map((file) => `${path}: ${file}`),
      ...sections.filter((section) => !protocolSections.has(section)).map((section) => `${path}: protocol §${section}`),
    ];
  });
  expect(missing).toEqual([]);
});

const protocolSections = new Set(
  [...readPage('docs/protocol.md').text.matchAll(/^## (\d+)\. /gm)].map(([, number = '']) => number),
);

/** The block after the title. */
const introductionOf = (text: string): string => /^# .+\n\n((?:.+\n)+)/.exec(text)?.[1]?.trim() ?? '';

/** Counts sentences. Dots in code spans and link targets do not count. */
const sentencesIn = (paragraph: string): number =>
  paragraph.replaceAll(/`[^`]*`|\]\([^)]*\)/g, '_').match(/[.!?](?=\s|$)/g)?.length ?? 0;

function placeOf(from: string, target: string): { path: string; anchor: string } | null {
  if (/^[a-z]+:/.test(target)) return null;
  const [file = '', anchor = ''] = target.split('#');
  return { path: file === '' ? from : relative(root, join(root, dirname(from), file)), anchor };
}

function isBroken(from: string, target: string): boolean {
  const place = placeOf(from, target);
  if (place === null) return false;
  if (!existsSync(join(root, place.path))) return true;
  return place.anchor !== '' && !readPage(place.path).anchors.has(place.anchor);
}

/** Paths of this repository, in code spans and fences. `*` and `…` match any name. */
function filesNamedIn({ text }: Page): { line: number; path: string }[] {
  return text.split('\n').flatMap((line, index) =>
    [...line.matchAll(/(?<![\w./@~-])((?:src|machines|test|docker|docs|plugins|\.ci)\/[\w./*…<-]*)/g)]
      .map(([, path = '']) => path.replace(/[.,/]+$/, ''))
      .filter((path) => !/[*…<]/.test(path))
      .map((path) => ({ line: index + 1, path })),
  );
}

/** Returns `stopgate …`, `npx stopgate …` and `npm run …` in spans and in commands that no test runs. */
function commandsNamedIn({ code, fences }: Page): { line: number; text: string }[] {
  const typed = fences
    .filter(({ lang, notRun }) => notRun !== null && (lang === 'sh' || lang === 'console'))
    .flatMap(({ line, text }) =>
      text.split('\n').map((each, index) => ({ line: line + index, text: each.replace(/^\$ /, '') })),
    );
  return [...code, ...typed].filter(({ text }) => /^(npx )?stopgate |^npm (run|start|test)/.test(text));
}

/** Returns the error in a command, or null if it exists with these options. */
function faultOf(text: string): string | null {
  const [first = '', second = '', third = ''] = text.split(/\s+/);
  if (first === 'npm') {
    const script = second === 'run' ? third : second;
    return script in scripts ? null : `there is no script '${script}'`;
  }
  const words = text
    .replace(/^npx /, '')
    .replace(/\s+# .*$/, '')
    .replaceAll(/'[^']*'|"[^"]*"/g, 'X')
    .split(/\s+/);
  const [, name = ''] = words;
  const command = given.get(name);
  if (name.startsWith('-') || name === '<command>' || name === '…') return null;
  if (command === undefined) return `there is no command '${name}'`;
  const options = words.filter((word) => word.startsWith('--')).map((word) => word.slice(2).split('=')[0] ?? '');
  const unknown = options.find((option) => option !== '' && option !== 'help' && !(option in command.args));
  return unknown === undefined ? null : `'${name}' has no option '--${unknown}'`;
}

/** Only messages of the code, because tests have files with those names too. */
const commentsOf = (text: string): string =>
  text
    .split('\n')
    .filter((line) => /^\s*(\*|\/\/|\/\*|#)|\s\/\/ /.test(line))
    .join('\n');

function sources(): string[] {
  const walk = (folder: string): string[] =>
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap((it) => {
      const path = join(folder, it.name);
      return it.isDirectory() ? walk(path) : /\.(ts|tsx|sh|json|ya?ml)$/.test(it.name) ? [path] : [];
    });
  return ['machines', 'src', 'test', 'docker', 'plugins'].flatMap(walk);
}
