/**
 * Tells whether a shell command leaves every file as it is. Only a single simple command of a short list of programs that
 * read counts as such. Everything else may have changed any file: a program that is not listed, an option that is not
 * known to be harmless where a program has harmful ones, and every sign by which a shell does more than run one program.
 */
import { commandLengthMax } from '../../../machines/values/limits.ts';
import { hideSecrets } from './secrets.ts';
import { firstCodePoints } from './text.ts';

/** A search for secrets takes time, and a secret at the edge of what is kept must still be seen whole. */
const searchedCodePointsMax = 10 * commandLengthMax;

/** What the log keeps of a command: its beginning says what ran. Values in the usual shapes of secrets are hidden. */
export const shownCommand = (command: string): string =>
  firstCodePoints(hideSecrets(firstCodePoints(command.trim(), searchedCodePointsMax)), commandLengthMax);

/**
 * Reads a command as tools are given it: a text, or a list of words, of which `["bash", "-lc", "…"]` runs a text.
 * Undefined: there is none.
 */
export function commandIn(given: unknown): string | undefined {
  if (typeof given === 'string') return given.trim() === '' ? undefined : given;
  if (!Array.isArray(given) || given.length === 0 || !given.every((word) => typeof word === 'string')) return undefined;
  const words: readonly string[] = given;
  const [program = '', option = '', script] = words;
  const isShell = /(?:^|[\\/])(?:ba|z|da|k)?sh(?:\.exe)?$/.test(program) && /^-[a-z]*c$/.test(option);
  if (isShell && words.length === 3 && script !== undefined) return script;
  return words.map(quoted).join(' ');
}

const quoted = (word: string): string => (/^[\w./:@=,+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`);

/** `hasGlob`: a shell replaces a word by the names of files, and a name may be an option. */
type SimpleCommand = { readonly words: readonly string[]; readonly hasGlob: boolean };

/** Null: a shell does more with it than run one program with these words, or it is too long to be looked at. */
function readSimple(command: string): SimpleCommand | null {
  const text = command.trim();
  if (text.length > 2_000 || /[\r\n\0]/.test(text)) return null;
  const words: string[] = [];
  let hasGlob = false;
  let at = 0;
  while (at < text.length) {
    if (text[at] === ' ' || text[at] === '\t') {
      at += 1;
      continue;
    }
    let word = '';
    while (at < text.length && text[at] !== ' ' && text[at] !== '\t') {
      const sign = text[at] as string;
      if (sign === "'") {
        const end = text.indexOf("'", at + 1);
        if (end < 0) return null;
        word += text.slice(at + 1, end);
        at = end + 1;
      } else if (sign === '"') {
        const end = text.indexOf('"', at + 1);
        const inner = text.slice(at + 1, end);
        // Within these quotes a shell still replaces variables and runs commands.
        if (end < 0 || /[$`\\!]/.test(inner)) return null;
        word += inner;
        at = end + 1;
      } else if (/[|&;<>()$`\\{}!#%]/.test(sign) || (sign === '~' && word === '')) return null;
      else {
        hasGlob ||= /[*?[]/.test(sign);
        word += sign;
        at += 1;
      }
    }
    words.push(word);
  }
  return words.length === 0 ? null : { words, hasGlob };
}

type Rule = (args: readonly string[]) => boolean;
const anyArguments: Rule = () => true;
/** No argument is one of these, begins one of these long options, or has one of these letters among its short ones. */
const without =
  (letters: string, ...long: readonly string[]): Rule =>
  (args) =>
    args.every((arg) => {
      if (arg.startsWith('--')) {
        const name = arg.split('=', 1)[0] as string;
        // An option may be shortened, as long as it is unique.
        return name === '--' || !long.some((it) => it.startsWith(name));
      }
      return !arg.startsWith('-') || ![...letters].some((letter) => arg.slice(1).includes(letter));
    });
/** Every option is one of these; arguments that are no options may be anything. */
const only =
  (...options: readonly string[]): Rule =>
  (args) =>
    args.every((arg) => !arg.startsWith('-') || options.includes(arg.split('=', 1)[0] as string));

/** `find` runs, deletes and writes with these. */
const findWrites = /^-(?:exec|execdir|ok|okdir|delete|fls|fprint|fprint0|fprintf)$/;

/**
 * Programs that only read, with what their arguments must not be. Not here, for they can run or write anything: `awk`,
 * `sed` (`w`, `e`), `xargs`, `tee`, `env`, `sudo`, `time`, `less`, `more`, `man`, `vi`, `node`, `python`, `make`, `npm`.
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
  // `-o` writes, and `-R` changes what is read.
  ['tree', without('oR', '--output')],
  // `-C` makes a file of magic, `-z` runs programs.
  ['file', without('CzZ', '--compile', '--uncompress', '--uncompress-noreport')],
  // `-s` sets the clock.
  ['date', without('s', '--set')],
  // `--pre` and `--hostname-bin` run programs, `-z` runs unpackers.
  ['rg', without('z', '--pre', '--hostname-bin', '--search-zip')],
  ['find', (args) => !args.some((arg) => findWrites.test(arg))],
  ['git', readsGit],
]);

/** Subcommands of git that only read, whatever they are given, but for an option that writes or runs a program. */
const gitReaders: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  // These may run the programs that a repository's attributes name, as any use of git in that repository may.
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
  // A name would make a branch, a tag or a remote.
  ['branch', onlyOptions('-a', '-r', '-v', '-vv', '--all', '--remotes', '--verbose', '--list', '--show-current')],
  ['tag', onlyOptions('-l', '--list')],
  ['remote', onlyOptions('-v', '--verbose')],
]);

function onlyOptions(...options: readonly string[]): Rule {
  const known = only(...options);
  return (args) => args.every((arg) => arg.startsWith('-')) && known(args);
}

/** Options before the subcommand may name a program to run (`-c core.pager=…`), so only the harmless are known. */
function readsGit(args: readonly string[]): boolean {
  const at = args.findIndex((arg) => arg !== '--no-pager' && arg !== '-P');
  const rule = gitReaders.get(args[at] ?? '');
  return rule?.(args.slice(at + 1)) ?? false;
}

/** Does this command surely leave every file as it is? */
export function isReadOnly(command: string): boolean {
  const simple = readSimple(command);
  if (simple === null) return false;
  const { words, hasGlob } = simple;
  // A program by its path may be one of the agent's own, and an assignment may change what a program loads.
  const rule = readers.get(words[0] as string);
  if (rule === undefined) return false;
  return rule === anyArguments || (!hasGlob && rule(words.slice(1)));
}
