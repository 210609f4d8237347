/** Formats the accounts of `stopgate permissions` as a script of `nsc` commands, or as a NATS configuration. */
import type { Account, Accounts, AccountUser } from '../../../nats/accounts.ts';
import type { Permissions } from '../../../nats/permissions.ts';

/** `accounts` lists shared accounts before those that import from them, so they are created first. */
export const formatNscScript = (accounts: Accounts): string[] => [
  'set -eu',
  'umask 077',
  ...Object.entries(accounts).flatMap(([name, account]) => ['', ...accountLines(name, account)]),
];

function accountLines(name: string, account: Account): string[] {
  const { jetstream, limits, users = [], exports = [], imports = [], mappings = {} } = account;
  const inAccount = ['--account', name];
  const stores =
    jetstream === 'enabled'
      ? ['--js-disk-storage', -1, '--js-mem-storage', -1]
      : jetstream === undefined
        ? []
        : [
            '--js-disk-storage',
            jetstream.max_file,
            '--js-mem-storage',
            jetstream.max_mem,
            '--js-streams',
            jetstream.max_streams,
            '--js-consumer',
            jetstream.max_consumers,
          ];
  const bounds =
    limits === undefined
      ? []
      : [
          '--payload',
          limits.max_payload,
          '--subscriptions',
          limits.max_subscriptions,
          '--conns',
          limits.max_connections,
        ];
  const importsOf = new Set(imports.map((entry) => ('service' in entry ? entry.service : entry.stream).account));
  return [
    nsc('add', 'account', '--name', name),
    ...(stores.length > 0 ? [nsc('edit', 'account', '--name', name, ...stores)] : []),
    ...(bounds.length > 0 ? [nsc('edit', 'account', '--name', name, ...bounds)] : []),
    ...exports.map((entry) => {
      if ('stream' in entry)
        return nsc('add', 'export', ...inAccount, '--name', entry.stream, '--subject', entry.stream);
      return nsc(
        'add',
        'export',
        ...inAccount,
        '--service',
        '--name',
        entry.service,
        '--subject',
        entry.service,
        ...(entry.response_type === 'stream' ? ['--response-type', 'Stream'] : []),
        ...(entry.threshold === undefined ? [] : ['--response-threshold', entry.threshold]),
      );
    }),
    ...[...importsOf].map(
      (from) => `${keyVariable(from)}=$(nsc describe account --name ${from} --field sub | tr -d '"')`,
    ),
    ...imports.map((entry) => {
      const { account: from, subject } = 'service' in entry ? entry.service : entry.stream;
      const local = 'service' in entry ? (entry.to ?? subject) : subject;
      const line = nsc(
        'add',
        'import',
        ...inAccount,
        ...('service' in entry ? ['--service'] : []),
        '--name',
        subject,
        '--remote-subject',
        subject,
        '--local-subject',
        local,
      );
      return `${line} --src-account "$${keyVariable(from)}"`;
    }),
    ...Object.entries(mappings).map(([from, to]) => nsc('add', 'mapping', ...inAccount, '--from', from, '--to', to)),
    ...userLines(name, users),
  ];
}

/**
 * A client sends its user's JWT in a line of at most 4 KiB when it connects, and some permission lists are longer. So
 * the longest list goes into the account's JWT, where it applies to all users without a list of their own.
 */
function userLines(account: string, users: readonly AccountUser[]): string[] {
  const lists = users.map(({ permissions }) => JSON.stringify(permissions));
  const longest = lists.reduce((one, other) => (other.length > one.length ? other : one), '');
  return [
    ...(longest === ''
      ? []
      : [nsc('edit', 'account', '--name', account, ...rulesOf(JSON.parse(longest) as Permissions))]),
    ...users.flatMap(({ user, permissions }, index) => [
      nsc(
        'add',
        'user',
        '--account',
        account,
        '--name',
        user,
        ...(lists[index] === longest ? [] : rulesOf(permissions)),
      ),
      `${nsc('generate', 'creds', '--account', account, '--name', user)} >${quote(`${user}.creds`)}`,
    ]),
  ];
}

const rulesOf = ({ publish, subscribe }: Permissions): string[] => [
  ...rule('--allow-pub', publish.allow),
  ...rule('--deny-pub', publish.deny),
  ...rule('--allow-sub', subscribe.allow),
  ...rule('--deny-sub', subscribe.deny),
];

const rule = (option: string, subjects: readonly string[] | undefined): string[] =>
  subjects === undefined ? [] : [option, subjects.join(',')];

/** Returns the name of the shell variable with the public key of an account. */
const keyVariable = (account: string): string => `key_${account}`;

const nsc = (...words: readonly (string | number)[]): string => ['nsc', ...words.map(quote)].join(' ');
const quote = (word: string | number): string => (/^[\w./-]+$/.test(`${word}`) ? `${word}` : `'${word}'`);

// A NATS configuration as a person would write it: short values on one line, quotes only where needed.

type Value = string | number | boolean | readonly Value[] | { readonly [key: string]: Value };

const columns = 110;

/** Returns the lines of an object's members, without its braces. */
export function formatNatsConfig(members: object, indent = ''): string[] {
  return Object.entries(members as Record<string, Value>).flatMap(([key, value]) => {
    const name = /^[A-Za-z_]\w*$/.test(key) ? key : JSON.stringify(key);
    return [`${indent}${name}: ${formatValue(value, indent, name.length + 2)}`];
  });
}

function formatValue(value: Value, indent: string, taken = 0): string {
  if (typeof value !== 'object') return JSON.stringify(value);
  const short = formatShort(value);
  if (indent.length + taken + short.length <= columns) return short;
  const deeper = `${indent}  `;
  if (!Array.isArray(value)) return `{\n${formatNatsConfig(value, deeper).join('\n')}\n${indent}}`;
  const items = value.map((item: Value) => `${deeper}${formatValue(item, deeper)}`);
  return `[\n${items.join('\n')}\n${indent}]`;
}

function formatShort(value: Value): string {
  if (typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(formatShort).join(', ')}]`;
  const members = Object.entries(value).map(([key, each]) => {
    const name = /^[A-Za-z_]\w*$/.test(key) ? key : JSON.stringify(key);
    return `${name}: ${formatShort(each as Value)}`;
  });
  return `{ ${members.join(', ')} }`;
}
