import type { UnversionedType } from "@stackwright/storage";

/** What a kind of the store is part of: few values, whatever clients store. */
type KindClass = "runs" | "states" | "leases" | "access" | "repositories" | "registry" | "other";

const CLASSES: readonly (readonly [KindClass, RegExp])[] = [
  ["leases", /^(Fence|Heartbeat)$/],
  [
    "runs",
    /^(Run|Plan|StackPlan|StackQueue|Configuration|Schedule|Trigger|Policy|Drift|Notification)/,
  ],
  ["states", /^(Stack|State|Kept|Freeze|Workspace|Variable|AccountVariable|Project)/],
  ["access", /^(Access|Audit|Idempotency|Login|Role|Team|User$|UserIdentity)/],
  ["repositories", /^Vcs/],
  ["registry", /^(Module|Private|Provider|Registry|Upstream|UsedSignature|VersionTombstone)/],
];

/** The class of a kind; `other` for those that are not ours, and for calls about all kinds. */
export function kindClassOf(type: UnversionedType | undefined): KindClass {
  if (type?.group !== "stackwright") return "other";
  return CLASSES.find(([, pattern]) => pattern.test(type.kind))?.[0] ?? "other";
}
