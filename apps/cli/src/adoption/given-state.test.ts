import { expect, it } from "vitest";
import { folderWith } from "../testing/adoption-folder.ts";

it("says of a folder what adopts it, in words that a shell takes", async () => {
  const { run } = await folderWith({ "main.tf": "", "my state/a": "" });
  const { code, error } = await run(["adopt", "my state"]);
  expect(code).toBe(1);
  expect(error).toContain(`with "stackwright --chdir 'my state' adopt", or`);
  expect(error).toContain(`with "stackwright adopt --all 'my state'".`);
});
