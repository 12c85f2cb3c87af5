import { createManualClock } from "@stackwright/base/testing";
import { createLocalJWKSet, type JWK, jwtVerify } from "jose";
import { expect, it } from "vitest";
import { IdentityIssuer, type RunIdentity } from "./identity-issuer.ts";
import { IdentityKeys } from "./identity-keys.ts";

const DAY_MS = 24 * 3_600_000;
const RUN: RunIdentity = {
  account: "acme",
  project: "web",
  stack: "site",
  stackId: "01s",
  run: "01r",
  phase: "apply",
  mode: "apply",
};

/** Servers of one store, at a time in the middle of a period. */
function start() {
  const clock = createManualClock(90 * DAY_MS * 220 + 45 * DAY_MS);
  const stored = new Map<string, Promise<Uint8Array>>();
  const secret = async (name: string, make: () => Promise<Uint8Array>) => {
    const known = stored.get(name) ?? make();
    stored.set(name, known);
    return known;
  };
  const server = () => {
    const keys = new IdentityKeys({ clock, secret });
    return new IdentityIssuer({ keys, clock, origin: () => "https://sw.example.com" });
  };
  const verify = async (token: string, keys: readonly JWK[]) =>
    jwtVerify(token, createLocalJWKSet({ keys: [...keys] }), {
      audience: "cloud",
      currentDate: new Date(clock.wallMs()),
    });
  return { clock, stored, server, verify };
}

it("all servers of a store sign with one key, which is published without its private half", async () => {
  const { stored, server, verify } = start();
  const [one, two] = [server(), server()];
  const { token } = await one.issue(RUN, "cloud");
  const published = await two.publishedKeys();
  expect((await verify(token, published)).payload.sub).toBe(
    "account:acme:project:web:stack:site:phase:apply",
  );
  expect(published).toHaveLength(1);
  expect(Object.keys(published[0] ?? {}).toSorted()).toEqual([
    "alg",
    "e",
    "kid",
    "kty",
    "n",
    "use",
  ]);
  expect(stored.size).toBe(1);
});

it("the next key is published a day before it signs, and the former one a day after", async () => {
  const { clock, server, verify } = start();
  const issuer = server();
  const [former] = await issuer.publishedKeys();
  await clock.advance(44.5 * DAY_MS);
  const before = await issuer.publishedKeys();
  expect(before.map(({ kid }) => kid)).toEqual([former?.kid, expect.any(String)]);
  // What a verifier keeps from before the change verifies tokens of after it, and the other way round.
  const last = await issuer.issue(RUN, "cloud");
  await clock.advance(DAY_MS / 2 + 60_000);
  const next = await issuer.issue(RUN, "cloud");
  await verify(next.token, before);
  const after = await issuer.publishedKeys();
  expect(after).toHaveLength(2);
  await expect(verify(last.token, after)).rejects.toThrow(/exp/);
  await clock.advance(DAY_MS);
  expect((await issuer.publishedKeys()).map(({ kid }) => kid)).toEqual([before[1]?.kid]);
});

it("a token is for its audience, its time and its issuer alone", async () => {
  const { clock, server, verify } = start();
  const issuer = server();
  const keys = await issuer.publishedKeys();
  const { token, expiresAtMs } = await issuer.issue(RUN, "cloud");
  expect(expiresAtMs - clock.wallMs()).toBeLessThanOrEqual(15 * 60_000);
  await expect(verify((await issuer.issue(RUN, "other")).token, keys)).rejects.toThrow(/aud/);
  const [header = "", payload = "", signature = ""] = token.split(".");
  const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as object;
  const forged = encoded({ ...claims, sub: "account:acme:project:web:stack:other:phase:apply" });
  await expect(verify(`${header}.${forged}.${signature}`, keys)).rejects.toThrow(/signature/);
  const none = encoded({ alg: "none", typ: "JWT" });
  await expect(verify(`${none}.${payload}.`, keys)).rejects.toThrow();
  // Another store has other keys.
  const others = await start().server().publishedKeys();
  await expect(verify(token, others)).rejects.toThrow(/no applicable key/);
  await clock.advance(15 * 60_000);
  await expect(verify(token, keys)).rejects.toThrow(/exp/);
});
