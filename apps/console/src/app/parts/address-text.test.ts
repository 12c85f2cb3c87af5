import { expect, it } from "vitest";
import { partsOfAddress } from "./address-text.tsx";

it("the end of an address is kept whole, and no character is taken apart", () => {
  expect(partsOfAddress('module.network.aws_subnet.private["eu-1a"]')).toEqual([
    "module.network.aws_subnet.priv",
    'ate["eu-1a"]',
  ]);
  expect(partsOfAddress("a.b")).toEqual(["", "a.b"]);
  // The twelfth unit from the end is the second half of the sign.
  expect(partsOfAddress('lab.a["\u{1f600}123456789"]')).toEqual([
    'lab.a["',
    '\u{1f600}123456789"]',
  ]);
});
