import { NotificationDestination, NotificationSettings } from "@stackwright/proto/stackwright";
import { createLeases } from "@stackwright/storage/lease";
import { expect, it } from "vitest";
import { notificationSettingsPlace } from "../domain/notification-places.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { noteEvent } from "../queue/note-event.ts";
import { transact } from "../queue/transaction.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { redeliver, retryFirst } from "./request-delivery.ts";
import { settleAttempt } from "./settle-delivery.ts";

it("a mail that waits for some recipients alone is not sent to the others again, and hides none that holds up others", async () => {
  const { parts, put, stack, storage, clock, tenancy } = createRunFixture();
  const project = { account: "acme", project: "web" };
  const destination = NotificationDestination.create({ id: "d", events: ["run.failed"] });
  const settings = NotificationSettings.create({ destinations: [destination] });
  await put(SERVER_KINDS.notificationSettings, notificationSettingsPlace(project), settings);
  const one = await stack("one");
  const note = async () =>
    transact(parts, async (tx) => noteEvent(tx, { event: "run.failed", stack: one }));
  const waiting = async () => {
    const { notificationEvent: kind } = SERVER_KINDS;
    const found = await storage.list("strong", kind.type, tenancy, "");
    return found.map((each) => decodeRecord(kind, each)).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  };
  await note();
  await note();
  const lease = await createLeases({ storage, owner: "a", clock }).tryAcquire({
    tenancy,
    name: "notify-d",
  });
  if (lease === undefined) throw new Error("another server has the lease");
  await using held = lease;
  const served = { project, destination, guard: held.guard, signal: held.signal };
  const [partial, blocked] = await waiting();
  const later = ["later@example.com"];
  const some = { status: 250, isDelivered: true, problem: "", later, refused: ["no@example.com"] };
  expect(await settleAttempt(parts, served, partial?.id ?? "", some)).toBe(true);
  const failed = { status: 0, isDelivered: false, problem: "it cannot be reached" };
  expect(await settleAttempt(parts, served, blocked?.id ?? "", failed)).toBe(true);

  await retryFirst(parts, project, destination);
  const now = BigInt(clock.wallMs());
  const [first, second] = (await waiting()).map(({ waits }) => waits[0]);
  expect(second).toMatchObject({ attempts: 0, nextAtMs: now, recipients: [] });
  expect(first).toMatchObject({ attempts: 1, recipients: later });

  await redeliver(parts, project, destination, partial?.id ?? "");
  expect((await waiting())[0]?.waits).toMatchObject([
    { attempts: 0, nextAtMs: now, recipients: later, refused: ["no@example.com"] },
  ]);
});
