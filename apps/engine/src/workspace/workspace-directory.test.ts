import type { Logger } from "@stackwright/base/logger";
import { tenancyOf } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
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
