/** The states of a machine as nested lists, each with its transitions. */
import type { StateNode } from '../../chart/foreign-states.ts';
import { plural } from '../ui/format.ts';

type Marks = {
  readonly active: ReadonlySet<string>;
  readonly last: string | null;
  /** What is inside a state that is not active is folded. */
  readonly isFolded: boolean;
};

export const StateList = ({ states, ...marks }: Marks & { readonly states: StateNode }) => (
  <ul class="states">
    {states.transitions.length > 0 && <Transitions node={states} last={marks.last} name="anywhere" />}
    {states.states.map((node) => (
      <State key={node.path} node={node} {...marks} />
    ))}
  </ul>
);

function State({ node, ...marks }: Marks & { readonly node: StateNode }) {
  const { active, last, isFolded } = marks;
  const isActive = active.has(node.path);
  const inside = node.states.length > 0 && (
    <ul class="states">
      {node.states.map((child) => (
        <State key={child.path} node={child} {...marks} />
      ))}
    </ul>
  );
  return (
    <li class="state" data-state={node.path} data-active={isActive || undefined} aria-current={isActive || undefined}>
      <span class="state-name">
        {isActive ? '● ' : ''}
        <bdi>{node.name}</bdi>{' '}
        <small>{[node.initial ? 'initial' : '', node.kind ?? ''].filter(Boolean).join(', ')}</small>
      </span>
      {node.transitions.length > 0 && (
        <ul>
          <Transitions node={node} last={isActive ? last : null} />
        </ul>
      )}
      {isFolded && inside !== false ? (
        <details open={isActive}>
          <summary>{plural(node.states.length, 'state')}</summary>
          {inside}
        </details>
      ) : (
        inside
      )}
    </li>
  );
}

const Transitions = ({ node, last, name }: { node: StateNode; last: string | null; name?: string }) => (
  <>
    {node.transitions.map(({ on, guard, to }, at) => (
      <li key={at} class="transition" data-last={on === last || undefined}>
        {name === undefined ? '' : `${name}: `}
        <bdi>{on}</bdi>
        {guard === null ? '' : ` [${guard}]`}
        {to.length === 0 ? '' : ` → ${to.join(', ')}`}
      </li>
    ))}
  </>
);
