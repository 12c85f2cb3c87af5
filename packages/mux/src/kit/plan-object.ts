import { Path, Value } from "@stackwright/cty";
import type { KitAttribute } from "./attribute.ts";
import { contentOf, mapMembers, valueOf } from "./attribute.ts";
import type { AnyResource, KitContext } from "./definition.ts";

/** A plan before it becomes a reply. */
interface PlannedObject {
  readonly planned: Value;
  readonly requiresReplace: readonly Path[];
}

interface PlanInput {
  readonly prior: Value;
  readonly config: Value;
  readonly proposed: Value;
}

/**
 * Plans one object by its attributes, then lets the definition alter the plan.
 *
 * Starts from the proposed object (the configuration laid over what was there). Write-only attributes are
 * null. When nothing else differs from the prior object, nothing is planned. Otherwise what the provider
 * decides is unknown: all of it for a new object, and for a changed one what is not marked as stable. A
 * changed attribute that is marked so, and any changed one where there is no update, needs a new object.
 */
export async function planObject<Client>(
  resource: AnyResource<Client>,
  { prior, config, proposed }: PlanInput,
  context: KitContext<Client>,
): Promise<PlannedObject> {
  const { attributes } = resource;
  const before = new Map(prior.isNull ? [] : prior.entries());
  const configured = new Map(config.entries());
  const stored = mapMembers(attributes, proposed, (_name, member, { of, options }) =>
    options.writeOnly === true ? Value.null(of.type) : member,
  );
  const isChanged = (name: string, member: Value) => {
    const old = before.get(name);
    return old === undefined || !old.rawEquals(member);
  };
  const isDecidedLater = (name: string, { presence, options }: KitAttribute) =>
    (presence === "computed" || presence === "optionalComputed") &&
    (configured.get(name)?.isNull ?? true) &&
    (prior.isNull || options.stable !== true);

  const changes = prior.isNull || [...stored.entries()].some((entry) => isChanged(...entry));
  let planned = changes
    ? mapMembers(attributes, stored, (name, member, attribute) =>
        isDecidedLater(name, attribute) ? Value.unknown(attribute.of.type) : member,
      )
    : prior;

  const replacing = new Set<string>();
  if (!prior.isNull && changes) {
    for (const [name, member] of stored.entries()) {
      const { options } = attributes[name] ?? {};
      const mustReplace = options?.replaces === true || resource.update === undefined;
      if (mustReplace && isChanged(name, member)) replacing.add(name);
    }
  }

  await resource.plan?.(
    {
      prior: prior.isNull ? null : (contentOf(attributes, prior) as never),
      config: contentOf(attributes, config),
      planned: contentOf(attributes, planned),
      set: (outcome) => {
        planned = mapMembers(attributes, planned, (name, member, attribute) => {
          if (!Object.hasOwn(outcome, name)) return member;
          const content = outcome[name];
          return content === undefined
            ? Value.unknown(attribute.of.type)
            : valueOf(name, attribute, content);
        });
      },
      replaceBecauseOf: (...names) => {
        for (const name of names) replacing.add(name);
      },
    },
    context,
  );
  return {
    planned,
    requiresReplace: [...replacing].map((name) => Path.root.attribute(name)),
  };
}
