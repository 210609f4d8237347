/** Seed 001, Stop Hook System: hooks on a task say complete, continue or escalate after each iteration. */
import { part, type Rule } from './rule.ts';

const preset =
  'seeds/iteration-hooks › the presets, by what they look at › %s: default says %s, validation %s, promise %s';
const custom = 'seeds/custom-hooks › a custom hook';
const context = `${custom} › is given the whole context of the agent`;
const result = 'seeds/iteration-hooks › a result has these fields and no others';
const several = 'seeds/iteration-hooks › several hooks';
const loop = 'seeds/iteration-hooks › the loop';
const lasting =
  'seeds/custom-hooks › hooks outlive a replica that is killed: kind, order, whether they are enabled, and the iteration';
const removed = 'seeds/iteration-hooks › hooks are removed › %s';
const own = 'seeds/custom-hooks › the seed’s own examples, as custom hooks of an iteration';
const halfway = `${own} › a checkpoint halfway: it is created, with phase, step and context, and the loop goes on`;
const detected = 'seeds/iteration-hooks › promises › that a caller has detected already are taken as they are';
const wire = 'on the wire';

export const seed001: readonly Rule[] = [
  ...part('001', 'Overview', [
    [
      'completion signals are caught in a loop of iterations',
      [
        `${loop} › goes on until COMPLETE; the completed iteration takes its hooks along`,
        'conformance/iterations › the loop of the iteration tools',
      ],
    ],
    [
      'hooks decide by the context of the run: complete, continue or escalate',
      'seeds/custom-hooks › a custom hook › decides by any logic: continue blocks, complete allows, escalate hands over',
    ],
  ]),
  ...part('001', 'Core Concept', [
    [
      'hooks are registered for a task and asked after each iteration',
      [
        'integration/service/evaluate › evaluate › says what the hooks say, in the form of hook_evaluate',
        `${several} › keep to their task`,
      ],
      'and when the worker that holds the task would stop',
    ],
    [
      'a hook is a callback',
      [
        `${custom} › decides by any logic: continue blocks, complete allows, escalate hands over`,
        "integration/client/hooks › the seed's custom hooks › the example of registerStopHook",
      ],
      'a preset, a TypeScript function, or any process that answers a subject',
    ],
  ]),
  ...part('001', 'Key Components', [
    [
      'the registry maps ids to hooks for a session, in memory',
      lasting,
      'hooks are entries of the log: the seed’s own first wish',
    ],
    ['the context is given to the hook', context],
    ['the result goes to the caller', result],
  ]),
  ...part('001', 'Hook Lifecycle', [
    ['registered at the start of the iteration', 'conformance/iterations › the loop of the iteration tools'],
    [
      'asked when the iteration is validated',
      'integration/service/evaluate › evaluate › says what the hooks say, in the form of hook_evaluate',
    ],
    ['cleared at its end', [removed, 'conformance/hooks-order › cleared hooks are gone']],
  ]),
  ...part('001', 'AgentContext', [
    [
      'its fields have these names',
      ['integration/client/checks › a check is told of the agent in the names of the seeds'],
      'in TypeScript; the wire has its own',
    ],
    ['`taskId`', context, `${wire} \`task\``],
    ['`iteration`, from 1', context],
    ['`executionPhase` or null', context, `${wire} \`phase\``],
    ['`filesModified`', context],
    ['`validationResults`', context, `${wire} a rule is \`rule\`, not \`ruleName\``],
    ['`completionPromises`', context],
    ['`agentOutput`, `draftContent`, `draftType`', context, 'null where there is none'],
  ]),
  ...part('001', 'StopHookResult', [
    [
      '`action`: complete, continue or escalate',
      `${custom} › decides by any logic: continue blocks, complete allows, escalate hands over`,
    ],
    ['`reason`', result],
    ['`nextPrompt`, if any', `${custom} › may say what to do next, and that is the next prompt`],
    [
      '`checkpointData`, if any: a checkpoint is created',
      [
        halfway,
        'integration/service/evaluate › a remote hook of an iteration › keeps its checkpoint with the task, to go on from',
      ],
    ],
    ['`metadata`, if any', `${own} › metadata goes through as it is`],
  ]),
  ...part('001', 'CompletionPromise', [
    ['COMPLETE, BLOCKED and ESCALATE', preset],
    ['`detected`: one that is not is none', [detected, 'conformance/promises › an undetected promise is none']],
    ['`content`: the text of the promise', [context, detected]],
    [
      'signals are found in the output',
      [
        'seeds/iteration-hooks › promises › %s',
        'unit/machines/parts › promises › %s',
        'conformance/promises › a fenced example is no promise',
      ],
      'not in code, in quotes or with other words: loops were ended by a quoted promise',
    ],
  ]),
  ...part('001', 'hook_register', [
    [
      'registers a hook of a type for a task',
      [
        'conformance/hooks-presets › default: COMPLETE completes',
        'seeds/bad-input › a hook › on an unknown task creates it, in no queue: so nobody is told that work waits',
      ],
    ],
    [
      'the answer has id, type and that it is enabled',
      [
        `${several} › are listed with id, type and whether they are enabled; one without an id gets one`,
        'integration/mcp/loop › over %s › the loop: a failed rule goes on, a promise completes, and the hooks are gone',
        'unit/mcp/server › hooks and checkpoints get the ids that are made for them',
      ],
    ],
    ['type `default`: promises first, then validation', preset],
    ['type `validation`: rules only', ['conformance/hooks-presets › validation: promises do not matter', preset]],
    [
      'type `promise`: promises only',
      ['conformance/hooks-presets › promise: none detected, rules do not matter', preset],
    ],
    [
      'another type is an error',
      [
        'seeds/bad-input › a hook › of an unknown type is refused, with the types that there are',
        'integration/mcp/bad-input › over %s › %s',
      ],
    ],
    [
      'metadata is kept',
      [
        'integration/mcp/loop › over %s › the loop: a failed rule goes on, a promise completes, and the hooks are gone',
        'integration/mcp/loop › over %s › hooks are listed in order, asked in order, and cleared',
      ],
    ],
  ]),
  ...part('001', 'hook_evaluate', [
    [
      'takes the iteration, the output, files, draft',
      [
        context,
        'integration/service/evaluate › a remote hook of an iteration › is asked live, with the iteration and what the agent said',
        'integration/mcp/loop › over %s › the loop: a failed rule goes on, a promise completes, and the hooks are gone',
      ],
      'the tool takes an iterationId; the request `evaluate.<task>` the number',
    ],
    [
      'gives hook, task, iteration, action, reason, next prompt, whether a checkpoint was created, metadata',
      [
        result,
        'integration/service/evaluate › evaluate › says what the hooks say, in the form of hook_evaluate',
        'integration/mcp/loop › over %s › the loop: a failed rule goes on, a promise completes, and the hooks are gone',
      ],
    ],
    ['the words for COMPLETE', 'conformance/hooks-presets › default: COMPLETE completes'],
    [
      '`iteration_validate` calls it, and gives the completion signal',
      [
        'integration/mcp/loop › over %s › the loop: a failed rule goes on, a promise completes, and the hooks are gone',
        'integration/mcp/loop › over %s › BLOCKED and ESCALATE escalate, and a quoted promise is none',
      ],
    ],
  ]),
  ...part('001', 'hook_list', [
    [
      'lists the hooks of a task, disabled ones too',
      [
        `${several} › are listed with id, type and whether they are enabled; one without an id gets one`,
        'integration/mcp/loop › over %s › hooks are listed in order, asked in order, and cleared',
      ],
    ],
    [
      'with their number, and the type in the metadata',
      ['integration/mcp/loop › over %s › hooks are listed in order, asked in order, and cleared'],
    ],
  ]),
  ...part('001', 'hook_clear', [
    [
      'removes all hooks of a task',
      [
        'conformance/hooks-order › cleared hooks are gone',
        removed,
        'integration/mcp/loop › over %s › hooks are listed in order, asked in order, and cleared',
      ],
    ],
    [
      'says how many',
      [
        'integration/mcp/loop › over %s › hooks are listed in order, asked in order, and cleared',
        'integration/mcp/loop › over %s › the loop: a failed rule goes on, a promise completes, and the hooks are gone',
      ],
    ],
  ]),
  ...part('001', 'createDefaultHook', [
    [
      'is made by a call with the task, and gives an id',
      ['integration/client/hooks › presets › the default hook: promises, then validation'],
    ],
    [
      '1: COMPLETE → complete',
      [
        'conformance/hooks-presets › default: COMPLETE completes',
        'conformance/hooks-presets › default: COMPLETE comes before ESCALATE',
      ],
    ],
    ['2: ESCALATE → escalate', 'conformance/hooks-presets › default: ESCALATE escalates'],
    [
      '3: BLOCKED → escalate',
      [
        'conformance/hooks-presets › default: BLOCKED escalates',
        'seeds/iteration-hooks › the presets, by what they look at › of BLOCKED and ESCALATE the second is the reason, being the higher of the two',
      ],
    ],
    ['4: all rules pass → complete', 'conformance/hooks-presets › default: all rules pass'],
    [
      '4: some fail → continue, with feedback',
      [
        'conformance/hooks-presets › default: some rules fail',
        'seeds/iteration-hooks › the presets, by what they look at › failed rules are the feedback, by name',
      ],
    ],
    ['else continue: the iteration is in progress', 'conformance/hooks-presets › default: nothing to go by'],
  ]),
  ...part('001', 'createValidationHook', [
    ['is made by a call with the task, and gives an id', ['integration/client/hooks › presets › %s']],
    ['all pass → complete', 'conformance/hooks-presets › validation: all rules pass'],
    ['some fail → continue, with feedback', 'conformance/hooks-presets › validation: some rules fail'],
    ['none → continue', 'conformance/hooks-presets › validation: no rules given'],
  ]),
  ...part('001', 'createPromiseHook', [
    ['is made by a call with the task, and gives an id', ['integration/client/hooks › presets › %s']],
    ['COMPLETE → complete', 'conformance/hooks-presets › promise: COMPLETE completes'],
    ['ESCALATE → escalate', 'conformance/hooks-presets › promise: ESCALATE escalates'],
    ['BLOCKED → escalate', 'conformance/hooks-presets › promise: BLOCKED escalates'],
    ['none → continue', 'conformance/hooks-presets › promise: none detected, rules do not matter'],
  ]),
  ...part('001', 'Custom Hooks', [
    [
      'any logic: more than ten iterations escalate, nothing modified goes on, else complete',
      [
        `${own} › custom logic: too many iterations, nothing modified, or complete`,
        'conformance/hooks-errors › a hook served by any process',
        "integration/client/hooks › the seed's custom hooks › the example of registerStopHook",
      ],
    ],
  ]),
  ...part('001', 'Typical Agent Flow', [
    [
      'all of it by these tools, from `task_get` to `hook_clear`',
      ['integration/mcp/loop › over %s › the loop: a failed rule goes on, a promise completes, and the hooks are gone'],
    ],
    [
      'register, start with a maximum and promises, validate each iteration',
      `${loop} › goes on until COMPLETE; the completed iteration takes its hooks along`,
    ],
    [
      'COMPLETE: complete the iteration, clear the hooks, leave',
      `${loop} › goes on until COMPLETE; the completed iteration takes its hooks along`,
    ],
    [
      'ESCALATE: mark the task, clear the hooks, leave',
      [
        `${loop} › ends with ESCALATE or BLOCKED: a person must look, and the hooks are cleared`,
        'seeds/iteration-hooks › where an escalate is an answer only, the loop that asked acts on it: the task stays as it is',
        'integration/service/escalations › an escalation is told with its decision, and that it was told is an entry',
      ],
      'in a stop the worker and its task are `escalated` by themselves',
    ],
    ['CONTINUE: the next iteration', 'conformance/iterations › the loop of the iteration tools'],
    [
      '`maxIterations` ends the loop',
      [
        `${loop} › ends at maxIterations: the last continue is an escalate`,
        'conformance/iterations › a continue in the last iteration escalates',
        'conformance/iterations › no iteration after the last',
        'integration/mcp/loop › over %s › the last iteration escalates instead of going on',
      ],
    ],
    [
      '`completionPromises` names those that count',
      [
        `${loop} › looks at the completion promises that the iteration names, and at no others`,
        'conformance/iterations › only the promises that the iteration names count',
      ],
    ],
  ]),
  ...part('001', 'Hook Evaluation Order', [
    [
      '1: in the order of registration',
      [
        `${several} › are asked in the order in which they were registered, up to the first that is not continue`,
        'integration/client/evaluate › the first that does not continue ends it, in the order of registration',
      ],
    ],
    [
      '2: the first complete or escalate ends it',
      [
        'conformance/hooks-order › the first complete ends the evaluation',
        'conformance/hooks-order › the first escalate ends the evaluation',
      ],
    ],
    [
      '3: when all continue, the last one’s result is used',
      "conformance/hooks-order › when all continue the last one's result stands",
    ],
    ['4: disabled ones are skipped', 'conformance/hooks-order › a disabled hook is skipped'],
    ['after a complete the later ones are not asked', `${custom} › after one that says complete is not asked`],
  ]),
  ...part('001', 'Safety and Error Handling', [
    [
      'a hook that throws: escalate, `Hook evaluation failed: …`, `metadata.error`',
      [
        'conformance/hooks-errors › a hook that fails in an iteration',
        'conformance/hooks-errors › a hook that fails escalates',
        `${custom} › that fails escalates with its error, unless it is set to be skipped`,
        "integration/client/hooks › a hook that throws › escalates in the seed's words",
        'integration/client/evaluate › a hook that throws escalates, with the error in its metadata',
      ],
    ],
    [
      'none registered: hook `default`, continue, and these words',
      [
        'conformance/hooks-order › no hooks: the answer says so',
        'integration/service/evaluate › evaluate › without hooks says continue, and that there are none',
      ],
      'when hooks are asked directly; in a stop they have no say',
    ],
    [
      'disabled: skipped',
      ['conformance/hooks-order › hooks are disabled and enabled again', `${several} › all disabled are as none`],
    ],
  ]),
  ...part('001', 'Performance Considerations', [
    ['hooks are not persisted, and lost with the server', lasting, 'they outlive it'],
    [
      'they must be registered again on `checkpoint_resume`',
      [
        lasting,
        'integration/mcp/loop › over %s › a checkpoint is resumed by another session, with the iteration and the hooks that stand',
      ],
      'they need not',
    ],
    [
      'callbacks cannot be stored',
      `${custom} › decides by any logic: continue blocks, complete allows, escalate hands over`,
      'a remote hook is stored by its name, its logic stays with its process',
    ],
    ['cleaned up without being told', removed, 'when the iteration or the task ends'],
    [
      'asking is quick: no database is read',
      'unit/machines/step › $id waits for nothing by itself: timers and work are entries',
      'hooks are asked in the fold, from memory',
    ],
    [
      'a hook takes about 100 bytes',
      'seeds/bad-input › a hook › too many: the 65th is refused, the 64 stay',
      'no such figure is claimed; what a task may hold has a limit',
    ],
    [
      'five to ten hooks to a task at most',
      'seeds/bad-input › a hook › too many: the 65th is refused, the 64 stay',
      'a limit: 64',
    ],
  ]),
  ...part('001', 'Common Patterns', [
    [
      'TDD loop: `tests_pass` → complete, else the next prompt says what to do',
      [
        'seeds/iteration-hooks › templates › tdd: the rule tests_pass alone decides, and the next prompt says what to do',
        'conformance/hooks-presets › tdd: the tests pass',
        'conformance/hooks-presets › tdd: the tests fail',
        "integration/client/hooks › the seed's custom hooks › TDD loop",
      ],
    ],
    [
      'security: both rules → complete; at iteration 10 escalate; else continue',
      [
        'seeds/iteration-hooks › templates › security: iteration %i, fixed %s, clean %s: %s',
        'conformance/hooks-presets › security: escalates at iteration 10',
        'conformance/hooks-presets › security: clean',
        'conformance/hooks-presets › security: vulnerabilities remain',
        "integration/client/hooks › the seed's custom hooks › security remediation",
      ],
    ],
    [
      'checkpoint at iteration 5, and the loop goes on',
      [
        'seeds/iteration-hooks › templates › checkpoint: saves one at its iteration, halfway by default, and lets the others decide',
        'conformance/hooks-presets › checkpoint: saved at iteration 5',
        halfway,
        "integration/client/hooks › the seed's custom hooks › checkpoint creation",
        'integration/client/evaluate › what a hook saves is there to go on from',
      ],
    ],
  ]),
  ...part('001', 'Testing', [
    [
      'registration and retrieval',
      `${several} › are listed with id, type and whether they are enabled; one without an id gets one`,
    ],
    [
      'removal and cleanup',
      [removed, 'seeds/iteration-hooks › hooks are removed › not by a release: the next worker is held to them'],
    ],
    ['asynchronous hooks', `${custom} › may take its time: it is waited for`],
    [
      'several hooks to a task',
      `${several} › are asked in the order in which they were registered, up to the first that is not continue`,
    ],
    [
      'unregistration',
      ['integration/client/hooks › enabling, disabling, clearing › unregisterStopHook disables it and stops serving'],
    ],
  ]),
  ...part('001', 'Migration from Phase 1', [
    ['loops without hooks go on as they are', `${loop} › has no need of hooks: without one it is asked to continue`],
  ]),
  ...part('001', 'Future Enhancements', [
    ['1: hooks that persist', lasting],
    [
      '2: templates',
      [
        'seeds/iteration-hooks › templates › tdd: the rule tests_pass alone decides, and the next prompt says what to do',
        'conformance/hooks-presets › checkpoint: at the iteration of its metadata',
      ],
    ],
    [
      '3: hooks chained by AND and OR',
      [
        'seeds/iteration-hooks › chained hooks › %s: %s',
        'conformance/hooks-presets › all: complete when every member is',
        'conformance/hooks-presets › any: complete when one member is',
      ],
    ],
    [
      '4: figures of how hooks decide',
      [
        'integration/service/evaluate › what hooks have said › is kept with the task: how often, what, and why the last time',
        'integration/service/evaluate › what hooks have said › counts errors, and stays when the hooks are gone',
      ],
    ],
    [
      '5: every evaluation is logged',
      [
        'integration/service/evaluate › evaluate › is logged, so that a replay says the same',
        'integration/service/evaluate › what hooks have said › is kept with the task: how often, what, and why the last time',
      ],
    ],
    [
      '6: hooks under a condition',
      [
        'seeds/iteration-hooks › conditional hooks › %s: %j',
        'seeds/iteration-hooks › conditional hooks › by the phase of the last checkpoint, and by a label of the worker',
        'conformance/hooks-order › a hook whose condition is not met is skipped',
      ],
    ],
  ]),
];
