/** A modal dialog: Escape closes it, and the focus returns to where it was. */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

type DialogProps = { readonly title: string; readonly close: () => void; readonly children: ComponentChildren };

export function Dialog({ title, close, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    element.current?.showModal();
    return () => element.current?.close();
  }, []);
  // One that is gone is told of its end later, when another may be open.
  const onClose = (event: Event) => {
    if ((event.currentTarget as Element).isConnected) close();
  };
  return (
    <dialog ref={element} aria-labelledby={heading} onClose={onClose} onCancel={close}>
      <h2 id={heading}>{title}</h2>
      {children}
    </dialog>
  );
}
