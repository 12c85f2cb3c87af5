import { Path, Type, transform, Value } from "@stackwright/cty";
import {
  type AttributeSchema,
  type BlockSchema,
  type NestedAttributeSchema,
  type NestedBlockSchema,
} from "@stackwright/mux/router";
import { checkType, checkWriteOnly } from "./assert-object.ts";
import { blockType, elementsByKey, isPresent, memberOf } from "./parts.ts";
import { effectiveReplacements } from "./replacement.ts";
import { type ContractViolation, Violations } from "./violation.ts";

/** A plan that a provider answered, and what it was asked. Values are of the type that the block implies. */
export interface PlanToCheck {
  readonly block: BlockSchema;
  /** Null for a create. */
  readonly prior: Value;
  /** Null for a delete. */
  readonly config: Value;
  readonly planned: Value;
  /** As the provider answered them. */
  readonly requiresReplace: readonly Path[];
  readonly legacyTypeSystem: boolean;
}

export interface CheckedPlan {
  readonly violations: readonly ContractViolation[];
  /** The paths that force replacement because something changed there. */
  readonly requiresReplace: readonly Path[];
}

/**
 * Rules for a plan, regardless of what the provider wants to do.
 *
 * - It has the type of the schema, and write-only attributes are null in it.
 * - There is a planned object if and only if there is a configuration.
 * - A configured value is planned as it is, or as it was before where the provider takes both for the same. It does not
 *   become unknown.
 * - What is not configured is null, unless it is computed: then it is anything.
 * - Nested blocks are as many as configured, neither null nor unknown themselves. Elements of sets cannot be paired:
 *   which and, of blocks, how many there are is the provider's word.
 *
 * Source: Terraform's contract of PlanResourceChange.
 */
export function assertPlanValid(plan: PlanToCheck): CheckedPlan {
  const { block, prior, config, planned } = plan;
  const violations = new Violations(plan.legacyTypeSystem);
  if (!checkType(block, planned, violations)) {
    return { violations: violations.found, requiresReplace: [] };
  }
  checkWriteOnly(block, planned, violations);
  new PlanCheck(violations).block(block, Path.root, { prior, config, planned });
  const requiresReplace = effectiveReplacements(plan, violations);
  return { violations: violations.found, requiresReplace };
}

const UNKNOWN_BLOCK = "a block must not be unknown, only attributes in it";

type Elements = ReadonlyMap<string, readonly [Path, Value]>;

/** One place in the three objects. */
interface Place {
  readonly prior: Value;
  readonly config: Value;
  readonly planned: Value;
}

class PlanCheck {
  readonly #violations: Violations;

  constructor(violations: Violations) {
    this.#violations = violations;
  }

  block(block: BlockSchema, path: Path, place: Place): void {
    const { config, planned } = place;
    if (!this.#presence(path, config, planned) || planned.isNull) return;
    if (!planned.isKnown) {
      this.#violations.add("block", path, UNKNOWN_BLOCK);
      return;
    }
    this.#attributes(block.attributes, path, place);
    for (const [name, nested] of block.blocks) {
      const type = blocksType(block, name);
      this.#blocks(nested, path.attribute(name), membersOf(place, name, type));
    }
  }

  #presence(path: Path, config: Value, planned: Value): boolean {
    const isConfigured = !config.isNull;
    if (isConfigured === !planned.isNull) return true;
    const message = isConfigured
      ? "nothing is planned for what is configured"
      : "something is planned for what is not configured";
    this.#violations.add("presence", path, message);
    return false;
  }

  #attributes(attributes: ReadonlyMap<string, AttributeSchema>, path: Path, place: Place): void {
    for (const [name, attribute] of attributes) {
      this.#attribute(attribute, path.attribute(name), membersOf(place, name, attribute.type));
    }
  }

  #attribute(attribute: AttributeSchema, path: Path, place: Place): void {
    const { prior, config, planned } = place;
    // What must be there for these is said by the rule on write-only attributes alone.
    if (attribute.writeOnly || same(planned, config)) return;
    if (!prior.isNull && !config.isNull && same(planned, prior)) return;
    // With a configured value too: what is ignored of a computed attribute stands in the configuration as well.
    if (attribute.computed && (config.isNull || !attribute.optional)) return;
    if (config.isNull && planned.isNull) return;
    if (config.isNull) {
      this.#violations.add(
        "not-computed",
        path,
        "the plan sets a value that is not configured and not computed",
      );
      return;
    }
    if (attribute.nested !== undefined) {
      this.#nestedAttribute(attribute.nested, path, place);
      return;
    }
    const message = planned.isKnown
      ? "the planned value is neither the configured one nor the one before"
      : "a configured value became unknown";
    this.#violations.add("configured", path, message);
  }

  #nestedAttribute(schema: NestedAttributeSchema, path: Path, place: Place): void {
    const { config, planned } = place;
    if (!this.#presence(path, config, planned)) return;
    if (!planned.isKnown || !config.isKnown) {
      const message = planned.isKnown
        ? "a value is planned for what is configured as unknown"
        : "a configured value became unknown";
      this.#violations.add("configured", path, message);
      return;
    }
    if (schema.nesting === "single") {
      this.#attributes(schema.attributes, path, place);
      return;
    }
    this.#elements(schema.nesting, path, place, (elementPath, element) => {
      if (!this.#presence(elementPath, element.config, element.planned)) return;
      if (element.planned.isNull) return;
      if (element.planned.isKnown) this.#attributes(schema.attributes, elementPath, element);
      else if (element.config.isKnown) {
        this.#violations.add("configured", elementPath, "a configured value became unknown");
      }
    });
  }

  #blocks({ nesting, block }: NestedBlockSchema, path: Path, place: Place): void {
    const { config, planned } = place;
    if (planned.rawEquals(config)) return;
    if (!config.isKnown) {
      this.#violations.add("block", path, "blocks are planned whose number is not known yet");
    } else if (!planned.isKnown) {
      this.#violations.add("block", path, "blocks must not be unknown, only attributes in them");
    } else if (nesting === "single" || nesting === "group") {
      this.block(block, path, place);
    } else if (planned.isNull) {
      this.#violations.add("block", path, "no blocks are an empty collection, not null");
    } else if (nesting === "set") {
      for (const [elementPath, element] of elementsByKey(path, planned).values()) {
        if (!element.isKnown) this.#violations.add("block", elementPath, UNKNOWN_BLOCK);
      }
    } else {
      this.#elements(nesting, path, place, (elementPath, element) => {
        this.block(block, elementPath, element);
      });
    }
  }

  /** Pairs elements by position or key. Those of sets have neither; only how many there are can be compared. */
  #elements(
    nesting: "list" | "set" | "map",
    path: Path,
    { prior, config, planned }: Place,
    each: (path: Path, element: Place) => void,
  ): void {
    const configured: Elements = isPresent(config) ? elementsByKey(path, config) : new Map();
    const plannedElements = elementsByKey(path, planned);
    if (configured.size !== plannedElements.size) {
      const message = `${plannedElements.size} are planned where ${configured.size} are configured`;
      this.#violations.add("count", path, message);
      if (nesting !== "map") return;
    }
    if (nesting === "set") return;
    const before: Elements = isPresent(prior) ? elementsByKey(path, prior) : new Map();
    for (const [key, [elementPath, element]] of plannedElements) {
      const [, wanted] = configured.get(key) ?? [];
      if (wanted === undefined) {
        this.#violations.add(
          "count",
          elementPath,
          "the plan has an element that is not configured",
        );
        continue;
      }
      const [, old = Value.null(element.type)] = before.get(key) ?? [];
      each(elementPath, { prior: old, config: wanted, planned: element });
    }
    for (const [key, [elementPath]] of configured) {
      if (plannedElements.has(key)) continue;
      this.#violations.add("count", elementPath, "a configured element is not planned");
    }
  }
}

/** Whether two values are one, but for what is stated about their unknown parts: a provider need not repeat that. */
function same(a: Value, b: Value): boolean {
  if (!a.isKnown && !b.isKnown) return a.type.equals(b.type);
  return a.rawEquals(b) || (!a.isWhollyKnown && plain(a).rawEquals(plain(b)));
}

function plain(value: Value): Value {
  return transform(value, (_path, part) => (part.isKnown ? part : Value.unknown(part.type)));
}

function membersOf({ prior, config, planned }: Place, name: string, type: Type): Place {
  return {
    prior: memberOf(prior, name, type),
    config: memberOf(config, name, type),
    planned: memberOf(planned, name, type),
  };
}

function blocksType(block: BlockSchema, name: string): Type {
  return blockType(block).attribute(name) ?? Type.dynamic;
}
