import type { StateObject } from "@stackwright/core";
import { Path } from "@stackwright/cty";
import type { Terminal } from "../terminal/terminal.ts";
import { blockLines } from "./block-diff.ts";
import type { SchemaOf } from "./plan-text.ts";
import type { ShownState } from "./shown-state.ts";

/** What rendering recorded objects needs. */
export interface StateDisplay {
  readonly shown: ShownState;
  readonly schemaOf: SchemaOf;
}

/** One recorded object as the block that it comes from. */
export function objectText(
  object: StateObject,
  { style }: Terminal,
  { shown, schemaOf }: StateDisplay,
): string {
  const { address, deposed, phase, mode, type } = object;
  const notes = [
    ...(deposed === "" ? [] : [`deposed object ${deposed}`]),
    ...(phase === "ready" ? [] : [phase]),
  ];
  const name = /\.([^.[\]]+)(?:\[(?:\d+|"(?:[^"\\]|\\.)*")\])?$/.exec(address)?.[1] ?? "";
  const note = notes.length > 0 ? ` (${notes.join(", ")})` : "";
  const value = shown.value(object);
  const lines =
    value === undefined
      ? []
      : blockLines(
          { before: value, after: value },
          schemaOf(object),
          { path: Path.root, indent: 2 },
          {
            style,
            verbose: true,
            secrets: shown.secrets,
            secretsOmitted: shown.secretsOmitted,
            forcesReplacement: () => false,
          },
        );
  return [
    style.paint("strong", `# ${address}${note}:`),
    `${mode === "data" ? "data" : "resource"} "${type}" "${name}" {`,
    ...lines,
    "}",
    "",
  ].join("\n");
}
