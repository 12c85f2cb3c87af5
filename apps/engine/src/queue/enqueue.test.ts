import { Run_Mode } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { decodeRecord } from "../domain/record-kind.ts";
import { stackPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { cancelRun } from "./cancel.ts";
import { idOf } from "./transaction.ts";

async function start() {
  const fixture = createRunFixture();
  const stack = await fixture.stack("one");
  const plan = async () => fixture.enqueue(stack, "one", Run_Mode.MODE_PLAN_ONLY);
  const queue = async () =>
    decodeRecord(
      SERVER_KINDS.queue,
      await fixture.storage.read("strong", idOf(SERVER_KINDS.queue, stackPlace(stack))),
    );
  return { ...fixture, stack, plan, queue };
}

it("takes twenty runs of a stack that only plan, and one more for each that has ended", async () => {
  const { parts, enqueue, stack, plan, queue } = await start();
  const runs = [];
  for (let count = 0; count < 20; count += 1) runs.push(await plan());
  await expect(plan()).rejects.toMatchObject({ code: "queue_full" });
  // Others are not concerned.
  await enqueue(stack, "one", Run_Mode.MODE_APPLY);
  const [first] = runs;
  if (first === undefined) throw new Error("there is no run");
  await cancelRun(parts, first, { actor: "ann" });
  expect((await queue()).speculative).toHaveLength(19);
  await plan();
  await expect(plan()).rejects.toMatchObject({ code: "queue_full" });
});

it("forgets runs that ended without leaving the queue", async () => {
  const { put, stack, plan, queue } = await start();
  await plan();
  const ended = Array.from({ length: 19 }, (_, at) => `GONE${at}`);
  await put(SERVER_KINDS.queue, stackPlace(stack), {
    ...(await queue()),
    speculative: [...(await queue()).speculative, ...ended],
  });
  await plan();
  expect((await queue()).speculative).toHaveLength(2);
});
