/** Programs that also run the hooks of Claude Code's settings (callers.ts), for `init` and `doctor`. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type Answer, ok, warn } from '../doctor/doctor.ts';
import type { HookedFile } from '../doctor/find-hooks.ts';
import { isPosted, type Line } from '../setup/line.ts';
import { findProgram, type LocalContext } from '../setup/local-context.ts';

type OtherProgram = {
  readonly title: string;
  /** It counts as installed if one of these names is on PATH, or if the home folder has the folder of its settings. */
  readonly binaries: readonly string[];
  readonly folder: string;
};

const otherPrograms: readonly OtherProgram[] = [
  { title: 'VS Code', binaries: ['code', 'code-insiders'], folder: '.vscode' },
  { title: 'Copilot', binaries: ['copilot'], folder: '.copilot' },
  { title: 'Cursor', binaries: ['cursor', 'cursor-agent'], folder: '.cursor' },
  { title: 'Devin CLI', binaries: ['devin'], folder: '.config/devin' },
  { title: 'Grok Build', binaries: ['grok'], folder: '.grok' },
];

const listTitles = (titles: readonly string[]): string =>
  titles.length < 2 ? titles.join('') : `${titles.slice(0, -1).join(', ')} and ${titles.at(-1)}`;

const everyTitle = listTitles(otherPrograms.map(({ title }) => title));
const page = 'docs/agents/side-by-side.md';

/** For the person who confirms `init`. */
export function describeOtherPrograms(line: Pick<Line, 'form'>): string {
  const text = `${everyTitle} also run the hooks in this file. They are judged in the same way, but Grok Build cannot be blocked`;
  const onlyStops = isPosted(line.form, { isStop: false })
    ? '; they run only commands, so use --form curl or --form command to record more than their stops'
    : '';
  return `${text}${onlyStops} (${page})`;
}

const isInstalled = ({ binaries, folder }: OtherProgram, { env, home }: LocalContext): boolean =>
  binaries.some((name) => findProgram(name, env) !== null) ||
  statSync(join(home, folder), { throwIfNoEntry: false })?.isDirectory() === true;

/** Names the programs that will run these hooks, and what they do not support. */
export function checkOtherPrograms({ file, hooks, scope }: HookedFile, places: LocalContext): Answer[] {
  // Plugins belong to Claude Code alone.
  if (scope === 'plugin') return [];
  const found = otherPrograms.filter((program) => isInstalled(program, places)).map(({ title }) => title);
  if (found.length === 0) return [ok(`${everyTitle} would run these hooks too, but none of them was found here`)];
  const isHttp = hooks.some(({ value }) => value.type === 'http');
  const text = `${listTitles(found)} ${found.length === 1 ? 'is' : 'are'} installed, and may run the hooks in ${file} too`;
  const exception = found.includes('Grok Build')
    ? '; the stops of Grok Build cannot be blocked, and are not judged'
    : '';
  if (!isHttp) return [ok(`${text}${exception}`)];
  return [
    warn(
      `${text}${exception}; they do not run hooks of type http, so their prompts and tools are not recorded`,
      `stopgate init claude${scope === 'user' ? ' --user' : ''} --form curl (see ${page})`,
    ),
  ];
}
