import type { ReactNode } from "react";

interface AccountConflictProps {
  readonly isBusy: boolean;
  readonly onReload: () => void;
  readonly children?: ReactNode;
}

/** In place of a change that would have replaced one which the user has not seen. */
export function AccountConflict({ isBusy, onReload, children }: AccountConflictProps) {
  return (
    <div className="problem" role="alert">
      <p>
        <strong>It was changed meanwhile</strong>
      </p>
      <p>The account was changed since it was read, so that nothing was done. {children}</p>
      <button type="button" disabled={isBusy} onClick={onReload}>
        Reload
      </button>
    </div>
  );
}
