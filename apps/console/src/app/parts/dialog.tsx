import {
  type FormEvent,
  type KeyboardEvent,
  type MouseEvent,
  type ReactNode,
  useEffect,
  useId,
  useRef,
} from "react";

/** Until a dialog that has sent something is drawn as busy. */
const UNDRAWN_MS = 50;

interface DialogProps {
  readonly title: string;
  readonly confirm: string;
  readonly tone?: "primary" | "danger" | undefined;
  readonly isBusy?: boolean | undefined;
  readonly isReady?: boolean | undefined;
  /** False where the change is made, or nothing is changed: the one button that is left closes the dialog. */
  readonly canGoBack?: boolean | undefined;
  readonly problem?: ReactNode;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/**
 * A question before something is changed. The browser keeps focus inside and gives it back. A double click, or a key that is held down,
 * confirms it once: neither is its request sent twice, nor is what comes of it closed unread.
 */
export function Dialog({
  title,
  confirm,
  tone = "primary",
  isBusy = false,
  isReady = true,
  canGoBack = true,
  problem,
  onConfirm,
  onClose,
  children,
}: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const isSent = useRef(false);
  const id = useId();
  useEffect(() => {
    const { current } = element;
    if (current !== null && !current.open) current.showModal();
  }, []);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!isReady || isBusy || isSent.current) return;
    isSent.current = true;
    setTimeout(() => {
      isSent.current = false;
    }, UNDRAWN_MS);
    onConfirm();
  };
  const onClick = (event: MouseEvent): void => {
    if (event.detail > 1) event.preventDefault();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const isOfText = event.target instanceof HTMLTextAreaElement;
    if (event.key === "Enter" && event.repeat && !isOfText) event.preventDefault();
  };
  return (
    <dialog ref={element} aria-labelledby={id} onClose={onClose}>
      <form onSubmit={submit} onKeyDown={onKeyDown}>
        <h2 id={id}>{title}</h2>
        {children}
        {problem}
        <div className="actions end">
          {canGoBack && (
            <button type="button" onClick={() => element.current?.close()}>
              Back
            </button>
          )}
          <button type="submit" className={tone} disabled={!isReady || isBusy} onClick={onClick}>
            {isBusy ? "Sending…" : confirm}
          </button>
        </div>
      </form>
    </dialog>
  );
}
