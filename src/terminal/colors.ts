/** Colours of a terminal, or none. */

type Paint = (text: string) => string;
export type Colors = Readonly<Record<keyof typeof codes, Paint>>;

/** SGR parameters: on, and off again. */
const codes = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  /** The bright one: the other is hard to read on black. */
  blue: [94, 39],
  magenta: [35, 39],
  cyan: [36, 39],
} as const;

export function createColors(isOn: boolean): Colors {
  const paints = Object.entries(codes).map(([name, [on, off]]): [string, Paint] => [
    name,
    isOn ? (text) => `\u001b[${on}m${text}\u001b[${off}m` : (text) => text,
  ]);
  return Object.fromEntries(paints) as Colors;
}

/** The alternate screen of a terminal, without a cursor; leaving it gives back what stood there before. */
export const enterScreen = '\u001b[?1049h\u001b[?25l';
export const leaveScreen = '\u001b[?25h\u001b[?1049l';
