/** An actor's escalation, and how the last one was resolved. */

import type { ComponentChildren } from 'preact';
import type { WorkerView } from '../../../../machines/index.ts';
import { questionIn } from '../../../../machines/values/questions.ts';
import { isPast } from '../data/past.ts';
import { Button } from '../ui/controls.tsx';
import { Ago, Text } from '../ui/text.tsx';
import { actionTexts, type OperatorAction, requestAction } from './operator-actions.ts';

type NoteProps = Pick<WorkerView, 'escalation' | 'resolution'> & { readonly answer?: ComponentChildren };

export const EscalationNote = ({ escalation, resolution, answer }: NoteProps) => (
  <>
    {escalation !== null && <Escalation escalation={escalation} answer={answer} />}
    {resolution !== null && <Resolution resolution={resolution} />}
  </>
);

type EscalationProps = {
  readonly escalation: NonNullable<NoteProps['escalation']>;
  readonly answer: ComponentChildren;
};

const Escalation = ({ escalation, answer }: EscalationProps) => (
  <section class="escalation" aria-label="Escalation">
    <h3>Needs a person</h3>
    <Text as="p" class="question" value={questionIn(escalation.reason) ?? ''} />
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
    {!isPast.value && answer}
  </section>
);

const Resolution = ({ resolution }: { resolution: NonNullable<NoteProps['resolution']> }) => (
  <section class="resolution" aria-label="Resolution">
    <h3>
      Resolved: {resolution.verdict} <span class="muted">by </span>
      <Text value={resolution.by} max={60} />{' '}
      <span class="muted">
        <Ago thenMs={Date.parse(resolution.at)} />
      </span>
    </h3>
    {resolution.prompt !== null && <Text as="blockquote" block value={resolution.prompt} max={600} />}
  </section>
);

/** The operator's actions on one actor, as buttons: those that make sense in its present state. */
type ButtonsProps = {
  readonly entity: 'worker' | 'task';
  readonly id: string;
  readonly escalation: WorkerView['escalation'];
  /** It can be retired no more, or never could. */
  readonly ended: boolean;
  /** Its answer stands below: to resume or stop it is a part of that. */
  readonly hasAnswer: boolean;
};

const keys: Readonly<Partial<Record<OperatorAction, string>>> = { acknowledge: 'a', resume: 'r', stop: 's' };

export function OperatorButtons({ entity, id, escalation, ended, hasAnswer }: ButtonsProps) {
  if (isPast.value) return null;
  const actions: OperatorAction[] = [];
  if (escalation !== null) {
    if (escalation.acknowledgedBy === null) actions.push('acknowledge');
    if (!hasAnswer) actions.push('resume', 'stop');
  }
  if (entity === 'worker' && !ended) actions.push('retire');
  if (actions.length === 0) return null;
  return (
    <p class={escalation === null ? 'row buttons' : 'row buttons actions'}>
      {actions.map((action) => (
        <Button
          key={action}
          data-action={action}
          aria-keyshortcuts={keys[action]}
          title={keys[action] === undefined ? undefined : `Key ${keys[action]}`}
          onClick={() =>
            requestAction({
              action,
              targets: [escalation === null ? { entity, id } : { entity, id, escalation: escalation.seq }],
            })
          }
        >
          {actionTexts[action].button}
        </Button>
      ))}
    </p>
  );
}
