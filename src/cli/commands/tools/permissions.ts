/** permissions: prints accounts for your own NATS server that keep clients from impersonating others. */
import { loadConfig } from '../../../config/config.ts';
import { AppError } from '../../../errors.ts';
import { type Accounts, accountsOf, type Member, mergeAccounts, serverLimits } from '../../../nats/accounts.ts';
import { type Role, roles } from '../../../nats/permissions.ts';
import { choice, defineCommand, flag, listOption, option } from '../../command.ts';
import { idOf } from '../../option-values.ts';
import { formatNatsConfig, formatNscScript } from './nsc-script.ts';

export const permissions = defineCommand({
  args: {
    role: choice('ROLE', roles, 'print only the part for this role (default: all roles)'),
    all: flag('print the accounts of all roles, as without --role'),
    worker: listOption('W', 'agent: a worker that it may act for; may be repeated (default: all)', idOf('worker')),
    name: option('N', 'runner: the name under which it may serve', idOf('runner')),
    check: listOption(
      'NAME',
      'check, or runner with a name: a remote check that it may serve; may be repeated',
      idOf('check'),
    ),
    fleet: listOption('F', 'the fleet; may be repeated (STOPGATE_FLEET; default: main)', idOf('fleet')),
    json: flag('print JSON, which a NATS server can also read'),
    nsc: flag('print a script of nsc commands that creates JWT accounts and a .creds file per role'),
  },
  details: [
    'Prints accounts with users and permissions for the configuration of your own NATS server. The server of "stopgate dev" already has them. Replace every change-me-… with a password, then validate the file: nats-server -c FILE -t.',
    'An agent with --worker gets its own account: it cannot act for other workers or receive their answers. The fast path (header Stopgate-Reply) then needs an inbox under _INBOX.<worker>.',
  ],
  examples: [
    'stopgate permissions > stopgate-accounts.conf',
    'stopgate permissions --role agent --worker w1',
    'stopgate permissions --role runner --name box --fleet research --json',
    'stopgate permissions --nsc > accounts.sh',
  ],
  run: async ({ flags, io, out }) => {
    const { role } = flags;
    if (role !== undefined && flags.all)
      throw new AppError('input.bad', '--all and --role cannot be used together; use one of them');
    if (flags.nsc && (role !== undefined || flags.json))
      throw new AppError('input.bad', '--nsc prints the accounts of all roles; omit --role and --json');
    const { fleet: one } = await loadConfig({ flags: { http: 'off' }, cwd: io.cwd, env: io.env });
    const fleets = [...new Set(flags.fleet ?? [one])];
    const scope = readScope(flags, role);
    const membersIn = (fleet: string) =>
      (role === undefined ? roles : [role]).flatMap((each) => membersOf(each, fleet, scope));
    const parts = fleets.map((fleet) => ({ fleet, members: membersIn(fleet) }));
    const accounts = parts.map(({ fleet, members }) => accountsOf(fleet, members)).reduce(mergeAccounts);
    const config = configOf(accounts, role);
    const label = `${fleets.length > 1 ? 'fleets' : 'fleet'} ${fleets.join(', ')}`;
    const members = parts.flatMap((part) => part.members);
    if (flags.nsc) await out.print(...nscIntroduction(label), ...formatNscScript(accounts));
    else if (flags.json) await out.json(config);
    else await out.print(...introduction(label, members, role), ...formatNatsConfig(config));
    return 0;
  },
});

type ScopeFlags = {
  readonly worker: readonly string[] | undefined;
  readonly name: string | undefined;
  readonly check: readonly string[] | undefined;
};
type Scope = { readonly workers: readonly string[]; readonly name?: string; readonly checks?: readonly string[] };

/** @throws AppError input.bad if an option does not apply to this role */
function readScope({ worker, name, check }: ScopeFlags, role: Role | undefined): Scope {
  const allowFor = (option: string, value: string | readonly string[] | undefined, ...allowed: Role[]) => {
    if (value === undefined || role === undefined || allowed.includes(role)) return;
    throw new AppError('input.bad', `${option} applies to role ${allowed.join(' or ')}, not to ${role}`);
  };
  allowFor('--worker', worker, 'agent');
  allowFor('--name', name, 'runner');
  allowFor('--check', check, 'check', 'runner');
  if (role === 'runner' && check !== undefined && name === undefined)
    throw new AppError('input.bad', 'a runner without a name may serve every check; add --name');
  return {
    workers: [...new Set(worker)],
    ...(name !== undefined && { name }),
    ...(check !== undefined && { checks: [...new Set(check)] }),
  };
}

/** One user per role, or one per worker if agents are limited to workers. */
function membersOf(role: Role, fleet: string, { workers, name, checks }: Scope): Member[] {
  const member = (user: string, scope: Partial<Member> = {}): Member => ({
    role,
    fleet,
    user,
    password: `change-me-${user}`,
    ...scope,
  });
  if (role === 'agent' && workers.length > 0) return workers.map((worker) => member(`agent-${worker}`, { worker }));
  if (role === 'runner' && name !== undefined) return [member(`runner-${name}`, { name, checks })];
  if (role === 'check' && checks !== undefined) return [member(`check-${checks.join('-')}`, { checks })];
  return [member(role)];
}

/** The part for a single role is to be merged into a configuration that already has the rest. */
function configOf(accounts: Accounts, role: Role | undefined): object {
  if (role === undefined) return { ...serverLimits, accounts };
  if (role === 'agent') return { accounts };
  const { exports: _, ...account } = accounts.STOPGATE ?? {};
  return { accounts: { STOPGATE: account } };
}

const nscIntroduction = (label: string): string[] => [
  '#!/bin/sh',
  `# stopgate, ${label}: permissions as JWT accounts under the operator selected in nsc.`,
  '# Writes a .creds file per role into this folder, for --creds. Afterwards run nsc push --all, or nsc generate config.',
];

function introduction(label: string, members: readonly Member[], role: Role | undefined): string[] {
  const secrets = '# Replace each "change-me-…" with a password, or its bcrypt hash (nats server passwd).';
  if (role !== undefined) {
    return [
      `# stopgate, ${label}: the part for role ${role}. Merge it into the accounts of your nats-server.conf.`,
      ...(role === 'agent' ? ['# STOPGATE is listed only with what it must export, without its users.'] : []),
      '# "stopgate permissions" prints all accounts. These lists protect the log only together with all of them.',
      secrets,
    ];
  }
  const open = members.some(({ role: each, worker }) => each === 'agent' && worker === undefined);
  return [
    `# stopgate, ${label}: permissions for your own nats-server. Put this into nats-server.conf.`,
    secrets,
    '# Then: stopgate serve --nats nats://service:PASSWORD@HOST:4222; likewise nats://operator:…, runner, check, agent.',
    '# Your configuration also needs JetStream, e.g. jetstream { store_dir: "/var/lib/nats" }',
    ...(open ? ['# Add "no_auth_user: agent" to make clients without a password agents.'] : []),
  ];
}
