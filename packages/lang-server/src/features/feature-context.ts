import { dirname } from "node:path";
import { textOf } from "../index/text-of.ts";
import type { Workspace } from "../index/workspace.ts";
import type { ArgumentShape, ShapeContext } from "../schema/body-shape.ts";
import type { SchemasBySource } from "../schema/provider-schemas.ts";

/** What the features look at. */
export interface FeatureContext {
  readonly workspace: Workspace;
  /** The schemas that are known so far, of all modules of the workspace. */
  readonly schemas: SchemasBySource;
  /** Whether the client makes files as a part of an edit. @default false */
  readonly createsFiles?: boolean;
  /** Whether it gives files other names as a part of an edit. @default false */
  readonly renamesFiles?: boolean;
}

/** What the module of a file tells about the names in it. */
export function shapeContext({ workspace, schemas }: FeatureContext, path: string): ShapeContext {
  const folder = dirname(path);
  return {
    schemas,
    requiredProviders: workspace.requiredProviders(folder),
    inputs: (call) => {
      const called = workspace.calledFolder(folder, call);
      return called === undefined ? undefined : moduleInputs(workspace, called);
    },
  };
}

/** The variables of a module as arguments of its calls. */
export function moduleInputs(
  workspace: Workspace,
  folder: string,
): ReadonlyMap<string, ArgumentShape> {
  const found = new Map<string, ArgumentShape>();
  for (const [, { body }] of workspace.namesOf(folder)) {
    for (const block of body.items) {
      const name = block.kind === "block" ? block.labels[0]?.value : undefined;
      if (block.kind !== "block" || block.type !== "variable" || name === undefined) continue;
      const texts = new Map<string, string>();
      let description = "";
      for (const item of block.body.items) {
        if (item.kind !== "attribute") continue;
        const { expression } = item;
        const { start, end } = expression;
        // A type in JSON syntax has been read as it is in native syntax, and has a text of its own.
        texts.set(item.name, expression.source.text.slice(start, end));
        if (item.name === "description") description = textOf(expression) ?? "";
      }
      found.set(name, {
        description,
        type: texts.get("type") ?? "any",
        required: !texts.has("default"),
        readOnly: false,
        deprecated: texts.has("deprecated"),
        sensitive: texts.get("sensitive") === "true",
        values: texts.get("type") === "bool" ? ["true", "false"] : [],
      });
    }
  }
  return found;
}
