/** A link to the moment shown: it opens the same view at the same entry for everyone who may read the fleet. */
import { head, pause } from './data/connection.ts';
import { hrefOf, navigate, route } from './route.ts';
import { CopyButton, copyText } from './ui/controls.tsx';

/** Copies the link. Without a clipboard the page goes to that moment, so that its address can be copied. */
export async function copyMoment(): Promise<boolean> {
  const { at, time } = route.peek();
  const moment = { at: at ?? pause.peek()?.seq ?? head.peek().seq, time, paused: null };
  const isCopied = await copyText(`${location.origin}${hrefOf(moment)}`);
  if (!isCopied) navigate(moment);
  return isCopied;
}

export const CopyMoment = () => <CopyButton what="a link to this moment" word="link" copy={copyMoment} />;
