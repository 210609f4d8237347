/** context: names the services that a person works with, so that their addresses need not be typed. */
import { accessSync, constants } from 'node:fs';
import { resolve } from 'node:path';
import { loadConfig } from '../../../config/config.ts';
import {
  type Contexts,
  contextFields,
  contextNameFault,
  contextsFile,
  findContext,
  isContextName,
  type NamedContext,
  readContexts,
  writeContexts,
} from '../../../config/contexts.ts';
import { AppError } from '../../../errors.ts';
import { formatTable } from '../../../terminal/table.ts';
import { type Context, defineCommand, flag, option, optionalArgument } from '../../command.ts';

const actions = ['list', 'show', 'use', 'add', 'remove'] as const;
type Action = (typeof actions)[number];

export const context = defineCommand({
  args: {
    action: optionalArgument('ACTION', `${actions.join(', ')} (default: list)`, actions),
    name: optionalArgument('CONTEXT', 'the name of the context'),
    nats: option('URL', 'for add: the NATS servers, separated by commas'),
    creds: option('FILE', 'for add: the credentials for NATS; the context keeps the path, not the content'),
    fleet: option('F', 'for add: the fleet'),
    http: option('HOST:PORT', 'for add: the address of the service, for init and doctor'),
    none: flag('for use: select no context'),
    json: flag('print JSON'),
  },
  details: [
    'A context names a service: its NATS servers, credentials, fleet and HTTP address. "--context NAME" or STOPGATE_CONTEXT uses one for a command, "stopgate context use NAME" for all commands in folders that have no service of their own.',
    'Contexts are in stopgate/contexts.json below $XDG_CONFIG_HOME (default: ~/.config), without secrets. Credentials of a context go only to its own servers. A token for HTTP stays in STOPGATE_TOKEN. Services, runners and programs use no contexts.',
  ],
  examples: [
    'stopgate context add prod --nats tls://nats.example.com --creds ~/prod.creds --fleet web',
    'stopgate context use prod',
    'stopgate workers --context prod',
  ],
  run: async (base) => {
    const { flags, io } = base;
    const action = actions.find((name) => name === (flags.action ?? 'list'));
    if (action === undefined)
      throw new AppError('input.bad', `'${flags.action}' is not an action; use ${actions.join(', ')}`);
    const file = contextsFile(io.env);
    await perform[action]({ ...base, file, contexts: readContexts(file) });
    return 0;
  },
});

type ActionContext = Context<{
  readonly name: string | undefined;
  readonly nats: string | undefined;
  readonly creds: string | undefined;
  readonly fleet: string | undefined;
  readonly http: string | undefined;
  readonly none: boolean;
  readonly json: boolean;
}> & { readonly file: string; readonly contexts: Contexts };

const perform: Readonly<Record<Action, (context: ActionContext) => Promise<void>>> = {
  async list({ flags, contexts: { selected, byName }, out, asTyped }) {
    const rows = [...byName].map(([name, fields]) => ({ name, selected: name === selected, ...fields }));
    if (flags.json) return out.json(rows);
    if (rows.length === 0) return out.print(asTyped('No contexts. Add one: stopgate context add NAME --nats URL'));
    const table = formatTable(
      ['', 'CONTEXT', 'NATS', 'FLEET', 'HTTP', 'CREDENTIALS'],
      rows.map(({ name, selected: isSelected, nats, fleet, http, creds }) =>
        [isSelected ? '*' : '', name, nats, fleet ?? '-', http ?? '-', creds ?? '-'].map((text, column) => ({
          text,
          isWhole: column < 2,
        })),
      ),
      out.width(),
    );
    await out.print(...table);
  },
  async show({ flags, contexts, out }) {
    const name = flags.name ?? contexts.selected;
    if (name === null) throw new AppError('input.bad', 'no context is selected; name one: stopgate context show NAME');
    const shown = findContext(contexts, name);
    if (flags.json) return out.json({ name, selected: name === contexts.selected, ...shown });
    const lines = contextFields.flatMap((field) => (shown[field] === undefined ? [] : [`${field}: ${shown[field]}`]));
    await out.print(`${name}${name === contexts.selected ? ' (selected)' : ''}`, ...lines.map((line) => `  ${line}`));
  },
  async use({ flags, contexts, file, out }) {
    const name = flags.none ? null : nameIn(flags);
    if (name !== null) findContext(contexts, name);
    writeContexts(file, { ...contexts, selected: name });
    await out.print(name === null ? 'no context is selected' : `${name} is selected`);
  },
  async add({ flags, contexts, file, io, out, note, asTyped }) {
    const name = nameIn(flags);
    if (contexts.byName.has(name))
      throw new AppError('input.bad', `context "${name}" already exists; first run "stopgate context remove ${name}"`);
    const { nats, creds: path, fleet, http } = flags;
    if (nats === undefined) throw new AppError('input.bad', '--nats is missing: a context names a NATS server');
    if (/\/\/[^/]*@/.test(nats))
      throw new AppError(
        'input.bad',
        'a context keeps no password: put user and password in a file, and name it with --creds',
      );
    const creds = path === undefined ? undefined : resolve(io.cwd, path);
    // Checks the values like a command that uses them, which may also require a token.
    await loadConfig({ flags: { nats, creds, fleet, http, token: 'unused' }, cwd: io.cwd, env: {} });
    const added: NamedContext = {
      nats,
      ...(creds === undefined ? {} : { creds }),
      ...(fleet === undefined ? {} : { fleet }),
      ...(http === undefined ? {} : { http }),
    };
    writeContexts(file, { ...contexts, byName: new Map([...contexts.byName, [name, added]]) });
    if (creds !== undefined && !isReadable(creds)) note(`stopgate: '${creds}' cannot be read now`);
    await out.print(asTyped(`added ${name}; select it with: stopgate context use ${name}`));
  },
  async remove({ flags, contexts: { selected, byName }, file, out }) {
    const name = nameIn(flags);
    findContext({ selected, byName }, name);
    const rest = new Map([...byName].filter(([each]) => each !== name));
    writeContexts(file, { selected: selected === name ? null : selected, byName: rest });
    await out.print(`removed ${name}`);
  },
};

/** @throws AppError input.bad */
function nameIn({ name }: { readonly name: string | undefined }): string {
  if (name === undefined)
    throw new AppError('input.bad', 'the name of the context is missing; for example: stopgate context use prod');
  if (!isContextName(name)) throw new AppError('input.bad', `'${name}' ${contextNameFault}`);
  return name;
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
