import { silentLogger } from "@stackwright/base/logger";
import { createStoredKeys, keyEncryptionKey } from "@stackwright/core";
import { Run_Mode, Variable } from "@stackwright/proto/stackwright";
import { decodeJwt } from "jose";
import { expect, it } from "vitest";
import { projectTenancy } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { IdentityIssuer } from "../identity/identity-issuer.ts";
import { IdentityKeys } from "../identity/identity-keys.ts";
import { releaseClaim } from "../queue/release.ts";
import { listTickets } from "../queue/sweep.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { claimNext } from "./claim-next.ts";
import { issueRunIdentity } from "./run-identity.ts";
import { CATEGORIES, variablePrefix } from "./run-variables.ts";
import type { StoredClaimParts } from "./stored-claim-host.ts";

async function start() {
  const fixture = createRunFixture();
  const { clock, storage, put } = fixture;
  const made = new Map<string, Promise<Uint8Array>>();
  const secret = async (name: string, make: () => Promise<Uint8Array>) => {
    const known = made.get(name) ?? make();
    made.set(name, known);
    return known;
  };
  const keys = new IdentityKeys({ clock, secret });
  const issuer = new IdentityIssuer({ keys, clock, origin: () => "https://sw.example.com" });
  let isNamed = true;
  const parts = {
    ...fixture.parts,
    logger: silentLogger,
    keys: createStoredKeys({ storage, current: keyEncryptionKey(new Uint8Array(32)) }),
    stackOf: async (reference: object) =>
      Promise.resolve(isNamed ? { name: "one", reference } : undefined),
  } as unknown as StoredClaimParts;
  const stack = await fixture.stack("one");
  const key = "STACKWRIGHT_IDENTITY_AUDIENCE";
  const value = Buffer.from("cloud");
  await put(
    SERVER_KINDS.variable,
    { tenancy: projectTenancy(stack), name: `${variablePrefix(stack)}env.${key}` },
    Variable.create({ key, value, category: CATEGORIES.env }),
  );
  await fixture.enqueue(stack, "one", Run_Mode.MODE_PLAN_ONLY);
  const worker = await fixture.worker("w");
  const known = { tickets: await listTickets(parts), endedAgo: new Map<string, number>() };
  const given = await claimNext(parts, { account: "acme", projects: [] }, worker, known);
  if (given === undefined) throw new Error("no claim");
  const issue = async (claim = given.claim) => issueRunIdentity(parts, claim, issuer);
  const forget = (): void => {
    isNamed = false;
  };
  return { parts, claim: given.claim, issue, forget };
}

it("a claim gets tokens of its own run, stack and phase, as long as it is valid", async () => {
  const { parts, claim, issue } = await start();
  const [token, ...others] = await issue();
  expect(others).toEqual([]);
  expect(decodeJwt(token?.token ?? "")).toMatchObject({
    sub: "account:acme:project:web:stack:one:phase:plan",
    aud: "cloud",
    stackwright_run_id: claim.reference.run,
    stackwright_run_mode: "plan_only",
  });
  await expect(issue({ ...claim, tokenDigest: "of another claim" })).rejects.toMatchObject({
    code: "claim_lost",
  });
  const { ticket, worker } = claim;
  const release = { ticket, worker: worker.id, guard: worker.guard, actor: "w", reason: "ends" };
  await releaseClaim(parts, release);
  await expect(issue()).rejects.toMatchObject({ code: "claim_lost" });
});

it("a stack that takes no more runs gets none", async () => {
  const { issue, forget } = await start();
  forget();
  expect(await issue()).toEqual([]);
});
