/**
 * A persona's day: lines of the pages, typed as they stand there, in a fresh folder, on the ports that the pages name.
 * That takes a network and processes of its own, which Linux gives to root; elsewhere it is skipped.
 */
import { spawnSync } from 'node:child_process';
import { dirname } from 'node:path';
import { runBash } from '../../support/bash.ts';
import { cleanEnv } from '../../support/command.ts';
import type { Folder } from '../../support/deployment.ts';
import { readPage } from '../../support/markdown.ts';
import { main } from '../../support/shipped.ts';

/** Ends all that was started, whatever happens. */
const alone = ['unshare', '--net', '--pid', '--fork', '--mount-proc', '--kill-child', 'bash'];
export const canBeAlone = spawnSync(alone[0] as string, [...alone.slice(1), '-c', 'ip link set lo up']).status === 0;
export const dayTimeoutMs = 300_000; // on a busy machine

/** `until`: it goes on in a terminal of its own, and the next line waits for this; `name`: by which it is ended. */
type Line = {
  readonly page: string;
  readonly line: string;
  readonly name?: string;
  readonly until?: string;
  /** What is typed after what stands in the page. */
  readonly more?: string;
};
export type Day = readonly Line[];
/** Not from a page: what happens meanwhile, or is waited for. `end NAME` is Ctrl-C in that terminal. */
export const own = (line: string): Line => ({ page: '', line });
export const on = (page: string, ...lines: readonly string[]): Line[] => lines.map((line) => ({ page, line }));
export const started = (page: string, name: string, line: string, until: string): Line => ({ page, line, name, until });

/** The lines that do not stand in their page. A page may say more on the line: an option, or what it is for. */
export const notInPages = (day: Day): Day =>
  day.filter(
    ({ page, line }) => page !== '' && !readPage(page).text.replaceAll('`stopgate ', '`npx stopgate ').includes(line),
  );

export type Lived = {
  readonly code: number;
  readonly printed: string;
  /** What each run of this line printed. */
  said(line: string): readonly string[];
};

/**
 * @param cwd where the lines are typed; under the folder, which is the home
 * @param places what the pages call these, and where they are
 * @param installed `npx` is npm's; else it stands for the build
 */
export async function live(
  day: Day,
  folder: Folder,
  { cwd = folder.path, places = {}, installed = false, env = {} }: LiveOptions = {},
): Promise<Lived> {
  const script = await folder.write('.day.sh', scriptOf(day, installed, places));
  const line = `timeout --kill-after=5 240 ${alone.join(' ')} ${script}`;
  const clean = cleanEnv(folder.path);
  const { code, printed } = await runBash(line, {
    ...{ cwd, env: { ...clean, PATH: `${dirname(process.execPath)}:${clean.PATH}`, ...env } },
  });
  return {
    ...{ code, printed },
    said: (typed) =>
      printed
        .split(/^\$ /m)
        .filter((it) => it.startsWith(`${typed}\n`))
        .map((it) => it.slice(typed.length + 1)),
  };
}
type LiveOptions = {
  readonly cwd?: string;
  readonly places?: Readonly<Record<string, string>>;
  readonly installed?: boolean;
  readonly env?: Readonly<Record<string, string>>;
};

function scriptOf(day: Day, installed: boolean, places: Readonly<Record<string, string>>): string {
  const typed = day.map(({ page, line, name, until, more = '' }) => {
    const shown = `printf '%s\\n' ${quote(`$ ${line}`)}`;
    const here = Object.entries(places).reduce((text, [from, to]) => text.replaceAll(from, to), line);
    if (page === '') return here;
    if (name === undefined) return `${shown}\n(set +e; ${here}${more}\n) || exit 1`;
    return `${shown}\n(${here}${more}) >>${name}.log 2>&1 & pids[${name}]=$!\nuntil ${until} >/dev/null 2>&1; do sleep 0.1; done`;
  });
  return [
    'set -em; ip link set lo up; declare -A pids',
    installed ? '' : `npx() { shift; ${quote(process.execPath)} ${quote(main)} "$@"; }`,
    `end() { kill -INT -- -"\${pids[$1]}"; wait "\${pids[$1]}" || true; }`,
    ...typed,
    `for name in "\${!pids[@]}"; do kill -INT -- -"\${pids[$name]}" 2>/dev/null || true; done; wait`,
  ].join('\n');
}
const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
