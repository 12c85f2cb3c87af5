import type { ApplyResourceRequest } from "../router/lifecycle-provider.ts";
import {
  type Attributes,
  contentOf,
  type HandlerResult,
  mapMembers,
  type StateOf,
} from "./attribute.ts";
import { type CompletedObject, completeObject } from "./complete-object.ts";
import type { AnyResource, KitContext } from "./definition.ts";

/** What the change of a planned object is called. */
export function changeName(
  { update }: Pick<AnyResource<never>, "update">,
  { prior, planned }: ApplyResourceRequest,
): "create" | "update" | "delete" {
  if (planned.isNull) return "delete";
  return prior.isNull || update === undefined ? "create" : "update";
}

/** Creates, updates or deletes an object, as the request says. */
export async function changeObject<Client>(
  resource: AnyResource<Client>,
  request: ApplyResourceRequest,
  context: KitContext<Client>,
): Promise<CompletedObject> {
  const { prior, planned, config } = request;
  const { attributes } = resource;
  if (planned.isNull) {
    await resource.delete(contentOf(attributes, prior) as StateOf<Attributes>, context);
    return { state: planned, failures: [] };
  }
  // Write-only attributes are in the configuration alone.
  const given = mapMembers(attributes, planned, (name, member, { options }) =>
    options.writeOnly === true ? (new Map(config.entries()).get(name) ?? member) : member,
  );
  const content = contentOf(attributes, given);
  const outcome =
    prior.isNull || resource.update === undefined
      ? await resource.create(content, context)
      : await resource.update(
          content,
          contentOf(attributes, prior) as StateOf<Attributes>,
          context,
        );
  return changedObject(resource, request, outcome);
}

/** The object after a change, from what its code says; where that does not fit, as it was before. */
export function changedObject(
  { attributes }: { readonly attributes: Attributes },
  { prior, planned }: ApplyResourceRequest,
  outcome: HandlerResult<Attributes>,
): CompletedObject {
  return prior.isNull
    ? completeObject(attributes, planned, outcome)
    : completeObject(attributes, planned, outcome, prior);
}
