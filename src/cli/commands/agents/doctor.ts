/** doctor: checks the service and the settings of agents, and says how to fix problems. */

import { type Finding, findingsAbout } from '../../../agents/doctor/doctor.ts';
import { checkNode } from '../../../agents/doctor/service-checks.ts';
import { agents } from '../../../agents/index.ts';
import { AppError } from '../../../errors.ts';
import { clean } from '../../../terminal/text.ts';
import { type Context, commandLine, defineCommand, type Flags, flag, option, optionalArgument } from '../../command.ts';
import { connectAsAgent } from '../../connection.ts';
import { environmentOf } from './agent-turn.ts';
import { diagnose } from './diagnose.ts';

const list = [...agents.values()];
const names = list.filter(({ doctor }) => doctor !== null).map(({ name }) => name);
const withDryTurn = list.filter(({ doctor }) => doctor === 'dry turn').map(({ name }) => name);

const args = {
  agent: optionalArgument('AGENT', `${names.join(', ')}, acp`, [...names, 'acp']),
  command: commandLine('with acp: the agent and its arguments', false),
  http: option(
    'HOST:PORT',
    'the service (STOPGATE_HTTP; default: that of "stopgate dev" in this folder, otherwise 127.0.0.1:4280)',
  ),
  fleet: option('F', 'the fleet of the workers (STOPGATE_FLEET; default: main)'),
  config: option('FILE', 'the policies to check (default: stopgate.yaml, otherwise those of the service)'),
  context: option('CONTEXT', 'the named context to use (STOPGATE_CONTEXT; see "stopgate context")'),
  quick: flag('skip the dry turn'),
  json: flag('print JSON'),
} as const;
type DoctorContext = Context<Flags<typeof args>>;

export const doctor = defineCommand({
  args,
  details: [
    'Checks the service and the settings of AGENT, or of every connected agent. Exit code 1: there are problems.',
    `With AGENT (${withDryTurn.join(', ')}) it also runs a dry turn of the real program, to see whether the hook runs and a block works. The turn uses a temporary folder, its own home folder and a free local model; your account and settings are not touched.`,
    'With acp it checks an agent for "stopgate acp": it starts the command after "--" as an editor would, with your account, for a session in a temporary folder. The dry turn is two short answers of its model. Nothing is stored.',
  ],
  examples: [
    'stopgate doctor',
    'stopgate doctor claude',
    'stopgate doctor codex --quick --json',
    'stopgate doctor acp -- opencode acp',
  ],
  run: async (context) => {
    const { flags, io, note } = context;
    const { agent, http, fleet, config: configFile, context: named } = flags;
    if (agent === 'acp') return report(await examineAcp(context), context);
    if (flags.command[0] !== undefined)
      throw new AppError(
        'input.bad',
        `unexpected argument '${flags.command[0]}'; only "stopgate doctor acp" takes a command`,
      );
    if (agent !== undefined && agents.has(agent) && !names.includes(agent)) {
      const instead = `run "stopgate doctor" to check the service, then the line that "stopgate init ${agent}" prints`;
      throw new AppError('input.bad', `${agent} has no settings to check; ${instead}`);
    }
    if (agent !== undefined && !names.includes(agent))
      throw new AppError('input.bad', `unknown agent '${agent}'; the doctor checks ${names.join(', ')}, acp`);
    const signal = io.interrupt();
    const found = await diagnose({ agent, http, fleet, config: configFile, named, quick: flags.quick }, io, signal);
    if (!signal.aborted) return report(found, context);
    note('stopgate: interrupted');
    return 130;
  },
});

/** @returns the exit code */
async function report(found: readonly Finding[], { flags, out, asTyped }: DoctorContext): Promise<number> {
  const findings = found.map((finding) => ({
    ...finding,
    text: asTyped(finding.text),
    ...(finding.fix && { fix: asTyped(finding.fix) }),
  }));
  const isBad = findings.some(({ state }) => state === 'bad');
  if (flags.json) await out.json({ ok: !isBad, findings });
  else await out.print(...findings.flatMap((finding) => formatFinding(finding, out.colors)));
  return isBad ? 1 : 0;
}

async function examineAcp({ flags, io }: DoctorContext): Promise<Finding[]> {
  const [file, ...args] = flags.command;
  if (file === undefined)
    throw new AppError('input.bad', 'no agent given; write its command after "--": stopgate doctor acp -- AGENT ARGS…');
  const { checkAcp } = await import('../../../acp/doctor.ts');
  const address = {
    nats: undefined,
    creds: undefined,
    fleet: flags.fleet,
    config: flags.config,
    context: flags.context,
  };
  const findings = await checkAcp({
    command: [file, ...args],
    cwd: io.cwd,
    env: environmentOf(io),
    quick: flags.quick,
    signal: io.interrupt(),
    connect: async () => (await connectAsAgent(address, io, 'stopgate doctor')).open(),
  });
  return [...findingsAbout('service', [checkNode(process.version)]), ...findings];
}

export function formatFinding({ state, about, text, fix }: Finding, colors: Context['out']['colors']): string[] {
  const mark = { ok: colors.green('✓'), warn: colors.yellow('!'), bad: colors.red('✗'), skip: colors.dim('-') }[state];
  const how = fix === undefined ? '' : ` → ${clean(fix)}`;
  return [`${mark} ${colors.bold(about)}  ${clean(text)}${how}`];
}
