import { randomBytes } from "node:crypto";
import { createStoredKeys, keyEncryptionKey } from "@stackwright/core";
import { Project, Project_Keys } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { projectPlace } from "../domain/project-settings.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { keptKeys } from "./kept-keys.ts";

it("encrypt nothing more for a stack whose project keeps its keys from the server, and open what is stored", async () => {
  const { storage, put, stack } = createRunFixture();
  const reference = await stack("one");
  const stored = createStoredKeys({ storage, current: keyEncryptionKey(randomBytes(32)) });
  const keys = keptKeys(stored, storage);
  // Made in the moment in which the project is changed.
  const sealed = (await keys.ensure(reference)).seal(Buffer.from("value"), "context");
  const project = Project.create({ name: reference.project, keys: Project_Keys.KEYS_CLIENT });
  await put(SERVER_KINDS.project, projectPlace(reference), project);

  await expect(keys.ensure(reference)).rejects.toMatchObject({ code: "client_keys" });
  const opened = (await keys.load(reference))?.open(sealed, "context");
  expect(Buffer.from(opened ?? []).toString()).toBe("value");
});
