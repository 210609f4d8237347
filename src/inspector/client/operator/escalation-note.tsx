/** An actor's escalation, and how the last one was resolved. */
import type { WorkerView } from '../../../../machines/index.ts';
import { questionIn } from '../../../../machines/values/question.ts';
import { Ago } from '../ui/age.tsx';
import { Text } from '../ui/text.tsx';

type Props = Pick<WorkerView, 'escalation' | 'resolution'>;

export const EscalationNote = ({ escalation, resolution }: Props) => (
  <>
    {escalation !== null && <Escalation escalation={escalation} />}
    {resolution !== null && <Resolution resolution={resolution} />}
  </>
);

const Escalation = ({ escalation }: { escalation: NonNullable<Props['escalation']> }) => (
  <section class="escalation" aria-label="Escalation">
    <h3>Needs a person</h3>
    <p class="question">
      <Text value={questionIn(escalation.reason) ?? ''} />
    </p>
    <p class="muted">
      {escalation.cause}, <Ago thenMs={Date.parse(escalation.since)} /> ·{' '}
      {escalation.acknowledgedBy === null ? (
        'not acknowledged yet'
      ) : (
        <>
          acknowledged by <Text value={escalation.acknowledgedBy} max={60} />
        </>
      )}
      {escalation.notified > 0 && ` · notified ${escalation.notified}×`}
    </p>
  </section>
);

const Resolution = ({ resolution }: { resolution: NonNullable<Props['resolution']> }) => (
  <section class="resolution" aria-label="Resolution">
    <h3>
      Resolved: {resolution.verdict} <span class="muted">by </span>
      <Text value={resolution.by} max={60} />{' '}
      <span class="muted">
        <Ago thenMs={Date.parse(resolution.at)} />
      </span>
    </h3>
    {resolution.prompt !== null && (
      <blockquote>
        <Text block value={resolution.prompt} max={600} />
      </blockquote>
    )}
  </section>
);
