import { Run_Mode } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { decodeRecord } from "../domain/record-kind.ts";
import { RUN_KIND, runPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { appendEvents } from "./append-events.ts";
import { claimTicket } from "./claim.ts";
import { endWithoutPlan } from "./plan-steps.ts";
import { listTickets } from "./sweep.ts";
import { idOf, transact } from "./transaction.ts";

async function start() {
  const fixture = createRunFixture();
  const run = await fixture.enqueue(await fixture.stack("one"), "one", Run_Mode.MODE_APPLY);
  const events = async () => {
    const { tenancy, name } = runPlace(run);
    const segments = await fixture.storage.list(
      "strong",
      SERVER_KINDS.segment.type,
      tenancy,
      `${name}.`,
    );
    return segments.flatMap((one) => decodeRecord(SERVER_KINDS.segment, one).events);
  };
  return { ...fixture, run, events };
}

it("an event does not choose its place in the sequence", async () => {
  const { parts, run, events } = await start();
  const event = { type: "x", seq: 77, at: 88 };
  await transact(parts, async (tx) => appendEvents(tx, run, [{ at: 5, event }]));
  expect((await events()).at(-1)).toBe('{"seq":2,"at":5,"type":"x"}');
});

it.each(["log", "provision-output"])(
  "a full log takes no lines of the type %s, and says so once",
  async (type) => {
    const { parts, run, events } = await start();
    const bounds = { maxBytes: 1_000, maxEvents: 1_000 };
    const line = { at: 5, event: { type, text: "x".repeat(300) } };
    const step = { at: 5, event: { type: "step-end" } };
    for (let count = 0; count < 10; count += 1) {
      await transact(parts, async (tx) => appendEvents(tx, run, [line, step], { bounds }));
    }
    const types = (await events()).map((text) => (JSON.parse(text) as { type: string }).type);
    const counted = (wanted: string) => types.filter((one) => one === wanted).length;
    expect([counted(type), counted("step-end"), counted("truncated")]).toEqual([3, 10, 1]);
  },
);

it("a log that is closed takes nothing more", async () => {
  const { parts, run, events } = await start();
  const append = async (type: string, close: boolean) =>
    transact(parts, async (tx) => appendEvents(tx, run, [{ at: 5, event: { type } }], { close }));
  await append("end", true);
  const all = await events();
  await append("late", false);
  expect(await events()).toEqual(all);
  expect(all.at(-1)).toBe('{"seq":2,"at":5,"type":"end"}');
});

it("a reason of any length leaves the run small", async () => {
  const { parts, storage, worker, run, events } = await start();
  const [ticket] = await listTickets(parts);
  const claim = ticket && (await claimTicket(parts, ticket.id, await worker("w"), "token"));
  if (claim === undefined) throw new Error("nothing to claim");
  const reason = "é".repeat(1_000_000);
  await endWithoutPlan(parts, claim, { phase: "failed", reason, reasonCode: "plan" });
  const stored = await storage.read("strong", idOf(RUN_KIND, runPlace(run)));
  expect(decodeRecord(RUN_KIND, stored).reason).toMatch(/^é+…$/);
  expect(stored.data?.value.byteLength).toBeLessThan(16 * 1024);
  for (const line of await events()) expect(Buffer.byteLength(line)).toBeLessThan(16 * 1024);
});
