/** Generates completion scripts for shells from the command table. */
import { AppError } from '../../../errors.ts';
import { type Arguments, type CommandTable, isOption, type Option } from '../../command.ts';

export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/** @throws AppError input.bad */
export function readShell(text: string): Shell {
  const shell = shells.find((each) => each === text);
  if (shell === undefined)
    throw new AppError('input.bad', `no completion for '${text}'; use one of: ${shells.join(', ')}`);
  return shell;
}

export const completionLists = ['workers', 'tasks', 'queues', 'policies', 'agents', 'contexts'] as const;
export type CompletionList = (typeof completionLists)[number];

const hints: Readonly<Record<string, CompletionList>> = {
  W: 'workers',
  WORKER: 'workers',
  T: 'tasks',
  TASK: 'tasks',
  Q: 'queues',
  P: 'policies',
  AGENT: 'agents',
  CONTEXT: 'contexts',
};
/** Returns the list that completes a value, by its hint in the help, or undefined if there is none. */
const listOf = (valueHint: string): CompletionList | undefined => hints[valueHint];

/** An option. `values` are its possible values, or their kind. */
type Completion = {
  readonly name: string;
  readonly description: string;
  readonly values: readonly string[] | CompletionList | 'file' | 'any' | 'none';
};
type Row = {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly Completion[];
  readonly words: readonly string[];
  /** The list that completes the first positional argument. */
  readonly list: CompletionList | undefined;
};

/** `npx stopgate` runs the installed package or, in a clone of this repository, the clone. */
const installed = 'node_modules/.bin/stopgate';
const cloned = 'bin/stopgate.js';
const isClone = `command grep -qs '^  "name": "stopgate"' package.json`;
const findNpxProgram = `_stopgate_found() {
  if [ -x ${installed} ]; then printf '%s' ${installed}
  elif [ -x ${cloned} ] && ${isClone}; then printf '%s' ${cloned}
  else return 1; fi
}`;

const isList = (values: Completion['values']): values is CompletionList =>
  completionLists.some((list) => list === values);

export async function formatCompletion(shell: Shell, commands: CommandTable): Promise<string> {
  const rows = await Promise.all(
    Object.entries(commands).map(async ([name, { summary, load }]): Promise<Row> => {
      const { args } = await load();
      const [first] = Object.values(args).filter((arg) => !isOption(arg));
      const completions = first?.type === 'word' ? first.completions : undefined;
      const words = completions ?? (takesFile(args) ? ['<file>'] : []);
      const list = completions === undefined && first?.type === 'word' ? listOf(first.valueHint) : undefined;
      const options = Object.entries(args).flatMap(([option, arg]) =>
        isOption(arg) ? [toCompletion(option, arg)] : [],
      );
      return { name, summary, options, words, list };
    }),
  );
  return { bash: formatBash, zsh: formatZsh, fish: formatFish }[shell](rows);
}

const takesFile = (args: Arguments): boolean =>
  Object.values(args).some((arg) => !isOption(arg) && arg.valueHint.includes('FILE'));

function toCompletion(name: string, option: Option): Completion {
  const { description } = option;
  if (option.type === 'choice') return { name, description, values: option.options };
  if (option.type === 'flag') return { name, description, values: 'none' };
  const { valueHint } = option;
  return { name, description, values: listOf(valueHint) ?? (/^(FILE|DIR)/.test(valueHint) ? 'file' : 'any') };
}

function formatBash(rows: readonly Row[]): string {
  const cases = rows.map(({ name, options, words, list: first }) => {
    const list = [
      ...options.map((option) => `--${option.name}`),
      '--help',
      ...words.filter((word) => word !== '<file>'),
    ];
    return `    ${name}) words="${list.join(' ')}"${first === undefined ? '' : ` first=${first}`} ;;`;
  });
  const valueCases = casesOf(rows).flatMap(({ pattern, values }) => {
    if (values === 'none') return [];
    if (isList(values)) return [`    ${pattern}) _stopgate_complete ${values}; return ;;`];
    const reply = (given: string) => [`    ${pattern}) COMPREPLY=(${given}); return ;;`];
    if (values === 'file') return reply('$(compgen -f -- "$cur")');
    return reply(values === 'any' ? '' : `$(compgen -W "${values.join(' ')}" -- "$cur")`);
  });
  return `# stopgate completion for bash: eval "$(stopgate completion bash)"
_stopgate_list() {
  "\${COMP_WORDS[0]/#\\~/$HOME}" completion --list "$1" 2>/dev/null
}
# Not compgen -W, which would execute substitutions in a value.
_stopgate_complete() {
  local value
  while IFS= read -r value; do
    case "$value" in "$cur"*) COMPREPLY[\${#COMPREPLY[@]}]="$value" ;; esac
  done < <(_stopgate_list "$1")
}
_stopgate() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" words first
  COMPREPLY=()
  case "\${COMP_WORDS[1]} $prev" in
${valueCases.join('\n')}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${[...rows.map((row) => row.name), 'help'].join(' ')} --help --version" -- "$cur"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
    help) words="${rows.map((row) => row.name).join(' ')}" ;;
  esac
  if [ -n "$first" ] && [ "$COMP_CWORD" -eq 2 ] && [ "\${cur#-}" = "$cur" ]; then
    _stopgate_complete "$first"
    return
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
${findNpxProgram}
_stopgate_npx() {
  local found
  [ "\${COMP_WORDS[1]}" = stopgate ] && [ "$COMP_CWORD" -gt 1 ] && found=$(_stopgate_found) || return 0
  COMP_WORDS=("$found" "\${COMP_WORDS[@]:2}")
  COMP_CWORD=$((COMP_CWORD - 1))
  _stopgate
}
complete -o default -F _stopgate stopgate
complete -p npx >/dev/null 2>&1 || complete -o default -F _stopgate_npx npx
`;
}

/** Returns the values of each option: one entry for all commands, or one per command if they differ. */
function casesOf(rows: readonly Row[]): { pattern: string; values: Completion['values'] }[] {
  const all = rows.flatMap(({ name, options }) => options.map((option) => ({ command: name, ...option })));
  return [...new Set(all.map(({ name }) => name))].flatMap((name) => {
    const uses = all.filter((use) => use.name === name);
    const kinds = new Set(uses.map(({ values }) => String(values)));
    const [first] = uses;
    if (kinds.size === 1 && first !== undefined) return [{ pattern: `*' --${name}'`, values: first.values }];
    return uses.map(({ command, values }) => ({ pattern: `'${command} --${name}'`, values }));
  });
}

function formatZsh(rows: readonly Row[]): string {
  const cases = rows.map(({ name, options, words, list }) => {
    const specs = options.map(({ name: option, description, values }) => {
      const action = { file: ':file:_files', any: ':value: ', none: '' };
      const value = isList(values)
        ? `:value:{_stopgate_list ${values}}`
        : typeof values === 'string'
          ? action[values]
          : `:value:(${values.join(' ')})`;
      return `'--${option}${value === '' ? '' : '='}[${zshText(description)}]${value}'`;
    });
    const first = list === undefined ? [] : [`'1:${list.slice(0, -1)}:{_stopgate_list ${list}}'`];
    const rest = words.includes('<file>')
      ? ["'*:file:_files'"]
      : words.length > 0
        ? [`'1: :(${words.join(' ')})'`]
        : first;
    return `    ${name}) _arguments ${[...specs, "'--help[show help]'", ...rest].join(' ')} ;;`;
  });
  return `#compdef stopgate
# stopgate completion for zsh: source <(stopgate completion zsh)
_stopgate_list() {
  local -a values
  values=(\${(f)"$(\${~_stopgate_program:-stopgate} completion --list $1 2>/dev/null)"})
  (( $#values )) && compadd -a values
}
_stopgate() {
  local _stopgate_program="\${_stopgate_program:-$words[1]}"
  local -a commands
  commands=(
${rows.map(({ name, summary }) => `    '${name}:${zshText(summary)}'`).join('\n')}
    'help:show the help of a command'
  )
  if (( CURRENT == 2 )); then
    if [[ $words[2] == -* ]]; then
      compadd -- --help --version
    else
      _describe 'command' commands
    fi
    return
  fi
  local command="$words[2]"
  shift words
  (( CURRENT-- ))
  case "$command" in
${cases.join('\n')}
    help) _describe 'command' commands ;;
  esac
}
${findNpxProgram}
_stopgate_npx() {
  local _stopgate_program
  if [[ $words[2] == stopgate && CURRENT -gt 2 ]] && _stopgate_program=$(_stopgate_found); then
    shift words
    (( CURRENT-- ))
    _stopgate
  else
    _default
  fi
}
compdef _stopgate stopgate
(( $+_comps[npx] )) || compdef _stopgate_npx npx
`;
}

const zshText = (text: string): string => text.replace(/'/g, "'\\''").replace(/[[\]:]/g, '\\$&');

function formatFish(rows: readonly Row[]): string {
  const quote = (text: string) => `'${text.replace(/\\/g, '\\\\').replace(/'/g, "\\'")}'`;
  const listed = (list: CompletionList) => quote(`(__stopgate_list ${list})`);
  const lines = rows.flatMap(({ name, summary, options, words, list }) => {
    const here = `complete -c stopgate -n '__stopgate_in ${name}'`;
    const first = `complete -c stopgate -n '__stopgate_in ${name}; and __stopgate_words 2' -f -a`;
    return [
      `complete -c stopgate -n '__stopgate_words 1' -f -a ${name} -d ${quote(summary)}`,
      `complete -c stopgate -n '__stopgate_in help' -f -a ${name} -d ${quote(summary)}`,
      ...options.map(({ name: option, description, values }) => {
        const value = { file: ' -r -F', any: ' -x', none: ' -f' };
        const takes = isList(values)
          ? ` -x -a ${listed(values)}`
          : typeof values === 'string'
            ? value[values]
            : ` -x -a ${quote(values.join(' '))}`;
        return `${here} -l ${option}${takes} -d ${quote(description)}`;
      }),
      ...(list === undefined ? [] : [`${first} ${listed(list)}`]),
      ...(words.includes('<file>') ? [] : [`${here} -f`]),
      ...(words.includes('<file>') || words.length === 0 ? [] : [`${first} ${quote(words.join(' '))}`]),
    ];
  });
  return `# stopgate completion for fish: stopgate completion fish | source
function __stopgate_words
  test (count (commandline -opc)) -eq $argv[1]
end
function __stopgate_in
  set -l words (commandline -opc)
  test (count $words) -gt 1; and test $words[2] = $argv[1]
end
function __stopgate_list
  set -q __stopgate_program; or set -l __stopgate_program stopgate
  $__stopgate_program completion --list $argv[1] 2>/dev/null
end
function __stopgate_found
  if test -x ${installed}
    echo ${installed}
  else if test -x ${cloned}; and ${isClone}
    echo ${cloned}
  else
    return 1
  end
end
function __stopgate_in_npx
  set -l words (commandline -opc)
  test (count $words) -gt 1; and test $words[2] = stopgate; and __stopgate_found >/dev/null
end
function __stopgate_npx
  set -l words (commandline -opc)
  set -g __stopgate_program (__stopgate_found)
  complete -C (string join ' ' -- (string escape -- $words[2..-1]) (commandline -ct))
  set -e __stopgate_program
end
complete -c stopgate -f -l help -d 'show help'
complete -c stopgate -n '__stopgate_words 1' -f -l version -d 'print the version'
complete -c stopgate -n '__stopgate_words 1' -f -a help -d 'show the help of a command'
complete -c npx -n __stopgate_in_npx -f -a '(__stopgate_npx)'
${lines.join('\n')}
`;
}
