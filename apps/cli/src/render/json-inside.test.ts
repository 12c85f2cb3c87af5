import { expect, it } from "vitest";
import { jsonInside } from "./json-inside.ts";

it("a text with a document is shown by what is in it", () => {
  expect(jsonInside('{"a":[1]}')?.type.kind).toBe("object");
});

it.each(["text", '{"a": ', '{"a":1,"a":2}'])("any other text is shown as it is: %s", (text) => {
  expect(jsonInside(text)).toBeUndefined();
});
