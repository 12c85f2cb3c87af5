import { conformsTo, couldBecome, type Path, refines, Value } from "@stackwright/cty";
import { type BlockSchema, type NestedBlockSchema } from "@stackwright/mux/router";
import { withoutOrigin } from "./matching.ts";
import { blockType, elementsByKey, isPresent, memberOf } from "./parts.ts";
import { isRefused, Violations } from "./violation.ts";

/**
 * Whether an object is what an earlier, less known form of it allowed.
 *
 * - Known values have stayed. Unknown ones have become one of their type and within their refinements, or are still
 *   unknown and no less refined.
 * - Lists, tuples and maps have the elements they had. Sets may have become smaller, since unknown elements can turn out
 *   equal, but not larger: every element has come from one before, each from another one, and every element before
 *   has become one.
 * - Blocks are as many as before, unless it was not known how many there would be.
 *
 * Source: Terraform's rules for the second plan and for the result of ApplyResourceChange.
 */
export class CompatibilityCheck {
  readonly #violations: Violations;

  constructor(violations: Violations) {
    this.#violations = violations;
  }

  block(block: BlockSchema, path: Path, before: Value, after: Value): void {
    if (before.isNull !== after.isNull) {
      const message = before.isNull ? "it is there unexpectedly" : "it is gone";
      this.#violations.add("presence", path, message);
      return;
    }
    if (before.isNull) return;
    for (const [name, { type, writeOnly }] of block.attributes) {
      if (writeOnly) continue;
      const [old, value] = [memberOf(before, name, type), memberOf(after, name, type)];
      this.#value(path.attribute(name), old, value);
    }
    const types = block.blocks.size === 0 ? undefined : blockType(block);
    for (const [name, nested] of block.blocks) {
      const type = types?.attribute(name) ?? Value.dynamic.type;
      const [old, value] = [memberOf(before, name, type), memberOf(after, name, type)];
      this.#blocks(nested, path.attribute(name), old, value);
    }
  }

  #blocks({ nesting, block }: NestedBlockSchema, path: Path, before: Value, after: Value): void {
    if (nesting === "single" || nesting === "group") {
      // Whether there would be a block was not known.
      if (!before.isKnown) return;
      this.block(block, path, before, after);
      return;
    }
    if (!isPresent(before) || !isPresent(after)) return;
    const [old, elements] = [elementsByKey(path, before), elementsByKey(path, after)];
    if (nesting === "set") {
      this.#set(path, [...old.values()], [...elements.values()], (from, to) => {
        const trial = new Violations(false);
        new CompatibilityCheck(trial).block(block, path, from, to);
        return !isRefused(trial.found);
      });
      return;
    }
    this.#pairs(old, elements, (elementPath, from, to) => {
      this.block(block, elementPath, from, to);
    });
  }

  #value(path: Path, before: Value, after: Value): void {
    if (before.type.kind === "dynamic" && before.isKnown) {
      // The command takes a null of open type for a placeholder; here that is said, but accepted.
      if (!after.isKnown || !after.isNull) {
        this.#violations.addTolerated("kept", path, "it was null and now has a value");
      }
      return;
    }
    if (!before.isKnown) {
      if (refines(after, before)) return;
      // Refinements that got lost leave everything possible that was possible before.
      if (!after.isKnown && couldBecome(before, after) !== false) {
        this.#violations.addTolerated(
          "placeholder",
          path,
          "less is known of the value than before",
        );
      } else {
        this.#violations.add("placeholder", path, "the value is not one that was announced");
      }
      return;
    }
    if (!conformsTo(after.type, before.type)) {
      this.#violations.add("kept", path, "the value is of another type");
    } else if (!after.isKnown) {
      this.#violations.add("kept", path, "a known value became unknown");
    } else if (before.isNull || after.isNull) {
      if (before.isNull === after.isNull) return;
      const message = before.isNull ? "it was null and now has a value" : "it became null";
      this.#violations.add("kept", path, message);
    } else this.#content(path, before, after);
  }

  #content(path: Path, before: Value, after: Value): void {
    const { kind } = before.type;
    if (kind === "object") {
      for (const [name, value] of before.entries()) {
        this.#value(path.attribute(name), value, memberOf(after, name, value.type));
      }
    } else if (kind === "list" || kind === "tuple" || kind === "map") {
      this.#pairs(elementsByKey(path, before), elementsByKey(path, after), (...pair) => {
        this.#value(...pair);
      });
    } else if (kind === "set") {
      const [old, elements] = [elementsByKey(path, before), elementsByKey(path, after)];
      this.#set(path, [...old.values()], [...elements.values()], (from, to) => {
        const trial = new Violations(false);
        new CompatibilityCheck(trial).#value(path, from, to);
        return !isRefused(trial.found);
      });
    } else if (before.equals(after) !== true) {
      this.#violations.add("kept", path, "the value is another one");
    }
  }

  #pairs(
    before: ReadonlyMap<string, readonly [Path, Value]>,
    after: ReadonlyMap<string, readonly [Path, Value]>,
    each: (path: Path, before: Value, after: Value) => void,
  ): void {
    for (const [key, [elementPath, old]] of before) {
      const [, element] = after.get(key) ?? [];
      if (element === undefined) this.#violations.add("count", elementPath, "an element is gone");
      else each(elementPath, old, element);
    }
    for (const [key, [elementPath]] of after) {
      if (!before.has(key)) {
        this.#violations.add("count", elementPath, "an element is there unexpectedly");
      }
    }
  }

  #set(
    path: Path,
    before: readonly (readonly [Path, Value])[],
    after: readonly (readonly [Path, Value])[],
    couldBecome: (before: Value, after: Value) => boolean,
  ): void {
    if (after.length > before.length) {
      const message = `there are ${after.length} elements where ${before.length} were announced`;
      this.#violations.add("count", path, message);
      return;
    }
    const origins = after.map(([, element]) =>
      before.flatMap(([, old], i) => (couldBecome(old, element) ? [i] : [])),
    );
    const possible = new Set(origins.flat());
    for (const [i, [elementPath]] of before.entries()) {
      if (!possible.has(i)) {
        this.#violations.add("kept", elementPath, "an element of the set is gone");
      }
    }
    for (const position of withoutOrigin(origins)) {
      const [elementPath = path] = after[position] ?? [];
      this.#violations.add("kept", elementPath, "an element of the set came from nowhere");
    }
  }
}
