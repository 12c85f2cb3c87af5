import { Mark, Type } from "@stackwright/cty";
import {
  type RemoteStateBackend,
  type StateOutput,
  textSetting,
} from "@stackwright/tfplugin/builtin";
import { isStackName } from "../state/stack-directory.ts";
import type { PublishedStack, StackInputs } from "../state/stack-inputs.ts";
import type { StackOutput } from "../state/stack-state.ts";
import { withoutMarks } from "../walk/object-marks.ts";

/**
 * Outputs of other stacks of the same store, for `terraform_remote_state` with the backend `stackwright`. What is read is
 * recorded, and compared when the plan is applied. Sensitive outputs stay sensitive.
 */
export function stackBackend(inputs: StackInputs): RemoteStateBackend {
  return {
    type: "stackwright",
    keepsSensitive: true,
    settings: new Map([
      ["stack", { type: Type.string, required: true }],
      ["project", { type: Type.string, required: false }],
    ]),
    check: (settings) =>
      ["stack", "project"]
        .filter((name) => !isStackName(textSetting(settings, name) ?? "default"))
        .map((name) => `${name} must be a name: letters, digits, ".", "_" and "-", at most 128`)
        .at(0),
    read: async (settings, workspace, options) => {
      if (workspace !== "default") {
        throw new Error("stacks have no workspaces; name another stack in config");
      }
      const project = textSetting(settings, "project");
      const found = await inputs.read(
        { stack: textSetting(settings, "stack") ?? "", ...(project !== undefined && { project }) },
        options,
      );
      return stateOf(found);
    },
  };
}

/**
 * A backend of states of other commands, of which some are those of stacks now: outputs of a state that was adopted are those of its
 * stack, as of a run of it. It is found by the place that it was adopted from, or else by the lineage of the state there. They are as sensitive as the backend says of others.
 */
export function adoptedBackend(
  backend: RemoteStateBackend,
  inputs: StackInputs,
): RemoteStateBackend {
  return {
    ...backend,
    read: async (settings, workspace, options) => {
      const placeDigest = await backend.placeDigest?.(settings, workspace);
      if (placeDigest !== undefined) {
        // The old place is not asked: it may be gone, or this side may have no credentials for it.
        const stack = await inputs.readAdopter({ placeDigest }, options);
        if (stack !== undefined) return stateOf(stack);
      }
      // What the backend says of the state counts only where no stack of this store has adopted it.
      const warnings: string[] = [];
      const warn = (detail: string): void => void warnings.push(detail);
      const file = await backend.read(settings, workspace, { ...options, warn });
      const asItIs = (): typeof file => {
        for (const detail of warnings) options.warn?.(detail);
        return file;
      };
      const head = file instanceof Uint8Array ? headOf(file) : undefined;
      if (head === undefined || head.lineage === "") return asItIs();
      const stack = await inputs.readAdopter({ lineage: head.lineage }, options);
      if (stack !== undefined) return stateOf(stack);
      if (head.adoptedBy === undefined) return asItIs();
      throw new Error(
        `the state was adopted as the stack "${head.adoptedBy}", which is not in this store: hand it back there, and adopt both into one store (--store), or adopt it with --mirror`,
      );
    },
  };
}

/** What a stack publishes, or will publish by its plan, as its state says it. */
function stateOf({
  values,
  planned,
}: PublishedStack): Uint8Array | ReadonlyMap<string, StateOutput> {
  if (planned === undefined) return Buffer.from(stateText(values));
  return new Map(
    [...planned].map(([name, value]) => {
      const sensitive = value.hasMark(Mark.sensitive);
      return [name, { value: withoutMarks(value), sensitive }] as const;
    }),
  );
}

/** The lineage of a state; of the marker that an adoption left, also the name of the stack. */
function headOf(
  file: Uint8Array,
): { readonly lineage: string; readonly adoptedBy: string | undefined } | undefined {
  let parsed: Readonly<Record<string, unknown>> | null;
  try {
    parsed = JSON.parse(Buffer.from(file).toString("utf8")) as typeof parsed;
  } catch {
    return undefined;
  }
  const { lineage, adopted_stack: stack } = parsed ?? {};
  return {
    lineage: typeof lineage === "string" ? lineage : "",
    adoptedBy: typeof stack === "string" ? stack : undefined,
  };
}

/** The outputs in the form in which backends have states. Types and values are JSON texts already, with exact numbers. */
function stateText(outputs: ReadonlyMap<string, StackOutput>): string {
  const members = [...outputs].map(
    ([name, { type, json, sensitive }]) =>
      `${JSON.stringify(name)}:{"type":${type},"value":${json},"sensitive":${sensitive}}`,
  );
  return `{"version":4,"outputs":{${members.join(",")}}}`;
}
