/**
 * Cases that `validate` refuses here, and the reference command only when it plans, with the values of variables: no value
 * makes it accept them, except those of `try`.
 */
export const FOUND_EARLIER: ReadonlySet<string> = new Set([
  "an output of try()",
  "an output of an element at an ephemeral index",
  "an output of an instance at an ephemeral index",
  "the number of dynamic blocks",
  "the for_each of an import",
  "a key in the for_each of an import",
  "a key in a map for for_each",
  "a key beside others in a map for for_each",
  "a key in the for_each of a module",
  "replace_triggered_by of an ephemeral resource",
  "replace_triggered_by of a data source",
  "replace_triggered_by of all instances",
  "replace_triggered_by of a function",
  "replace_triggered_by of a template",
  "replace_triggered_by at a computed index",
  "replace_triggered_by in parentheses",
  "an ephemeral output of a module in an argument",
  "an ephemeral output of a module in an output",
  "all outputs of a module in an output",
  "all outputs of a module in an argument",
  "an ephemeral output of one of several instances",
  "an ephemeral output of an instance by key",
  "an ephemeral output of a module for the count",
  "an ephemeral output of a module for for_each",
]);

/** Cases that the reference command accepts and the engine does not, with the reason. */
export const REFUSED_HERE: ReadonlyMap<string, string> = new Map([
  ["the id of an import", "the plan stores the id, and the state may"],
  ["the id of an import from an ephemeral resource", "the plan stores the id, and the state may"],
  ["a value in the for_each of an import", "the plan stores the id, and the state may"],
  ["a resource that moved to an ephemeral one", "the state has no ephemeral resources"],
]);
