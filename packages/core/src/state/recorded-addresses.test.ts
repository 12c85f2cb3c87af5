import { expect, it } from "vitest";
import { content, plan } from "../testing/state-content.ts";
import { createTestState, TEST_STACK } from "../testing/state-fixture.ts";
import { recordedAddresses } from "./recorded-addresses.ts";
import type { StateChange } from "./state-change.ts";

const adopt = (address: string, ...needs: readonly string[]): StateChange => ({
  kind: "adopt",
  key: { address, deposed: "" },
  object: plan(...needs),
  content: content(address),
});

it("lists no object that is gone, also where its place is kept for those that depend on it", async () => {
  const { state, storage, ulid } = createTestState();
  const key = { address: "t.a", deposed: "" };
  await using hold = await state.acquire();
  const writer = await hold.begin({ run: ulid() });
  await writer.write(adopt("t.a"));
  await writer.write(adopt("t.b", "t.a"));
  const operation = ulid();
  await writer.write({ kind: "delete", key, operation: { id: operation, replace: true } });
  expect(await recordedAddresses(storage, TEST_STACK)).toEqual([
    { address: "t.a", deposed: "" },
    { address: "t.b", deposed: "" },
  ]);
  await writer.write({ kind: "settle", key, operation, outcome: { kind: "absent" } });
  await writer.finish();
  const { objects } = await state.read();
  expect([...objects.values()].map(({ address }) => address).toSorted()).toEqual(["t.a", "t.b"]);
  expect(await recordedAddresses(storage, TEST_STACK)).toEqual([{ address: "t.b", deposed: "" }]);
});
