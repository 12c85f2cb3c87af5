import { silentLogger } from "@stackwright/base/logger";
import { StateObject } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { recordKind } from "../domain/record-kind.ts";
import type { ProviderStanding } from "../domain/registry-query.ts";
import { memberPlace } from "../domain/run-places.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { LiveView } from "./live-view.ts";
import { quarantinedUses } from "./quarantined-uses.ts";
import { sortedStacks } from "./search-resources.ts";

const OBJECT_KIND = recordKind("StateObject", StateObject);
const DEMO = "registry.example.com/acme/demo";
const BAD: ProviderStanding = { state: "quarantined", sinceMs: 5, reason: "stolen key" };

it("counts the objects of each stack by version, and asks about each version once", async () => {
  const { storage, put, stack } = createRunFixture();
  const one = await stack("one");
  const two = await stack("two");
  const written = [
    [one, DEMO, "1.1.0"],
    [one, DEMO, "1.1.0"],
    [one, DEMO, "1.2.0"],
    [two, DEMO, "1.1.0"],
    // A provider of Pulumi has no such address.
    [two, "pulumi:random", "4.0.0"],
  ] as const;
  for (const [at, [of, source, version]] of written.entries()) {
    const object = StateObject.fromPartial({ address: `d.t${at}`, provider: { source, version } });
    await put(OBJECT_KIND, memberPlace(of, `o${at}`), object);
  }
  using live = new LiveView({ storage, logger: silentLogger });
  const { signal } = new AbortController();
  await live.placed.whenSynced({ signal });
  await live.resources.all.whenSynced({ signal });
  const asked: string[] = [];
  const uses = await quarantinedUses(live, {
    stacks: sortedStacks(live, () => true),
    account: "acme",
    findStanding: async (account, address, version) => {
      asked.push(`${account} ${address.toString()} ${version}`);
      return version === "1.1.0" ? BAD : { state: "usable", sinceMs: 0, reason: "" };
    },
    signal,
  });
  const use = { project: "web", provider: DEMO, version: "1.1.0", standing: BAD };
  expect(uses).toEqual([
    { ...use, stack: "one", objects: 2 },
    { ...use, stack: "two", objects: 1 },
  ]);
  expect(asked).toEqual([`acme ${DEMO} 1.1.0`, `acme ${DEMO} 1.2.0`]);
});
