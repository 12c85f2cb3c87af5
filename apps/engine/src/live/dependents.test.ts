import { silentLogger } from "@stackwright/base/logger";
import type { StackReference } from "@stackwright/core";
import { RunTrigger, StackOutputs } from "@stackwright/proto/stackwright";
import { expect, it, onTestFinished } from "vitest";
import { memberPlace, STACK_OUTPUTS_KIND, stackPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { dependentsOf } from "./dependents.ts";
import { LiveView } from "./live-view.ts";

/** Stacks, each with the outputs of others that it was made with. */
async function start(reads: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>) {
  const { storage, stack, put } = createRunFixture();
  const stacks = new Map<string, StackReference>();
  for (const name of Object.keys(reads)) stacks.set(name, await stack(name));
  const at = (name: string): StackReference => {
    const found = stacks.get(name);
    if (found === undefined) throw new Error(`no stack ${name}`);
    return found;
  };
  for (const [name, inputs] of Object.entries(reads)) {
    const message = StackOutputs.fromPartial({
      revision: 1n,
      inputs: Object.entries(inputs).map(([from, outputs]) => ({
        ...at(from),
        name: from,
        outputs: [...outputs],
      })),
    });
    await put(STACK_OUTPUTS_KIND, stackPlace(at(name)), message);
  }
  const follow = async (consumer: string, producer: string, more: Partial<RunTrigger> = {}) => {
    const trigger = { id: producer, producer: at(producer).stack, producerProject: "web", ...more };
    const place = memberPlace(at(consumer), producer);
    await put(SERVER_KINDS.trigger, place, RunTrigger.fromPartial(trigger));
  };
  const live = () => {
    const view = new LiveView({ storage, logger: silentLogger });
    onTestFinished(() => view[Symbol.dispose]());
    return view;
  };
  /** Lines as `2 app url triggered through network`. */
  const found = async (
    origin: string,
    changed?: readonly string[],
    isNamed?: (stack: { readonly name: string }) => boolean,
  ) => {
    const view = live();
    await view.stackChanges.whenSynced();
    await view.triggers.whenSynced();
    const key = `acme/web/${at(origin).stack}`;
    return dependentsOf(view, [key], changed, isNamed).map(
      ({ stack: of, distance, outputs, triggered, through }) =>
        [
          distance,
          of.name,
          ...outputs,
          ...(triggered ? ["triggered"] : []),
          ...(through.length === 0 ? [] : ["through", ...through.map(({ name }) => name)]),
        ].join(" "),
    );
  };
  return { found, follow };
}

it("the stacks that were made with a changed output are found, with those that depend on them, the nearest first", async () => {
  const { found } = await start({
    network: {},
    app: { network: ["vpc", "cidr"] },
    db: { network: ["cidr"] },
    front: { app: ["url"], db: ["dsn"] },
    far: { front: ["page"] },
    other: {},
  });
  expect(await found("network", ["vpc"])).toEqual([
    "1 app vpc",
    "2 front through app",
    "3 far through front",
  ]);
  expect(await found("network")).toEqual([
    "1 app vpc cidr",
    "1 db cidr",
    "2 front through app db",
    "3 far through front",
  ]);
  // No stack reads a new output yet.
  expect(await found("network", ["added"])).toEqual([]);
  expect(await found("network", [])).toEqual([]);
  expect(await found("far")).toEqual([]);
});

it("the stacks whose runs a change triggers depend on it, and those whose triggers are paused or of other outputs do not", async () => {
  const { found, follow } = await start({ network: {}, all: {}, some: {}, paused: {}, next: {} });
  await follow("all", "network");
  await follow("some", "network", { outputs: ["vpc"] });
  await follow("paused", "network", { paused: true });
  await follow("next", "some");
  expect(await found("network", ["vpc"])).toEqual([
    "1 all triggered",
    "1 some triggered",
    "2 next triggered through some",
  ]);
  expect(await found("network", ["cidr"])).toEqual(["1 all triggered"]);
  expect(await found("network", [])).toEqual([]);
});

it("stacks that read one another in a circle end the search", async () => {
  const { found } = await start({ a: { c: ["x"] }, b: { a: ["x"] }, c: { b: ["x"] } });
  expect(await found("a", ["x"])).toEqual(["1 b x", "2 c through b"]);
});

it.each([19, 20, 21])("of %i stacks in between at most 20 are named", async (count) => {
  const names = Array.from({ length: count }, (_, index) => `s${index}`);
  const { found } = await start({
    network: {},
    ...Object.fromEntries(names.map((name) => [name, { network: ["vpc"] }])),
    last: Object.fromEntries(names.map((name) => [name, ["url"]])),
  });
  const [, , , ...between] = (await found("network")).at(-1)?.split(" ") ?? [];
  expect(between).toHaveLength(Math.min(20, count));
});

it("stacks that may not be named take no places of others", async () => {
  const names = Array.from({ length: 50 }, (_, index) => `s${String(index).padStart(2, "0")}`);
  const { found } = await start({
    network: {},
    ...Object.fromEntries(names.map((name) => [name, { network: ["vpc"] }])),
    last: Object.fromEntries(names.map((name) => [name, ["url"]])),
  });
  const isNamed = ({ name }: { readonly name: string }): boolean => name > "s24";
  const [, , , ...between] = (await found("network", undefined, isNamed)).at(-1)?.split(" ") ?? [];
  expect(between).toHaveLength(20);
  expect(between.filter((name) => !isNamed({ name }))).toEqual([]);
});
