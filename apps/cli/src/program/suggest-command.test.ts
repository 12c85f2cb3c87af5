import { expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

it.each([
  ["doctor", "(Did you mean stackwright admin doctor?)"],
  ["lock", "(Did you mean one of stackwright providers lock, stackwright runs lock?)"],
  ["runs backup", "(Did you mean stackwright admin backup?)"],
])("leads from `stackwright %s` to the group that has the command", async (words, suggestion) => {
  const { code, error } = await tryCommand(words.split(" "));
  expect(code).toBe(1);
  expect(error).toContain(`\n${suggestion}\nRun "stackwright `);
});

it("leads to a name that is near where no other group, or many, have the command", async () => {
  expect((await tryCommand(["valdate"])).error).toContain("(Did you mean validate?)");
  expect((await tryCommand(["list"])).error).not.toContain("stackwright keys list");
});
