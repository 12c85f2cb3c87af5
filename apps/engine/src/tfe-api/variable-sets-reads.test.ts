import { setTimeout } from "node:timers/promises";
import { StackDirectory } from "@stackwright/core";
import { AccountVariableSet } from "@stackwright/proto/stackwright";
import type { TfeCaller } from "@stackwright/tfe";
import { expect, it, vi } from "vitest";
import { ServerError } from "../domain/server-error.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { createSet, setsOfAccount } from "../variables/variable-sets.ts";
import { WorkspaceDirectory } from "../workspace/workspace-directory.ts";
import { variableSetsPort } from "./variable-sets-port.ts";

/** The sets of an account with two projects, of which callers see what they say. */
async function start() {
  const { parts, storage } = createRunFixture();
  const stacks = new StackDirectory({ storage, nextId: parts.token, wallMs: () => 0 });
  const directory = new WorkspaceDirectory(parts);
  const reads = { now: 0, most: 0, all: 0 };
  const port = variableSetsPort({
    ...parts,
    audited: () => parts,
    projectsOf: async ({ projects }) => projects,
    workspacesOf: async ({ account, projects }) => directory.listShown(account, projects),
    workspaceOf: async ({ account }, id) => {
      reads.now += 1;
      reads.all += 1;
      reads.most = Math.max(reads.most, reads.now);
      await setTimeout(1);
      reads.now -= 1;
      const found = await directory.get(account, id);
      if (found === undefined) throw new ServerError("not_found");
      return found;
    },
  });
  const caller = (projects: readonly string[]): TfeCaller => ({
    account: "acme",
    actor: "ann",
    credential: "token",
    isOperator: true,
    isAdmin: true,
    projects,
  });
  const stack = async (project: string, name: string): Promise<string> =>
    (await stacks.ensure({ account: "acme", project }, name)).reference.stack;
  const set = async (name: string, places: readonly string[]) => {
    const made = AccountVariableSet.create({ name, stacks: [...places] });
    await createSet(parts, setsOfAccount("acme"), made);
  };
  /** Projects of which the stacks are listed from now on. */
  const noteListings = (): readonly string[] => {
    const listed: string[] = [];
    const listHeads = storage.listHeads.bind(storage);
    vi.spyOn(storage, "listHeads").mockImplementation(async (consistency, type, ...rest) => {
      if (type.kind === "Stack") listed.push(rest[0].namespace);
      return listHeads(consistency, type, ...rest);
    });
    return listed;
  };
  return { port, caller, stack, set, reads, directory, noteListings };
}

it("the stacks of a project are listed once for a request, however many sets are for stacks of it", async () => {
  const { port, caller, stack, set, noteListings } = await start();
  await stack("web", "shop");
  await stack("net", "vpc");
  for (let index = 10; index < 30; index += 1) await set(`set-${index}`, ["web/shop", "net/vpc"]);
  await set("hidden", ["net/vpc"]);
  const listed = noteListings();
  const one = caller(["web", "site"]);
  const names = await port.names(one);
  expect(names.map(({ name }) => name)).not.toContain("hidden");
  const shown = await port.read(one, [...names, { project: undefined, name: "hidden" }]);
  expect(shown.map(({ name }) => name)).toEqual(names.map(({ name }) => name));
  expect(names.length).toBe(20);
  expect(listed.toSorted()).toEqual(["site", "web"]);
});

it("what a request has changed is shown as it is then", async () => {
  const { port, caller, stack, set } = await start();
  await stack("web", "shop");
  await set("shared", ["web/shop", "web/later"]);
  await set("other", ["web/late*"]);
  const one = caller(["web"]);
  const shared = { project: undefined, name: "shared" };
  expect((await port.names(one)).map(({ name }) => name)).toEqual(["shared"]);
  const later = await stack("web", "later");
  const changed = await port.change(one, shared, { description: "d" });
  expect(changed.workspaces).toContain(later);
  expect((await port.names(one)).map(({ name }) => name)).toEqual(["other", "shared"]);
});

it("many workspaces are read some at once, each once, and attached in their order", async () => {
  const { port, caller, stack, set, reads, directory } = await start();
  await set("shared", ["/"]);
  const ids: string[] = [];
  for (let index = 10; index < 70; index += 1) ids.push(await stack("web", `stack-${index}`));
  await directory.list("acme");
  const all = caller([]);
  const shared = { project: undefined, name: "shared" };
  await port.attach(all, shared, { workspaces: ids, projects: [] });
  expect(reads).toMatchObject({ all: 60, most: 8 });
  const [found] = await port.read(all, [shared]);
  expect(found?.workspaces.toSorted()).toEqual(ids);
  await expect(
    port.detach(all, shared, { workspaces: [...ids, "none"], projects: [] }),
  ).rejects.toMatchObject({ code: "not_found" });
  expect((await port.read(all, [shared]))[0]?.workspaces.length).toBe(60);
  await port.detach(all, shared, { workspaces: ids.slice(1), projects: [] });
  expect((await port.read(all, [shared]))[0]?.workspaces).toEqual([ids[0]]);
});
