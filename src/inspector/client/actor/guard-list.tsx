/** The guards of a decision: the one that decided and what failed before it, with what they looked at; those that passed are folded. */
import type { Decision } from '../../../../machines/index.ts';
import { millis, plural } from '../ui/format.ts';
import { Json, Text } from '../ui/text.tsx';

type Verdict = Decision['verdicts'][number];

export function GuardList({ decision: { verdicts, reason, cause } }: { decision: Decision }) {
  const deciding = cause === 'superseded' ? undefined : verdicts.at(-1);
  const before = deciding === undefined ? verdicts : verdicts.slice(0, -1);
  // In error; or failed, and the cap or `stuck` came instead of the block.
  const failed = before.filter(({ verdict }) => verdict !== 'pass');
  const passed = before.filter(({ verdict }) => verdict === 'pass');
  return (
    <>
      <ul class="guards" aria-label="Guards that decided">
        {[...failed, ...(deciding === undefined ? [] : [deciding])].map((verdict) => (
          <GuardLine key={verdict.guard} verdict={verdict} reason={reason} />
        ))}
      </ul>
      {passed.length > 0 && (
        <details class="passed">
          <summary>{plural(passed.length, 'guard')} passed</summary>
          <ul class="guards">
            {passed.map((verdict, index) => (
              <GuardLine key={`${verdict.guard}${index}`} verdict={verdict} reason="" />
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

const signs = { pass: '✓', block: '✗', allow: '→', error: '!' } as const;

const GuardLine = ({ verdict, reason }: { verdict: Verdict; reason: string }) => (
  <li data-verdict={verdict.verdict} data-guard={verdict.guard}>
    <span class="sign" aria-hidden="true">
      {signs[verdict.verdict]}
    </span>
    <span class="sr-only">{verdict.verdict}</span>
    <b>{verdict.guard}</b>
    <span class="detail">
      {verdict.detail === reason ? <span class="muted">decided</span> : <Text value={verdict.detail} />}
      {(verdict.tookMs ?? 0) >= 0.05 && <span class="muted"> {millis(verdict.tookMs ?? 0)}</span>}
      {verdict.input !== undefined && Object.keys(verdict.input).length > 0 && <Input input={verdict.input} />}
    </span>
  </li>
);

const Input = ({ input }: { input: Readonly<Record<string, unknown>> }) => (
  <details class="input">
    <summary>what it looked at</summary>
    <Json value={input} />
  </details>
);
