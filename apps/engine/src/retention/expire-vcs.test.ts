import { VcsDelivery, VcsPullRequest, VcsPullRequest_State } from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import { expect, it } from "vitest";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf } from "../queue/transaction.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { expireVcs } from "./expire-vcs.ts";

const DAY_MS = 24 * 3_600_000;
const never = new AbortController().signal;

it("removes deliveries after 7 days, and pull requests that have ended after 30", async () => {
  const { storage, put, tenancy } = createRunFixture();
  const { vcsDelivery, vcsPullRequest } = SERVER_KINDS;
  const place = (name: string) => ({ tenancy, name });
  const updatedAtMs = 1n;
  const { STATE_OPEN, STATE_MERGED } = VcsPullRequest_State;
  await put(vcsDelivery, place("c.a"), VcsDelivery.create({ receivedAtMs: 1n }));
  await put(
    vcsPullRequest,
    place("c.m"),
    VcsPullRequest.create({ state: STATE_MERGED, updatedAtMs }),
  );
  await put(
    vcsPullRequest,
    place("c.o"),
    VcsPullRequest.create({ state: STATE_OPEN, updatedAtMs }),
  );
  const left = async () => {
    const stored = await Promise.all([
      readStored(storage, "strong", idOf(vcsDelivery, place("c.a"))),
      readStored(storage, "strong", idOf(vcsPullRequest, place("c.m"))),
      readStored(storage, "strong", idOf(vcsPullRequest, place("c.o"))),
    ]);
    return stored.map((one) => one !== undefined);
  };
  expect(await expireVcs(storage, 7 * DAY_MS, never)).toBe(0);
  expect(await expireVcs(storage, 7 * DAY_MS + 2, never)).toBe(1);
  expect(await left()).toEqual([false, true, true]);
  expect(await expireVcs(storage, 30 * DAY_MS + 2, never)).toBe(1);
  expect(await left()).toEqual([false, false, true]);
});
