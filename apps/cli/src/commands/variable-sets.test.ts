import { expect, it } from "vitest";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

async function start() {
  const { server, token } = await startServer("none");
  const save = async (...words: string[]) =>
    tryCommand(
      ["variables", "save-set", "shared", "--of-account", "--server", server.url, ...words],
      { env: { STACKWRIGHT_TOKEN: token } },
    );
  return { save };
}

it("a set for no stack says so, and is for all of the projects that it is given", async () => {
  const { save } = await start();
  expect((await save("--for", "/")).output).toBe("Saved shared: no stack, 0 variables\n");
  expect((await save("--description", "d")).output).toContain("no stack, 0 variables, d");
  const given = await save("--for-project", "net-*", "--for-project", "web");
  expect(given.output).toContain("shared: all stacks, of the projects net-* web,");
  expect((await save("--for", "shop-*")).output).toContain("shop-*, of the projects net-* web,");
  expect((await save("--for-project", "net")).output).toContain("shop-*, of the projects net,");
});

it("a set for no stack is given to no project in one command", async () => {
  const { save } = await start();
  const { code, error } = await save("--for", "/", "--for-project", "web");
  expect(code).toBe(1);
  expect(error).toContain("A set for no stack is for no project.");
  expect((await save("--for-project", "web")).output).toContain("all stacks, of the projects web,");
});
