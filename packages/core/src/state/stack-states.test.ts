import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "@stackwright/proto/grpc";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { createRemoteStorage, createStorageService } from "@stackwright/storage/remote";
import { createSqliteStorage } from "@stackwright/storage/sqlite";
import { describeStackState } from "../testing/state-suite.ts";

describeStackState("memory", async () => {
  const storage = createMemoryStorage();
  return { storage, [Symbol.asyncDispose]: () => storage.close() };
});

describeStackState("sqlite", async () => {
  const directory = await mkdtemp(join(tmpdir(), "state-"));
  const storage = await createSqliteStorage({ directory });
  return {
    storage,
    [Symbol.asyncDispose]: async () => {
      await storage.close();
      await rm(directory, { recursive: true });
    },
  };
});

describeStackState("remote", async () => {
  const inner = createMemoryStorage();
  const service = createStorageService({ storage: inner, authorize: () => ({ scopes: "all" }) });
  const server = await startServer({ services: [service] });
  const storage = await createRemoteStorage({ address: server.address, token: "t" });
  return {
    storage,
    [Symbol.asyncDispose]: async () => {
      await storage.close();
      await server[Symbol.asyncDispose]();
      await inner.close();
    },
  };
});
