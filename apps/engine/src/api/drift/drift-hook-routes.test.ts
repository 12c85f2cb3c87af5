import { expect, it } from "vitest";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { driftHookPlace } from "../../drift/drift-hook.ts";
import { idOf } from "../../queue/transaction.ts";
import { P, startApi } from "../../testing/start-api.ts";

it("lists the drift hooks of a project without one whose record is damaged", async () => {
  const { call, server } = await startApi("none");
  for (const name of ["first", "second"]) {
    expect((await call("POST", `${P}/drift-hooks`, { body: { name } })).status).toBe(201);
  }
  const { storage } = server.registry.parts.records;
  const place = driftHookPlace({ account: "default", project: "web", name: "first" });
  const stored = await storage.read("strong", idOf(SERVER_KINDS.driftHook, place));
  await storage.writeCAS({ ...stored, data: { typeUrl: "damaged", value: new Uint8Array() } });
  const { status, json } = await call("GET", `${P}/drift-hooks`);
  expect([status, json]).toEqual([200, { hooks: [expect.objectContaining({ name: "second" })] }]);
});
