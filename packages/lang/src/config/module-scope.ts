import { getAttribute, Mark, Type, Value } from "@stackwright/cty";
import { evaluate } from "../eval/evaluate.ts";
import type { FunctionTable } from "../eval/function-table.ts";
import type { EvaluationScope, Resolved } from "../eval/scope.ts";
import type { Expression, ScopeTraversal } from "../syntax/ast.ts";
import { type Diagnostic, sourceRange } from "../syntax/diagnostic.ts";
import type { ModuleConfig } from "./module-config.ts";
import {
  type InstanceKey,
  parseReference,
  type Reference,
  type ReferenceSubject,
} from "./reference.ts";

type ResourceSubject = Extract<ReferenceSubject, { kind: "resource" }>;
type ModuleSubject = Extract<ReferenceSubject, { kind: "module" }>;

/** Values of a module that come from elsewhere than its own expressions. */
export interface ModuleValues {
  /** By name; complete. */
  readonly variables: ReadonlyMap<string, Value>;
  /**
   * A resource: the instance with the key, or without a key all of it (one object, or a tuple or
   * object of instances). Undefined where there is none.
   */
  resource(subject: ResourceSubject): Value | undefined;
  /**
   * Outputs of a called module, of one instance or all: an object, or a tuple or object of them. Where only one
   * output will be read, it is named.
   */
  module(subject: ModuleSubject, output?: string): Value | undefined;
  /**
   * Called for every use of a local, with a function that evaluates it once and then returns the same result; for callers that
   * determine what an expression depends on through its locals.
   */
  local?(
    name: string,
    evaluate: () => ReturnType<ModuleScope["local"]>,
  ): ReturnType<ModuleScope["local"]>;
  /** What `path.module` is. */
  readonly folder: string;
  /** What `path.cwd` is. @default `.` */
  readonly workingDirectory?: string | undefined;
  readonly workspace: string;
  /** What `terraform.applying` is; unknown where it is left out. */
  readonly applying?: boolean;
  /**
   * What a variable or an output of a called module is defined as, and in which scope, to explain
   * where values come from. Not needed for evaluation.
   */
  definition?(
    subject: Extract<ReferenceSubject, { kind: "variable" | "local" }> | ModuleSubject,
  ): { readonly expression: Expression; readonly scope: EvaluationScope } | undefined;
}

/** The instance that expressions are evaluated for. */
export interface InstanceContext {
  readonly each?: { readonly key: Value; readonly value: Value };
  /** A number; as a value where it is not known, as in a check of all instances at once. */
  readonly countIndex?: number | Value;
  /** The object itself, for postconditions. */
  readonly self?: Value;
}

/** The names of a module. Locals are evaluated once, when they are first asked for. */
export interface ModuleScope extends EvaluationScope {
  /** The same names with those of an instance. Shares what has been evaluated. */
  forInstance(context: InstanceContext): ModuleScope;
  /** The value of a local and what is wrong with it. */
  local(name: string): { readonly value: Value; readonly diagnostics: readonly Diagnostic[] };
}

/** Evaluated locals of a module; undefined while one is being evaluated. */
type Locals = Map<string, ReturnType<ModuleScope["local"]> | undefined>;

/**
 * A scope of the names of a module. A reference to one instance, with a literal or a computed key,
 * asks for that instance only, so that what an expression costs does not grow with the number of
 * instances of what it refers to.
 */
export function createModuleScope(
  config: ModuleConfig,
  values: ModuleValues,
  functions: FunctionTable,
): ModuleScope {
  return new Names(config, values, functions, {}, new Map());
}

class Names implements ModuleScope {
  readonly functions: FunctionTable;
  readonly #config: ModuleConfig;
  readonly #values: ModuleValues;
  readonly #context: InstanceContext;
  readonly #locals: Locals;

  constructor(
    config: ModuleConfig,
    values: ModuleValues,
    functions: FunctionTable,
    context: InstanceContext,
    locals: Locals,
  ) {
    this.#config = config;
    this.#values = values;
    this.functions = functions;
    this.#context = context;
    this.#locals = locals;
  }

  forInstance(context: InstanceContext): ModuleScope {
    return new Names(this.#config, this.#values, this.functions, context, this.#locals);
  }

  // No root is a value by itself: everything is resolved by what it refers to.
  variable(): undefined {
    return undefined;
  }

  names(): Iterable<string> {
    const types = [...this.#config.resources.values()].flatMap(({ mode, type }) =>
      mode === "managed" ? [type] : [],
    );
    return new Set([
      "var",
      "local",
      "data",
      "module",
      "path",
      "each",
      "count",
      "terraform",
      ...types,
    ]);
  }

  resolve(traversal: ScopeTraversal): Resolved | undefined {
    const reference = parseReference(traversal);
    if (reference === undefined) return undefined;
    const value = this.#valueOf(reference.subject);
    if (value !== undefined) {
      return { value, steps: traversal.steps.length - reference.steps.length };
    }
    return this.#withoutInstance(reference);
  }

  /**
   * Where there is no instance with the key: the whole, so that it is the index that fails. That is a mistake of the
   * values and not of the configuration, which `try` and `can` may look for.
   */
  #withoutInstance({ subject, traversal, steps }: Reference): Resolved | undefined {
    if (subject.kind !== "resource" && subject.kind !== "module") return undefined;
    if (subject.key === undefined) return undefined;
    const whole =
      subject.kind === "module"
        ? { ...subject, key: undefined, output: undefined }
        : { ...subject, key: undefined };
    const value = this.#valueOf(whole);
    const output = subject.kind === "module" && subject.output !== undefined ? 1 : 0;
    return value && { value, steps: traversal.steps.length - steps.length - output - 1 };
  }

  element(collection: ScopeTraversal, key: Value): Value | undefined {
    const reference = parseReference(collection);
    const instance = instanceKey(key);
    if (reference === undefined || instance === undefined || reference.steps.length > 0)
      return undefined;
    const { subject } = reference;
    const open =
      (subject.kind === "resource" || subject.kind === "module") && subject.key === undefined;
    if (!open || (subject.kind === "module" && subject.output !== undefined)) return undefined;
    return this.#valueOf({ ...subject, key: instance })?.withMarksOf(key);
  }

  definition(traversal: ScopeTraversal): ReturnType<NonNullable<EvaluationScope["definition"]>> {
    const subject = parseReference(traversal)?.subject;
    if (subject?.kind === "local") {
      const local = this.#config.locals.get(subject.name);
      return local && { expression: local.expression, scope: this.forInstance({}) };
    }
    if (subject?.kind !== "variable" && subject?.kind !== "module") return undefined;
    return this.#values.definition?.(subject);
  }

  explainMissing(traversal: ScopeTraversal): string | undefined {
    let detail: string | undefined;
    parseReference(traversal, (diagnostic) => {
      detail = diagnostic.detail;
    });
    const { source, start, end } = traversal;
    return detail ?? `There is no ${source.text.slice(start, end)} here.`;
  }

  local(name: string): ReturnType<ModuleScope["local"]> {
    return this.#values.local === undefined
      ? this.#local(name)
      : this.#values.local(name, () => this.#local(name));
  }

  #local(name: string): ReturnType<ModuleScope["local"]> {
    const config = this.#config.locals.get(name);
    if (config === undefined) return { value: Value.dynamic, diagnostics: [] };
    if (this.#locals.has(name)) return this.#locals.get(name) ?? circular(config.range, name);
    this.#locals.set(name, undefined);
    // Locals belong to the module: they see no instance.
    const pending = this.functions.pending?.() ?? 0;
    let result: ReturnType<ModuleScope["local"]> | undefined;
    try {
      result = evaluate(config.expression, this.forInstance({}));
      return result;
    } finally {
      // What waits for calls outside is not the last word, and neither is what has no value yet: it was no circle.
      const isOpen = result === undefined || (this.functions.pending?.() ?? 0) > pending;
      if (isOpen) this.#locals.delete(name);
      else this.#locals.set(name, result);
    }
  }

  #valueOf(subject: ReferenceSubject): Value | undefined {
    switch (subject.kind) {
      case "variable":
        return this.#values.variables.get(subject.name);
      case "local":
        return this.#config.locals.has(subject.name) ? this.local(subject.name).value : undefined;
      case "resource":
        return this.#values.resource(subject);
      case "module":
        return this.#module(subject);
      case "each":
        return this.#context.each?.[subject.name];
      case "count": {
        const { countIndex } = this.#context;
        return typeof countIndex === "number" ? Value.number(countIndex) : countIndex;
      }
      case "self":
        return this.#context.self;
      case "path":
        return Value.string(this.#path(subject.name));
      case "terraform":
        return subject.name === "workspace"
          ? Value.string(this.#values.workspace)
          : this.#applying();
      default:
        return undefined;
    }
  }

  #path(name: "module" | "root" | "cwd"): string {
    const { folder, workingDirectory = "." } = this.#values;
    return name === "module" ? folder : name === "cwd" ? workingDirectory : ".";
  }

  /** Different at plan and apply, so that nothing may keep it. */
  #applying(): Value {
    const { applying } = this.#values;
    const value = applying === undefined ? Value.unknown(Type.bool) : Value.bool(applying);
    return value.mark(Mark.ephemeral);
  }

  /** Outputs of a module. One of them is taken out here only where there is exactly one instance. */
  #module(subject: ModuleSubject): Value | undefined {
    const { output } = subject;
    const outputs = this.#values.module({ ...subject, output: undefined }, output);
    if (outputs === undefined || output === undefined) return outputs;
    const [plain] = outputs.unmark();
    if (plain.type.kind === "dynamic") return outputs;
    return plain.type.kind === "object" && plain.type.has(output)
      ? getAttribute(outputs, output)
      : undefined;
  }
}

function instanceKey(marked: Value): InstanceKey | undefined {
  const [key] = marked.unmark();
  if (!key.isKnown || key.isNull) return undefined;
  if (key.type.kind === "string") return key.asString();
  if (key.type.kind !== "number" || !key.asBigFloat().isInteger) return undefined;
  const number = key.asNumber();
  return Number.isSafeInteger(number) ? number : undefined;
}

function circular(range: Diagnostic["subject"], name: string): ReturnType<ModuleScope["local"]> {
  return {
    value: Value.dynamic,
    diagnostics: [
      {
        severity: "error",
        code: "LANG_CONFIG",
        summary: "Circular reference",
        detail: `The local value "${name}" refers to itself, directly or through others.`,
        ...(range !== undefined && { subject: sourceRange(range.source, range.start, range.end) }),
      },
    ],
  };
}
