/** A list of names and values. */
import type { ComponentChildren } from 'preact';

export const Facts = ({ children }: { children: ComponentChildren }) => <dl class="facts">{children}</dl>;

export const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <div>
    <dt>
      <bdi>{name.slice(0, 60)}</bdi>
    </dt>
    <dd>{children}</dd>
  </div>
);
