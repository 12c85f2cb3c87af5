import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServerClient } from "@stackwright/client";
import { expect, it, onTestFinished } from "vitest";
import { runInteractively } from "../testing/interactive-command.ts";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

const NETWORK = `
resource "terraform_data" "net" { input = "v1" }
output "id" { value = terraform_data.net.id }
`;
const APP = `
data "terraform_remote_state" "network" {
  backend = "stackwright"
  config  = { stack = "network" }
}
resource "terraform_data" "a" { input = data.terraform_remote_state.network.outputs.id }
`;

it("several stacks are planned, applied and destroyed by a server", {
  timeout: 120_000,
}, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "server-set-"));
  onTestFinished(() => scratch.remove());
  const write = async (name: string, text: string) => {
    await mkdir(join(scratch.path, name), { recursive: true });
    await writeFile(join(scratch.path, name, "main.tf"), text);
  };
  await write("app", APP);
  await write("network", NETWORK);
  const { server, token } = await startServer("in-process");
  const set = async (verb: "plan" | "up" | "destroy", ...words: string[]) =>
    tryCommand(["stacks", verb, "--server", server.url, "--project", "web", ...words], {
      cwd: scratch.path,
      env: { HOME: scratch.path, STACKWRIGHT_TOKEN: token },
    });
  const plan = await set("plan", "app", "network", "--detailed-exitcode");
  expect([plan.code, plan.error]).toEqual([2, ""]);
  expect([...plan.output.matchAll(/^Stack (\S+)$/gm)].map(([, name]) => name)).toEqual([
    "web/network",
    "web/app",
  ]);
  const unasked = await set("up", "app", "network");
  expect([unasked.code, unasked.error]).toEqual([2, ""]);
  const [, id = ""] = /stackwright plan-sets approve (\S+)/.exec(unasked.output) ?? [];
  const sets = async (...words: string[]) =>
    tryCommand(["plan-sets", ...words, "--server", server.url, "--project", "web"], {
      cwd: scratch.path,
      env: { HOME: scratch.path, STACKWRIGHT_TOKEN: token },
    });
  expect((await sets("list")).output).toContain(`${id}  awaiting_approval  network app  by `);
  expect((await sets("show", id)).output).toContain("Stack web/network");
  expect((await sets("approve", id)).error).toContain("Approval is required");
  expect((await sets("discard", id, "--reason", "not today")).output).toContain("is discarded.");
  expect((await sets("approve", id, "--yes")).error).toContain("there is nothing to approve");
  const [, other = ""] =
    /plan-sets approve (\S+)/.exec((await set("up", "app", "network")).output) ?? [];
  // A document of JSON has no question in it.
  const typed = runInteractively(
    ["plan-sets", "approve", other, "--json", "--server", server.url, "--project", "web"],
    { cwd: scratch.path, env: { HOME: scratch.path, STACKWRIGHT_TOKEN: token } },
  );
  typed.type("no");
  expect(await typed.ended).toBe(1);
  expect(typed.text()).toContain("Approval is required");
  expect(typed.text()).not.toContain("Stack web/network");
  const approved = await sets("approve", other, "--yes", "--comment", "both");
  expect([approved.code, approved.error]).toEqual([0, ""]);
  expect(approved.output).toContain("All stacks are applied.");
  await write("network", NETWORK.replace("v1", "v2"));
  const up = await set("up", "--yes", "app", "network");
  expect([up.code, up.error]).toEqual([0, ""]);
  expect(up.output).toContain("  network: applied\n");
  const again = await set("plan", "app", "network", "--json");
  expect([again.code, JSON.parse(again.output)]).toMatchObject([0, { phase: "no_changes" }]);
  await write("network", `${NETWORK}output "bad" { value = tonumber("x") }\n`);
  const broken = await set("up", "--yes", "app", "network");
  expect(broken.code).toBe(1);
  expect(broken.error).toContain("The plan set is failed: the run of the stack network");
  expect(broken.error).toMatch(/^  network: /m);
  await write("network", NETWORK);
  // What is to be destroyed has to be there.
  const mistaken = await set("destroy", "--yes", "old=app", "network");
  expect(mistaken.code).toBe(1);
  expect(mistaken.error).toContain("not_found");
  const waits = await set("destroy", "network", "app");
  expect([waits.code, waits.error]).toEqual([2, ""]);
  const [, deletion = ""] = /stackwright plan-sets approve (\S+)/.exec(waits.output) ?? [];
  expect((await sets("discard", deletion)).code).toBe(0);
  // A stack that is not among them reads the outputs of one.
  const client = createServerClient({ server: server.url, token });
  const readers = async () => {
    const { data } = await client.listUses({ kind: "stack", name: "web/network" });
    return data.uses.map(({ stack }) => stack);
  };
  await expect.poll(readers).toEqual(["app"]);
  const alone = await set("destroy", "network");
  expect(alone.code).toBe(2);
  expect(alone.error).toContain("  web/network: web/app\n");
  const [, refused = ""] = /stackwright plan-sets approve (\S+)/.exec(alone.output) ?? [];
  expect((await sets("show", refused)).error).toContain("  web/network: web/app\n");
  expect((await sets("discard", refused)).code).toBe(0);
  const destroyed = await set("destroy", "--yes", "network", "app");
  expect([destroyed.code, destroyed.error]).toEqual([0, ""]);
  // Each before what it reads, whatever the order of the words.
  expect([...destroyed.output.matchAll(/^  (\S+): applied$/gm)].map(([, name]) => name)).toEqual([
    "app",
    "network",
  ]);
  expect((await set("destroy", "--yes", "network", "app")).output).toContain("No changes.");
});

it("a stack of a server is deleted by its name, with objects only by force", {
  timeout: 60_000,
}, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "server-delete-"));
  onTestFinished(() => scratch.remove());
  await mkdir(join(scratch.path, "one"));
  await writeFile(join(scratch.path, "one", "main.tf"), NETWORK);
  const { server, token } = await startServer("in-process");
  const of = async (...words: string[]) =>
    tryCommand([...words, "--server", server.url], {
      cwd: scratch.path,
      env: { HOME: scratch.path, STACKWRIGHT_TOKEN: token, STACKWRIGHT_STACK: "other" },
    });
  expect((await of("runs", "start", "one", "--stack", "web/one", "--yes")).code).toBe(0);
  const unnamed = await of("stacks", "delete");
  expect([unnamed.code, unnamed.output]).toEqual([1, ""]);
  const full = await of("stacks", "delete", "web/one");
  expect([full.code, full.output]).toEqual([1, ""]);
  expect(full.error).toContain('The stack "web/one" has objects.');
  expect(full.error).toContain("--force");
  const forced = await of("stacks", "delete", "one", "--project", "web", "--force");
  expect([forced.code, forced.error]).toEqual([0, ""]);
  expect(forced.output).toBe('The stack "web/one" is deleted.\n');
  expect((await of("stacks", "delete", "web/one")).error).toContain('There is no stack "one"');
});
