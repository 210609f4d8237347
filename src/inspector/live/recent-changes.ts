/** The names that changed during the last minute, for pages that reconnect. */
import { addNames, type ChangedNames, noNames } from './changed-names.ts';

export type RecentChanges = {
  add(seq: number, names: ChangedNames): void;
  /** Changes after entry `seq`. Null: too long ago, or `seq` is beyond `foldedSeq`, the newest that we know. */
  since(seq: number, foldedSeq: number): ChangedNames | null;
  clear(): void;
};

/** As many ticks as make a minute. */
const ticksMax = 600;

export function createRecentChanges(): RecentChanges {
  const recent: { readonly seq: number; readonly names: ChangedNames }[] = [];
  return {
    add(seq, names) {
      recent.push({ seq, names });
      if (recent.length > ticksMax) recent.shift();
    },
    since(seq, foldedSeq) {
      const oldest = recent[0];
      if (seq > foldedSeq || oldest === undefined || oldest.seq > seq) return null;
      const names = noNames();
      for (const it of recent) if (it.seq > seq) addNames(names, it.names);
      return names;
    },
    clear() {
      recent.length = 0;
    },
  };
}
