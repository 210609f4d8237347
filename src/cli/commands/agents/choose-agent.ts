/** Which agent `init` without AGENT sets up: the list of those on this machine, and a question. */
import { homedir } from 'node:os';
import { agents } from '../../../agents/index.ts';
import { findInstalled, type Installed, type Places } from '../../../agents/setup/places.ts';
import { formatTable } from '../../../terminal/table.ts';
import type { Context } from '../../command.ts';
import { ask, canAsk } from '../../questions.ts';

/** Returns null if nobody could be asked. The list has been printed. */
export async function chooseAgent({
  io,
  out,
  note,
  flags,
}: Context<{ readonly json?: boolean | undefined }>): Promise<string | null> {
  const found = await findAll({ cwd: io.cwd, home: io.env.HOME || homedir(), env: io.env });
  if (flags.json) {
    await out.json(found);
    return null;
  }
  const rows = [...agents.values()].map(({ name, title }) => [
    { text: name, paint: out.colors.bold },
    { text: title },
    { text: whereIs(found.find((one) => one.name === name)) },
  ]);
  await out.print(...formatTable(['AGENT', '', 'INSTALLED'], rows, out.width()));
  if (!canAsk(io)) {
    note('name one: stopgate init AGENT');
    return null;
  }
  const name = await ask(io, 'Which one? ');
  return name === '' ? null : name;
}

/** @param installed undefined: it has no settings */
function whereIs(installed: Installed | undefined): string {
  if (installed === undefined) return 'needs nothing: init prints a line for it';
  return installed.binary ?? (installed.hasFolder ? 'only its settings' : '-');
}

async function findAll(places: Places): Promise<Installed[]> {
  const found: Installed[] = [];
  for (const { name, title, settings } of agents.values()) {
    const { setup } = await settings();
    if (setup.kind === 'settings') found.push(findInstalled({ name, title, program: setup.program }, places));
  }
  return found;
}
