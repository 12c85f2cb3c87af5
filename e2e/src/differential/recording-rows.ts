import { type Json, type JsonObject, listOf, objectOf, textOf } from "./exact-json.ts";
import { byText, instancesOf, pruneMask, type RandomIds, stringsIn } from "./normalise.ts";

const MASKS = ["after_unknown", "before_sensitive", "after_sensitive"] as const;

/** A plan in its JSON form, as a recording keeps it. */
export function planRows(plan: JsonObject): JsonObject {
  const changes = listOf(plan.resource_changes)
    .map(objectOf)
    .map((resource): JsonObject => {
      const change = objectOf(resource.change);
      return {
        address: resource.address ?? null,
        ...(resource.previous_address !== undefined && {
          previous_address: resource.previous_address,
        }),
        mode: resource.mode ?? null,
        ...(resource.deposed !== undefined && { deposed: true }),
        actions: change.actions ?? null,
        ...(resource.action_reason !== undefined && { action_reason: resource.action_reason }),
        ...(change.replace_paths !== undefined && {
          replace_paths: listOf(change.replace_paths).toSorted(byText),
        }),
        ...(change.importing !== undefined && { importing: change.importing }),
        before: change.before ?? null,
        after: change.after ?? null,
        ...masksOf(change),
      };
    })
    .toSorted(
      (left, right) =>
        compare(textOf(left.address), textOf(right.address)) ||
        Number(left.deposed === true) - Number(right.deposed === true),
    );
  const outputs = Object.entries(objectOf(plan.output_changes)).map(([name, value]) => {
    const change = objectOf(value);
    return [
      name,
      {
        actions: change.actions ?? null,
        before: change.before ?? null,
        after: change.after ?? null,
        ...masksOf(change),
      },
    ] as const;
  });
  return {
    resource_changes: changes,
    output_changes: Object.fromEntries(outputs),
    checks: listOf(plan.checks)
      .map(objectOf)
      .map(
        (check): Json => ({
          address: objectOf(check.address).to_display ?? null,
          status: check.status ?? null,
        }),
      )
      .toSorted(byText),
  };
}

function masksOf(change: JsonObject): Record<string, Json> {
  return Object.fromEntries(
    MASKS.flatMap((name): [string, Json][] => {
      const kept = pruneMask(change[name]);
      return kept === undefined ? [] : [[name, kept]];
    }),
  );
}

/** The instances of a state, each with where its id came from and whose ids it holds. */
export function stateRows(state: JsonObject, before: JsonObject, ids: RandomIds): JsonObject[] {
  const owner = ownersOfIds(state);
  const earlier = ownersOfIds(before);
  return instancesOf(state)
    .map(({ address, resource, instance, attributes, deposed }): JsonObject => {
      const id = textOf(attributes.id);
      const { id: _id, ...others } = attributes;
      const references = [...stringsIn(others)].flatMap(([path, text]) =>
        ids.within(text).map((one) => [path, owner.get(one) ?? "gone"] as const),
      );
      return {
        address,
        mode: resource.mode ?? null,
        index_key: instance.index_key ?? null,
        ...(deposed && { deposed: true }),
        ...(instance.status !== undefined && { status: instance.status }),
        ...(instance.create_before_destroy === true && { create_before_destroy: true }),
        ...(resource.mode === "managed" && { id_origin: earlier.get(id) ?? "new" }),
        attributes: ids.clean(attributes),
        ...(references.length > 0 && { id_refs: Object.fromEntries(references) }),
        ...(listOf(instance.sensitive_attributes).length > 0 && {
          sensitive_attributes: listOf(instance.sensitive_attributes).toSorted(byText),
        }),
        ...(listOf(instance.dependencies).length > 0 && {
          dependencies: listOf(instance.dependencies).toSorted(byText),
        }),
      };
    })
    .toSorted(
      (left, right) =>
        compare(textOf(left.address), textOf(right.address)) ||
        Number(left.deposed === true) - Number(right.deposed === true),
    );
}

function ownersOfIds(state: JsonObject): Map<string, string> {
  const owners = new Map<string, string>();
  for (const { address, resource, attributes, deposed } of instancesOf(state)) {
    if (resource.mode === "managed" && typeof attributes.id === "string") {
      owners.set(attributes.id, `${address}${deposed ? " (deposed)" : ""}`);
    }
  }
  return owners;
}

/** The results of checks that a state keeps. */
export function checkRows(state: JsonObject): Json[] {
  return listOf(state.check_results)
    .map(objectOf)
    .map(
      (check): Json => ({
        kind: check.object_kind ?? null,
        address: check.config_addr ?? null,
        status: check.status ?? null,
        objects: listOf(check.objects)
          .map(objectOf)
          .map(
            (object): Json => ({
              address: object.object_addr ?? null,
              status: object.status ?? null,
              ...(listOf(object.failure_messages).length > 0 && {
                failures: object.failure_messages ?? null,
              }),
            }),
          )
          .toSorted(byText),
      }),
    )
    .toSorted(byText);
}

function compare(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}
