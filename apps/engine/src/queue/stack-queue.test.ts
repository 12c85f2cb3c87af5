import { ConfigurationVersion, Run_Mode } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { memberPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { CONFIGURATION, createRunFixture } from "../testing/run-fixture.ts";
import { readQueue, recordConfiguration } from "./stack-queue.ts";
import { transact } from "./transaction.ts";

const { MODE_APPLY, MODE_DESTROY } = Run_Mode;

it("what was applied last is recorded with the versions of providers that it allows", async () => {
  const { parts, put, stack } = createRunFixture();
  const one = await stack("one");
  const constrained = "d".repeat(64);
  const providerConstraints = [{ source: "example.com/team/net", versions: "~> 1.0" }];
  const version = ConfigurationVersion.create({ digest: constrained, providerConstraints });
  await put(SERVER_KINDS.configuration, memberPlace(one, constrained), version);
  const record = async (mode: Run_Mode, configuration: string) =>
    transact(parts, async (tx) => {
      await recordConfiguration(tx, one, { mode, configuration });
      return (await readQueue(tx, one)).message;
    });
  const first = { configuration: constrained, providerConstraints };
  expect(await record(MODE_APPLY, constrained)).toMatchObject(first);
  expect(await record(MODE_DESTROY, CONFIGURATION)).toMatchObject(first);
  expect(await record(MODE_APPLY, CONFIGURATION)).toMatchObject({
    configuration: CONFIGURATION,
    providerConstraints: [],
  });
});
