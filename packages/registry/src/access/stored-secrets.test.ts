import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { createRegistryFixture } from "../testing/registry-fixture.ts";
import { CredentialStore } from "./credentials.ts";
import { createKeyRing } from "./key-ring.ts";
import { SharedSecrets } from "./shared-secrets.ts";
import { listSecretKeys, reencryptSecrets } from "./stored-secrets.ts";

const OLD = Buffer.alloc(32, 1);
const NEW = Buffer.alloc(32, 2);
const input = { account: "acme", roles: ["reader"] as const };

it("are encrypted again with the current key, once, and then need no other", async () => {
  await using storage = createMemoryStorage();
  await using fixture = await createRegistryFixture(storage);
  const { records, clock } = fixture.registry.parts;
  const old = createKeyRing([OLD]);
  const { accessKey, secretKey } = await new CredentialStore({
    records,
    clock,
    keys: old,
  }).createKey(input);
  const shared = await new SharedSecrets(records, old, clock).key("x");
  const ring = createKeyRing([NEW, OLD]);
  const before = (await listSecretKeys(storage, old)).find(({ isCurrent }) => isCurrent)?.secrets;
  expect(before).toBeGreaterThanOrEqual(2);
  expect(await reencryptSecrets(storage, ring)).toBe(before);
  expect(await reencryptSecrets(storage, ring)).toBe(0);
  const only = createKeyRing([NEW]);
  const after = new CredentialStore({ records, clock, keys: only });
  expect((await after.keyWithSecret(accessKey))?.secret).toBe(secretKey);
  expect(await new SharedSecrets(records, only, clock).key("x")).toEqual(shared);
});

it("are left alone while a key is missing", async () => {
  await using storage = createMemoryStorage();
  await using fixture = await createRegistryFixture(storage);
  const { records, clock } = fixture.registry.parts;
  const old = createKeyRing([OLD]);
  const other = createKeyRing([Buffer.alloc(32, 3)]);
  await new CredentialStore({ records, clock, keys: old }).createKey(input);
  await new CredentialStore({ records, clock, keys: other }).createKey(input);
  const before = await listSecretKeys(storage, old);
  const ring = createKeyRing([NEW, OLD]);
  await expect(reencryptSecrets(storage, ring)).rejects.toMatchObject({
    code: "REGISTRY_KEY_MISSING",
    message: expect.stringContaining(other.currentId),
  });
  expect(await listSecretKeys(storage, old)).toEqual(before);
});
