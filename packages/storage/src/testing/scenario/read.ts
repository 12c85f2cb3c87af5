import assert from "node:assert/strict";
import { GroupVersionMismatchError } from "../../errors.ts";
import type { ReadConsistency } from "../../types.ts";
import { assertCode, assertSame, eventually } from "../assertions.ts";
import type { ScenarioGroup } from "../harness.ts";
import { A1, A2, B1, HOME, payload, sample, sampleId } from "../samples.ts";

const MODES: readonly ReadConsistency[] = ["eventual", "strong"];

/** Reads by id: lifetimes, group versions, consistency modes, ownership of the result. */
export const READ_SCENARIOS: ScenarioGroup = {
  title: "read",
  scenarios: [
    {
      title: "gives the written resource with a version",
      run: async ({ storage }) => {
        const input = sample(A1, HOME, "web");
        await storage.writeCAS(input);
        const strong = await storage.read("strong", input.id);
        assert.notEqual(strong.version, "");
        assertSame(strong, { ...input, version: strong.version });
        await eventually(async () => assertSame(await storage.read("eventual", input.id), strong));
      },
    },
    {
      title: "ignores an empty uid and gives the stored one",
      run: async ({ storage }) => {
        const stored = await storage.writeCAS(sample(A1, HOME, "web"));
        const id = sampleId(A1, HOME, "web", "");
        assertSame(await storage.read("strong", id), stored);
        await eventually(async () => assertSame(await storage.read("eventual", id), stored));
      },
    },
    {
      title: "gives NotFound for an absent resource",
      run: async ({ storage }) => {
        for (const mode of MODES) {
          await assertCode(storage.read(mode, sampleId(A1, HOME, "web")), "STORAGE_NOT_FOUND");
        }
      },
    },
    {
      title: "gives NotFound for another uid, also when the group version differs too",
      run: async ({ storage }) => {
        await storage.writeCAS(sample(A1, HOME, "web"));
        for (const mode of MODES) {
          for (const type of [A1, A2]) {
            await assertCode(
              storage.read(mode, sampleId(type, HOME, "web", "b")),
              "STORAGE_NOT_FOUND",
            );
          }
        }
      },
    },
    {
      title: "gives GroupVersionMismatch with the stored resource",
      run: async ({ storage }) => {
        const stored = await storage.writeCAS(sample(A1, HOME, "web", { data: payload("v1") }));
        for (const uid of ["a", ""]) {
          const error = await assertCode(
            storage.read("strong", sampleId(A2, HOME, "web", uid)),
            "STORAGE_GROUP_VERSION_MISMATCH",
          );
          assert.ok(error instanceof GroupVersionMismatchError);
          assert.deepEqual(error.requestedType, A2);
          assertSame(error.stored, stored);
        }
        await eventually(async () => {
          const read = storage.read("eventual", sampleId(A2, HOME, "web"));
          await assertCode(read, "STORAGE_GROUP_VERSION_MISMATCH");
        });
      },
    },
    {
      title: "tells kinds and tenancy units apart",
      run: async ({ storage }) => {
        await storage.writeCAS(sample(A1, HOME, "web"));
        const others = [
          sampleId(B1, HOME, "web"),
          sampleId({ ...A1, group: "other" }, HOME, "web"),
          sampleId(A1, { ...HOME, partition: "x" }, "web"),
          sampleId(A1, { ...HOME, peerName: "x" }, "web"),
          sampleId(A1, { ...HOME, namespace: "x" }, "web"),
          sampleId(A1, HOME, "web2"),
        ];
        for (const id of others) {
          await assertCode(storage.read("strong", id), "STORAGE_NOT_FOUND");
        }
      },
    },
    {
      title: "gives an object whose mutation does not reach the store",
      run: async ({ storage }) => {
        const input = sample(A1, HOME, "web", {
          metadata: { key: "value" },
          data: payload("bytes"),
        });
        const stored = await storage.writeCAS(input);
        const first = await storage.read("strong", input.id);
        const loose = first as { id: { name: string }; metadata: Record<string, string> };
        // Frozen objects throw in strict mode; engines may as well hand out private copies.
        tryTo(() => (loose.id.name = "changed"));
        tryTo(() => (loose.metadata.key = "changed"));
        first.data?.value.fill(0);
        stored.data?.value.fill(0);
        const second = await storage.read("strong", input.id);
        assertSame(second, { ...input, version: second.version });
      },
    },
    {
      title: "gives Inconsistent for an unknown consistency mode",
      run: async ({ storage }) => {
        await storage.writeCAS(sample(A1, HOME, "web"));
        const mode = "sequential" as ReadConsistency;
        await assertCode(storage.read(mode, sampleId(A1, HOME, "web")), "STORAGE_INCONSISTENT");
      },
    },
  ],
};

function tryTo(mutate: () => unknown): void {
  try {
    mutate();
  } catch (error) {
    assert.ok(error instanceof TypeError);
  }
}
