import { useSyncExternalStore } from "react";
import type { OpenedCode } from "./opened-code.ts";

/** Says that a code was not used, as the tab has a session. */
export function SignedInAlready({
  opened,
  who,
}: {
  readonly opened: OpenedCode;
  readonly who: string;
}) {
  const code = useSyncExternalStore(opened.subscribe, () => opened.value);
  if (code === undefined) return null;
  return (
    <p className="notice" role="status">
      <span>
        You are signed in already, as <strong>{who}</strong>. The code of the address was not used.
      </span>
      <button type="button" onClick={opened.drop}>
        Close
      </button>
    </p>
  );
}
