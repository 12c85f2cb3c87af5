import {
  ConfigurationVersion,
  type ProviderConstraint,
  Run_Mode,
} from "@stackwright/proto/stackwright";
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

it("what a run found in all modules of a configuration takes the place of what was read at its upload", async () => {
  const { parts, put, stack } = createRunFixture();
  const one = await stack("one");
  const constrained = "d".repeat(64);
  const source = "example.com/team/net";
  const version = ConfigurationVersion.create({
    digest: constrained,
    providerConstraints: [{ source, versions: "~> 1.0" }],
  });
  await put(SERVER_KINDS.configuration, memberPlace(one, constrained), version);
  const run = { mode: MODE_APPLY, configuration: constrained };
  const record = async (found?: readonly ProviderConstraint[]) =>
    transact(parts, async (tx) => {
      await recordConfiguration(tx, one, run, found);
      return (await readQueue(tx, one)).message.providerConstraints;
    });
  const found = [{ source, versions: "~> 1.0, < 1.4.0" }];
  expect(await record(found)).toEqual(found);
  // A recovery knows no modules.
  expect(await record()).toEqual(found);
  // Modules have changed since, as those of a branch do.
  expect(await record([{ source, versions: "~> 1.0, < 1.5.0" }])).toEqual([
    { source, versions: "~> 1.0, < 1.5.0" },
  ]);
  expect(await record([{ source, versions: "~> 1.0".repeat(4_000) }])).toEqual([]);
});
