import { expect, it } from "vitest";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

it("search, where-used and watch answer about all stacks of a server", {
  timeout: 60_000,
}, async () => {
  const { server, token } = await startServer("none");
  const call = async (path: string, body: object) => {
    const answer = await fetch(new URL(`/api/v1/projects/${path}`, server.url), {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect(answer.ok).toBe(true);
  };
  const env = { HOME: "/nonexistent", STACKWRIGHT_SERVER: server.url, STACKWRIGHT_TOKEN: token };
  const run = async (...words: readonly string[]) => tryCommand(words, { env });
  for (const name of ["site", "network"]) await call("web/stacks", { name });
  const following = { producer: { stack: "network" }, mode: "apply" };
  await call("web/stacks/site/triggers", following);

  await expect
    .poll(async () => (await run("where-used", "stack", "web/network")).output)
    .toBe("web/site: triggered by it\n");
  const json = (await run("where-used", "stack", "web/network", "--json")).output;
  expect(JSON.parse(json)).toMatchObject([{ project: "web", stack: "site", triggered: true }]);
  await call("web/stacks", { name: "front" });
  await call("web/stacks/front/triggers", { producer: { stack: "site" }, mode: "apply" });
  await expect
    .poll(async () => (await run("where-used", "stack", "web/network", "--transitive")).output)
    .toBe("web/site: triggered by it\nweb/front: through web/site, triggered\n");
  const unused = await run("where-used", "provider", "hashicorp/random");
  expect([unused.code, unused.output, unused.error]).toEqual([0, "", "No stack uses it.\n"]);
  const missing = await run("where-used", "variable-set", "web/shared");
  expect([missing.code, missing.error]).toEqual([1, expect.stringContaining("web/shared")]);
  const none = await run("search", "database", "--type", "terraform_data");
  expect([none.code, none.output, none.error]).toEqual([0, "", "No resource matches.\n"]);
  const limit = await run("search", "database", "--limit", "many");
  expect([limit.code, limit.error]).toEqual([1, expect.stringContaining("limit")]);

  for (const topic of ["runs", "queue", "registry"]) {
    const watched = await run("watch", "--once", "--topic", topic);
    expect([watched.code, watched.output]).toEqual([0, ""]);
    expect(watched.error).toMatch(/^(There are no runs|No run has|The registry has no)/);
  }

  const bare = await run("watch", "--once", "--topic", "resources", "--stack", "web/site");
  expect([bare.code, bare.error]).toEqual([0, expect.stringContaining("of web/site")]);
  const wrong = await run("watch", "--once", "--stack", "web/site");
  expect([wrong.code, wrong.error]).toEqual([1, expect.stringContaining("--topic resources")]);
});
