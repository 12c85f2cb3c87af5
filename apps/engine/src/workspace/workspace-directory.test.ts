import type { Logger } from "@stackwright/base/logger";
import { tenancyOf } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { workspaceId } from "@stackwright/tfe";
import { expect, it } from "vitest";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { decayedStore } from "../testing/decayed-store.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { WorkspaceDirectory } from "./workspace-directory.ts";

it("a damaged record of a workspace or a stack hides no others, and is named in the log", async () => {
  const decayed = new Set<string>();
  const storage = decayedStore(createMemoryStorage(), ({ type, name }) =>
    decayed.has(`${type.kind} ${name}`),
  );
  const { parts, stack, damage } = createRunFixture(storage);
  const lines: unknown[] = [];
  const logger = { warn: (fields: unknown) => lines.push(fields) } as unknown as Logger;
  const directory = new WorkspaceDirectory({ ...parts, logger });
  const [one] = [await stack("one"), await stack("two"), await stack("three")];
  const names = async () => (await directory.list("acme")).map(({ record }) => record.name);
  expect(await names()).toEqual(["one", "three", "two"]);
  await damage(SERVER_KINDS.workspace, {
    tenancy: tenancyOf({ kind: "account", account: "acme" }),
    name: one.stack,
  });
  expect(await names()).toEqual(["three", "two"]);
  decayed.add("Stack two");
  expect(await names()).toEqual(["three"]);
  expect(lines).toContainEqual(expect.objectContaining({ kind: "Workspace", name: one.stack }));
  expect(lines).toContainEqual(expect.objectContaining({ kind: "Stack", name: "two" }));
});

/** What clients read of an id, behind `ws-`. */
const shortOf = (stack: string): string => workspaceId(stack).slice("ws-".length);

it("a workspace is found by the short form of its id, also among those of the same millisecond", async () => {
  const { parts, stack } = createRunFixture();
  const directory = new WorkspaceDirectory(parts);
  const stacks = [await stack("one"), await stack("two"), await stack("three", "acme", "net")];
  const [there] = [await stack("elsewhere", "other")];
  await directory.list("acme");
  await directory.list("other");
  for (const { stack: id } of stacks) {
    expect((await directory.get("acme", shortOf(id)))?.stack.reference.stack).toBe(id);
    expect((await directory.get("acme", id))?.stack.reference.stack).toBe(id);
    expect(await directory.get("other", shortOf(id))).toBeUndefined();
  }
  expect(await directory.get("acme", shortOf(there.stack))).toBeUndefined();
});

it("a workspace with a damaged record is not gone for who has the short form of its id, and hides no others", async () => {
  const decayed = new Set<string>();
  const storage = decayedStore(createMemoryStorage(), ({ type, name }) =>
    decayed.has(`${type.kind} ${name}`),
  );
  const { parts, stack } = createRunFixture(storage);
  const directory = new WorkspaceDirectory(parts);
  const [one, two] = [await stack("one"), await stack("two")];
  await directory.list("acme");
  decayed.add(`Workspace ${one.stack}`);
  expect((await directory.get("acme", shortOf(two.stack)))?.stack.name).toBe("two");
  await expect(directory.get("acme", shortOf(one.stack))).rejects.toThrow();
});
