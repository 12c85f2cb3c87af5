import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { CLIENT_COMMANDS } from "../testing/client-commands.ts";
import { startCloud } from "../testing/start-cloud.ts";

it.for(CLIENT_COMMANDS)(
  "a %s whose workspace is executed by the same program plans, applies by the prompt, and finds no difference",
  {
    timeout: 240_000,
  },
  async ([name, command], context) => {
    const path = spawnSync("/bin/sh", ["-c", 'command -v "$0"', command]).stdout.toString().trim();
    context.skip(path === "", `${command} cannot be run on this machine`);
    const { root, call, workspace, block } = await startCloud(
      path,
      "in-process",
      {},
      {
        tools: [`${name}=${path}`],
      },
    );
    await workspace("shop", "remote");
    const stack = "/api/v1/projects/default/stacks/shop";
    expect((await call("PATCH", `${stack}/tool`, { body: { tool: name } })).status).toBe(200);
    await root.write(`${block("cloud", 'name = "shop"')}
resource "terraform_data" "a" { input = "x" }
output "word" { value = terraform_data.a.output }
`);
    await root.ok("init");
    const planned = await root.ok("plan");
    expect(planned).toContain("terraform_data.a will be created");
    expect(planned).toContain("Plan: 1 to add, 0 to change, 0 to destroy.");
    const apply = root.start(["apply"]);
    await expect.poll(() => apply.output.text, { timeout: 60_000 }).toContain("Enter a value:");
    apply.child.stdin.end("yes\n");
    const { code, text } = await apply.ended;
    expect([code, text]).toEqual([0, expect.stringContaining('word = "x"')]);
    expect(await root.ok("plan", "-detailed-exitcode")).toContain("No changes.");
    expect(await root.ok("output", "-raw", "word")).toBe("x");
    const runs = (await call("GET", `${stack}/runs`)).json["runs"];
    expect(runs).toContainEqual(expect.objectContaining({ phase: "applied", tool: name }));
    // The state is what that terraform wrote.
    expect(await root.ok("state", "pull")).toContain('"terraform_version":');
  },
);
