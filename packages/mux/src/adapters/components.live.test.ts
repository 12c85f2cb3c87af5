import { mkdtempDisposable, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Type, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { startEngineHost } from "../host/engine-host.ts";
import { hostProvider } from "../host/hosted-provider.ts";
import type {
  LifecycleContext,
  LifecycleProvider,
  NotedDecision,
} from "../router/lifecycle-provider.ts";
import { GARDEN } from "../testing/programs/programs.ts";
import { adaptPulumiProvider } from "./adapt-pulumi.ts";

/* Components and methods of a provider on Pulumi's SDK for Node, in a process of its own. */

const BED = "garden_bed";
const EMPTY = new Uint8Array();

async function openGarden() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "garden-"));
  const engine = await startEngineHost();
  const hosted = await hostProvider({
    ...GARDEN,
    env: { ...process.env, GARDEN: scratch.path },
    engineAddress: engine.address,
    startTimeoutMs: 60_000,
    restart: {},
  });
  const provider = adaptPulumiProvider(hosted.provider, { close: hosted.close.bind(hosted) });
  const { schema } = await provider.schema({});
  const block = schema.resources.get(BED)?.block;
  if (block === undefined) throw new Error("there is no bed");
  const type = Type.object(
    [...block.attributes].map(([name, attribute]) => [name, attribute.type] as const),
  );
  await provider.configure(
    { config: Value.object([]), engineVersion: "1.0.0", deferralAllowed: false },
    {},
  );
  const none = Value.null(type);
  const configOf = (kinds: readonly string[], note?: string): Value =>
    Value.object(
      [...block.attributes].map(([name, attribute]) => {
        if (name === "kinds")
          return [
            name,
            Value.list(
              kinds.map((kind) => Value.string(kind)),
              Type.string,
            ),
          ];
        if (name === "note" && note !== undefined) return [name, Value.string(note)];
        return [name, Value.null(attribute.type)];
      }),
    );
  return {
    provider,
    none,
    files: async () => (await readdir(scratch.path)).toSorted(),
    folder: scratch.path,
    step: (prior: Value, privateBytes: Uint8Array, config: Value, context: LifecycleContext = {}) =>
      step(provider, { prior, priorPrivate: privateBytes, config }, context),
    configOf,
    async [Symbol.asyncDispose]() {
      await provider.close();
      await engine.close();
      await scratch.remove();
    },
  };
}

/** Plan and apply. */
async function step(
  provider: LifecycleProvider,
  {
    prior,
    priorPrivate,
    config,
  }: { readonly prior: Value; readonly priorPrivate: Uint8Array; readonly config: Value },
  context: LifecycleContext,
) {
  const operation = { operationId: "op-1", epoch: 1n };
  const plan = await provider.plan(
    { type: BED, prior, config, proposed: config, priorPrivate, deferralAllowed: false, operation },
    {},
  );
  const planned = plan.planned ?? prior;
  if (plan.diagnostics.length > 0) return { plan, planned, applied: undefined };
  const applied = await provider.apply(
    { type: BED, prior, config, planned, plannedPrivate: plan.plannedPrivate, operation },
    context,
  );
  return { plan, planned, applied };
}

const attribute = (object: Value, name: string): Value =>
  new Map(object.entries()).get(name) ?? Value.null(Type.dynamic);
const childrenOf = (object: Value) =>
  Object.fromEntries(
    [...attribute(object, "children").entries()].map(([key, id]) => [
      key.split("::")[0] + key.slice(-2),
      id.isKnown ? id.asString().slice(-6) : "unknown",
    ]),
  );

describe("a component of a real provider", { timeout: 120_000 }, () => {
  it("is planned, made, changed, read and deleted with all that belongs to it", async () => {
    await using garden = await openGarden();
    const made = await garden.step(garden.none, EMPTY, garden.configOf(["rose", "fern"], "dry"));
    expect(made.plan.diagnostics).toEqual([]);
    expect(await garden.files()).toHaveLength(2);
    expect(childrenOf(made.planned)).toEqual({
      "garden:index:Plant-0": "unknown",
      "garden:index:Plant-1": "unknown",
    });
    expect(attribute(made.planned, "labels").isWhollyKnown).toBe(false);
    const bed = made.applied?.state ?? garden.none;
    const kept = made.applied?.privateBytes ?? EMPTY;
    expect(made.applied?.diagnostics).toEqual([]);
    expect(
      attribute(bed, "labels")
        .elements()
        .map((label) => label.asString()),
    ).toEqual(["rose of garden", "fern of garden"]);
    expect(attribute(bed, "size").asNumber()).toBe(2);
    expect(childrenOf(bed)).toEqual({
      "garden:index:Plant-0": "0-rose",
      "garden:index:Plant-1": "1-fern",
    });
    expect(made.applied?.sensitive?.map(String)).toHaveLength(1);

    const broken = await garden.step(bed, kept, garden.configOf(["rose", "dead"], "dry"));
    expect(broken.applied?.diagnostics).toHaveLength(1);
    expect(broken.applied?.state.equals(bed)).toBe(true);

    const same = await garden.step(bed, kept, garden.configOf(["rose", "fern"], "dry"));
    expect(same.planned.equals(bed)).toBe(true);

    // The first is updated, the second replaced, the third new.
    const changed = await garden.step(bed, kept, garden.configOf(["rose", "moss", "ivy"], "wet"));
    expect(childrenOf(changed.planned)).toEqual({
      "garden:index:Plant-0": "unknown",
      "garden:index:Plant-1": "unknown",
      "garden:index:Plant-2": "unknown",
    });
    const next = changed.applied?.state ?? bed;
    expect(Object.values(childrenOf(next))).toEqual(["0-rose", "1-moss", "-2-ivy"]);
    expect(await garden.files()).toHaveLength(3);
    const [first = ""] = await garden.files();
    expect(JSON.parse(await readFile(join(garden.folder, first), "utf8"))).toMatchObject({
      note: "wet",
    });

    // One that was taken away by others comes back.
    await rm(join(garden.folder, first));
    const read = await garden.provider.read(
      {
        type: BED,
        state: next,
        privateBytes: changed.applied?.privateBytes ?? EMPTY,
        deferralAllowed: false,
      },
      {},
    );
    expect(Object.values(childrenOf(read.state ?? next))).toEqual(["1-moss", "-2-ivy"]);
    const healed = await garden.step(
      read.state ?? next,
      read.privateBytes ?? EMPTY,
      garden.configOf(["rose", "moss", "ivy"], "wet"),
    );
    expect(healed.applied?.diagnostics).toEqual([]);
    expect(await garden.files()).toHaveLength(3);

    const last = healed.applied;
    const gone = await garden.provider.apply(
      {
        type: BED,
        prior: last?.state ?? next,
        config: garden.none,
        planned: garden.none,
        plannedPrivate: last?.privateBytes ?? EMPTY,
      },
      {},
    );
    expect(gone.diagnostics).toEqual([]);
    expect(gone.state.isNull).toBe(true);
    expect(await garden.files()).toEqual([]);
  });

  it("keeps what it made when it fails halfway, also when its process is killed", async () => {
    await using garden = await openGarden();
    for (const fatal of ["dead", "kill"]) {
      const failed = await garden.step(garden.none, EMPTY, garden.configOf(["rose", fatal]));
      const [problem, ...others] = failed.applied?.diagnostics ?? [];
      expect(problem?.detail).toMatch(
        /^garden:index:Plant::\S+-1: .* is not known: look for it.$/s,
      );
      expect(others).toEqual([]);
      const half = failed.applied?.state ?? garden.none;
      expect(half.isNull).toBe(false);
      expect(Object.values(childrenOf(half))).toEqual(["0-rose"]);
      const gone = await garden.provider.apply(
        {
          type: BED,
          prior: half,
          config: garden.none,
          planned: garden.none,
          plannedPrivate: failed.applied?.privateBytes ?? EMPTY,
        },
        {},
      );
      expect(gone.state.isNull).toBe(true);
      // Without notes that can be recovered, what was planted when the process was killed is on the disk alone.
      const left = await garden.files();
      expect(left.map((name) => name.slice(-9))).toEqual(fatal === "kill" ? ["kill.json"] : []);
    }
  });

  it("is open with a child whose answer was lost, where that is noted", async () => {
    await using garden = await openGarden();
    const config = garden.configOf(["rose", "kill", "fern"]);
    const notes: Uint8Array[] = [];
    const note = async (bytes: Uint8Array): Promise<void> => void notes.push(bytes.slice());
    const lost = await garden.step(garden.none, EMPTY, config, { note });
    expect(lost.applied?.isOpen).toBe(true);
    const [problem, ...others] = lost.applied?.diagnostics ?? [];
    expect(problem?.detail).toMatch(/^garden:index:Plant::\S+-1: /);
    expect(others).toEqual([]);
    const read = async (noted: NotedDecision) =>
      garden.provider.read(
        {
          type: BED,
          state: garden.none,
          privateBytes: Buffer.concat(notes),
          deferralAllowed: false,
          noted,
        },
        {},
      );
    const undecided = await read({ kind: "undecided" });
    expect(undecided.diagnostics.map(({ summary }) => summary).join()).toMatch(
      /^it may have made garden:index:Plant::\S+-1 with kind = "kill"/,
    );
    const [, kill = ""] = await garden.files();
    const found = await read({ kind: "id", id: kill.replace(".json", "") });
    expect(Object.values(childrenOf(found.state ?? garden.none))).toEqual(["0-rose", "1-kill"]);
  });

  it("has methods, which get it as an argument", async () => {
    await using garden = await openGarden();
    const made = await garden.step(garden.none, EMPTY, garden.configOf(["rose"]));
    const bed = made.applied?.state ?? garden.none;
    const config = Value.object([
      ["self", bed],
      ["greeting", Value.string("look at")],
      ["text", Value.null(Type.string)],
    ]);
    const read = await garden.provider.readDataSource(
      { type: "garden_bed_describe", config, deferralAllowed: false },
      {},
    );
    expect(read.diagnostics).toEqual([]);
    expect(attribute(read.state ?? bed, "text").asString()).toBe("look at rose of garden");
    const wrong = await garden.provider.readDataSource(
      {
        type: "garden_bed_describe",
        config: Value.object(
          [...config.entries()].map(([name, value]) => [
            name,
            name === "self" ? Value.string("x") : value,
          ]),
        ),
        deferralAllowed: false,
      },
      {},
    );
    expect(wrong.diagnostics[0]?.detail).toContain("is the resource whose method is called");
  });
});
