import { KeyedRateLimiter } from "@stackwright/base/limiter";
import { createManualClock } from "@stackwright/base/testing";
import { expect, it } from "vitest";
import { RateTurns } from "./rate-turns.ts";

function start(options: ConstructorParameters<typeof RateTurns>[2] = {}, perSecond = 1) {
  const clock = createManualClock();
  const limiter = new KeyedRateLimiter({ perSecond, burst: 1 }, () => clock.monotonicMs());
  const turns = new RateTurns(limiter, clock, options);
  const answers: (number | "waits")[] = [];
  const take = (key = "a"): void => {
    const at = answers.push("waits") - 1;
    void (async () => {
      answers[at] = await turns.take(key);
    })();
  };
  return { clock, take, answers };
}

it("lets a request wait until the rate of its key has room", async () => {
  const { clock, take, answers } = start();
  take();
  take();
  take("b");
  await clock.advance(0);
  expect(answers).toEqual([0, "waits", 0]);
  await clock.advance(999);
  expect(answers).toEqual([0, "waits", 0]);
  await clock.advance(1);
  expect(answers).toEqual([0, 0, 0]);
});

it("gives those that wait one turn each", async () => {
  const { clock, take, answers } = start();
  for (let index = 0; index < 4; index += 1) take();
  await clock.advance(2_000);
  expect(answers.filter((answer) => answer === 0)).toHaveLength(3);
  await clock.advance(1_000);
  expect(answers).toEqual([0, 0, 0, 0]);
});

it("refuses a turn that is too far away", async () => {
  const { clock, take, answers } = start({ longestMs: 2_000 });
  for (let index = 0; index < 4; index += 1) take();
  await clock.advance(2_000);
  expect(answers).toEqual([0, 0, 0, 1_000]);
});

it.each([1, 2])("has room for %i that wait, of all keys", async (maxWaiting) => {
  const { clock, take, answers } = start({ maxWaiting });
  for (const key of ["a", "b"]) take(key);
  for (let index = 0; index < maxWaiting; index += 1) take(index === 0 ? "a" : "b");
  take();
  await clock.advance(0);
  expect(answers.slice(2)).toEqual([...Array.from({ length: maxWaiting }, () => "waits"), 1_000]);
  await clock.advance(1_000);
  expect(answers.slice(2, 2 + maxWaiting)).toEqual(Array.from({ length: maxWaiting }, () => 0));
  take();
  await clock.advance(0);
  expect(answers.at(-1)).toBe("waits");
});

it("leaves room for others where many of one key wait", async () => {
  const { clock, take, answers } = start({ maxOfKey: 2 });
  for (let index = 0; index < 4; index += 1) take("a");
  for (let index = 0; index < 2; index += 1) take("b");
  await clock.advance(0);
  expect(answers).toEqual([0, "waits", "waits", 1_000, 0, "waits"]);
  await clock.advance(1_000);
  expect(answers.filter((answer) => answer === 0)).toHaveLength(4);
  take("a");
  await clock.advance(0);
  expect(answers.at(-1)).toBe("waits");
});
