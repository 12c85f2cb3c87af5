import { User, UserIdentity } from "@stackwright/proto/stackwright";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { signedInUser } from "../sign-in/signed-in-user.ts";
import { decayedStore } from "../testing/decayed-store.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { identityPlace, memberOfAccount } from "./access-places.ts";
import { listIdentities } from "./linked-identities.ts";

const ISSUER = "https://id.test";

const identityOf = (name: string) => ({
  issuer: ISSUER,
  subject: name,
  name,
  displayName: name,
  email: `${name}@example.test`,
  emailVerified: true,
  groups: [],
});

/** Users who were made for an address, and a store of which records can be damaged. */
async function start() {
  const decayed = new Set<string>();
  const storage = decayedStore(createMemoryStorage(), ({ name }) => decayed.has(name));
  const fixture = createRunFixture(storage);
  for (const name of ["ann", "bob", "eve"]) {
    const user = User.create({ name, email: `${name}@example.test` });
    await fixture.put(SERVER_KINDS.user, memberOfAccount("acme", name), user);
  }
  const signIn = async (name: string) => signedInUser(fixture.parts, "acme", identityOf(name));
  return { ...fixture, storage, decayed, signIn };
}

it("a damaged identity or user keeps no other user from signing in", async () => {
  const { storage, decayed, damage, signIn } = await start();
  expect(await signIn("ann")).toMatchObject({ name: "ann", isNew: false });
  expect(await signIn("bob")).toMatchObject({ name: "bob", isNew: false });
  const bobs = identityPlace("acme", ISSUER, "bob");
  await damage(SERVER_KINDS.userIdentity, bobs);
  decayed.add("eve");
  expect(await signIn("ann")).toMatchObject({ name: "ann", isNew: false });
  expect(await signIn("dan")).toMatchObject({ name: "dan", isNew: true });
  const subjects = async (user: string) =>
    (await listIdentities({ storage }, "acme", user)).map(({ subject }) => subject);
  expect(await subjects("ann")).toEqual(["ann"]);
  expect(await subjects("bob")).toEqual([]);
});

it("a user who may have an identity already, of which the record is damaged, is given to no other one", async () => {
  const { decayed, put, signIn } = await start();
  // Of a user who has signed in, as far as is known: whose it is cannot be read.
  const place = identityPlace("acme", "https://other.test", "someone");
  await put(SERVER_KINDS.userIdentity, place, UserIdentity.create({ user: "bob" }));
  decayed.add(place.name);
  const refused = await signIn("bob").catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: "unprocessable" });
  expect(String(refused)).toContain(`UserIdentity "${place.name}" is damaged`);
  decayed.clear();
  // It is that of bob: another identity with the address is a user of its own.
  expect((await signIn("bob")).name).not.toBe("bob");
});
