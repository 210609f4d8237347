/** An actor's escalation, and how the last one was resolved. */

import type { ComponentChildren } from 'preact';
import type { WorkerView } from '../../../../machines/index.ts';
import { reasonThen } from '../../../../machines/replay/reason-then.ts';
import { questionIn } from '../../../../machines/values/questions.ts';
import { isPast } from '../data/past.ts';
import { Button } from '../ui/controls.tsx';
import { withoutName } from '../ui/format.ts';
import { Ago, Text } from '../ui/text.tsx';
import { amountsText } from './grant.ts';
import { actionTexts, mayOperate, type OperatorAction, requestAction } from './operator-actions.ts';

type NoteProps = Pick<WorkerView, 'escalation' | 'resolution'> & {
  readonly id: string;
  readonly answer?: ComponentChildren;
};

export const EscalationNote = ({ id, escalation, resolution, answer }: NoteProps) => (
  <>
    {escalation !== null && <Escalation id={id} escalation={escalation} answer={answer} />}
    {resolution !== null && <Resolution resolution={resolution} />}
  </>
);

type EscalationProps = {
  readonly id: string;
  readonly escalation: NonNullable<NoteProps['escalation']>;
  readonly answer: ComponentChildren;
};

const Escalation = ({ id, escalation, answer }: EscalationProps) => (
  <section class="escalation" aria-label="Escalation">
    <h3>Needs a person</h3>
    <Text as="p" class="question" value={withoutName(questionIn(reasonThen(escalation)) ?? '', id)} />
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
      {resolution.verdict === 'resume' ? 'Resumed' : 'Stopped'}
      {resolution.granted !== undefined && `, granted ${amountsText(resolution.granted)}`}{' '}
      <span class="muted">by </span>
      <Text value={resolution.by} max={60} />{' '}
      <span class="muted">
        <Ago thenMs={Date.parse(resolution.at)} />
      </span>
    </h3>
    {resolution.prompt !== null && <Text as="blockquote" block value={resolution.prompt} max={600} />}
  </section>
);

/** Properties of the buttons for an operator's actions on one actor. */
type ButtonsProps = {
  readonly entity: 'worker' | 'task';
  readonly id: string;
  readonly escalation: WorkerView['escalation'];
  /** Whether it cannot be retired (any more). */
  readonly ended: boolean;
  /** Whether an answer form is shown, which includes resume and stop. */
  readonly hasAnswer: boolean;
  /** For workers: whether it is paused, and whether it can be. Tasks cannot be paused. */
  readonly pause?: { readonly isPaused: boolean; readonly isPausable: boolean };
};

const keys: Readonly<Partial<Record<OperatorAction, string>>> = {
  acknowledge: 'a',
  resume: 'r',
  stop: 's',
  pause: 'P',
  unpause: 'P',
};

/** Buttons that replace each other have the same `place`, so that the focus is kept. */
type OfferedAction = { readonly action: OperatorAction; readonly text: string; readonly place: string };

function offeredActions({ entity, escalation, ended, hasAnswer, pause }: ButtonsProps): readonly OfferedAction[] {
  const offer = (
    action: OperatorAction,
    text: string = actionTexts[action].button,
    place: string = action,
  ): OfferedAction => ({
    action,
    text,
    place,
  });
  const offered: OfferedAction[] = [];
  if (escalation !== null) {
    if (escalation.acknowledgedBy === null) offered.push(offer('acknowledge'));
    if (!hasAnswer) offered.push(offer('resume'), offer('stop'));
  }
  if (entity === 'task') return offered;
  if (pause?.isPaused) offered.push(offer('unpause', actionTexts.unpause.button, 'pause'));
  if (pause?.isPausable) offered.push(pause.isPaused ? offer('pause', 'Change pause…', 'change') : offer('pause'));
  if (!ended) offered.push(offer('retire'));
  return offered;
}

export function OperatorButtons(props: ButtonsProps) {
  const { entity, id, escalation } = props;
  if (isPast.value || !mayOperate()) return null;
  const offered = offeredActions(props);
  if (offered.length === 0) return null;
  return (
    <p class={escalation === null ? 'row buttons' : 'row buttons actions'}>
      {offered.map(({ action, text, place }) => {
        const key = place === 'change' ? undefined : keys[action];
        return (
          <Button
            key={place}
            data-action={action}
            aria-keyshortcuts={key}
            title={key === undefined ? undefined : `Key ${key}`}
            onClick={() =>
              requestAction({
                action,
                targets: [escalation === null ? { entity, id } : { entity, id, escalation: escalation.seq }],
              })
            }
          >
            {text}
          </Button>
        );
      })}
    </p>
  );
}
