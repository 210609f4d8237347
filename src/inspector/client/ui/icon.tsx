/** A drawing of 16 by 16, in place of a word where there is little room. Screen readers hear the word. */
export const Icon = ({ path }: { path: string }) => (
  <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
    <path d={path} />
  </svg>
);
