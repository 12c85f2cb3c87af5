import {
  AccountVariableSet,
  Variable,
  Variable_Category,
  VariableSet,
} from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { effectiveVariables, type VariableOrigin } from "./variable-precedence.ts";

const variable = (
  key: string,
  category: Variable_Category = Variable_Category.CATEGORY_TERRAFORM,
) => Variable.create({ key, category });
const set = (name: string, stacks: string[], priority: boolean, ...keys: string[]) =>
  VariableSet.create({ name, stacks, priority, variables: keys.map((key) => variable(key)) });
const accountSet = (name: string, projects: string[], priority: boolean, ...keys: string[]) =>
  AccountVariableSet.create({
    name,
    projects,
    priority,
    variables: keys.map((key) => variable(key)),
  });
const nameOf = (from: VariableOrigin) => (from?.scope === "account" ? `~${from.set}` : from?.set);
const originOf = (
  name: string | undefined,
  own: readonly Variable[],
  sets: readonly VariableSet[],
  accountSets: readonly AccountVariableSet[] = [],
) =>
  effectiveVariables({ project: "shop", name }, { own, sets, accountSets }).map(
    ({ variable: { key }, from, hides }) => [key, nameOf(from), hides.map(nameOf)],
  );

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

it("a set that is for all and names one stack is stronger for that stack alone", () => {
  const sets = [set("alpha", [], false, "k"), set("zeta", ["*", "web-1"], false, "k")];
  expect(originOf("web-1", [], sets)).toEqual([["k", "zeta", ["alpha"]]]);
  expect(originOf("web-2", [], sets)).toEqual([["k", "alpha", ["zeta"]]]);
});

it("sets of the account are below those of the project, and those with priority above all", () => {
  const sets = [set("mine", [], false, "k"), set("enforced", ["web"], true, "k")];
  const accountSets = [
    accountSet("for-all", [], false, "k"),
    accountSet("for-some", ["sh*"], false, "k"),
    accountSet("enforced-for-all", [], true, "k"),
    accountSet("enforced", ["shop"], true, "k"),
  ];
  expect(originOf("web", [variable("k")], sets, accountSets)).toEqual([
    [
      "k",
      "~enforced",
      ["~enforced-for-all", "enforced", undefined, "mine", "~for-some", "~for-all"],
    ],
  ]);
});

it("a set of the account is for the stacks that match both of its patterns", () => {
  const some = AccountVariableSet.create({
    name: "some",
    projects: ["shop", "net"],
    stacks: ["web-*"],
    variables: [variable("k")],
  });
  const other = accountSet("other", ["sho"], true, "k");
  expect(originOf("web-1", [], [], [some, other])).toEqual([["k", "~some", []]]);
  expect(originOf("db", [], [], [some, other])).toEqual([]);
  expect(originOf(undefined, [], [], [some, accountSet("all", ["shop"], false, "k")])).toEqual([
    ["k", "~all", []],
  ]);
});

it("what is of a set with priority is enforced, whatever it is of", () => {
  const found = effectiveVariables(
    { project: "shop", name: "web" },
    {
      own: [variable("own"), variable("a")],
      sets: [set("of-project", [], true, "b"), set("mild", [], false, "c")],
      accountSets: [accountSet("of-account", [], true, "a")],
    },
  );
  expect(found.map(({ variable: { key }, isEnforced }) => [key, isEnforced])).toEqual([
    ["a", true],
    ["b", true],
    ["c", false],
    ["own", false],
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
  expect(originOf("web", own, [set("a", [], true, "k")]).map(([, from]) => from)).toEqual([
    "a",
    undefined,
  ]);
});

it("sets of one place and one priority are as strong as each other, and others are not", () => {
  const sets = [
    set("b", [], false, "k"),
    set("a", [], false, "k"),
    set("c", ["web"], false, "only-here"),
    set("d", [], false, "only-here"),
  ];
  const accountSets = [accountSet("e", [], false, "k")];
  const found = effectiveVariables(
    { project: "shop", name: "web" },
    { own: [], sets, accountSets },
  );
  expect(found.map(({ variable: { key }, from, equals }) => [key, from?.set, equals])).toEqual([
    ["k", "a", [{ set: "b", scope: "project" }]],
    ["only-here", "c", []],
  ]);
});

it("of what several sets have the stack decides itself", () => {
  const sets = [set("a", [], false, "k"), set("b", [], false, "k")];
  const own = [variable("k")];
  const [found] = effectiveVariables(
    { project: "shop", name: "web" },
    { own, sets, accountSets: [] },
  );
  expect(found).toMatchObject({ from: undefined, equals: [] });
});
