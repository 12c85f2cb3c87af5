import type { Plan } from "@stackwright/core";
import { Mark, Path, Type, Value } from "@stackwright/cty";
import { type JsonNode, parseJsonNode } from "@stackwright/tfstate";
import { CommandError } from "../command-error.ts";

/** Members of a plan document that are as they are in a plan. */
interface DocumentChange {
  readonly address: string;
  readonly deposed?: string;
  readonly mode: "managed" | "data";
  readonly type: string;
  readonly provider: Plan["changes"][number]["provider"];
  readonly action: Plan["changes"][number]["action"];
  readonly order?: Plan["changes"][number]["order"];
  readonly reason?: Plan["changes"][number]["reason"];
  readonly previous_address?: string;
  readonly import_id?: string;
  readonly causes: readonly { readonly replaces: boolean; readonly because: readonly string[] }[];
  readonly create_before_destroy_for?: string;
  readonly records_only: boolean;
}

interface PlanDocument {
  readonly format: string;
  readonly stack: string;
  readonly revision: string;
  readonly mode: Plan["mode"];
  readonly partial: boolean;
  readonly deferred?: Plan["deferred"];
  readonly moves?: Plan["moves"];
  readonly created_at_ms: number;
  readonly workspace: string;
  readonly changes: readonly DocumentChange[];
  readonly outputs: readonly Omit<Plan["outputs"][number], "before" | "after">[];
  readonly drift: readonly { address: string; deposed?: string; relevant: boolean }[];
  readonly inputs: readonly { name: string; revision: string; outputs: readonly string[] }[];
}

const FORMAT = "stackwright.plan/1";

/**
 * The plan that a document of a server shows, for the renderers of plans alone: what is sensitive is null and marked, and what only an
 * apply needs is left out. `CommandError` for a document of another format.
 */
export function planOfDocument(text: string): Plan {
  const document = JSON.parse(text) as PlanDocument;
  if (document.format !== FORMAT) {
    throw new CommandError(`The plan has the format "${document.format}".`, {
      advice: "Update the command: the server is newer.",
    });
  }
  const root = parseJsonNode(text);
  const nodesOf = (name: string): readonly JsonNode[] => itemsOf(memberOf(root, name));
  const [changes, outputs, drift] = ["changes", "outputs", "drift"].map(nodesOf);
  return {
    stack: document.stack,
    revision: BigInt(document.revision),
    createdAtMs: document.created_at_ms,
    mode: document.mode,
    partial: document.partial,
    ...(document.deferred !== undefined && { deferred: document.deferred }),
    ...(document.moves !== undefined && { moves: document.moves }),
    options: { targets: [], excludes: [], replace: [] },
    workspace: document.workspace,
    variables: new Map(),
    providers: [],
    expansions: [],
    known: new Map(),
    checks: [],
    changes: document.changes.map((change, at) => changeOf(change, changes?.[at])),
    outputs: document.outputs.map((output, at) => ({ ...output, ...sidesOf(outputs?.[at]) })),
    drift: document.drift.map(({ address, deposed = "", relevant }, at) => {
      const { before = Value.null(Type.dynamic), after } = sidesOf(drift?.[at]);
      const type = /([^.[\]]+)\.[^.[]+(?:\[.*)?$/.exec(address)?.[1] ?? "";
      return {
        address,
        deposed,
        type,
        provider: { source: "", version: "", alias: "" },
        relevant,
        before,
        ...(after !== undefined && { after }),
      };
    }),
    inputs: document.inputs.map(({ name, revision, outputs: names }) => ({
      stack: { account: "", project: "", stack: "" },
      name,
      revision: BigInt(revision),
      outputs: names,
    })),
  };
}

function changeOf(change: DocumentChange, node: JsonNode | undefined): Plan["changes"][number] {
  const { address, deposed = "", mode, type, provider, action, order, reason } = change;
  const causes = itemsOf(memberOf(node, "causes"));
  return {
    address,
    deposed,
    mode,
    type,
    name: /\.([^.[]+)(?:\[.*)?$/.exec(address)?.[1] ?? address,
    module: "",
    key: undefined,
    provider,
    action,
    ...(order !== undefined && { order }),
    ...(reason !== undefined && { reason }),
    ...(change.previous_address !== undefined && { previousAddress: change.previous_address }),
    ...(change.import_id !== undefined && { importing: { id: change.import_id } }),
    ...sidesOf(node),
    replacePaths: itemsOf(memberOf(node, "replace_paths")).map(pathOf),
    causes: change.causes.map(({ replaces, because }, at) => ({
      path: pathOf(memberOf(causes[at], "path")),
      replaces,
      because,
    })),
    words: { priorPrivate: new Uint8Array(), plannedPrivate: new Uint8Array() },
    schemaVersion: 0,
    dependencies: [],
    createBeforeDestroy: false,
    ...(change.create_before_destroy_for !== undefined && {
      createBeforeDestroyFor: change.create_before_destroy_for,
    }),
    record: change.records_only,
    legacyTypeSystem: false,
  };
}

function sidesOf(node: JsonNode | undefined): { readonly before?: Value; readonly after?: Value } {
  const [before, after] = [memberOf(node, "before"), memberOf(node, "after")];
  const wasSecret = memberOf(node, "before_sensitive");
  const isSecret = memberOf(node, "after_sensitive");
  const unknown = memberOf(node, "after_unknown");
  return {
    ...(before !== undefined && { before: valueOf(before, undefined, wasSecret) }),
    ...(after !== undefined && { after: valueOf(after, unknown, isSecret) }),
  };
}

/** A value from its JSON and its masks. What is unknown is left out of objects and null elsewhere; its mask is true. */
function valueOf(
  node: JsonNode | undefined,
  unknown: JsonNode | undefined,
  secret: JsonNode | undefined,
): Value {
  const value = isTrue(unknown) ? Value.unknown(Type.dynamic) : knownOf(node, unknown, secret);
  return isTrue(secret) ? value.mark(Mark.sensitive) : value;
}

function knownOf(
  node: JsonNode | undefined,
  unknown: JsonNode | undefined,
  secret: JsonNode | undefined,
): Value {
  switch (node?.kind) {
    case "object": {
      const names = new Set([...namesOf(node), ...namesOf(unknown)]);
      const entries = [...names].map((name) => {
        const [part, mask, hidden] = [node, unknown, secret].map((one) => memberOf(one, name));
        return [name, valueOf(part, mask, hidden)] as const;
      });
      return Value.object(new Map(entries));
    }
    case "array": {
      const [masks, hidden] = [itemsOf(unknown), itemsOf(secret)];
      return Value.tuple(node.items.map((item, at) => valueOf(item, masks[at], hidden[at])));
    }
    case "string":
      return Value.string(node.value);
    case "literal":
      if (node.text === "null") return Value.null(Type.dynamic);
      if (node.text === "true" || node.text === "false") return Value.bool(node.text === "true");
      return Value.parseNumber(node.text);
    case undefined:
      return Value.null(Type.dynamic);
    default:
      return node satisfies never;
  }
}

function pathOf(node: JsonNode | undefined): Path {
  return itemsOf(node).reduce((path, step) => {
    // Maps are objects here, so each key that is a text is an attribute.
    if (step.kind === "string") return path.attribute(step.value);
    return path.index(knownOf(step, undefined, undefined));
  }, Path.root);
}

function isTrue(node: JsonNode | undefined): boolean {
  return node?.kind === "literal" && node.text === "true";
}

function namesOf(node: JsonNode | undefined): readonly string[] {
  return node?.kind === "object" ? node.members.map(([name]) => name) : [];
}

function memberOf(node: JsonNode | undefined, name: string): JsonNode | undefined {
  return node?.kind === "object" ? node.members.find(([key]) => key === name)?.[1] : undefined;
}

function itemsOf(node: JsonNode | undefined): readonly JsonNode[] {
  return node?.kind === "array" ? node.items : [];
}
