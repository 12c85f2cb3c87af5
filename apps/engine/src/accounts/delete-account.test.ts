import { AccountVariableSet } from "@stackwright/proto/stackwright";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { accountPlace } from "../domain/kinds-of-accounts.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { deleteAccount } from "./delete-account.ts";

const SET = { ...accountPlace("acme"), name: "late" };

it("what another server makes before it hears that its credential is revoked keeps the account, without a credential", async () => {
  const { parts, put, clock } = createRunFixture(createMemoryStorage());
  await put(SERVER_KINDS.account, accountPlace("acme"), { ...named(), displayName: "Acme" });
  const revoked: string[] = [];
  const credentials = {
    list: async () =>
      revoked.length === 0 ? ([{ actor: "token-1", account: "acme" }] as never) : [],
    revoke: async (actor: string) => {
      revoked.push(actor);
      await put(SERVER_KINDS.accountVariableSet, SET, AccountVariableSet.create({ name: "late" }));
    },
  };
  const removal = deleteAccount({ ...parts, credentials }, "acme", () => undefined);
  const refused = expect(removal).rejects.toMatchObject({
    code: "not_empty",
    message: 'the account "acme" has variable sets: 1',
  });
  await expect.poll(() => revoked).toEqual(["token-1"]);
  await clock.advance(5_000);
  await refused;
  const id = { uid: "", type: SERVER_KINDS.account.type, ...accountPlace("acme") };
  const { data } = await parts.storage.read("strong", id);
  const left = SERVER_KINDS.account.codec.decode(data?.value ?? new Uint8Array());
  expect(left).toMatchObject({ displayName: "Acme", deletingAtMs: 0n });
});

function named() {
  return { ...SERVER_KINDS.account.codec.decode(new Uint8Array()), name: "acme" };
}
