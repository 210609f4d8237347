/** Keys that work as long as a component is shown. */
import { useEffect, useRef } from 'preact/hooks';
import { addShortcuts, type Shortcut } from '../keys.ts';

/** @param wanted always the same keys; what they do is taken from the latest rendering */
export function useShortcuts(wanted: readonly Shortcut[]): void {
  const latest = useRef(wanted);
  latest.current = wanted;
  useEffect(() => addShortcuts(wanted.map((it, index) => ({ ...it, run: () => latest.current[index]?.run() }))), []);
}
