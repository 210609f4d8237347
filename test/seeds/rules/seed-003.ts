/** Seed 003, a deterministic stop hook: a script says when the work is complete, not a model. */
import { part, type Rule } from './rule.ts';

const whole =
  'seeds/validated-findings › the executor of a campaign › is sent on with the difference, then allowed in the first turn in which both files are right';
const shell = 'seeds/validated-findings › the shell script alone';
const same =
  'seeds/validated-findings › the executor of a campaign › gets the same answer to the same files, however often it asks: no model is asked';
const claims =
  'seeds/validated-findings › the executor of a campaign › that says it is done is not believed: the files decide';

export const seed003: readonly Rule[] = [
  ...part('003', 'Summary', [
    ['the hook is a script, no model', [`${shell} › exit 0, both pass: the stop is allowed`, same]],
    ['it runs `nous validate --execution` and signals that the work is complete only when that passes', whole],
    [
      'it runs after each tool burst',
      [
        'unit/agents/unsolicited-checks › stopWhenComplete › an agent whose work is complete is told to stop at the end of its batch, and its task is completed',
        'unit/agents/unsolicited-checks › stopWhenComplete › Gemini does not tell of batches: it is asked after a tool, at most every 2 s',
        'integration/agents/unsolicited-checks › a step is refused while the tests are red, with their output; then marked, and the agent is told to stop',
      ],
      'at the end of a batch of tools, or at most every 2 s where an agent does not tell of batches: a check for each tool would be dear',
    ],
  ]),
  ...part('003', 'Why this matters', [
    ['the agent does not decide by itself when to stop', claims],
    ['it neither goes on for ever nor stops too early', [whole, claims]],
    ['the same files give the same answer', same],
    [
      'exit 0 is continue, another with a reason is stop',
      [
        `${shell} › exit 0, both pass: the stop is allowed`,
        `${shell} › exit 1: blocked, and what it printed is the reason that the agent is given`,
      ],
      'exit 0 is pass, 1 is fail: its own acceptance criteria say so',
    ],
    [
      'another exit code',
      [
        `${shell} › another exit code is no answer: the check is in error, not failed`,
        'integration/app/checks › a command › that cannot tell is in error, which %s where onError says so',
      ],
      'is an error, which the seed does not name',
    ],
    [
      'in a shell alone',
      [
        'integration/hook-command/hook › with something else where the service should be › words for a shell become its exit code',
      ],
      'exit 0 lets go, 2 blocks with the reason on stderr',
    ],
  ]),
  ...part('003', 'Proposed approach', [
    [
      '`nous validate --dir … --execution` and the second file: 0 if both pass',
      [
        whole,
        `${shell} › exit 0, both pass: the stop is allowed`,
        'conformance/command-check › validation and the second file: both must pass',
      ],
    ],
    [
      'registered for the executor agent',
      [
        'conformance/policy › a worker names its policy',
        whole,
        'integration/cli/init › claude › gets an HTTP hook for each event, and a stop may take as long as Claude Code lets it',
      ],
      'by the policy; its adapter is registered once',
    ],
    ['complete: the agent ends cleanly', [whole, 'conformance/command-check › exit 0 lets the stop pass']],
    [
      'else it gets the difference as a structured message, and goes on',
      [whole, 'integration/app/checks › a command › gives its JSON to the feedback, and to the next prompt'],
    ],
    [
      'by lines in `.claude/settings.json`',
      [
        'integration/cli/init › claude › gets an HTTP hook for each event, and a stop may take as long as Claude Code lets it',
      ],
    ],
  ]),
  ...part('003', 'Acceptance criteria', [
    [
      'the first pass with both files right: the executor ends within one turn of the hook',
      [
        whole,
        'integration/agents/unsolicited-checks › a step is refused while the tests are red, with their output; then marked, and the agent is told to stop',
      ],
    ],
    [
      'validation fails: the next turn has the difference',
      [whole, 'conformance/command-check › a failed command blocks with its words and its feedback'],
    ],
    [
      'it goes on, and does not begin anew',
      'seeds/validated-findings › the executor of a campaign › goes on from the files that it has: a block touches nothing',
    ],
  ]),
  ...part('003', 'Notes', [['deterministic, where `/goal` asks a model: the former wherever possible', same]]),
];
