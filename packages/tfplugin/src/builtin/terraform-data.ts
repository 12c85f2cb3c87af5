import { decodeJson, Path, refine, Type, Value } from "@stackwright/cty";
import {
  type ApplyReply,
  type ApplyResourceRequest,
  type ImportReply,
  type ImportResourceRequest,
  type MoveReply,
  type MoveRequest,
  type PlanReply,
  type PlanResourceRequest,
  type ProviderDiagnostic,
  type Reply,
  typeOfBlock,
  type UpgradeReply,
  type UpgradeRequest,
  type ValidateResourceRequest,
} from "@stackwright/mux/router";
import { pruneJson } from "../json/prune-json.ts";
import { DATA_BLOCK } from "./declarations.ts";

/**
 * The resource `terraform_data`: holds a value, and is replaced when another value changes. All of it is in the state.
 *
 * `output` is the input of the last apply, with its exact type: unknown while a change of `input` is planned. `id` is
 * unknown until the object is made. Values are compared with their types, so `[]` of another type is a change.
 *
 * Source: behaviour of the built-in provider of Terraform 1.11.
 */
const NO_BYTES = new Uint8Array();
const TYPE = typeOfBlock(DATA_BLOCK);
const READ_ONLY = ["id", "output"] as const;

export function validateData({ config }: ValidateResourceRequest): Reply {
  if (config.isNull || !config.isKnown) return { diagnostics: [] };
  const members = new Map(config.entries());
  return {
    diagnostics: READ_ONLY.filter((name) => members.get(name)?.isNull === false).map((name) =>
      failure(`${name} is read-only`, "The provider decides its value.", Path.root.attribute(name)),
    ),
  };
}

export function planData({ prior, proposed, priorPrivate }: PlanResourceRequest): PlanReply {
  const reply = { diagnostics: [], plannedPrivate: priorPrivate, legacyTypeSystem: false };
  if (proposed.isNull) return { ...reply, planned: proposed, requiresReplace: [] };
  const members = new Map(proposed.entries());
  const input = members.get("input") ?? Value.null(Type.dynamic);
  const before = prior.isNull ? undefined : new Map(prior.entries());
  const trigger = Path.root.attribute("triggers_replace");
  const replaced =
    before !== undefined && !same(before.get("triggers_replace"), members.get("triggers_replace"));
  if (before === undefined || replaced) {
    members.set("id", refine(Value.unknown(Type.string), { notNull: true }));
  }
  if (before === undefined || replaced || !same(before.get("input"), input)) {
    members.set("output", outputOf(input));
  }
  return { ...reply, planned: Value.object(members), requiresReplace: replaced ? [trigger] : [] };
}

/** The output has the input's type from the first plan on. */
function outputOf(input: Value): Value {
  return input.isKnown && input.isNull ? input : Value.unknown(input.type);
}

function same(a: Value | undefined, b: Value | undefined): boolean {
  return a !== undefined && b !== undefined && a.rawEquals(b);
}

export function applyData(
  { planned, plannedPrivate }: ApplyResourceRequest,
  randomId: () => string,
): ApplyReply {
  const reply = { diagnostics: [], privateBytes: plannedPrivate, legacyTypeSystem: false };
  if (planned.isNull) return { ...reply, state: planned, privateBytes: NO_BYTES };
  const members = new Map(planned.entries());
  const input = members.get("input") ?? Value.null(Type.dynamic);
  if (members.get("output")?.isKnown === false) members.set("output", input);
  if (members.get("id")?.isKnown === false) members.set("id", Value.string(randomId()));
  return { ...reply, state: Value.object(members) };
}

export function importData({ id }: ImportResourceRequest): ImportReply {
  const state = objectOf({ id: Value.string(id) });
  return {
    diagnostics: [],
    objects: [{ type: "terraform_data", state, privateBytes: NO_BYTES }],
  };
}

export function upgradeData({ schemaVersion, json }: UpgradeRequest): UpgradeReply {
  if (schemaVersion !== 0) {
    return {
      diagnostics: [
        failure(
          "State of a newer version",
          `The object was stored with version ${schemaVersion} of its schema; the newest known one is 0.`,
        ),
      ],
    };
  }
  return { diagnostics: [], state: decodeJson(pruneJson(json, TYPE), TYPE) };
}

/** A `null_resource` becomes a `terraform_data` of the same id, with its triggers. */
export function moveData({ sourceProvider, sourceType, source }: MoveRequest): MoveReply {
  if (!/(?:^|\/)hashicorp\/null$/u.test(sourceProvider) || sourceType !== "null_resource") {
    return {
      diagnostics: [
        failure(
          "Unsupported source of a move",
          `Only null_resource of the provider hashicorp/null can become terraform_data, not ${sourceType} of ${sourceProvider}.`,
        ),
      ],
    };
  }
  const type = Type.object({ id: Type.string, triggers: Type.map(Type.string) });
  const before = new Map(decodeJson(pruneJson(source.json, type), type).entries());
  const triggers = before.get("triggers");
  const state = objectOf({
    id: before.get("id") ?? Value.null(Type.string),
    // As templates usually write them, so that the next plan sees no change.
    ...(triggers?.isNull === false && { triggers_replace: Value.object([...triggers.entries()]) }),
  });
  return { diagnostics: [], state, privateBytes: NO_BYTES };
}

function objectOf(members: Readonly<Record<string, Value>>): Value {
  return Value.object(
    TYPE.names.map((name, i) => [name, members[name] ?? Value.null(TYPE.types[i] ?? Type.dynamic)]),
  );
}

function failure(summary: string, detail: string, attribute?: Path): ProviderDiagnostic {
  return { severity: "error", summary, detail, ...(attribute && { attribute }) };
}
