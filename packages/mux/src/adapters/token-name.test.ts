import { describe, expect, it } from "vitest";
import { nameTokens } from "./token-name.ts";

describe("nameTokens", () => {
  it("gives every token a name, under which it is found as under itself", () => {
    const { tokens, names, collisions } = nameTokens(["p:a/x:Thing", "p:a/y:Thing", "p:b:Other"]);
    expect(Object.fromEntries(tokens)).toEqual({
      "p:a/x:Thing": "p:a/x:Thing",
      "p:a/y:Thing": "p:a/y:Thing",
      "p:b:Other": "p:b:Other",
      p_a_x_thing: "p:a/x:Thing",
      p_a_y_thing: "p:a/y:Thing",
      p_b_other: "p:b:Other",
    });
    expect([...names.values()]).toEqual(["p_a_x_thing", "p_a_y_thing", "p_b_other"]);
    expect(collisions).toEqual([]);
  });

  it("gives a name that several tokens share to none of them, and each its long name", () => {
    const { tokens, names, collisions } = nameTokens(["p:a/x:X", "p:a/x:x", "p:index:Y", "p::Y"]);
    expect(tokens.has("p_a_x")).toBe(false);
    expect(tokens.has("p_y")).toBe(false);
    expect(tokens.get("p_index_y")).toBe("p:index:Y");
    // The long name of both is p_a_x_x, and that of the last one is the shared one.
    expect(names.get("p:a/x:X")).toMatch(/^p_a_x_[0-9a-f]{8}$/);
    expect(names.get("p::Y")).toMatch(/^p_y_[0-9a-f]{8}$/);
    expect(new Set(names.values()).size).toBe(4);
    expect(collisions).toEqual([
      {
        name: "p_a_x",
        tokens: ["p:a/x:X", "p:a/x:x"],
        names: [names.get("p:a/x:X"), names.get("p:a/x:x")],
      },
      { name: "p_y", tokens: ["p:index:Y", "p::Y"], names: ["p_index_y", names.get("p::Y")] },
    ]);
  });

  it("does not use a long name that is another's name", () => {
    const { tokens, names } = nameTokens([
      "k:index:Set",
      "k::Set",
      "k:index_set:Set",
      "k:index/a:Set",
    ]);
    expect(names.get("k:index:Set")).toBe("k_index_set");
    expect(names.get("k:index_set:Set")).toBe("k_index_set_set");
    const taken = nameTokens(["k:index:Set", "k::Set", "k:Index:Set"]);
    // "k:Index:Set" is called k_index_set by the rule.
    expect(taken.tokens.get("k_index_set")).toBe("k:Index:Set");
    expect(taken.names.get("k:index:Set")).toMatch(/^k_set_[0-9a-f]{8}$/);
    expect(tokens.size).toBe(8);
  });

  it("does not depend on the order", () => {
    const all = ["q:index:aB", "q:index:a_b", "q::Z", "q:index:Z", "q:m/z:Z"];
    const { names } = nameTokens(all);
    const reversed = nameTokens(all.toReversed()).names;
    for (const token of all) expect(reversed.get(token)).toBe(names.get(token));
  });
});
