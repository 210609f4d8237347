/** token: a new token for HTTP, and the line of stopgate.yaml that gives it a role. */
import { randomBytes } from 'node:crypto';
import { accessRoles, hashOfToken } from '../../../config/access-tokens.ts';
import { isIdOrPattern } from '../../../config/fleet-selection.ts';
import { AppError } from '../../../errors.ts';
import { argument, choice, defineCommand, flag, listOption, type Parse } from '../../command.ts';
import { idOf } from '../../option-values.ts';

/** More than anyone can guess: the hash is a fast one. */
const secretBytes = 24;

export const token = defineCommand({
  args: {
    name: argument('NAME', "whose it is: an operator's is stored with what it does", idOf('token')),
    role: choice(
      'ROLE',
      accessRoles,
      'what it allows (read: all that leaves the log as it is; agent: also stops and entries; operator: everything; default: read)',
    ),
    worker: listOption(
      'W',
      "only for these workers, by id or by a pattern such as 'box-1-*'; repeat it for more",
      patternOf('the id of a worker, or a pattern such as box-1-*'),
    ),
    fleet: listOption(
      'F',
      "only in these fleets, by name or by a pattern such as 'team-*'; repeat it for more",
      patternOf('the name of a fleet, or a pattern such as team-*'),
    ),
    json: flag('print JSON, for programs'),
  },
  details: [
    'Makes a random token and its hash. The token is shown only once. The hash goes into stopgate.yaml; nobody can sign in with it.',
    'It writes no file and needs no service. A running service reloads the changed file by itself.',
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
        '        for its owner: as STOPGATE_TOKEN, or in the header "Authorization: Bearer …"',
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

/** JSON that is also the yaml that people write. */
const flowOf = (entry: object): string =>
  `{ ${Object.entries(entry)
    .map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
    .join(', ')} }`;
