/** Shows progress in one line on stderr, which it overwrites. Silent without a terminal. */
import type { Io } from '../terminal/process-io.ts';

export type Progress = {
  /** Clears the line, before something else is printed. */
  readonly clear: () => void;
  readonly show: (text: string) => void;
};

export function createProgress({ stderr }: Pick<Io, 'stderr'>): Progress {
  const isShown = 'isTTY' in stderr && stderr.isTTY === true;
  const write = (text: string) => {
    if (isShown) stderr.write(`\r\u001b[K${text}`);
  };
  return { clear: () => write(''), show: write };
}
