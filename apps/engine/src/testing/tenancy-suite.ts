import { randomBytes, randomUUID } from "node:crypto";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@stackwright/base/clock";
import { ENGINE_KINDS } from "@stackwright/core";
import {
  CredentialStore,
  createKeyRing,
  createRegistry,
  REGISTRY_KINDS,
  storageScopesOf,
} from "@stackwright/registry";
import { type StorageBackend, type Tenancy, tenancyOf } from "@stackwright/storage";
import { createDirectoryBlobs } from "@stackwright/storage/blob";
import { createRemoteStorage } from "@stackwright/storage/remote";
import { describe, expect, it, onTestFinished } from "vitest";
import { startStorageEndpoint } from "../storage-endpoint.ts";

const ANYWHERE: Tenancy = { partition: "*", peerName: "*", namespace: "*" };
const SHARED = tenancyOf({ kind: "project", account: "acme", project: "local" });
const OTHER = tenancyOf({ kind: "project", account: "acme", project: "other" });
const FOREIGN = tenancyOf({ kind: "project", account: "other", project: "local" });

const registryKinds = (...what: readonly string[]): readonly string[] =>
  Object.entries(REGISTRY_KINDS).flatMap(([kind, is]) => (what.includes(is) ? [kind] : []));
const SHARED_KINDS = [...ENGINE_KINDS, ...registryKinds("record", "use", "audit")];
const ALL_KINDS = [...SHARED_KINDS, ...registryKinds("secret")];

/**
 * The case in which the registry's region and the engine's project have one name, and so one tenancy: a
 * resource of every kind lies there, and each token sees its own side alone.
 */
export function describeTenancies(name: string, open: () => Promise<StorageBackend>): void {
  describe(`tokens of one tenancy over ${name}`, () => {
    async function start() {
      const stack = new AsyncDisposableStack();
      onTestFinished(() => stack.disposeAsync());
      const storage = stack.use(await open());
      const scratch = stack.use(await mkdtempDisposable(join(tmpdir(), "tenancies-")));
      const blobs = stack.use(await createDirectoryBlobs({ directory: scratch.path }));
      const keys = createKeyRing([randomBytes(32)]);
      const { records } = createRegistry({ storage, blobs, keys }).parts;
      const credentials = new CredentialStore({ records, keys, clock: systemClock, cacheMs: 0 });
      const server = stack.use(
        await startStorageEndpoint({ storage, blobs, credentials, host: "127.0.0.1", port: 0 }),
      );
      for (const tenancy of [SHARED, OTHER, FOREIGN]) {
        for (const kind of SHARED_KINDS) await storage.writeCAS(resource(kind, tenancy));
      }
      const credentialTenancy = tenancyOf({ kind: "credentials" });
      for (const kind of registryKinds("secret")) {
        await storage.writeCAS(resource(kind, credentialTenancy, "planted"));
      }
      const connect = async (token: string) =>
        stack.use(await createRemoteStorage({ address: server.address, token }));
      return { storage, credentials, connect };
    }

    const seenBy = async (storage: StorageBackend): Promise<readonly string[]> => {
      const seen = [];
      for (const kind of ALL_KINDS) {
        const found = await storage
          .list("strong", { group: "stackwright", kind }, ANYWHERE, "")
          .catch((error: unknown) => {
            expect(error).toMatchObject({ code: "STORAGE_PERMISSION_DENIED" });
            return [];
          });
        for (const { id } of found) {
          seen.push(`${id.tenancy.partition}/${id.tenancy.namespace} ${id.type.kind}`);
        }
      }
      return seen.toSorted();
    };
    const places = (tenancies: readonly Tenancy[], kinds: readonly string[]): readonly string[] =>
      tenancies
        .flatMap((place) => kinds.map((kind) => `${place.partition}/${place.namespace} ${kind}`))
        .toSorted();

    it("see their own side alone, and no secrets, credentials or audit entries", async () => {
      const { credentials, connect } = await start();
      const records = registryKinds("record", "use");
      const everything = [...ENGINE_KINDS, ...records];
      const make = async (scopes: Parameters<typeof storageScopesOf>[1]) => {
        const storageScopes = storageScopesOf("acme", scopes);
        const input = { account: "acme", roles: ["worker"] as const, storageScopes };
        return (await credentials.createToken(input)).token;
      };
      const old = { ...SHARED, namePrefix: "" };
      const cases: readonly (readonly [string, readonly string[]])[] = [
        [await make([{ project: "local" }]), places([SHARED], ENGINE_KINDS)],
        [await make([{ project: "*" }]), places([SHARED, OTHER], ENGINE_KINDS)],
        [await make([{ region: "local" }]), places([SHARED], records)],
        [
          // A token of an earlier release, whose scope has no kinds.
          (
            await credentials.createToken({
              account: "acme",
              roles: ["worker"],
              storageScopes: [old],
            })
          ).token,
          places([SHARED], ENGINE_KINDS),
        ],
        [
          // Whatever a program writes into a token.
          (
            await credentials.createToken({
              account: "acme",
              roles: ["worker"],
              storageScopes: [{ ...ANYWHERE, namePrefix: "", kinds: ALL_KINDS }],
            })
          ).token,
          places([SHARED, OTHER, FOREIGN], everything),
        ],
        [
          (await credentials.createToken({ account: "acme", roles: ["operator", "worker"] })).token,
          places([SHARED, OTHER, FOREIGN], everything),
        ],
      ];
      for (const [token, seen] of cases) expect(await seenBy(await connect(token))).toEqual(seen);
    });

    it("change what commands change, and nothing that the registry audits", async () => {
      const { storage, credentials, connect } = await start();
      const whole = await connect(
        (await credentials.createToken({ account: "acme", roles: ["operator", "worker"] })).token,
      );
      const writable = new Set([...ENGINE_KINDS, ...registryKinds("use")]);
      const tokens = await storage.list(
        "strong",
        { group: "stackwright", kind: "AccessToken" },
        ANYWHERE,
        "",
      );
      for (const kind of ALL_KINDS) {
        const place = registryKinds("secret").includes(kind)
          ? tenancyOf({ kind: "credentials" })
          : SHARED;
        const attempt = whole.writeCAS(resource(kind, place, `new-${randomUUID()}`));
        if (writable.has(kind)) await attempt;
        else await expect(attempt).rejects.toMatchObject({ code: "STORAGE_PERMISSION_DENIED" });
      }
      const [token] = tokens;
      if (token === undefined) throw new Error("there is no token");
      for (const attempt of [
        () => whole.read("strong", token.id),
        () => whole.deleteCAS(token.id, token.version),
        () => whole.snapshot(),
        () => whole.restore(),
      ]) {
        await expect(attempt()).rejects.toMatchObject({
          code: expect.stringMatching(/STORAGE_(PERMISSION_DENIED|UNSUPPORTED)/),
        });
      }
    });

    it("read only, where their scope says so", async () => {
      const { credentials, connect } = await start();
      const storageScopes = storageScopesOf("acme", [{ project: "local", access: "read" }]);
      const { token } = await credentials.createToken({
        account: "acme",
        roles: ["worker"],
        storageScopes,
      });
      const reader = await connect(token);
      expect(await seenBy(reader)).toEqual(places([SHARED], ENGINE_KINDS));
      await expect(reader.writeCAS(resource("Run", SHARED, "mine"))).rejects.toMatchObject({
        code: "STORAGE_PERMISSION_DENIED",
      });
    });
  });
}

function resource(kind: string, tenancy: Tenancy, name = "one") {
  return {
    id: { uid: "1", name, type: { group: "stackwright", groupVersion: "v1", kind }, tenancy },
    version: "",
    generation: "",
    metadata: {},
    status: {},
  };
}
