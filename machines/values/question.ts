/** The question in the reason of an escalation, without the words around it. Lists and terminals show it. */

const prefix = /^The agent asked for a person:\s*/;
const promise = /<promise>[^<]*<\/promise>\s*/g;

export function questionIn(reason: string | null): string | null {
  if (reason === null) return null;
  const question = reason.replace(prefix, '').replace(promise, '').trim();
  return question === '' ? reason : question;
}
