import { encodeJson, Mark, Type, unmarkDeep, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { standInSecrets } from "./stand-in.ts";

const secret = (value: Value): Value => value.mark(Mark.sensitive);
const object = (hidden: Value): Value => Value.object({ open: Value.string("o"), hidden });

/** Whether a reader sees a difference. */
function differs(before: Value, after: Value): boolean {
  const [was, is] = standInSecrets(object(secret(before)), object(secret(after)));
  return !(was as Value).rawEquals(is as Value);
}

describe("standInSecrets", () => {
  const canary = Value.string("canary");
  it.each([
    ["texts", canary, Value.string("other")],
    ["numbers", Value.number(4711), Value.number(4712)],
    ["truths", Value.true, Value.false],
    ["lists", Value.list([canary]), Value.list([canary, canary])],
    ["sets", Value.set([canary]), Value.set([Value.string("other")])],
    ["maps", Value.map({ a: canary }), Value.map({ b: canary })],
    ["tuples", Value.tuple([canary]), Value.tuple([Value.string("other")])],
    ["objects", Value.object({ a: canary }), Value.object({ a: Value.string("other") })],
  ])("says of %s whether they are equal, and nothing of them", (_, one, other) => {
    expect(differs(one, one)).toBe(false);
    expect(differs(one, other)).toBe(true);
    const [was, is] = standInSecrets(object(secret(one)), object(secret(other)));
    for (const value of [was, is]) {
      const hidden = new Map(value?.entries()).get("hidden");
      expect(hidden?.hasMark(Mark.sensitive)).toBe(true);
      expect(hidden?.type.equals(one.type)).toBe(true);
      expect(value && encodeJson(unmarkDeep(value)[0])).not.toMatch(/canary|471/);
    }
  });

  it("keeps what is null, not known or not secret", () => {
    const given = object(secret(Value.null(Type.string)));
    expect(standInSecrets(undefined, given)).toEqual([undefined, given]);
    const unknown = object(secret(Value.unknown(Type.string)));
    expect(standInSecrets(unknown, undefined)[0]?.rawEquals(unknown)).toBe(true);
    const open = object(canary);
    expect(standInSecrets(open, open)).toEqual([open, open]);
  });
});
