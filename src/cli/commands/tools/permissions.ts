/** permissions: the configuration for your own NATS server that keeps clients from posing as others. */
import { loadConfig } from '../../../config/config.ts';
import { AppError } from '../../../errors.ts';
import { type Accounts, accountsOf, type Member, mergeAccounts, serverLimits } from '../../../nats/accounts.ts';
import { type Role, roles } from '../../../nats/permissions.ts';
import { choice, defineCommand, flag, listOption, option } from '../../command.ts';
import { idOf } from '../../option-values.ts';
import { formatNatsConfig, formatNscScript } from './nsc-script.ts';

export const permissions = defineCommand({
  args: {
    role: choice('ROLE', roles, 'only the part for this role (default: all of them)'),
    all: flag('the accounts of all roles, as without --role'),
    worker: listOption('W', 'agent: the only worker that it may act for; repeat it for more', idOf('worker')),
    name: option('N', 'runner: the name under which it may serve', idOf('runner')),
    check: listOption(
      'NAME',
      'check: the remote check that it may answer (also for a runner with a name); repeat it for more',
      idOf('check'),
    ),
    fleet: listOption('F', 'the fleet; repeat it for more (STOPGATE_FLEET; default: main)', idOf('fleet')),
    json: flag('print JSON, which a NATS server also reads'),
    nsc: flag('print a script of nsc commands, which makes JWT accounts and a .creds file per role'),
  },
  details: [
    'Prints accounts with users and permissions for the configuration of your own NATS server. The server of "stopgate dev" has them already. Replace every change-me-… with a password, then test it: nats-server -c FILE -t.',
    'An agent with --worker gets its own account: it can neither act for another worker nor receive its answers. The fast path (header Stopgate-Reply) then needs an inbox under _INBOX.<worker>.',
  ],
  examples: [
    'stopgate permissions > stopgate-accounts.conf',
    'stopgate permissions --role agent --worker w1',
    'stopgate permissions --role runner --name box --fleet research --json',
    'stopgate permissions --nsc > accounts.sh',
  ],
  run: async ({ flags, io, out }) => {
    const { role } = flags;
    if (role !== undefined && flags.all) throw new AppError('input.bad', 'use either --all or --role');
    if (flags.nsc && (role !== undefined || flags.json))
      throw new AppError('input.bad', '--nsc prints the accounts of all roles: leave out --role and --json');
    const { fleet: one } = await loadConfig({ flags: { http: 'off' }, cwd: io.cwd, env: io.env });
    const fleets = [...new Set(flags.fleet ?? [one])];
    const scope = readScope(flags, role);
    const membersIn = (fleet: string) =>
      (role === undefined ? roles : [role]).flatMap((it) => membersOf(it, fleet, scope));
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

type Given = {
  readonly worker: readonly string[] | undefined;
  readonly name: string | undefined;
  readonly check: readonly string[] | undefined;
};
type Named = { readonly workers: readonly string[]; readonly name?: string; readonly checks?: readonly string[] };

/** @throws AppError input.bad: bad ids, or an option that is not for this role */
function readScope({ worker, name, check }: Given, role: Role | undefined): Named {
  const meant = (option: string, value: string | readonly string[] | undefined, ...of: Role[]) => {
    if (value === undefined || role === undefined || of.includes(role)) return;
    throw new AppError('input.bad', `${option} is for the role ${of.join(' or ')}, not for ${role}`);
  };
  meant('--worker', worker, 'agent');
  meant('--name', name, 'runner');
  meant('--check', check, 'check', 'runner');
  if (role === 'runner' && check !== undefined && name === undefined)
    throw new AppError('input.bad', 'a runner without --name may serve every check: add --name');
  return {
    workers: [...new Set(worker)],
    ...(name !== undefined && { name }),
    ...(check !== undefined && { checks: [...new Set(check)] }),
  };
}

/** One user per role; agents that are limited to one worker each get a user per worker. */
function membersOf(role: Role, fleet: string, { workers, name, checks }: Named): Member[] {
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

/** The part of one role is merged into a configuration that has the rest already. */
function configOf(accounts: Accounts, role: Role | undefined): object {
  if (role === undefined) return { ...serverLimits, accounts };
  if (role === 'agent') return { accounts };
  const { exports: _, ...account } = accounts.STOPGATE ?? {};
  return { accounts: { STOPGATE: account } };
}

const nscIntroduction = (label: string): string[] => [
  '#!/bin/sh',
  `# stopgate, ${label}: who may do what, as JWT accounts under the operator that nsc has selected.`,
  '# It leaves a .creds file per role in this folder, for --creds. Then tell your servers: nsc push --all, or nsc generate config.',
];

function introduction(label: string, members: readonly Member[], role: Role | undefined): string[] {
  const secrets = '# Replace each "change-me-…" by a password of its own, or by its bcrypt hash (nats server passwd).';
  if (role !== undefined) {
    return [
      `# stopgate, ${label}: the part of role ${role}, to be merged into the accounts of your nats-server.conf.`,
      ...(role === 'agent' ? ['# STOPGATE is shown with what it must export, without its users.'] : []),
      '# "stopgate permissions" prints all of them; without the accounts these lists do not protect the log.',
      secrets,
    ];
  }
  const open = members.some(({ role: each, worker }) => each === 'agent' && worker === undefined);
  return [
    `# stopgate, ${label}: who may do what on your own nats-server. Put this into nats-server.conf.`,
    secrets,
    '# Then: stopgate serve --nats nats://service:PASSWORD@HOST:4222, and nats://operator:…, runner, check, agent alike.',
    '# Your configuration also needs JetStream, e.g. jetstream { store_dir: "/var/lib/nats" }',
    ...(open ? ['# With "no_auth_user: agent" beside it, clients without a password are agents too.'] : []),
  ];
}
