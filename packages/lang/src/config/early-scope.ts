import { Mark, unmarkDeep, Value } from "@stackwright/cty";
import { type Evaluated, evaluate } from "../eval/evaluate.ts";
import { createFunctionTable } from "../eval/function-table.ts";
import type { BundleFiles } from "../eval/host.ts";
import { STANDARD_FUNCTIONS } from "../function/library.ts";
import type { Expression } from "../syntax/ast.ts";
import { type Diagnostic, hasErrors, sourceRange } from "../syntax/diagnostic.ts";
import { expressionCalls, expressionReferences } from "../syntax/references.ts";
import { type ContentAttribute, readAttributes } from "./body-content.ts";
import { evaluateInput } from "./input-value.ts";
import type { ModuleCall, ModuleConfig, VariableConfig } from "./module-config.ts";
import { createModuleScope, type ModuleScope } from "./module-scope.ts";
import { parseReference, type ReferenceSubject } from "./reference.ts";
import { rangeOf } from "./static-reader.ts";

/** What is known from outside before the modules of a configuration are loaded. */
export interface EarlyValues {
  /** Values of the root variables, by what the root module declares. @default only defaults */
  readonly variables?: (
    declared: ReadonlyMap<string, VariableConfig>,
  ) => ReadonlyMap<string, Value>;
  /** What `terraform.workspace` is. @default "default" */
  readonly workspace?: string;
}

interface EarlyPlace {
  readonly files: BundleFiles;
  readonly folder: string;
  /** Of a called module: its call, and what the arguments of it are evaluated with. */
  readonly caller?: { readonly scope: EarlyScope; readonly call: ModuleCall } | undefined;
}

const MAX_STRING_LENGTH = 32 * 1024 * 1024;

/**
 * What expressions may refer to that are evaluated before anything is planned: variables and locals that follow from
 * values given from outside, paths and the workspace (OpenTofu). Locals, and arguments of calls, are followed to what they refer to.
 */
export class EarlyScope {
  readonly #config: ModuleConfig;
  readonly #place: EarlyPlace;
  readonly #values: EarlyValues;
  #module: ModuleScope | undefined;
  readonly #variables = new Map<string, Value>();
  #given: ReadonlyMap<string, Value> | undefined;
  #arguments: ReadonlyMap<string, ContentAttribute> | undefined;

  constructor(config: ModuleConfig, place: EarlyPlace, values: EarlyValues) {
    this.#config = config;
    this.#place = place;
    this.#values = values;
  }

  /** Made when it is needed: most modules have nothing to evaluate early. */
  get #scope(): ModuleScope {
    this.#module ??= this.#createScope();
    return this.#module;
  }

  #createScope(): ModuleScope {
    const { files, folder } = this.#place;
    const functions = createFunctionTable(STANDARD_FUNCTIONS, {
      files,
      maxStringLength: MAX_STRING_LENGTH,
    });
    const source = {
      variables: new EarlyVariables((name) => this.#variable(name)),
      resource: () => undefined,
      module: () => undefined,
      folder,
      workingDirectory: files.machine?.workingDirectory,
      workspace: this.#values.workspace ?? "default",
    };
    return createModuleScope(this.#config, source, functions);
  }

  /**
   * Evaluates an expression. Everything in the value is known then, and nothing of it is secret; otherwise the value is unknown
   * and the diagnostics say why.
   *
   * @param what what the value is for, as in `the source of module "net"`
   */
  evaluate(expression: Expression, what: string): Evaluated {
    return this.#evaluate(expression, what, { whole: true, secret: false });
  }

  /** As {@link evaluate}, where only the keys of a map have to be known and public: its values may be anything. */
  evaluateKeys(expression: Expression, what: string): Evaluated {
    return this.#evaluate(expression, what, { whole: false, secret: false });
  }

  /** As {@link evaluate}, where the value may be secret: it is used by the command alone, and recorded nowhere. */
  evaluateSecret(expression: Expression, what: string): Evaluated {
    return this.#evaluate(expression, what, { whole: true, secret: true });
  }

  #evaluate(
    expression: Expression,
    what: string,
    { whole, secret }: { readonly whole: boolean; readonly secret: boolean },
  ): Evaluated {
    const unknown = { value: Value.dynamic };
    const diagnostics: Diagnostic[] = [];
    this.#check(expression, what, diagnostics, new Set());
    if (hasErrors(diagnostics)) return { ...unknown, diagnostics };
    const { value, diagnostics: found } = evaluate(expression, this.#scope);
    if (hasErrors(found)) return { ...unknown, diagnostics: found };
    const marks = whole ? unmarkDeep(value)[1] : value.unmark()[1];
    for (const [mark, name] of [
      [Mark.sensitive, "Sensitive"],
      [Mark.ephemeral, "Ephemeral"],
    ] as const) {
      if (secret || !marks.has(mark)) continue;
      const detail = `${name} values, or values derived from them, cannot be used for ${what}.`;
      return {
        ...unknown,
        diagnostics: [problem(`${name} value not allowed`, detail, expression)],
      };
    }
    const [plain] = whole ? unmarkDeep(value) : value.unmark();
    const deep = whole || plain.type.kind === "set";
    if (deep ? plain.isWhollyKnown : plain.isKnown) return { value, diagnostics: found };
    const open = [...this.#unset(expression, new Set())].map((name) => `var.${name}`);
    const because = open.length > 0 ? `: ${open.join(", ")} has no value yet` : "";
    const detail = `The value is needed for ${what} before anything is planned, and it is not known then${because}.${open.length > 0 ? " Give one with -var, a variables file, or TF_VAR_NAME." : ""}`;
    return { ...unknown, diagnostics: [problem("Value not known early", detail, expression)] };
  }

  #variable(name: string): Value | undefined {
    const config = this.#config.variables.get(name);
    if (config === undefined) return undefined;
    const known = this.#variables.get(name);
    if (known !== undefined) return known;
    // While it is being worked out; a variable cannot depend on itself.
    this.#variables.set(name, Value.dynamic);
    const value = this.#valueOf(config);
    this.#variables.set(name, value);
    return value;
  }

  #valueOf(config: VariableConfig): Value {
    const { caller } = this.#place;
    if (caller === undefined) {
      this.#given ??= this.#values.variables?.(this.#config.variables) ?? new Map();
      const given = this.#given.get(config.name);
      return given ?? evaluateInput(config, undefined, this.#scope).value;
    }
    const argument = this.#argument(config.name);
    return evaluateInput(config, argument?.expression, caller.scope.#scope).value;
  }

  #argument(name: string): ContentAttribute | undefined {
    const { caller } = this.#place;
    if (caller === undefined) return undefined;
    this.#arguments ??= readAttributes(caller.call.body, []);
    return this.#arguments.get(name);
  }

  /** Follows references through locals and arguments, each once. */
  #check(expression: Expression, what: string, diagnostics: Diagnostic[], seen: Set<string>): void {
    for (const call of expressionCalls(expression)) {
      if (!call.name.includes("::") || call.name.startsWith("core::")) continue;
      const detail = `The function ${call.name} of a provider cannot be called for ${what}: providers are not running yet.`;
      diagnostics.push(problem("Provider function in static context", detail, call));
    }
    for (const traversal of expressionReferences(expression)) {
      const subject = parseReference(traversal)?.subject;
      if (subject === undefined) continue;
      const { name = "" } = subject as { readonly name?: string };
      const key = `${subject.kind}.${name}`;
      if (subject.kind === "local" || subject.kind === "variable") {
        if (seen.has(key)) continue;
        seen.add(key);
        this.#follow(subject.kind, name, what, diagnostics, seen);
        continue;
      }
      if (isEarly(subject)) continue;
      const { source, start, end } = traversal;
      const text = source.text.slice(start, end);
      const summary =
        subject.kind === "module"
          ? "Module output not supported in static context"
          : "Dynamic value in static context";
      const detail = `${text} cannot be used for ${what}: only variables, locals, paths and terraform.workspace are known before anything is planned.`;
      const at = sourceRange(source, start, end);
      diagnostics.push({ severity: "error", code: "LANG_CONFIG", summary, detail, subject: at });
    }
  }

  #follow(
    kind: "local" | "variable",
    name: string,
    what: string,
    diagnostics: Diagnostic[],
    seen: Set<string>,
  ): void {
    if (kind === "local") {
      const local = this.#config.locals.get(name);
      if (local !== undefined) this.#check(local.expression, what, diagnostics, seen);
      return;
    }
    const argument = this.#argument(name);
    const { caller } = this.#place;
    if (argument === undefined || caller === undefined) return;
    caller.scope.#check(argument.expression, what, diagnostics, new Set());
  }

  /** Root variables without a value that an expression depends on. */
  *#unset(expression: Expression, seen: Set<string>): Generator<string> {
    for (const traversal of expressionReferences(expression)) {
      const subject = parseReference(traversal)?.subject;
      if (subject?.kind !== "local" && subject?.kind !== "variable") continue;
      const key = `${subject.kind}.${subject.name}`;
      if (seen.has(key)) continue;
      seen.add(key);
      const { caller } = this.#place;
      if (subject.kind === "local") {
        const local = this.#config.locals.get(subject.name);
        if (local !== undefined) yield* this.#unset(local.expression, seen);
      } else if (caller === undefined) {
        if (this.#variable(subject.name)?.isWhollyKnown === false) yield subject.name;
      } else {
        const argument = this.#argument(subject.name);
        if (argument !== undefined) yield* caller.scope.#unset(argument.expression, new Set());
      }
    }
  }
}

function isEarly(subject: ReferenceSubject): boolean {
  if (subject.kind === "path") return true;
  return subject.kind === "terraform" && subject.name === "workspace";
}

function problem(summary: string, detail: string, expression: Parameters<typeof rangeOf>[0]) {
  const subject = rangeOf(expression);
  return { severity: "error", code: "LANG_CONFIG", summary, detail, subject } as const;
}

/** Variables that are worked out when they are asked for. */
class EarlyVariables extends Map<string, Value> {
  readonly #valueOf: (name: string) => Value | undefined;

  constructor(valueOf: (name: string) => Value | undefined) {
    super();
    this.#valueOf = valueOf;
  }

  override get(name: string): Value | undefined {
    return this.#valueOf(name);
  }
}
