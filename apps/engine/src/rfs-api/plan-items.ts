import type { RfsPlanItem } from "@stackwright/rfs-stacks";
import { resourceAddress } from "./rfs-events.ts";

/** What of a plan document is shown. */
interface PlanDocument {
  readonly changes?: readonly PlanChange[];
  readonly drift?: readonly { readonly address: string }[];
}

interface PlanChange {
  readonly address: string;
  readonly deposed?: string;
  readonly mode: string;
  readonly type: string;
  readonly provider: { readonly source: string };
  readonly action: string;
  readonly order?: string;
  readonly reason?: string;
  readonly import_id?: string;
  readonly before?: unknown;
  readonly after?: unknown;
  readonly before_sensitive?: unknown;
  readonly after_sensitive?: unknown;
  readonly after_unknown?: unknown;
}

const ACTIONS: Readonly<Record<string, string>> = {
  create: "ADD",
  update: "UPDATE",
  delete: "DELETE",
  forget: "NO_OPERATION",
  read: "NO_OPERATION",
  "no-op": "NO_OPERATION",
};
const SENSITIVE = "<sensitive>";
const UNKNOWN = "(known after apply)";

/** The changes of a plan document as items of an execution plan. Secrets are not in the document. */
export function planItems(text: string): readonly RfsPlanItem[] {
  const { changes = [], drift = [] } = JSON.parse(text) as PlanDocument;
  const drifted = new Set(drift.map(({ address }) => address));
  return changes.flatMap((change) => {
    const parsed = resourceAddress(change.address);
    if (parsed === undefined) return [];
    const { source } = change.provider;
    return [
      {
        type: parsed.type,
        name: parsed.name,
        index: parsed.key,
        mode: change.mode === "data" ? ("DATA" as const) : ("RESOURCE" as const),
        action: actionOf(change),
        reason: change.reason ?? "",
        providerName: source.slice(source.lastIndexOf("/") + 1),
        id: textOf(memberOf(change.before, "id")) ?? "",
        drifted: drifted.has(change.address),
        imported: change.import_id !== undefined,
        attributes: attributesOf(change),
      },
    ];
  });
}

function actionOf({ action, order }: PlanChange): string {
  if (action !== "replace") return ACTIONS[action] ?? "NO_OPERATION";
  return order === "create-first" ? "ADD_THEN_DELETE" : "DELETE_THEN_ADD";
}

/** The attributes that differ. */
function attributesOf(change: PlanChange): RfsPlanItem["attributes"] {
  const { before, after } = change;
  const names = new Set([...namesOf(before), ...namesOf(after), ...namesOf(change.after_unknown)]);
  return [...names].toSorted().flatMap((name) => {
    const was = shown(memberOf(before, name), memberOf(change.before_sensitive, name));
    const is = isAny(memberOf(change.after_unknown, name))
      ? UNKNOWN
      : shown(memberOf(after, name), memberOf(change.after_sensitive, name));
    return was === is ? [] : [{ name, before: was, after: is }];
  });
}

function shown(value: unknown, sensitive: unknown): string {
  return isAny(sensitive) ? SENSITIVE : (textOf(value) ?? "");
}

/** Whether a mask marks anything. */
function isAny(mask: unknown): boolean {
  if (typeof mask === "object" && mask !== null) return Object.values(mask).some(isAny);
  return mask === true;
}

function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === "string" ? value : JSON.stringify(value);
}

function namesOf(value: unknown): readonly string[] {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.keys(value)
    : [];
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}
