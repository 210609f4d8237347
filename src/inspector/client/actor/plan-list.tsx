/** The steps of a plan, with how many are done. */
import type { Plan } from '../../../../machines/index.ts';
import { Text } from '../ui/text.tsx';

const doneStatuses: ReadonlySet<string> = new Set(['done', 'completed', 'cancelled']);
const isDone = ({ status }: { status: string }) => doneStatuses.has(status);
const stepsMax = 40;

/** Whether the steps belong to more than one task: then each says to which. */
const isOfSeveral = (plan: Plan): boolean => plan.some(({ task }) => task !== plan[0]?.task);

export const PlanList = ({ plan }: { plan: Plan }) => (
  <section aria-label="Plan">
    <h3>
      Plan <span class="muted">{`${plan.filter(isDone).length} of ${plan.length} done`}</span>
    </h3>
    <ul class="plan">
      {plan.slice(0, stepsMax).map((step, index) => (
        <li key={step.step ?? index} data-done={isDone(step)}>
          <span aria-hidden="true">{isDone(step) ? '✓' : step.status === 'in_progress' ? '▸' : '○'}</span>
          <Text value={step.title} max={160} />
          {step.task !== undefined && isOfSeveral(plan) && (
            <span class="muted">
              <Text value={step.task} max={60} />
            </span>
          )}
          <span class="muted">
            <Text value={step.status} max={24} />
          </span>
        </li>
      ))}
    </ul>
    {plan.length > stepsMax && <p class="muted">and {plan.length - stepsMax} more steps</p>}
  </section>
);
