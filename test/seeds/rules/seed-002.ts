/** Seed 002, Task Completion Checking: checkers say whether all that was asked for is done. */
import { part, type Rule } from './rule.ts';

const checker = 'seeds/task-completion › a checker';
const given = `${checker} › is given the plan, the output, the folder and the stop reason`;
const files = `${checker} › of one’s own, which looks for files in the worker’s folder; without a folder it has nothing to say`;
const combined = `${checker} › may be combined with others: all must pass, or any`;
const final = 'seeds/task-completion › the final verification';

export const seed002: readonly Rule[] = [
  ...part('002', 'Purpose', [
    [
      'an agent does not end with work left undone',
      [
        'conformance/plan-check › two of five remain',
        'integration/agents/claude-session › a whole session: blocked while a step remains, allowed when all are done',
      ],
    ],
  ]),
  ...part('002', 'TaskCompletionResult', [
    [
      '`complete`, and `feedback` that explains why not',
      ['integration/service/decide › decide › a plan that remains blocks, and the decision is published', files],
    ],
    [
      '`ok()` and `incomplete(feedback)`',
      [files, 'unit/client/validators › checkers › the results of seed 002'],
      'in TypeScript; on the wire `{"complete": true}`, `{"complete": false, "reason": …}`',
    ],
  ]),
  ...part('002', 'TaskCompletionContext', [
    ['`session`: its state', given, 'plan, counts, files, validation; the rest by `get.worker`'],
    [
      '`tentative_output`',
      [given, 'integration/client/checkers › a checker of one’s own is told what the agent is about to hand in'],
      '`agentOutput` on the wire',
    ],
    ['`filesystem`, if there is one', [given, files], '`cwd`: the checker looks for itself'],
    ['`adapter`, if there is one', given, 'by `get.worker`: a check should not depend on the agent'],
    ['`stop_reason`', given],
  ]),
  ...part('002', 'TaskCompletionChecker Protocol', [
    [
      'one call with the context gives a result',
      [
        given,
        'integration/app/checks › groups and conditions › remote: anybody may serve it, in either form; nobody, or nonsense, is an error',
        'integration/client/checkers › a checker of one’s own is told what the agent is about to hand in',
      ],
    ],
  ]),
  ...part('002', 'PlanBasedChecker', [
    ['looks at the plan of the session', 'conformance/plan-check › a new plan replaces the old one'],
    [
      'incomplete while a step has another status than `done`',
      [
        'conformance/plan-check › any other status is not done',
        'conformance/plan-check › done, completed and cancelled are done',
        'unit/client/validators › checkers › PlanBasedChecker names three titles at most',
      ],
      '`completed` and `cancelled` are done too',
    ],
    [
      'no plan, or an empty one: complete',
      ['conformance/plan-check › no plan: nothing remains', 'conformance/plan-check › an empty plan: nothing remains'],
    ],
  ]),
  ...part('002', 'CompositeChecker', [
    [
      '`all_must_pass=True`: all',
      [
        'conformance/composite › all passes when every member does',
        "conformance/composite › all: the first failure's words",
        combined,
        'integration/app/checks › groups and conditions › all, and a list: the first failure decides, what comes after it is not run',
        'integration/client/checkers › all must pass: plan and file, one after the other',
      ],
    ],
    [
      '`all_must_pass=False`: any',
      [
        'conformance/composite › any passes when one member does',
        "conformance/composite › any fails in all its members' words",
        combined,
        'integration/app/checks › groups and conditions › any: all failures are told, one pass is enough, an error that is allowed is left out',
        'integration/client/checkers › any can pass',
      ],
    ],
  ]),
  ...part('002', 'Claude Agent SDK Integration', [
    [
      'the checker is set in the configuration of the adapter',
      'conformance/policy › a worker names its policy',
      'in the policy, for every agent alike',
    ],
  ]),
  ...part('002', 'Hook Integration', [
    [
      'after a structured output: what is missing is added to the context',
      [
        'unit/agents/unsolicited-checks › structured output › is given what is still missing, where the policy has checks',
      ],
    ],
    [
      'stop hook: incomplete, more turns are needed',
      [
        'integration/service/decide › decide › a plan that remains blocks, and the decision is published',
        'unit/agents/claude › answers › a block is what was proven to block',
      ],
      '`decision: block` with the next prompt',
    ],
    [
      'final verification: an error if incomplete',
      [
        `${final} › fails with what is missing, as an error with the whole decision, until it is complete`,
        `${final} › is not satisfied by a stop that was only let go: capped or not judged is not complete`,
        'integration/app/wire › verify: 409 with the decision and nothing else, and nothing is logged or counted',
        'integration/cli/attempt › the exit code › verify: 0 for complete; 1 for what is not, with the decision',
        'integration/client/decide › the final verification › an incomplete worker is an IncompleteError with reason, decision and feedback',
      ],
    ],
  ]),
  ...part('002', 'Custom Checker Example', [
    [
      'missing files: incomplete, `Missing required files: a, b`',
      [
        files,
        'conformance/files-check › a missing file blocks',
        'integration/app/checks › files › are looked for in the folder of the worker',
        'unit/runner/files › those that are missing are named in the given order',
        'unit/client/validators › checkers › FileExistsChecker names all that is missing, and has nothing to say without a file system',
      ],
    ],
    ['all there: complete', [files, 'conformance/files-check › all files are there']],
    [
      'no file system: complete',
      [
        files,
        'conformance/files-check › nobody can look at the files: allowed unless the policy says otherwise',
        'unit/client/validators › checkers › FileExistsChecker names all that is missing, and has nothing to say without a file system',
      ],
      'the built-in check is then in error, which allows and says so',
    ],
  ]),
  ...part('002', 'Operational Notes', [
    [
      'off by default',
      [
        'seeds/task-completion › no checker, no check: nothing is asked of a worker whose policy has none',
        'conformance/no-check › no check attached: the stop is allowed',
      ],
    ],
    [
      'not asked when budget or deadline is used up',
      [
        'seeds/task-completion › %s: the checks are not run',
        'conformance/bypass › a stop for budget_exhausted is not judged',
        'conformance/bypass › a stop for deadline_exceeded is not judged',
        'conformance/bypass › an exhausted budget lasts until the next prompt',
      ],
    ],
    [
      'feedback names three titles at most',
      [
        'conformance/plan-check › more than three: three titles and an ellipsis',
        'seeds/stop-validation › todos › that remain are counted, and the first three named with 30 characters each',
      ],
    ],
  ]),
];
