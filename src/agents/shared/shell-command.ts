/**
 * Decides whether a shell command surely changes no file. That holds only for one simple command of a listed program.
 * Any other command may have changed any file: an unlisted program, an option that may write, or shell syntax that does
 * more than run one program.
 */
import { commandLengthMax } from '../../../machines/values/limits.ts';
import { hideSecrets } from './secrets.ts';
import { firstCodePoints } from './text.ts';

/** Limits the search for secrets, but lets it see a secret at the edge of the kept text completely. */
const searchedCodePointsMax = 10 * commandLengthMax;

/** Returns the part of a command that the log keeps: its beginning, with secrets hidden. */
export const shownCommand = (command: string): string =>
  firstCodePoints(hideSecrets(firstCodePoints(command.trim(), searchedCodePointsMax)), commandLengthMax);

/**
 * Reads a tool's command: a string, or a list of words. The list `["bash", "-lc", "…"]` runs its last word as a string.
 * Returns undefined if there is no command.
 */
export function commandIn(input: unknown): string | undefined {
  if (typeof input === 'string') return input.trim() === '' ? undefined : input;
  if (!Array.isArray(input) || input.length === 0 || !input.every((word) => typeof word === 'string')) return undefined;
  const words: readonly string[] = input;
  const [program = '', option = '', script] = words;
  const isShell = /(?:^|[\\/])(?:ba|z|da|k)?sh(?:\.exe)?$/.test(program) && /^-[a-z]*c$/.test(option);
  if (isShell && words.length === 3 && script !== undefined) return script;
  return words.map(quoted).join(' ');
}

const quoted = (word: string): string => (/^[\w./:@=,+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

/** `hasGlob` is true if the shell expands a word to file names, which might look like options. */
type SimpleCommand = { readonly words: readonly string[]; readonly hasGlob: boolean };

/** Returns null if the command is longer than 2,000 characters or uses shell syntax beyond words and plain quotes. */
function readSimple(command: string): SimpleCommand | null {
  const text = command.trim();
  if (text.length > 2_000 || /[\r\n\0]/.test(text)) return null;
  const words: string[] = [];
  let hasGlob = false;
  let index = 0;
  while (index < text.length) {
    if (text[index] === ' ' || text[index] === '\t') {
      index += 1;
      continue;
    }
    let word = '';
    while (index < text.length && text[index] !== ' ' && text[index] !== '\t') {
      const character = text[index] as string;
      if (character === "'") {
        const end = text.indexOf("'", index + 1);
        if (end < 0) return null;
        word += text.slice(index + 1, end);
        index = end + 1;
      } else if (character === '"') {
        const end = text.indexOf('"', index + 1);
        const inner = text.slice(index + 1, end);
        // Double quotes still allow variables and command substitution.
        if (end < 0 || /[$`\\!]/.test(inner)) return null;
        word += inner;
        index = end + 1;
      } else if (/[|&;<>()$`\\{}!#%]/.test(character) || (character === '~' && word === '')) return null;
      else {
        hasGlob ||= /[*?[]/.test(character);
        word += character;
        index += 1;
      }
    }
    words.push(word);
  }
  return words.length === 0 ? null : { words, hasGlob };
}

type Rule = (args: readonly string[]) => boolean;
const anyArguments: Rule = () => true;
/** Allows everything except these long options, or abbreviations of them, and short options with these letters. */
const without =
  (letters: string, ...long: readonly string[]): Rule =>
  (args) =>
    args.every((arg) => {
      if (arg.startsWith('--')) {
        const name = arg.split('=', 1)[0] as string;
        // GNU programs accept unique abbreviations of long options.
        return name === '--' || !long.some((option) => option.startsWith(name));
      }
      return !arg.startsWith('-') || ![...letters].some((letter) => arg.slice(1).includes(letter));
    });
/** Allows only these options, and any other arguments. */
const only =
  (...options: readonly string[]): Rule =>
  (args) =>
    args.every((arg) => !arg.startsWith('-') || options.includes(arg.split('=', 1)[0] as string));

/** Actions of `find` that run programs, delete or write. */
const findWrites = /^-(?:exec|execdir|ok|okdir|delete|fls|fprint|fprint0|fprintf)$/;

/**
 * Programs that only read, with the arguments for which that holds. These can run or write anything and must not be
 * added: `awk`, `sed` (`w`, `e`), `xargs`, `tee`, `env`, `sudo`, `time`, `less`, `more`, `man`, `vi`, `node`, `python`,
 * `make`, `npm`.
 */
const readers: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['cat', anyArguments],
  ['head', anyArguments],
  ['tail', anyArguments],
  ['wc', anyArguments],
  ['ls', anyArguments],
  ['pwd', anyArguments],
  ['cd', anyArguments],
  ['echo', anyArguments],
  ['printf', anyArguments],
  ['true', anyArguments],
  ['false', anyArguments],
  ['sleep', anyArguments],
  ['whoami', anyArguments],
  ['id', anyArguments],
  ['uname', anyArguments],
  ['which', anyArguments],
  ['basename', anyArguments],
  ['dirname', anyArguments],
  ['realpath', anyArguments],
  ['readlink', anyArguments],
  ['stat', anyArguments],
  ['du', anyArguments],
  ['df', anyArguments],
  ['cmp', anyArguments],
  ['comm', anyArguments],
  ['cut', anyArguments],
  ['grep', anyArguments],
  ['egrep', anyArguments],
  ['fgrep', anyArguments],
  // `--output` writes.
  ['diff', without('', '--output')],
  // `-o` writes, and `--compress-program` runs a program.
  ['sort', without('oT', '--output', '--compress-program', '--temporary-directory')],
  ['nl', anyArguments],
  ['tac', anyArguments],
  ['rev', anyArguments],
  ['md5sum', anyArguments],
  ['sha1sum', anyArguments],
  ['sha256sum', anyArguments],
  // `-o` writes, and `-R` writes with `-o`.
  ['tree', without('oR', '--output')],
  // `-C` compiles a magic file, `-z` runs programs.
  ['file', without('CzZ', '--compile', '--uncompress', '--uncompress-noreport')],
  // `-s` sets the clock.
  ['date', without('s', '--set')],
  // `--pre` and `--hostname-bin` run programs, `-z` runs unpackers.
  ['rg', without('z', '--pre', '--hostname-bin', '--search-zip')],
  ['find', (args) => !args.some((arg) => findWrites.test(arg))],
  ['git', readsGit],
]);

/** Subcommands of git that only read, with the arguments for which that holds. */
const gitReaders: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  // Some of these may run programs named by the repository's attributes, as may any use of git there.
  ['status', anyArguments],
  ['log', without('', '--output', '--ext-diff')],
  ['show', without('', '--output', '--ext-diff')],
  ['diff', without('', '--output', '--ext-diff')],
  ['blame', anyArguments],
  ['shortlog', without('', '--output')],
  ['rev-parse', anyArguments],
  ['rev-list', anyArguments],
  ['describe', anyArguments],
  ['ls-files', anyArguments],
  ['ls-tree', anyArguments],
  ['cat-file', without('', '--textconv', '--filters')],
  ['merge-base', anyArguments],
  ['name-rev', anyArguments],
  ['cherry', anyArguments],
  ['count-objects', anyArguments],
  // `-O` opens files in a pager.
  ['grep', without('O', '--open-files-in-pager')],
  // A name would create a branch, a tag or a remote.
  ['branch', onlyOptions('-a', '-r', '-v', '-vv', '--all', '--remotes', '--verbose', '--list', '--show-current')],
  ['tag', onlyOptions('-l', '--list')],
  ['remote', onlyOptions('-v', '--verbose')],
]);

function onlyOptions(...options: readonly string[]): Rule {
  const known = only(...options);
  return (args) => args.every((arg) => arg.startsWith('-')) && known(args);
}

/** Options before the subcommand may name a program to run (`-c core.pager=…`), so only harmless ones are accepted. */
function readsGit(args: readonly string[]): boolean {
  const index = args.findIndex((arg) => arg !== '--no-pager' && arg !== '-P');
  const rule = gitReaders.get(args[index] ?? '');
  return rule?.(args.slice(index + 1)) ?? false;
}

/** True if the command surely changes no file. */
export function isReadOnly(command: string): boolean {
  const simple = readSimple(command);
  if (simple === null) return false;
  const { words, hasGlob } = simple;
  // A path may name the agent's own program, and an assignment may change what a program loads. Neither is in the map.
  const rule = readers.get(words[0] as string);
  if (rule === undefined) return false;
  return rule === anyArguments || (!hasGlob && rule(words.slice(1)));
}
