import { createManualClock } from "@stackwright/base/testing";
import { expect, it } from "vitest";
import { RefusedWorkers } from "./refused-workers.ts";

it("remembers whose workers were refused, as long as they ask again", () => {
  const clock = createManualClock();
  const refused = new RefusedWorkers(clock);
  refused.note("token-a", 4);
  const sinceMs = clock.wallMs();
  clock.skip(9 * 60_000);
  refused.note("token-a", 4);
  expect(refused.list()).toMatchObject([{ actor: "token-a", protocol: 4, sinceMs }]);
  clock.skip(10 * 60_000);
  expect(refused.list()).toEqual([]);
  for (let count = 0; count < 200; count += 1) refused.note(`token-${count}`, 1);
  expect(refused.list()).toHaveLength(100);
});
