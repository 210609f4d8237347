/** Finds how this user starts stopgate, so that a command line that we print can be copied. */
import { delimiter } from 'node:path';
import { findProgram } from '../agents/setup/places.ts';
import type { Environment } from '../config/environment.ts';
import type { CommandTable } from './command.ts';

/** npm puts the programs of a project on the PATH of what it starts; the user's shell does not have them. */
const ofProject = /[\\/]node_modules[\\/]\.bin[\\/]?$/;

/** `stopgate` where it is on the PATH; `npx stopgate` where it is not, or this was started so. */
export function programName(env: Environment): 'stopgate' | 'npx stopgate' {
  if (env.npm_command === 'exec') return 'npx stopgate';
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => !ofProject.test(folder));
  return findProgram('stopgate', { PATH: folders.join(delimiter) }) === null ? 'npx stopgate' : 'stopgate';
}

/**
 * Writes the commands in a text of ours (`stopgate decide w1`) as this user has to type them. `stopgate mcp: …` names
 * who speaks.
 */
export function spellCommands(text: string, env: Environment, commands: CommandTable): string {
  if (!text.includes('stopgate ')) return text;
  const name = programName(env);
  return text.replaceAll(
    /(?<![\w@./-]|npx )stopgate (?=([a-z-]+(?![a-z:-])|<command>|--(?:help|version)\b))/g,
    (found, word) => (/^[<-]/.test(word) || word === 'help' || Object.hasOwn(commands, word) ? `${name} ` : found),
  );
}
