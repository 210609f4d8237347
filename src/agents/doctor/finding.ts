/** A line of the doctor's report, and how to fix what it reports. */
export type Finding = {
  /** `warn`: it works, but maybe not as expected. `skip`: not checked. */
  readonly state: 'ok' | 'warn' | 'bad' | 'skip';
  /** `service`, or an agent's name. */
  readonly about: string;
  readonly text: string;
  readonly fix?: string;
};

export const ok = (about: string, text: string): Finding => ({ state: 'ok', about, text });
export const warn = (about: string, text: string, fix: string): Finding => ({ state: 'warn', about, text, fix });
export const bad = (about: string, text: string, fix: string): Finding => ({ state: 'bad', about, text, fix });
export const skip = (about: string, text: string): Finding => ({ state: 'skip', about, text });
