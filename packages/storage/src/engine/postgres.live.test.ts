import { rotatingSlice } from "@stackwright/base/testing";
import { describe, test } from "vitest";
import { describeStorage } from "../testing/describe-storage.ts";
import type { CreateHarness } from "../testing/harness.ts";
import { createSchema, postgresServers } from "../testing/live/postgres-servers.ts";
import { overRemote } from "../testing/live/remote-harness.ts";
import { createPostgresStorage, POSTGRES_CAPABILITIES } from "./postgres.ts";

const servers = postgresServers();

if (servers.length === 0) {
  describe("the postgres engine", () => {
    test("keeps the storage contract", (context) => {
      context.skip(true, "TEST_POSTGRES_URL names no server");
    });
  });
}

// The service repeats what the engine answers: over one server of several is enough for a run of CI.
const servedOverRemote = rotatingSlice(servers, Math.max(1, servers.length));

for (const server of servers) {
  const { name, url } = server;
  const create: CreateHarness = async () => {
    const schema = await createSchema(url);
    return {
      open: (options) => createPostgresStorage({ url, schema: schema.name, ...options }),
      compact: (storage) =>
        (storage as Awaited<ReturnType<typeof createPostgresStorage>>).compactHistory(),
      [Symbol.asyncDispose]: () => schema.drop(),
    };
  };
  describeStorage(name, create, POSTGRES_CAPABILITIES);
  if (servedOverRemote.includes(server)) {
    describeStorage(`remote over ${name}`, overRemote(create), POSTGRES_CAPABILITIES);
  }
}
