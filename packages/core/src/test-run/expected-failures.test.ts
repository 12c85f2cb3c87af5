import { SourceFile, sourceRange } from "@stackwright/lang";
import { expect, it } from "vitest";
import { uncheckable } from "./expected-failures.ts";

it("only what has conditions can be expected to fail", () => {
  const range = sourceRange(new SourceFile("a.tftest.hcl", "x"), 0, 1);
  const addresses = ["local.x", "each.value", "var.x", "check.x", "terraform_data.x", "data.a.x"];
  const found = uncheckable(addresses.map((address) => ({ address, range })));
  expect(found.map(({ detail }) => detail.split(" ")[0])).toEqual(["local.x", "each.value"]);
});
