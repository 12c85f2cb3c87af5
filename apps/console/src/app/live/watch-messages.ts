import type { ClientError, StackStatusChange } from "@stackwright/client";
import type { SessionCredential } from "../session/session.ts";

/** What a tab tells the worker that has the stream of all tabs. */
export type ToWorker =
  /** Begins to listen. `life` names a lock that the tab has for as long as it exists. */
  | { readonly type: "listen"; readonly credential: SessionCredential; readonly life: string }
  /** Listens no longer, as when it is hidden. */
  | { readonly type: "leave" };

/** What the worker tells a tab. */
export type ToTab =
  | { readonly type: "change"; readonly change: StackStatusChange }
  | { readonly type: "stream"; readonly state: "live" | "reconnecting" }
  /** The credential is no longer valid. */
  | { readonly type: "refused" }
  /** The stream ended for good: a tab shows the error as its own. */
  | {
      readonly type: "failed";
      readonly message: string;
      readonly code?: ClientError["code"] | undefined;
      readonly status?: number | undefined;
      readonly problem?: ClientError["problem"];
    };
