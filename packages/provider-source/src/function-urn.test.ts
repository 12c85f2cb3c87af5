import { describe, expect, it } from "vitest";
import { parseFunctionUrn } from "./function-urn.ts";

const PROJECT = "a61dfe3154de42829367056598d5040f";
const urn = (region: string, qualifier = "latest"): string =>
  `urn:fss:${region}:${PROJECT}:function:default:test:${qualifier}`;

describe("the URN of a function", () => {
  it("has eight parts, of which four differ", () => {
    expect(parseFunctionUrn(urn("cn-north-7"))).toEqual({
      text: urn("cn-north-7"),
      region: "cn-north-7",
      project: PROJECT,
      name: "test",
      qualifier: "latest",
    });
    expect(parseFunctionUrn(urn("local", "!prod"))?.qualifier).toBe("!prod");
  });

  it.each([
    "",
    "urn:fss",
    urn("a:b"),
    urn(""),
    urn("-a"),
    urn("A"),
    urn("a".repeat(65)),
    urn("local", "latest:more"),
    urn("local", "!"),
    urn("local", "latest\n"),
    urn("local").replace("fss", "fgs"),
    urn("local").replace("function", "trigger"),
    urn("local").replace("default", "other"),
    urn("local").replace(PROJECT, "a/b"),
    urn("local").replace("test", "1test"),
  ])("is not %j", (text) => {
    expect(parseFunctionUrn(text)).toBeUndefined();
  });
});
