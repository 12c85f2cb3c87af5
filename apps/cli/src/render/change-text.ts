import type { SecretDisplay } from "@stackwright/core";
import { Path, type Value } from "@stackwright/cty";
import type { BlockSchema } from "@stackwright/mux/router";
import type { Style } from "../terminal/style.ts";
import { blockLines } from "./block-diff.ts";
import { paintSign, type Sign } from "./sign.ts";
import { signOf, UNKNOWN_TEXT, type ValueDisplay, versionsText } from "./value-diff.ts";

/** What is planned for one object. */
export type ShownAction =
  | "no-op"
  | "create"
  | "read"
  | "update"
  | "delete"
  | "delete-create"
  | "create-delete"
  | "forget";

/** One planned change as text for users. */
export interface ShownChange {
  readonly address: string;
  readonly previousAddress?: string;
  /** Key of a deposed object. */
  readonly deposed?: string;
  readonly mode: "managed" | "data";
  readonly type: string;
  readonly name: string;
  readonly action: ShownAction;
  /** Sentences that say why, each without its full stop. */
  readonly reasons: readonly string[];
  /** The id by which it is imported. */
  readonly importing?: string;
  readonly before: Value | undefined;
  readonly after: Value | undefined;
  readonly schema: BlockSchema | undefined;
  readonly replacePaths: readonly Path[];
}

const SIGNS: Readonly<Record<ShownAction, Sign>> = {
  "no-op": " ",
  create: "+",
  read: "<=",
  update: "~",
  delete: "-",
  "delete-create": "-/+",
  "create-delete": "+/-",
  forget: ".",
};

const HEADS: Readonly<Record<ShownAction, string>> = {
  "no-op": "has moved",
  create: "will be created",
  read: "will be read during apply",
  update: "will be updated in place",
  delete: "will be destroyed",
  "delete-create": "must be replaced",
  "create-delete": "must be replaced",
  forget: "will no longer be managed, but will not be destroyed",
};

/** What the signs of the given actions mean, one line each, as the legend above a plan. */
export function legend(actions: ReadonlySet<ShownAction>, style: Style): string[] {
  const meanings: readonly (readonly [ShownAction, string])[] = [
    ["create", "create"],
    ["update", "update in place"],
    ["delete", "destroy"],
    ["delete-create", "destroy and then create replacement"],
    ["create-delete", "create replacement and then destroy"],
    ["read", "read (data sources)"],
    ["forget", "forget, without destroying"],
  ];
  return meanings
    .filter(([action]) => actions.has(action))
    .map(([action, meaning]) => {
      const sign = SIGNS[action];
      return `${" ".repeat(3 - sign.length)}${paintSign(sign, style)} ${meaning}`;
    });
}

/** How a change is written. */
interface ChangeDisplay {
  readonly style: Style;
  /** Unchanged attributes as well. @default false */
  readonly verbose?: boolean;
  /** Of attributes that the schema calls sensitive. @default "hidden" */
  readonly secrets?: SecretDisplay;
}

/** One change with its head, its reasons and what is in it. Ends without a line feed. */
export function changeText(
  change: ShownChange,
  { style, verbose = false, secrets = "hidden" }: ChangeDisplay,
): string {
  const { address, previousAddress, action, deposed } = change;
  const subject = deposed === undefined ? address : `${address} (deposed object ${deposed})`;
  const head =
    action === "no-op"
      ? previousAddress === undefined
        ? change.importing === undefined
          ? "is unchanged"
          : "will be imported"
        : `has moved to ${address}`
      : HEADS[action];
  const first = action === "no-op" && previousAddress !== undefined ? previousAddress : subject;
  const comments = [
    `  ${style.paint("strong", `# ${first} ${head}`)}`,
    ...(previousAddress !== undefined && action !== "no-op"
      ? [`  # (moved from ${previousAddress})`]
      : []),
    ...(change.importing !== undefined && action !== "no-op"
      ? [`  # (imported from "${change.importing}")`]
      : []),
    ...change.reasons.map((reason) => `  # (${reason})`),
  ];
  const sign = SIGNS[action];
  const keyword = change.mode === "data" ? "data" : "resource";
  const replaced = action === "delete-create" || action === "create-delete";
  const paths = change.replacePaths;
  const display: ValueDisplay = {
    style,
    verbose,
    secrets,
    type: change.type,
    forcesReplacement: (path) => replaced && paths.some((other) => other.equals(path)),
  };
  const after = action === "delete" || action === "forget" ? undefined : change.after;
  const before = action === "create" || action === "read" ? undefined : change.before;
  const versions = action === "forget" ? { before, after: before } : { before, after };
  const header = `${" ".repeat(3 - sign.length)}${paintSign(sign, style)} ${keyword} "${change.type}" "${change.name}" {`;
  const body = blockLines(versions, change.schema, { path: Path.root, indent: 6 }, display);
  return [...comments, header, ...body, "    }"].join("\n");
}

/** One output before and after; undefined where there is none. */
interface ShownOutput {
  readonly name: string;
  readonly before: Value | undefined;
  readonly after: Value | undefined;
}

/** The lines under "Changes to Outputs"; none where nothing changes. */
export function outputLines(outputs: readonly ShownOutput[], style: Style): string[] {
  const display: ValueDisplay = {
    style,
    verbose: false,
    secrets: "hidden",
    forcesReplacement: () => false,
  };
  const changed = outputs.filter((output) => signOf(output) !== " ");
  const width = Math.max(0, ...changed.map(({ name }) => name.length));
  return changed.map((output) => {
    const text =
      output.after !== undefined && !output.after.isKnown && output.before === undefined
        ? UNKNOWN_TEXT
        : versionsText(output, { path: Path.root.attribute(output.name), indent: 6 }, display);
    return `  ${paintSign(signOf(output), style)} ${output.name.padEnd(width)} = ${text}`;
  });
}
