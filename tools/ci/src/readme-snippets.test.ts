import { expect, it } from "vitest";
import { snippetsOf } from "./readme-snippets.ts";

it("finds the ts blocks of a README with the line of their fence", () => {
  const markdown = ["# A", "```sh", "npm i", "```", "", "```ts", "const a = 1;", "```", ""];
  expect(snippetsOf(markdown.join("\n"))).toEqual([
    { line: 6, code: "const a = 1;\nexport {};\n" },
  ]);
});
