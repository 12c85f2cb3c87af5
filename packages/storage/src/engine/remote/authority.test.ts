import { createManualClock } from "@stackwright/base/testing";
import { createMetadata } from "@stackwright/proto/grpc";
import { expect, it } from "vitest";
import { Authority } from "./authority.ts";
import type { Grant } from "./grant.ts";

const ALL: Grant = { scopes: "all" };

/** Streams by their tokens, at a service that asks about tokens every 500 ms. */
function start() {
  const clock = createManualClock();
  const refused = new Set<string>();
  const silent = new Set<string>();
  const authorize = async (token = ""): Promise<Grant | undefined> => {
    if (silent.has(token)) await new Promise(() => undefined);
    return refused.has(token) ? undefined : ALL;
  };
  const authority = new Authority({ authorize, clock });
  const open = async (token: string) => {
    const metadata = createMetadata({ authorization: `Bearer ${token}` });
    return (await authority.hold({ metadata, signal: new AbortController().signal })).signal;
  };
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= 500) {
      await clock.advance(500);
    }
  };
  return { refused, silent, open, pass };
}

it("a token whose check does not end leaves no other one unchecked", async () => {
  const { refused, silent, open, pass } = start();
  await open("slow");
  const other = await open("other");
  silent.add("slow");
  await pass(1_000);
  refused.add("other");
  await pass(1_000);
  expect(other.reason).toMatchObject({ code: "STORAGE_PERMISSION_DENIED" });
});

it("the streams of a token whose check does not end are open for 30 s at most", async () => {
  const { silent, open, pass } = start();
  const slow = await open("slow");
  silent.add("slow");
  await pass(29_500);
  expect(slow.aborted).toBe(false);
  await pass(1_000);
  expect(slow.reason).toMatchObject({ code: "STORAGE_INCONSISTENT" });
});
