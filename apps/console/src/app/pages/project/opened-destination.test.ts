import type { ServerClient } from "@stackwright/client";
import { expect, it } from "vitest";
import { etagOfOpened } from "./opened-destination.ts";

it("gives no entity tag for a destination that somebody changed after it was opened", async () => {
  const opened = { name: "ops", updated_at: "2026-01-01T00:00:00.000Z" };
  const stored = { data: { ...opened, actor: "ann" }, etag: '"1"' };
  const client = {
    showNotificationDestination: async () => stored,
  } as unknown as ServerClient;
  expect(await etagOfOpened(client, "default", opened)).toBe('"1"');
  stored.data.updated_at = "2026-01-01T00:00:01.000Z";
  await expect(etagOfOpened(client, "default", opened)).rejects.toThrow(
    "ops was changed by ann meanwhile",
  );
});
