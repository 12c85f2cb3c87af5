import { expect, it } from "vitest";
import { TestClient } from "../testing/test-client.ts";

it("an answer has a bounded number of calls where modules call each other twice at every level", {
  timeout: 60_000,
}, async () => {
  const twice = (source: string): string =>
    `module "a" {\n  source = "${source}"\n}\nmodule "b" {\n  source = "${source}"\n}\n`;
  const levels = Array.from({ length: 30 }, (_, level) => [
    `m${level}/main.tf`,
    twice(`../m${level + 1}`),
  ]);
  const files = {
    ...Object.fromEntries(levels),
    "m30/main.tf": "",
    "main.tf": "|" + twice("./m0"),
  };
  await using client = await TestClient.start(files);
  const found = await client.connection.sendRequest("workspace/executeCommand", {
    command: "terraform-ls.module.calls",
    arguments: [`uri=${client.uri("main.tf")}`],
  });
  expect(JSON.stringify(found).split('"name"')).toHaveLength(2_001);
});
