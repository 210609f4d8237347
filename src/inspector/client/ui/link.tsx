/** A link within the page. Clicks that open another tab are left to the browser. */
import type { ComponentProps } from 'preact';
import { hrefOf, navigate, type Route } from '../route.ts';

type Props = Omit<ComponentProps<'a'>, 'href' | 'onClick' | 'role'> & { readonly to: Partial<Route> };

export const Link = ({ to, children, ...attributes }: Props) => (
  <a
    {...attributes}
    href={hrefOf(to)}
    onClick={(event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button !== 0) return;
      event.preventDefault();
      navigate(to);
    }}
  >
    {children}
  </a>
);
