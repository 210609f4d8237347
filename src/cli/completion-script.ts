/** Completion scripts for shells, made of the command table: what is new there is completed at once. */

import { AppError } from '../errors.ts';
import { type Arguments, type Option, optionsOf, positionalsOf } from './argument-types.ts';
import type { CommandTable } from './command.ts';

const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/** @throws AppError input.bad */
export function readShell(text: string): Shell {
  const shell = shells.find((each) => each === text);
  if (shell === undefined)
    throw new AppError('input.bad', `there is no completion for '${text}'; these are: ${shells.join(', ')}`);
  return shell;
}

/** `values`: those that it takes, or what kind they are. */
type Completion = {
  readonly name: string;
  readonly description: string;
  readonly values: readonly string[] | 'file' | 'any' | 'none';
};
type Row = {
  readonly name: string;
  readonly summary: string;
  readonly options: readonly Completion[];
  readonly words: readonly string[];
};

export async function formatCompletion(shell: Shell, commands: CommandTable): Promise<string> {
  const rows = await Promise.all(
    Object.entries(commands).map(async ([name, { summary, load }]): Promise<Row> => {
      const { args } = await load();
      const words = name === 'completion' ? shells : takesFile(args) ? ['<file>'] : [];
      return { name, summary, options: optionsOf(args).map(toCompletion), words };
    }),
  );
  return { bash: formatBash, zsh: formatZsh, fish: formatFish }[shell](rows);
}

const takesFile = (args: Arguments): boolean =>
  positionalsOf(args).some(([, { valueHint }]) => valueHint?.includes('FILE') === true);

function toCompletion([name, option]: readonly [string, Option]): Completion {
  const { type, description, valueHint = '' } = option;
  if (type === 'enum') return { name, description, values: option.options };
  if (type === 'boolean') return { name, description, values: 'none' };
  return { name, description, values: /^(FILE|DIR)/.test(valueHint) ? 'file' : 'any' };
}

function formatBash(rows: readonly Row[]): string {
  const cases = rows.map(({ name, options, words }) => {
    const list = [
      ...options.map((option) => `--${option.name}`),
      '--help',
      ...words.filter((word) => word !== '<file>'),
    ];
    return `    ${name}) words="${list.join(' ')}" ;;`;
  });
  const values = new Map(rows.flatMap(({ options }) => options).map((option) => [option.name, option.values]));
  const valueCases = [...values].flatMap(([name, value]) => {
    if (value === 'none') return [];
    if (value === 'file') return [`    --${name}) COMPREPLY=($(compgen -f -- "$cur")); return ;;`];
    return [
      `    --${name}) COMPREPLY=(${value === 'any' ? '' : `$(compgen -W "${value.join(' ')}" -- "$cur")`}); return ;;`,
    ];
  });
  return `# stopgate completion for bash: eval "$(stopgate completion bash)"
_stopgate() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" words
  COMPREPLY=()
  case "$prev" in
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
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _stopgate stopgate
`;
}

function formatZsh(rows: readonly Row[]): string {
  const cases = rows.map(({ name, options, words }) => {
    const specs = options.map(({ name: option, description, values }) => {
      const action = { file: ':file:_files', any: ':value: ', none: '' };
      const value = typeof values === 'string' ? action[values] : `:value:(${values.join(' ')})`;
      return `'--${option}[${zshText(description)}]${value}'`;
    });
    const rest = words.includes('<file>')
      ? ["'*:file:_files'"]
      : words.length > 0
        ? [`'1:shell:(${words.join(' ')})'`]
        : [];
    return `    ${name}) _arguments ${[...specs, "'--help[explain it]'", ...rest].join(' ')} ;;`;
  });
  return `#compdef stopgate
# stopgate completion for zsh: source <(stopgate completion zsh)
_stopgate() {
  local -a commands
  commands=(
${rows.map(({ name, summary }) => `    '${name}:${zshText(summary)}'`).join('\n')}
    'help:explain a command'
  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
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
compdef _stopgate stopgate
`;
}

const zshText = (text: string): string => text.replace(/'/g, "'\\''").replace(/[[\]:]/g, '\\$&');

function formatFish(rows: readonly Row[]): string {
  const quote = (text: string) => `'${text.replace(/\\/g, '\\\\').replace(/'/g, "\\'")}'`;
  const lines = rows.flatMap(({ name, summary, options, words }) => {
    const here = `complete -c stopgate -n '__fish_seen_subcommand_from ${name}'`;
    return [
      `complete -c stopgate -n __fish_use_subcommand -f -a ${name} -d ${quote(summary)}`,
      ...options.map(({ name: option, description, values }) => {
        const value = { file: ' -r -F', any: ' -x', none: ' -f' };
        const takes = typeof values === 'string' ? value[values] : ` -x -a ${quote(values.join(' '))}`;
        return `${here} -l ${option}${takes} -d ${quote(description)}`;
      }),
      ...(words.includes('<file>') ? [] : [`${here} -f${words.length > 0 ? ` -a ${quote(words.join(' '))}` : ''}`]),
    ];
  });
  return `# stopgate completion for fish: stopgate completion fish | source\n${lines.join('\n')}\n`;
}
