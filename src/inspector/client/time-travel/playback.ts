/** Plays the log: one entry after the other, each as soon as the one before is on screen. */
import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { settled } from '../data/past.ts';

export const playing = signal(false);
const stepMs = 300;

/** @param goTo moves to an entry */
export function usePlayback(at: number, lastSeq: number, goTo: (seq: number) => void): void {
  const steps = useRef(0);
  useEffect(() => {
    if (!playing.value) return;
    steps.current += 1;
    const step = steps.current;
    const timer = setTimeout(async () => {
      await settled();
      if (step !== steps.current || !playing.peek()) return;
      if (at >= lastSeq) playing.value = false;
      else goTo(at + 1);
    }, stepMs);
    return () => clearTimeout(timer);
  }, [playing.value, at, lastSeq]);
  useEffect(
    () => () => {
      playing.value = false;
    },
    [],
  );
}
