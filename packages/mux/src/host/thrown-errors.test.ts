import { deferred } from "@stackwright/base/deferred";
import { createManualClock } from "@stackwright/base/testing";
import { ParameterizeRequest } from "@stackwright/proto/pulumirpc";
import { expect, it } from "vitest";
import { GARDEN } from "../testing/programs/programs.ts";
import { launchProvider } from "./launch-provider.ts";
import { parameterizeProvider } from "./parameterize-provider.ts";
import { ThrownErrors } from "./thrown-errors.ts";

const REPORT = { stream: "stderr", text: "error: [runtime] Error: no such garden" } as const;

it("are what a program on Pulumi's SDK for Node says to parameters that it refuses", async () => {
  await using launched = await launchProvider({ ...GARDEN, env: { GARDEN: "unused" } });
  const { provider } = launched;
  await expect(parameterizeProvider(provider, ["roses", "first"], {})).rejects.toMatchObject({
    code: "MUX_PARAMETERS_REFUSED",
    message: 'it refuses its parameters: "first" is not a version',
  });
  const request = ParameterizeRequest.create({
    parameters: { $case: "args", value: { args: ["roses", "1.2.3"] } },
  });
  expect(await provider.parameterize(request, {})).toMatchObject({ name: "roses" });
});

it("end the call that they leave without an answer", async () => {
  const clock = createManualClock();
  const errors = new ThrownErrors(clock);
  let given: AbortSignal | undefined;
  const call = errors.orAnswerOf(async (signal) => {
    given = signal;
    return new Promise(() => undefined);
  }, undefined);
  const refused = expect(call).rejects.toMatchObject({ rawMessage: "no such garden" });
  errors.add(REPORT);
  await clock.advance(1_000);
  await refused;
  expect(given?.aborted).toBe(true);
});

it("leave a call alone that is answered soon after, and are not looked for in other output", async () => {
  const clock = createManualClock();
  const errors = new ThrownErrors(clock);
  errors.add(REPORT);
  const answer = deferred<string>();
  const call = errors.orAnswerOf(async () => answer.promise, undefined);
  errors.add({ stream: "stderr", text: "error: 2 of 3 downloads failed" });
  errors.add({ stream: "stdout", text: REPORT.text });
  await clock.advance(60_000);
  errors.add(REPORT);
  await clock.advance(999);
  answer.resolve("here");
  expect(await call).toBe("here");
});

it("are written once by the SDK, so that a call which throws the same again is not waited for long", async () => {
  const clock = createManualClock();
  const errors = new ThrownErrors(clock);
  const call = async () =>
    errors.orAnswerOf(async () => new Promise<string>(() => undefined), undefined);
  const first = expect(call()).rejects.toMatchObject({ rawMessage: "no such garden" });
  errors.add(REPORT);
  await clock.advance(1_000);
  await first;

  let isOver = false;
  const second = call().finally(() => {
    isOver = true;
  });
  const refused = expect(second).rejects.toMatchObject({
    code: "UNKNOWN",
    rawMessage: "it gives no answer, as before, when it wrote: no such garden",
  });
  await clock.advance(29_999);
  expect(isOver).toBe(false);
  await clock.advance(1);
  await refused;

  // Another error is written, and said as soon as the first one.
  const third = expect(call()).rejects.toMatchObject({ rawMessage: "no such rose" });
  errors.add({ stream: "stderr", text: "error: [runtime] Error: no such rose" });
  await clock.advance(1_000);
  await third;
  // An answer counts as long as it comes.
  expect(await errors.orAnswerOf(async () => "here", undefined)).toBe("here");
});
