import { Variable, Variable_Category, VariableSet } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { effectiveVariables } from "./variable-precedence.ts";

const variable = (
  key: string,
  category: Variable_Category = Variable_Category.CATEGORY_TERRAFORM,
) => Variable.create({ key, category });
const set = (name: string, stacks: string[], priority: boolean, ...keys: string[]) =>
  VariableSet.create({ name, stacks, priority, variables: keys.map((key) => variable(key)) });
const originOf = (...given: Parameters<typeof effectiveVariables>) =>
  effectiveVariables(...given).map(({ variable: { key }, set: name, hides }) => [key, name, hides]);

it("the levels win over each other in their order, and each hides all below it", () => {
  const all = [
    set("e-for-all", [], false, "k"),
    set("d-for-some", ["web*"], false, "k"),
    set("b-enforced-for-all", [], true, "k"),
    set("a-enforced-for-some", ["web-1"], true, "k"),
  ];
  expect(originOf("web-1", [variable("k")], all)).toEqual([
    ["k", "a-enforced-for-some", ["b-enforced-for-all", undefined, "d-for-some", "e-for-all"]],
  ]);
});

it("of two sets of one level the first by name wins, whatever their order", () => {
  const sets = [set("b", [], false, "k"), set("a", [], false, "k")];
  expect(originOf("web", [], sets)).toEqual([["k", "a", ["b"]]]);
  expect(originOf("web", [], sets.toReversed())).toEqual([["k", "a", ["b"]]]);
});

it("a set for other stacks gives nothing, and a stack without a name has the sets for all alone", () => {
  const sets = [set("a", ["db-*"], true, "k"), set("b", [], false, "k")];
  expect(originOf("web", [], sets)).toEqual([["k", "b", []]]);
  expect(originOf(undefined, [], [...sets, set("c", ["*"], true, "k")])).toEqual([["k", "b", []]]);
});

it("a key of one category hides none of another", () => {
  const own = [variable("k"), variable("k", Variable_Category.CATEGORY_ENV)];
  expect(effectiveVariables("web", own, [set("a", [], true, "k")]).map((one) => one.set)).toEqual([
    "a",
    undefined,
  ]);
});
