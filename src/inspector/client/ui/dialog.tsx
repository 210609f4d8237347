/** A modal dialog: Escape closes it, and the focus returns to where it was. */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useLayoutEffect, useReducer, useRef } from 'preact/hooks';

type DialogProps = { readonly title: string; readonly close: () => void; readonly children: ComponentChildren };

export function Dialog({ title, close, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const isClosed = useRef(true);
  const [, renderAgain] = useReducer((times: number) => times + 1, 0);
  const heading = useId();
  // One that is still wanted a frame after it was closed was asked for again meanwhile.
  useLayoutEffect(() => {
    if (element.current === null || !isClosed.current) return;
    isClosed.current = false;
    element.current.showModal();
  });
  useEffect(() => () => element.current?.close(), []);
  // The browser tells twice, the second time a frame later, when another may have been asked for.
  const onClose = () => {
    if (isClosed.current) return;
    isClosed.current = true;
    close();
    renderAgain(0);
  };
  return (
    <dialog ref={element} aria-labelledby={heading} onClose={onClose} onCancel={onClose}>
      <h2 id={heading}>{title}</h2>
      {children}
    </dialog>
  );
}
