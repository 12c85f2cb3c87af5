import { dirname } from "node:path";
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
  for (const [, { file }] of workspace.module(folder)) {
    for (const block of file.body.items) {
      const name = block.kind === "block" ? block.labels[0]?.value : undefined;
      if (block.kind !== "block" || block.type !== "variable" || name === undefined) continue;
      const texts = new Map<string, string>();
      let description = "";
      for (const item of block.body.items) {
        if (item.kind !== "attribute") continue;
        const { start, end } = item.expression;
        texts.set(item.name, file.source.text.slice(start, end));
        if (item.name === "description" && item.expression.kind === "string") {
          description = item.expression.value;
        }
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
