import { NotificationDelivery } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { expireNotifications } from "./expire-notifications.ts";

const DAY_MS = 24 * 3_600_000;
const never = new AbortController().signal;

it("removes deliveries after 7 days, and those that have 500 newer ones", async () => {
  const { storage, put, tenancy } = createRunFixture();
  const { notificationDelivery: kind } = SERVER_KINDS;
  const message = NotificationDelivery.create({ endedAtMs: 1n });
  for (let at = 0; at < 502; at += 1) {
    await put(kind, { tenancy, name: `d.${String(at).padStart(4, "0")}` }, message);
  }
  await put(kind, { tenancy, name: "e.0000" }, message);
  const names = async () =>
    (await storage.list("strong", kind.type, tenancy, "")).map(({ id }) => id.name).toSorted();
  expect(await expireNotifications(storage, 2, never)).toBe(2);
  const left = await names();
  expect([left.length, left[0], left.at(-1)]).toEqual([501, "d.0002", "e.0000"]);
  expect(await expireNotifications(storage, 7 * DAY_MS + 2, never)).toBe(501);
  expect(await names()).toEqual([]);
});
