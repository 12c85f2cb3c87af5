import { append } from "@stackwright/base/append";
import { Mark, Type, unmarkDeep, Value } from "@stackwright/cty";
import { unkeyedAddress } from "../address/parse-address.ts";
import { expandRepetition } from "../config/expansion.ts";
import type { ModuleNode } from "../config/load-tree.ts";
import type { ModuleScope } from "../config/module-scope.ts";
import { rangeOf } from "../config/static-reader.ts";
import { evaluate } from "../eval/evaluate.ts";
import type { Expression } from "../syntax/ast.ts";
import { type Diagnostic, hasErrors } from "../syntax/diagnostic.ts";

/**
 * Returns what is wrong with the arguments of the import blocks of the root module. `scope` is that of the module, in which
 * values may be unknown: what depends on them is not decided.
 */
export function validateImports(root: ModuleNode, scope: ModuleScope): Diagnostic[] {
  const diagnostics: Diagnostic[] = [];
  for (const { forEach, to, id, identity } of root.config.imports) {
    expandRepetition({ count: undefined, forEach }, scope, diagnostics);
    const each = { key: Value.unknown(Type.string), value: Value.dynamic };
    const inner = forEach === undefined ? scope : scope.forInstance({ each });
    for (const key of unkeyedAddress(to, [])?.keys ?? [])
      append(diagnostics, evaluate(key, inner).diagnostics);
    for (const argument of [id, identity]) {
      if (argument !== undefined) append(diagnostics, argumentErrors(argument, inner));
    }
  }
  return diagnostics;
}

function argumentErrors(argument: Expression, scope: ModuleScope): readonly Diagnostic[] {
  const { value, diagnostics } = evaluate(argument, scope);
  if (hasErrors(diagnostics)) return diagnostics;
  const [plain, marks] = unmarkDeep(value);
  const fail = (detail: string): readonly Diagnostic[] => {
    const subject = rangeOf(argument);
    const code = "LANG_IMPORT";
    return [{ severity: "error", code, summary: "Invalid import argument", detail, subject }];
  };
  if (marks.has(Mark.ephemeral)) return fail(EPHEMERAL_IMPORT);
  if (plain.isNull) return fail("It must not be null.");
  return diagnostics;
}

/** Why an ephemeral value does not name what is imported. */
export const EPHEMERAL_IMPORT =
  "An ephemeral value cannot say what is imported: the plan must keep it.";
