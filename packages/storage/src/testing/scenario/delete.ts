import assert from "node:assert/strict";
import { assertCode, assertSame, nextUpsert } from "../assertions.ts";
import type { ScenarioGroup } from "../harness.ts";
import { A1, A2, B1, HOME, sample, sampleId } from "../samples.ts";

/** Compare-and-swap deletes: what is refused and what is a success without effect. */
export const DELETE_SCENARIOS: ScenarioGroup = {
  title: "deleteCAS",
  scenarios: [
    {
      title: "deletes the given version only",
      run: async ({ storage }) => {
        const stored = await storage.writeCAS(sample(B1, HOME, "web"));
        for (const version of ["", "some-version"]) {
          await assertCode(storage.deleteCAS(stored.id, version), "STORAGE_CAS_FAILURE");
        }
        await storage.deleteCAS(stored.id, stored.version);
        await assertCode(storage.read("strong", stored.id), "STORAGE_NOT_FOUND");
      },
    },
    {
      title: "succeeds without effect for another uid, and judges the uid before the version",
      run: async ({ storage }) => {
        const stored = await storage.writeCAS(sample(B1, HOME, "web"));
        for (const uid of ["b", ""]) {
          for (const version of [stored.version, "some-version", ""]) {
            await storage.deleteCAS(sampleId(B1, HOME, "web", uid), version);
          }
        }
        assertSame(await storage.read("strong", stored.id), stored);
      },
    },
    {
      title: "succeeds for what does not exist",
      run: async ({ storage }) => {
        await storage.deleteCAS(sampleId(B1, HOME, "never"), "");
        await storage.deleteCAS(sampleId(B1, HOME, "never"), "some-version");
        const stored = await storage.writeCAS(sample(B1, HOME, "web"));
        await storage.deleteCAS(stored.id, stored.version);
        await storage.deleteCAS(stored.id, stored.version);
      },
    },
    {
      title: "with a guard on the same version succeeds for one call alone",
      applies: (capabilities) => capabilities.guards > 0,
      run: async ({ storage }) => {
        const ticket = await storage.writeCAS(sample(B1, HOME, "ticket"));
        const { id, version } = ticket;
        const guards = [{ id, version }];
        const takes = Array.from({ length: 5 }, () => storage.deleteCAS(id, version, { guards }));
        const outcomes = await Promise.allSettled(takes);
        const lost = outcomes.filter((outcome) => outcome.status === "rejected");
        assert.equal(lost.length, outcomes.length - 1);
        for (const { reason } of lost) {
          await assertCode(Promise.reject(reason), "STORAGE_GUARD_FAILED");
        }
        // Without the guard a deletion of what is gone succeeds.
        await storage.deleteCAS(id, version);
      },
    },
    {
      title: "deletes whatever group version is stored",
      run: async ({ storage }) => {
        const stored = await storage.writeCAS(sample(A1, HOME, "web"));
        await storage.deleteCAS(sampleId(A2, HOME, "web"), stored.version);
        await assertCode(storage.read("strong", stored.id), "STORAGE_NOT_FOUND");
      },
    },
    {
      title: "tells nobody when it has no effect",
      run: async ({ storage }) => {
        const stored = await storage.writeCAS(sample(A1, HOME, "web"));
        using watch = await storage.watchList(A1, HOME, "");
        assertSame(await nextUpsert(watch), stored);
        await assertCode(storage.deleteCAS(stored.id, "some-version"), "STORAGE_CAS_FAILURE");
        await storage.deleteCAS(sampleId(A1, HOME, "web", "b"), stored.version);
        await storage.deleteCAS(sampleId(A1, HOME, "never"), "");
        const marker = await storage.writeCAS(sample(A1, HOME, "marker"));
        assertSame(await nextUpsert(watch), marker);
      },
    },
  ],
};
