/** `init` and `doctor` for the agents in rows.ts. */
import { dirname, join } from 'node:path';
import type { Doctor } from '../doctor/doctor.ts';
import type { DryTurn } from '../doctor/dry-turn.ts';
import { createHookDoctor } from '../doctor/hook-doctor.ts';
import type { BlockCap } from '../doctor/limit-checks.ts';
import { openChatCompletionsModel } from '../doctor/models.ts';
import { type ListedSwitch, readListedSwitches } from '../doctor/switches.ts';
import { type AgentHooks, createHookSetup, settingsFor } from '../setup/agent-hooks.ts';
import { checkedEvents, type HookEvent, stopEvents, storedEvents } from '../setup/hook-events.ts';
import { jsonHooks } from '../setup/hook-settings.ts';
import { render } from '../setup/json-edit.ts';
import { commandForms } from '../setup/line.ts';
import { type LocalContext, rootOf } from '../setup/local-context.ts';
import { planScripts, type Scripts, scriptHooks } from '../setup/script-hooks.ts';
import { type Change, openSettings, type SettingsFile } from '../setup/settings-file.ts';
import type { SettingsSetup, SetupRequest } from '../setup/setup.ts';
import { tomlHooks } from '../setup/toml-hooks.ts';
import { blockOf, eventsThatMean, tableCommands } from './hook-command.ts';
import type { Meaning, RowDryTurn, SettingsForm, TableRow } from './rows.ts';

export function settingsOf(row: TableRow): { readonly setup: SettingsSetup; readonly doctor: Doctor } {
  const hooks = hooksOf(row);
  const setup = createHookSetup(hooks);
  return {
    setup: row.settings.form.kind === 'scripts' ? withScripts(setup, hooks, row) : setup,
    doctor: doctorOf(row, hooks),
  };
}

function hooksOf(row: TableRow): AgentHooks {
  const { name, program, settings, namesNoEvent, runsInFolder } = row;
  const { form, project, user, beside } = settings;
  const hook = tableCommands.get(name);
  if (hook === undefined) throw new Error(`${name} is not in the table`);
  const command = (event: HookEvent, format: (options?: string) => string) =>
    format(namesNoEvent ? `--event ${event.name}` : undefined);
  return {
    agent: name,
    hook,
    program,
    // Only the hook command can add the folder to a call.
    forms: runsInFolder ? ['command'] : commandForms,
    scopes: project === null ? ['user'] : ['project', 'user'],
    file: (scope, places) =>
      scope === 'project' && project !== null ? join(places.cwd, ...project) : join(program.folder(places), ...user),
    events: () => Object.entries(row.events).flatMap(([event, meaning]) => hookEventsFor(row, event, meaning)),
    grouped: form.kind === 'groups',
    ...(form.kind === 'list' ? { head: form.head } : {}),
    format: formatOf(row, form),
    handler: (event, _line, format) => handlerOf(form, event, command(event, format)),
    ...(beside === undefined ? {} : { planConfig: (request, file) => planBeside(beside, request, file) }),
  };
}

function hookEventsFor({ addsContext }: TableRow, event: string, meaning: Meaning): HookEvent[] {
  if (meaning === 'stop') return stopEvents(event);
  return meaning === 'tool-end' && addsContext ? checkedEvents(event) : storedEvents(event);
}

function formatOf({ name, events }: TableRow, form: SettingsForm): NonNullable<AgentHooks['format']> {
  if (form.kind === 'toml') return tomlHooks;
  if (form.kind === 'scripts') return scriptHooks(name, form.extension, Object.keys(events));
  return jsonHooks(form.kind === 'list' ? { isList: true } : { under: form.under });
}

function handlerOf({ kind }: SettingsForm, { name, seconds: timeout }: HookEvent, command: string): object {
  const action = { type: 'command', command };
  if (kind === 'list') return { name: `stopgate-${name}`, trigger: name, action, timeout };
  if (kind === 'toml') return { event: name, command, timeout };
  return kind === 'scripts' ? action : { ...action, timeout };
}

function withScripts(setup: SettingsSetup, hooks: AgentHooks, { name, settings: { form } }: TableRow): SettingsSetup {
  const extension = form.kind === 'scripts' ? form.extension : '';
  return {
    ...setup,
    plan({ scope, places, line, remove }) {
      const folder = hooks.file(scope, places);
      return planScripts(name, extension, settingsFor(hooks, line), { folder, scope, places }, remove);
    },
  };
}

/** A file that exists is the user's, unless it is exactly ours. */
function planBeside(
  { path, content }: NonNullable<TableRow['settings']['beside']>,
  { scope, places, remove }: SetupRequest,
  hooks: SettingsFile,
): Change {
  const target = join(dirname(hooks.path), ...path);
  const file = openSettings(target, rootOf(target, scope, places));
  const ours = render(content);
  if (remove) return { file, after: file.text === ours ? null : file.text };
  return { file, after: file.text ?? ours };
}

// --- doctor -----------------------------------------------------------------------------------------------------

function doctorOf(row: TableRow, hooks: AgentHooks): Doctor {
  const { form } = row.settings;
  const [stopEvent] = Object.keys(row.events).filter((event) => row.events[event] === 'stop');
  const [checkedEvent] = row.addsContext ? eventsThatMean(row, 'tool-end') : [];
  return createHookDoctor(hooks, {
    switches: readListedSwitches(row.title, (places) => switchesOf(row, places)),
    limits: {
      stopEvent: stopEvent ?? 'Stop',
      checkedEvent: checkedEvent ?? null,
      timeoutUnitMs: form.kind === 'scripts' ? null : 1_000,
      blockCap: capOf(row),
    },
    dryTurn: row.dryTurn === null ? null : dryTurnOf(row, row.dryTurn),
  });
}

function capOf({ blocks }: TableRow): BlockCap | null {
  if (blocks === undefined) return null;
  const { most, raise } = blocks;
  return { blocks: most, ...(raise === undefined ? {} : { raise: () => raise }) };
}

const switchesOf = ({ settings, program }: TableRow, places: LocalContext): readonly ListedSwitch[] =>
  (settings.switches ?? []).map(({ project, user, path, off }) => ({
    files: [
      ...(project === undefined ? [] : [join(places.cwd, ...project)]),
      ...(user === undefined ? [] : [join(program.folder(places), ...user)]),
    ],
    path,
    off,
  }));

function dryTurnOf(row: TableRow, { files, args, env, asksAgain }: RowDryTurn): DryTurn {
  const { settings, program } = row;
  const { form } = settings;
  return {
    openModel: openChatCompletionsModel,
    asksAgain: asksAgain ?? true,
    canBlock: row.block !== 'none',
    block: (reason) => blockOf(row, reason) ?? {},
    async prepare({ home, settings: hooks, model, write }) {
      const target = join(program.folder({ home, cwd: home, env: {} }), ...settings.user);
      for (const [path, content] of Object.entries(files(model))) {
        const file = join(home, path);
        // In TOML, hooks and everything else are in one file.
        write(file, file === target ? `${content}${hooks}` : content);
      }
      if (form.kind === 'scripts') {
        const scripts = Object.entries(JSON.parse(hooks) as Scripts);
        for (const [event, script] of scripts) write(join(target, `${event}${form.extension}`), script);
      } else if (form.kind !== 'toml') write(target, hooks);
      return { args, env };
    },
  };
}
