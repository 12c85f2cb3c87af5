import { DriftIgnore, StackDrift } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { MAX_IGNORES } from "../domain/drift-ignore.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { stackPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { ignoreDrift } from "./drift-ignores.ts";
import { idOf } from "./transaction.ts";

const TERMS = { forMs: 3_600_000, reason: "known", actor: "ann" };

/** A stack with so many ignores of objects that are named by their number, which end at a moment. */
async function start(count: number, untilMs = 10_000_000_000_000n) {
  const fixture = createRunFixture();
  const stack = await fixture.stack("one");
  const ignores = Array.from({ length: count }, (_, index) =>
    DriftIgnore.create({ id: `i${index}`, address: `t.a[${index}]`, untilMs }),
  );
  const place = stackPlace(stack);
  await fixture.put(SERVER_KINDS.drift, place, StackDrift.create({ stackName: "one", ignores }));
  const ignore = async (...addresses: readonly string[]) =>
    ignoreDrift(
      fixture.parts,
      { stack, stackName: "one" },
      addresses.map((address) => ({ address, attribute: "" })),
      TERMS,
    );
  const kept = async () =>
    decodeRecord(
      SERVER_KINDS.drift,
      await fixture.storage.read("strong", idOf(SERVER_KINDS.drift, place)),
    ).ignores.length;
  return { ignore, kept };
}

it("a stack has as many ignores as it may, and no further one", async () => {
  const { ignore, kept } = await start(MAX_IGNORES - 1);
  await ignore("t.b");
  expect(await kept()).toBe(MAX_IGNORES);
  await expect(ignore("t.c")).rejects.toMatchObject({
    code: "unprocessable",
    message: `a stack ignores at most ${MAX_IGNORES} differences; end one of them before`,
  });
  expect(await kept()).toBe(MAX_IGNORES);
});

it("all of several differences are ignored, or none where there is no room for all", async () => {
  const { ignore, kept } = await start(MAX_IGNORES - 1);
  await expect(ignore("t.b", "t.c")).rejects.toMatchObject({
    code: "unprocessable",
    message: expect.stringContaining("2 are asked for, and there is room for 1"),
  });
  expect(await kept()).toBe(MAX_IGNORES - 1);
});

it("an ignore that is made again, and those that have ended, need no room", async () => {
  const full = await start(MAX_IGNORES);
  await full.ignore("t.a[0]");
  expect(await full.kept()).toBe(MAX_IGNORES);
  const ended = await start(MAX_IGNORES, 1n);
  await ended.ignore("t.b");
  expect(await ended.kept()).toBe(1);
});
