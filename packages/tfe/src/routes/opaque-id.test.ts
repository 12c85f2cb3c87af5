import { expect, it } from "vitest";
import { opaqueId } from "./opaque-id.ts";

it("is of 16 letters and digits, and the same for the same names alone", () => {
  const id = opaqueId("varset", "acme", "", "shared");
  expect(id).toBe(opaqueId("varset", "acme", "", "shared"));
  expect(id).toMatch(/^varset-[a-zA-Z0-9]{16}$/);
  const others = [
    opaqueId("varset", "acme", "shared", ""),
    opaqueId("varset", "acm", "e", "shared"),
    opaqueId("var", "acme", "", "shared"),
  ];
  expect(new Set([id, ...others]).size).toBe(4);
});
