import { type FormEvent, type ReactNode, useEffect, useId, useRef } from "react";

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

/** A question before something is changed. The browser keeps focus inside and gives it back. */
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
  const id = useId();
  useEffect(() => {
    const { current } = element;
    if (current !== null && !current.open) current.showModal();
  }, []);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (isReady && !isBusy) onConfirm();
  };
  return (
    <dialog ref={element} aria-labelledby={id} onClose={onClose}>
      <form onSubmit={submit}>
        <h2 id={id}>{title}</h2>
        {children}
        {problem}
        <div className="actions end">
          {canGoBack && (
            <button type="button" onClick={() => element.current?.close()}>
              Back
            </button>
          )}
          <button type="submit" className={tone} disabled={!isReady || isBusy}>
            {isBusy ? "Sending…" : confirm}
          </button>
        </div>
      </form>
    </dialog>
  );
}
