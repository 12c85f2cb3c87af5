import { isPlaceholder, type NamedStack, type StateObject } from "@stackwright/core";
import { decodeTypeJson, typeExpression } from "@stackwright/cty";
import type { RfsOutput, RfsResource } from "@stackwright/rfs-stacks";
import { readShownState, shownObject, shownOutput } from "../api/states/shown-state.ts";
import { resourceAddress } from "./rfs-events.ts";
import type { RfsParts } from "./rfs-parts.ts";
import { shownText } from "./shown-text.ts";

const STATUSES: Readonly<Record<StateObject["phase"], string>> = {
  creating: "CREATION_IN_PROGRESS",
  ready: "CREATION_COMPLETE",
  updating: "UPDATE_IN_PROGRESS",
  deleting: "DELETION_IN_PROGRESS",
  tainted: "CREATION_FAILED",
  unresolved: "UPDATE_FAILED",
};

const MESSAGES: Readonly<Partial<Record<StateObject["phase"], string>>> = {
  tainted: "the object was not made completely; the next deployment replaces it",
  unresolved: "it is not known what became of a call; the next run determines it",
};

/** The objects of a stack, without secrets. */
export async function rfsResources(
  parts: RfsParts,
  stack: NamedStack,
): Promise<readonly RfsResource[]> {
  const { objects } = await readShownState(parts, stack);
  return [...objects.values()]
    .filter((object) => object.mode === "managed" && !isPlaceholder(object))
    .toSorted((a, b) => (a.address < b.address ? -1 : 1))
    .flatMap((object) => resourceOf(object) ?? []);
}

function resourceOf(object: StateObject): RfsResource | undefined {
  const parsed = resourceAddress(object.address);
  if (parsed === undefined) return undefined;
  const shown = shownObject(object);
  const members = shown?.kind === "object" ? shown.members : [];
  const attributes = members.flatMap(({ name: key, value }) => {
    const text = value.kind === "null" ? undefined : shownText(value);
    return text === undefined ? [] : [{ key, value: text }];
  });
  const { type, name, key } = parsed;
  return {
    type,
    name,
    key,
    id: attributes.find((one) => one.key === "id")?.value ?? "",
    status: STATUSES[object.phase],
    message: MESSAGES[object.phase] ?? "",
    attributes,
  };
}

/** The outputs of a stack, by name. Values of sensitive ones are left out. */
export async function rfsOutputs(
  parts: RfsParts,
  stack: NamedStack,
): Promise<readonly RfsOutput[]> {
  const { outputs } = await readShownState(parts, stack);
  return [...outputs]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, output]) => ({
      name,
      description: "",
      type: output.sensitive ? "" : typeExpression(decodeTypeJson(output.type)),
      value: output.sensitive ? "" : (shownText(shownOutput(name, output)) ?? ""),
      sensitive: output.sensitive,
    }));
}
