/** rules: lists how the checks of the policies have done, and which deserve a look. */
import { formatIsoTime } from '../../../../machines/index.ts';
import { createRuleCounts } from '../../../inspector/rules/rule-health.ts';
import { lookWords, type RuleHealth, rulesSinceMs } from '../../../inspector/rules/rules-report.ts';
import { formatTable } from '../../../terminal/table.ts';
import { defineCommand, option } from '../../command.ts';
import { withRequester } from '../../connection.ts';
import { foldLog } from '../../fold-log.ts';
import { clientArgs, readsLog, timeForms, toTime } from '../../option-values.ts';

const headings = [
  'POLICY',
  'CHECK',
  'RUNS',
  'PASSES',
  'FAILURES',
  'ERRORS',
  'BLOCKS',
  'OVERTURNED',
  'MEDIAN',
  'LAST FAILURE',
  'LOOK',
];

export const rules = defineCommand({
  args: {
    since: option('TIME', `only stops since then: ${timeForms} (default: 30d)`, toTime),
    ...clientArgs,
  },
  details: [
    'For each check of each policy in force: how many stops evaluated it and what it found, the stops that it blocked, the blocks after which a person let the worker stop anyway (a pause, an escalation resolved with "stop", a retirement), its median time, and its last failure.',
    `LOOK names what deserves a look. ${Object.entries(lookWords)
      .map(([look, words]) => `${look}: ${words}`)
      .join('. ')}.`,
    'If the policies of several held tasks judge a stop, each check counts for the policy that it comes from.',
    `Counts what the log still has. ${readsLog}`,
  ],
  examples: ['stopgate rules', 'stopgate rules --since 7d --json'],
  run: async ({ flags, io, out }) => {
    const { since: sinceMs = Date.now() - rulesSinceMs } = flags;
    const counts = createRuleCounts();
    const report = await withRequester(flags, io, async (requester, fleet) => {
      const { fleet: folded } = await foldLog(requester, fleet, (state, message) => {
        counts.fold(state, message, sinceMs);
        return false;
      });
      return counts.report(folded, sinceMs);
    });
    if (flags.json) await out.json(report);
    else if (report.rules.length === 0) await out.print('No policy of this fleet has checks.');
    else {
      const paint = (rule: RuleHealth) => (rule.look === null ? out.colors.dim : out.colors.yellow);
      await out.print(
        ...formatTable(
          headings,
          report.rules.map((rule) => cellsOf(rule, paint(rule))),
          out.width(),
        ),
        '',
        `${report.decisions} stops reached their checks since ${formatIsoTime(sinceMs)}.`,
      );
    }
    return 0;
  },
});

function cellsOf(rule: RuleHealth, paint: (text: string) => string) {
  const { policy, check, runs, passes, failures, errors, blocks, overturned, medianMs, lastFailure, look } = rule;
  const numbers = [runs, passes, failures, errors, blocks, overturned].map((count) => ({ text: String(count) }));
  return [
    { text: policy },
    { text: check, isWhole: true },
    ...numbers,
    { text: medianMs === null ? '-' : medianMs < 1_000 ? `${medianMs}ms` : `${(medianMs / 1_000).toFixed(1)}s` },
    { text: lastFailure === null ? '-' : lastFailure.at },
    { text: look ?? '', paint },
  ];
}
