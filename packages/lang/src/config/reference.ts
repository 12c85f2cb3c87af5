import type { ScopeTraversal, TraversalStep } from "../syntax/ast.ts";
import { type Diagnostic, sourceRange } from "../syntax/diagnostic.ts";
import type { ResourceMode } from "./module-config.ts";

/** Key of an instance: a whole number or a string. */
export type InstanceKey = number | string;

/** What a reference is about: the longest beginning of it that can be addressed. */
export type ReferenceSubject =
  | { readonly kind: "variable" | "local"; readonly name: string }
  | {
      readonly kind: "resource";
      readonly mode: ResourceMode;
      readonly type: string;
      readonly name: string;
      /** The instance, where the key is a literal. */
      readonly key: InstanceKey | undefined;
    }
  | {
      readonly kind: "module";
      readonly name: string;
      readonly key: InstanceKey | undefined;
      readonly output: string | undefined;
    }
  | { readonly kind: "each"; readonly name: "key" | "value" }
  | { readonly kind: "count" }
  | { readonly kind: "self" }
  | { readonly kind: "path"; readonly name: "module" | "root" | "cwd" }
  | { readonly kind: "terraform"; readonly name: string };

/** A reference, split into what it is about and what it takes from that. */
export interface Reference {
  readonly subject: ReferenceSubject;
  readonly steps: readonly TraversalStep[];
  readonly traversal: ScopeTraversal;
}

/** Roots that are kept free for the language; a resource type of that name needs `resource.`. */
const RESERVED = new Set(["template", "lazy", "arg"]);

/**
 * Reads the target of a reference. Undefined where the reference is incomplete; `report` receives
 * the reason. Whether what it names exists is for {@link checkReferences}.
 */
export function parseReference(
  traversal: ScopeTraversal,
  report: (diagnostic: Diagnostic) => void = () => undefined,
): Reference | undefined {
  const reader = new ReferenceReader(traversal);
  const subject = reader.subject();
  if (typeof subject !== "string") return { subject, steps: reader.rest(), traversal };
  report({
    severity: "error",
    code: "LANG_CONFIG",
    summary: "Invalid reference",
    detail: subject,
    subject: sourceRange(traversal.source, traversal.start, traversal.end),
  });
  return undefined;
}

class ReferenceReader {
  readonly #traversal: ScopeTraversal;
  #at = 0;

  constructor(traversal: ScopeTraversal) {
    this.#traversal = traversal;
  }

  rest(): readonly TraversalStep[] {
    return this.#traversal.steps.slice(this.#at);
  }

  /** The next step as a name; undefined where it is none. */
  #name(): string | undefined {
    const step = this.#traversal.steps[this.#at];
    if (step?.kind !== "attribute-step") return undefined;
    this.#at++;
    return step.name;
  }

  /** The next step as an instance key, if it is an index. */
  #key(): InstanceKey | undefined {
    const step = this.#traversal.steps[this.#at];
    if (step?.kind !== "index-step") return undefined;
    const { key } = step;
    if (key.kind !== "string" && key.kind !== "number") return undefined;
    const value = key.kind === "string" ? key.value : Number(key.text);
    if (typeof value === "number" && !Number.isSafeInteger(value)) return undefined;
    this.#at++;
    return value;
  }

  /** What the reference is about, or what is wrong with it. */
  subject(): ReferenceSubject | string {
    const { root } = this.#traversal;
    switch (root) {
      case "var":
      case "local": {
        const kind = root === "var" ? "variable" : "local";
        const name = this.#name();
        return name === undefined
          ? `"${root}" must be followed by a dot and a name.`
          : { kind, name };
      }
      case "data":
      case "ephemeral":
        return this.#resource(root, this.#name());
      case "resource":
        return this.#resource("managed", this.#name());
      case "module": {
        const name = this.#name();
        if (name === undefined)
          return '"module" must be followed by a dot and the name of a module call.';
        return { kind: "module", name, key: this.#key(), output: this.#name() };
      }
      case "each": {
        const name = this.#name();
        return name === "key" || name === "value"
          ? { kind: "each", name }
          : 'There are only "each.key" and "each.value".';
      }
      case "count":
        return this.#name() === "index" ? { kind: "count" } : 'There is only "count.index".';
      case "self":
        return { kind: "self" };
      case "path": {
        const name = this.#name();
        if (name === "module" || name === "root" || name === "cwd") return { kind: "path", name };
        return 'There are only "path.module", "path.root" and "path.cwd".';
      }
      case "terraform":
      case "tofu": {
        const name = this.#name();
        if (name === "workspace" || name === "applying") return { kind: "terraform", name };
        return `There are only "${root}.workspace" and "${root}.applying".`;
      }
      default:
        if (RESERVED.has(root)) {
          return `The name "${root}" is reserved. For a resource of that type write "resource.${root}".`;
        }
        return this.#resource("managed", root);
    }
  }

  #resource(mode: ResourceMode, type: string | undefined): ReferenceSubject | string {
    const name = type === undefined ? undefined : this.#name();
    if (type === undefined || name === undefined) {
      const form = {
        managed: "TYPE.NAME",
        data: "data.TYPE.NAME",
        ephemeral: "ephemeral.TYPE.NAME",
      };
      return `A reference to a resource must name its type and its name: ${form[mode]}.`;
    }
    return { kind: "resource", mode, type, name, key: this.#key() };
  }
}
