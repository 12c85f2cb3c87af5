import type { InlayHint } from "vscode-languageserver-protocol";
import { Lines } from "../document/locate.ts";
import type { FileIndex } from "../index/file-index.ts";

/** One object that a plan would change. */
export interface PlannedChange {
  /** The block of the folder's module that it is of, without keys: `aws_instance.web`; `module.app` for all within that call. */
  readonly block: string;
  /** Of the object, in full. */
  readonly address: string;
  readonly action: "create" | "update" | "replace" | "delete" | "forget";
}

/** Most addresses that the tooltip of a hint lists. */
const MAX_LISTED = 20;

const SIGNS: readonly (readonly [PlannedChange["action"], string])[] = [
  ["create", "+"],
  ["update", "~"],
  ["replace", "-/+"],
  ["delete", "-"],
  ["forget", "."],
];

/** What a plan would do, behind the header of each block that it is about: `plan: +2 ~1`. */
export function plannedHints(
  { file }: FileIndex,
  changes: readonly PlannedChange[],
  range: { readonly start: number; readonly end: number },
): InlayHint[] {
  const lines = new Lines(file.source.text);
  return file.body.items.flatMap((item): InlayHint[] => {
    if (item.kind !== "block" || item.headerEnd < range.start || item.headerEnd > range.end) {
      return [];
    }
    const labels = item.labels.map(({ value }) => value);
    const block = blockAddress(item.type, labels);
    const own = changes.filter((change) => change.block === block);
    const label = SIGNS.flatMap(([action, sign]) => {
      const count = own.filter((change) => change.action === action).length;
      return count === 0 ? [] : [`${sign}${count}`];
    }).join(" ");
    if (block === undefined || label === "") return [];
    const position = lines.range({ start: item.headerEnd, end: item.headerEnd }).end;
    const listed = own.slice(0, MAX_LISTED).map(({ address, action }) => `${address}: ${action}`);
    if (own.length > MAX_LISTED) listed.push(`and ${own.length - MAX_LISTED} more`);
    return [{ position, label: `plan: ${label}`, paddingLeft: true, tooltip: listed.join("\n") }];
  });
}

/** How a plan names what a block declares, without the keys of instances. */
function blockAddress(type: string, labels: readonly string[]): string | undefined {
  const [first = "", second = ""] = labels;
  if (type === "resource") return `${first}.${second}`;
  return type === "module" ? `module.${first}` : undefined;
}
