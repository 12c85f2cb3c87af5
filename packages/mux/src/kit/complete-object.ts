import { Value } from "@stackwright/cty";
import { type Attributes, type HandlerResult, mapMembers, valueOf } from "./attribute.ts";
import { ContentFailure } from "./content-failure.ts";

/** An object with what provider code decided, and what of that is no value of its attribute. */
export interface CompletedObject {
  readonly state: Value;
  readonly failures: readonly ContentFailure[];
}

/**
 * An object with what was decided, and for the rest what was known of it; nothing of it unknown. What does not fit
 * its attribute is reported, and `fallback` has the value in its place: a provider that made an object must not lose it
 * over one attribute.
 */
export function completeObject(
  attributes: Attributes,
  known: Value,
  outcome: HandlerResult<Attributes> | undefined = {},
  fallback: Value = nullObject(attributes),
): CompletedObject {
  const failures: ContentFailure[] = [];
  const instead = new Map(fallback.isNull ? [] : fallback.entries());
  const state = mapMembers(attributes, known, (name, member, attribute) => {
    const nothing = Value.null(attribute.of.type);
    if (attribute.options.writeOnly === true) return nothing;
    if (!Object.hasOwn(outcome, name) || outcome[name] === undefined) {
      return member.isWhollyKnown ? member : nothing;
    }
    try {
      const value = valueOf(name, attribute, outcome[name]);
      if (value.isWhollyKnown) return value;
      failures.push(new ContentFailure("a known value is needed", name));
    } catch (error) {
      failures.push(ContentFailure.from(error));
    }
    return instead.get(name) ?? nothing;
  });
  return { state, failures };
}

/**
 * The same where nothing was made: a part that does not fit is the failure of the whole.
 *
 * @throws ContentFailure
 */
export function completed(
  attributes: Attributes,
  known: Value,
  outcome: HandlerResult<Attributes>,
): Value {
  const { state, failures } = completeObject(attributes, known, outcome);
  if (failures[0] !== undefined) throw failures[0];
  return state;
}

export function nullObject(attributes: Attributes): Value {
  return Value.object(
    Object.entries(attributes).map(([name, { of }]) => [name, Value.null(of.type)] as const),
  );
}
