import { randomBytes } from "node:crypto";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { describe, expect, it, onTestFinished } from "vitest";
import { createRegistryFixture } from "../testing/registry-fixture.ts";
import { CredentialStore, type NewCredential } from "./credentials.ts";
import { createKeyRing } from "./key-ring.ts";

async function start() {
  const storage = createMemoryStorage();
  const { credentials, clock, ...fixture } = await createRegistryFixture(storage);
  onTestFinished(async () => {
    await fixture[Symbol.asyncDispose]();
    await storage.close();
  });
  const make = async (given: Partial<NewCredential> = {}) =>
    credentials.createToken({ account: "acme", roles: ["publisher"], ...given });
  const principalOf = async ({ token }: { readonly token: string }) =>
    (await credentials.tokenOwner(token))?.principal;
  const { records } = fixture.registry.parts;
  /** The same credentials at another server. */
  const elsewhere = new CredentialStore({ records, clock, keys: createKeyRing([randomBytes(32)]) });
  return { credentials, elsewhere, clock, make, principalOf };
}

describe("a token that was made with another one", () => {
  it("is revoked with it, at once, and those that were made with it too", async () => {
    const { credentials, make, principalOf } = await start();
    const parent = await make();
    const child = await make({ parent: parent.tokenId });
    const grandchild = await make({ parent: child.tokenId });
    expect((await principalOf(grandchild))?.actor).toBe(grandchild.tokenId);
    await credentials.revoke(parent.tokenId);
    expect(await principalOf(child)).toBeUndefined();
    expect(await principalOf(grandchild)).toBeUndefined();
    expect(await credentials.list()).toEqual([]);
    await expect(make({ parent: parent.tokenId })).rejects.toMatchObject({
      code: "REGISTRY_NOT_FOUND",
    });
  });

  it("ends at once with one that was revoked elsewhere, also where the parents alone are kept", async () => {
    const { credentials, elsewhere, make, principalOf } = await start();
    for (const kept of ["parent", "child"] as const) {
      const parent = await make();
      const child = await make({ parent: parent.tokenId });
      const grandchild = await make({ parent: child.tokenId });
      expect(await principalOf(kept === "parent" ? parent : child)).toBeDefined();
      await elsewhere.revoke(parent.tokenId);
      credentials.forget("acme");
      expect(await principalOf(grandchild)).toBeUndefined();
    }
  });

  it("is read again for a change in its own account alone", async () => {
    const { credentials, elsewhere, make, principalOf } = await start();
    const token = await make();
    expect(await principalOf(token)).toBeDefined();
    await elsewhere.revoke(token.tokenId);
    credentials.forget("other");
    expect(await principalOf(token)).toBeDefined();
    credentials.forget("acme");
    expect(await principalOf(token)).toBeUndefined();
  });

  it("ends with it", async () => {
    const { clock, make, principalOf } = await start();
    clock.setWallMs(1_000_000);
    const parent = await make({ expireTimeMs: 1_005_000 });
    const child = await make({ parent: parent.tokenId });
    expect(await principalOf(child)).toBeDefined();
    clock.setWallMs(1_005_000);
    expect(await principalOf(child)).toBeUndefined();
  });

  it("has no role and no project that it has not", async () => {
    const { make, principalOf } = await start();
    const parent = await make({ roles: ["deployer"], projects: ["web", "net"] });
    const child = await make({
      parent: parent.tokenId,
      roles: ["admin"],
      projects: ["net", "db"],
    });
    expect(await principalOf(child)).toMatchObject({ roles: ["deployer"], projects: ["net"] });
    const whole = await make({ parent: parent.tokenId, roles: ["reader"] });
    expect(await principalOf(whole)).toMatchObject({ roles: ["reader"], projects: ["web", "net"] });
    const apart = await make({ parent: parent.tokenId, projects: ["db"] });
    expect(await principalOf(apart)).toBeUndefined();
    const other = await make({ parent: parent.tokenId, account: "other" });
    expect(await principalOf(other)).toBeUndefined();
  });

  it("is limited to its own stacks, and to none that it has not", async () => {
    const { make, principalOf } = await start();
    const parent = await make();
    const child = await make({ parent: parent.tokenId, projects: ["web"], stacks: ["web/one"] });
    expect(await principalOf(child)).toMatchObject({ projects: ["web"], stacks: ["web/one"] });
    const whole = await make({ parent: child.tokenId });
    expect(await principalOf(whole)).toMatchObject({ projects: ["web"], stacks: ["web/one"] });
    const apart = await make({ parent: child.tokenId, projects: ["web"], stacks: ["web/two"] });
    expect(await principalOf(apart)).toBeUndefined();
  });

  it("limits and ends access keys in the same way", async () => {
    const { credentials, clock, make, principalOf } = await start();
    clock.setWallMs(1_000_000);
    const parent = await make({ roles: ["deployer"], projects: ["web"], expireTimeMs: 1_005_000 });
    const given = { account: "acme", roles: ["admin"] as const, parent: parent.tokenId };
    const { accessKey } = await credentials.createKey(given);
    const principal = async (key: string) => (await credentials.keyWithSecret(key))?.principal;
    expect(await principal(accessKey)).toMatchObject({ roles: ["deployer"], projects: ["web"] });
    const rotated = await credentials.rotateKey(accessKey, 0);
    expect(await principal(rotated.accessKey)).toMatchObject({ parent: parent.tokenId });
    clock.setWallMs(1_005_000);
    expect(await principal(rotated.accessKey)).toBeUndefined();
    clock.setWallMs(1_000_000);
    await credentials.revoke(parent.tokenId);
    expect(await principal(rotated.accessKey)).toBeUndefined();
    expect(await credentials.list()).toEqual([]);
    expect(await principalOf(parent)).toBeUndefined();
  });

  it("takes its parent from who rotates an access key that stood by itself", async () => {
    const { credentials, make } = await start();
    const { accessKey } = await credentials.createKey({ account: "acme", roles: ["admin"] });
    const parent = await make();
    const rotated = await credentials.rotateKey(accessKey, 0, { parent: parent.tokenId });
    expect((await credentials.keyWithSecret(rotated.accessKey))?.principal.roles).toEqual([
      "publisher",
    ]);
    await credentials.revoke(parent.tokenId);
    expect(await credentials.keyWithSecret(rotated.accessKey)).toBeUndefined();
  });

  it("is a worker as long as that one administers the account", async () => {
    const { make, principalOf } = await start();
    const admin = await make({ roles: ["admin"] });
    const worker = await make({ roles: ["worker"], parent: admin.tokenId });
    expect((await principalOf(worker))?.roles).toEqual(["worker"]);
    const others: readonly Partial<NewCredential>[] = [
      { roles: ["publisher"] },
      { roles: ["admin"], projects: ["web"] },
    ];
    for (const other of others) {
      const parent = await make(other);
      const child = await make({ roles: ["worker"], parent: parent.tokenId });
      expect(await principalOf(child)).toBeUndefined();
    }
  });

  it("is refused after four others", async () => {
    const { make, principalOf } = await start();
    let last = await make();
    for (let made = 0; made < 4; made += 1) last = await make({ parent: last.tokenId });
    expect(await principalOf(last)).toBeDefined();
    await expect(make({ parent: last.tokenId })).rejects.toMatchObject({
      code: "REGISTRY_NOT_FOUND",
    });
  });
});
