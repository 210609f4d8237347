/** Seed 000, Stop Hooks Specification: a validator is asked when the agent would stop. */
import { part, type Rule } from './rule.ts';

const validator = 'seeds/stop-validation › the validator';
const todos = 'seeds/stop-validation › todos';
const calls = 'unit/agents/claude › each recorded call › %s';
const given = `${validator} › is given the stop reason, the number of tools used and how often the stop was blocked`;
const incomplete = `${validator} › that says incomplete blocks with its reason; after three blocks the stop is forced, with a warning`;
const complete = `${validator} › that says complete lets the agent stop`;
const several = `${validator} › may be several: one after the other, the first that is not complete gives its reason, the rest are not asked`;

export const seed000: readonly Rule[] = [
  ...part('000', 'Purpose', [
    [
      'an agent is asked whether its task is complete before it ends, by its adapter and not by itself',
      'integration/agents/claude-session › a whole session: blocked while a step remains, allowed when all are done',
    ],
  ]),
  ...part('000', 'Design', [
    ['the stop hook fires when the agent tries to stop, and asks the validator', given],
    ['complete: the stop is allowed', complete],
    ['not complete: blocked with the reason, and tried again', incomplete],
  ]),
  ...part('000', 'Contract: ValidationParams', [
    ['`stop_reason`: what the agent gives as its reason', given, 'on the wire `stopReason`'],
    ['`tool_count`: how many tools were used', given, 'on the wire `toolCount`'],
    ['`retry_count`: how often the stop was blocked, 0 at first', given, 'on the wire `retryCount`'],
  ]),
  ...part('000', 'Contract: ValidationResult', [
    ['`complete`: whether the task counts as complete', [complete, incomplete]],
    [
      '`reason`: words for a person',
      [incomplete, 'integration/service/decide › decide › a plan that remains blocks, and the decision is published'],
    ],
    [
      '`render`: the state first, then the reason',
      [
        'integration/cli/attempt › what is printed › the answer first, then why, guard by guard',
        'unit/client/validators › ValidationResult › renders its status and reason',
      ],
      'the command line says allow or block, action and cause',
    ],
  ]),
  ...part('000', 'Tool Definition', [
    [
      'one tool, `validate_completion`, is the validator',
      'integration/app/checks › groups and conditions › remote: anybody may serve it, in either form; nobody, or nonsense, is an error',
      'a check has any name, and any process may serve it',
    ],
    [
      'the default validator says complete',
      'conformance/no-check › no check attached: the stop is allowed',
      'cause `no-policy`',
    ],
  ]),
  ...part('000', 'Workspace Integration', [
    [
      'the validator is attached to the workspace',
      'conformance/policy › a worker names its policy',
      'by the policy of the worker',
    ],
    ['only allowed host roots are looked at', 'integration/app/checks › files › in a folder %s: the check is in error'],
    ['todos that are not completed make it incomplete', `${todos} › one that is %s: %s`],
    [
      'the reason counts them and names three, 30 characters each',
      `${todos} › that remain are counted, and the first three named with 30 characters each`,
      '`n of m plan steps remain: …`, since m is worth knowing',
    ],
    [
      'all completed: complete',
      'conformance/plan-check › done, completed and cancelled are done',
      '`cancelled` is done too: it is nobody’s work',
    ],
  ]),
  ...part('000', 'Adapter Handling', [
    [
      'the stop reason is read from the call; where it has none it is `end_turn`',
      [given, 'integration/client/checks › a check is told of the agent in the names of the seeds'],
      'on the wire it is null then; the TypeScript client gives `end_turn`',
    ],
    [
      'no validator: an empty answer, the stop is allowed',
      [
        'unit/agents/claude › answers › an allowed stop, and any other event, gets an empty answer',
        `${validator} › where there is none the stop is allowed`,
      ],
    ],
    [
      'the validator is asked, and the cap is looked at',
      incomplete,
      'the cap first, and the validator is then not asked: no cost for an answer that is fixed',
    ],
    ['at the cap the stop is allowed, with a warning', incomplete],
    [
      'incomplete: the count goes up by one',
      'conformance/retries › three stops are blocked, the fourth is allowed as capped',
    ],
    [
      'the answer to a block is `decision: block` with the reason',
      'unit/agents/claude › answers › a block is what was proven to block',
      'the next prompt goes before the reason',
    ],
    [
      'complete: an empty answer',
      'unit/agents/claude › answers › an allowed stop, and any other event, gets an empty answer',
    ],
  ]),
  ...part('000', 'Configuration', [
    [
      '`completion_validator`: none by default',
      ['conformance/no-check › no policy was ever set', 'unit/config/config › without anything › the defaults hold'],
    ],
    [
      '`max_stop_retries`: 3 by default',
      'conformance/retries › three stops are blocked, the fourth is allowed as capped',
      '`retries` of the policy',
    ],
    ['another number may be set', 'seeds/stop-validation › the most blocks there may be is the policy’s own'],
  ]),
  ...part('000', 'Common Validators', [
    [
      'todo validator: blocks while todos remain',
      [
        'conformance/plan-check › two of five remain',
        'conformance/plan-check › any other status is not done',
        'unit/client/validators › todoValidator › %j: %s',
        'integration/client/checks › validators of seed 000 serve as they are',
      ],
    ],
    [
      'todo validator: none remains, complete',
      ['conformance/plan-check › no plan: nothing remains', 'conformance/plan-check › an empty plan: nothing remains'],
    ],
    [
      'composite validator: all must pass, in their order',
      [
        'conformance/composite › all passes when every member does',
        several,
        'unit/client/validators › compositeValidator › all pass: one sentence for all',
      ],
    ],
    [
      'composite validator: the first that is not complete is the result',
      [
        'conformance/composite › checks are a conjunction: the first that fails decides',
        several,
        'unit/client/validators › compositeValidator › the first that is incomplete speaks, and the rest are not asked',
      ],
    ],
  ]),
  ...part('000', 'Hook Taxonomy', [
    [
      'UserPromptSubmit: before the input, cannot block',
      [calls, 'unit/agents/claude › answers › an allowed stop, and any other event, gets an empty answer'],
      'it begins the retries anew',
    ],
    ['Stop: before the end, can block', ['unit/agents/claude › answers › a block is what was proven to block', calls]],
    ['PreToolUse: before a tool, can block', calls, 'a sign of life; it blocks nothing here'],
    ['PostToolUse: after a tool, can block', calls, 'tool used, files modified, plan; it blocks nothing here'],
    [
      'SubagentStart: tracking',
      ['integration/agents/claude-session › a sub-agent › stops for itself: its parent is not touched', calls],
    ],
    [
      'SubagentStop: cannot block',
      'integration/agents/claude-session › a sub-agent › is held to its own plan',
      'it can, in the versions of today, and a sub-agent is a worker',
    ],
    [
      'PreCompact: cannot block, logging',
      [calls, 'integration/agents/claude-session › a sub-agent › that is only a compaction is nobody'],
    ],
    [
      'Notification: cannot block, observability',
      'unit/agents/claude › calls of other versions › an unknown event is a heartbeat',
    ],
  ]),
  ...part('000', 'Error Handling', [
    [
      'the validator raises: a warning is logged, the stop allowed',
      [
        `${validator} › that fails lets the agent stop, with a warning, and never as a silent yes`,
        'conformance/command-check › a command that cannot run lets the stop pass',
      ],
      'or as `onError` of the check says',
    ],
    ['complete: allowed', [complete, 'conformance/command-check › exit 0 lets the stop pass']],
    [
      'not complete: blocked with the reason',
      [incomplete, 'conformance/command-check › a failed command blocks with its words and its feedback'],
    ],
    [
      'retry count at the cap: forced, a warning is logged',
      [incomplete, 'conformance/retries › three stops are blocked, the fourth is allowed as capped'],
    ],
    ['none attached: allowed', 'conformance/no-check › no check attached: the stop is allowed'],
  ]),
  ...part('000', 'Limitations', [
    ['one validator to a workspace, which may combine others', several, 'a policy has a list'],
    [
      'validators are synchronous',
      'seeds/custom-hooks › a custom hook › may take its time: it is waited for',
      'they may take their time',
    ],
    ['no access to what the model wrote', given, 'the output is given (`agentOutput`)'],
    ['the session is only read', `${validator} › reads only: the answer is one entry, and the worker is what it was`],
  ]),
];
