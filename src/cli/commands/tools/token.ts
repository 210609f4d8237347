/** token: generates a token for HTTP, and the line of stopgate.yaml that gives it a role. */
import { randomBytes } from 'node:crypto';
import { accessRoles, hashOfToken } from '../../../config/access-tokens.ts';
import { isIdOrPattern } from '../../../config/fleet-selection.ts';
import { AppError } from '../../../errors.ts';
import { argument, choice, defineCommand, flag, listOption, type Parse } from '../../command.ts';
import { idOf } from '../../option-values.ts';

/** Too long to guess, so a fast hash is enough. */
const secretBytes = 24;

export const token = defineCommand({
  args: {
    name: argument('NAME', "the name of its owner; an operator's name is stored with each action", idOf('token')),
    role: choice(
      'ROLE',
      accessRoles,
      'the access (read: everything that does not change the log; agent: also stops and entries; operator: everything; default: read)',
    ),
    worker: listOption(
      'W',
      "only these workers, by id or by a pattern such as 'box-1-*'; may be repeated",
      patternOf('the id of a worker, or a pattern such as box-1-*'),
    ),
    fleet: listOption(
      'F',
      "only these fleets, by name or by a pattern such as 'team-*'; may be repeated",
      patternOf('the name of a fleet, or a pattern such as team-*'),
    ),
    json: flag('print JSON'),
  },
  details: [
    'Generates a random token and its hash. The token is shown only once. The hash goes into stopgate.yaml; nobody can sign in with it.',
    'Writes no file and needs no service. A running service reloads the changed file automatically.',
  ],
  examples: ['stopgate token alice --role operator', "stopgate token box-1 --role agent --worker 'box-1-*' --json"],
  run: async ({ flags, out }) => {
    const { name, worker: workers, fleet: fleets } = flags;
    const secret = randomBytes(secretBytes).toString('hex');
    const entry = {
      role: flags.role ?? 'read',
      ...(workers === undefined ? {} : { workers }),
      ...(fleets === undefined ? {} : { fleets }),
      hash: hashOfToken(secret),
    };
    if (flags.json) await out.json({ name, token: secret, tokens: { [name]: entry } });
    else {
      await out.print(
        `token   ${secret}`,
        '        for its owner: set STOPGATE_TOKEN, or send the header "Authorization: Bearer …"',
        '',
        'stopgate.yaml (if it already has "tokens:", add only the last line, under that)',
        'tokens:',
        `  ${name}: ${flowOf(entry)}`,
      );
    }
    return 0;
  },
});

function patternOf(what: string): Parse<string> {
  return (text) => {
    if (isIdOrPattern(text)) return text;
    throw new AppError('input.bad', `'${text}' is not ${what}`);
  };
}

/** Formats JSON that is also valid YAML in flow style. */
const flowOf = (entry: object): string =>
  `{ ${Object.entries(entry)
    .map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
    .join(', ')} }`;
