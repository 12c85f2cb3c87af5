import { User } from "@stackwright/proto/stackwright";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { memberOfAccount } from "../access/access-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { signedInUser } from "./signed-in-user.ts";

const identityOf = (subject: string) => ({
  issuer: "https://id.test",
  subject,
  name: subject,
  displayName: subject,
  email: `${subject}@example.test`,
  emailVerified: true,
  groups: [],
});

it("a first sign-in makes a user only where the account has room for one more", async () => {
  const { parts, put } = createRunFixture(createMemoryStorage());
  const signIn = async (subject: string) =>
    signedInUser(parts, "acme", identityOf(subject), { most: 2 });
  expect(await signIn("ann")).toMatchObject({ name: "ann", isNew: true });
  const bob = User.create({ name: "bob", email: "bob@example.test" });
  await put(SERVER_KINDS.user, memberOfAccount("acme", "bob"), bob);
  await expect(signIn("carol")).rejects.toMatchObject({
    code: "unprocessable",
    message: "an account has at most 2 users",
  });
  // Those that there are sign in as before, also for the first time.
  expect(await signIn("ann")).toMatchObject({ isNew: false });
  expect(await signIn("bob")).toMatchObject({ name: "bob", isNew: false });
});
