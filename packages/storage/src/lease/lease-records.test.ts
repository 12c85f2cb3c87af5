import { expect, test } from "vitest";
import { HOME } from "../testing/samples.ts";
import { heartbeatResource, isHeartbeatOf } from "./lease-records.ts";

const NAME = { tenancy: HOME, name: "stack" };

test("a heartbeat belongs to the tenure of its owner and its epoch alone", () => {
  const heartbeat = heartbeatResource(NAME, undefined, { owner: "one", epoch: 2n }, "mark");
  expect(isHeartbeatOf(heartbeat, { owner: "one", epoch: 2n })).toBe(true);
  expect(isHeartbeatOf(heartbeat, { owner: "one", epoch: 1n })).toBe(false);
  expect(isHeartbeatOf(heartbeat, { owner: "two", epoch: 2n })).toBe(false);
  expect(isHeartbeatOf(undefined, { owner: "one", epoch: 2n })).toBe(false);
});
