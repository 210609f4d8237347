import type { Plan } from '../../../machines/index.ts';
import { Text } from './text.tsx';

const done: ReadonlySet<string> = new Set(['done', 'completed', 'cancelled']);
const isDone = ({ status }: { status: string }) => done.has(status);
const shownMax = 40;

export function PlanList({ plan }: { plan: Plan }) {
  return (
    <section aria-label="Plan">
      <h3>
        Plan <span class="muted">{`${plan.filter(isDone).length} of ${plan.length} done`}</span>
      </h3>
      <ul class="plan">
        {plan.slice(0, shownMax).map((step, index) => (
          <li key={step.step ?? index} data-done={isDone(step)}>
            <span aria-hidden="true">{isDone(step) ? '✓' : step.status === 'in_progress' ? '▸' : '○'}</span>
            <Text value={step.title} max={160} />
            <span class="muted">
              <Text value={step.status} max={24} />
            </span>
          </li>
        ))}
      </ul>
      {plan.length > shownMax && <p class="muted">and {plan.length - shownMax} steps more</p>}
    </section>
  );
}
