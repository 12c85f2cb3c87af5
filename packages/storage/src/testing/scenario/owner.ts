import assert from "node:assert/strict";
import type { Resource } from "../../resource.ts";
import { assertSame, assertSameSet, eventually, nextDelete, nextUpsert } from "../assertions.ts";
import type { ScenarioGroup } from "../harness.ts";
import { A1, A2, B1, BILLING, HOME, sample, sampleId } from "../samples.ts";

const OWNER = sampleId(A1, HOME, "owner");

/** Owner references: what counts as the same owner, and what happens when it goes. */
export const OWNER_SCENARIOS: ScenarioGroup = {
  title: "listByOwner",
  scenarios: [
    {
      title: "gives the owned resources in full, whatever the group version of the owner",
      run: async ({ storage }) => {
        await storage.writeCAS(sample(A1, HOME, "owner"));
        const first = await storage.writeCAS(sample(B1, HOME, "r1", { owner: OWNER }));
        const second = await storage.writeCAS(sample(A2, HOME, "r2", { owner: OWNER }));
        await storage.writeCAS(sample(B1, HOME, "r3"));
        await eventually(async () => {
          assertSameSet(await storage.listByOwner(OWNER), [first, second]);
          assertSameSet(await storage.listByOwner({ ...OWNER, type: A2 }), [first, second]);
        });
      },
    },
    {
      title: "tells owners apart by uid, kind, tenancy and name",
      run: async ({ storage }) => {
        const child = await storage.writeCAS(sample(B1, HOME, "r1", { owner: OWNER }));
        await eventually(async () => assertSameSet(await storage.listByOwner(OWNER), [child]));
        const others = [
          { ...OWNER, uid: "different" },
          { ...OWNER, uid: "" },
          { ...OWNER, type: B1 },
          { ...OWNER, tenancy: BILLING },
          { ...OWNER, name: "other" },
          { ...OWNER, name: "owne", uid: "ra" },
        ];
        for (const other of others) assert.deepEqual(await storage.listByOwner(other), []);
      },
    },
    {
      title: "keeps references when the owner is deleted or created again",
      run: async ({ storage }) => {
        const owner = await storage.writeCAS(sample(A1, HOME, "owner"));
        const child = await storage.writeCAS(sample(B1, HOME, "r1", { owner: owner.id }));
        await storage.deleteCAS(owner.id, owner.version);
        await eventually(async () => assertSameSet(await storage.listByOwner(owner.id), [child]));
        const again = await storage.writeCAS(sample(A1, HOME, "owner", { uid: "b" }));
        assert.deepEqual(await storage.listByOwner(again.id), []);
        assertSameSet(await storage.listByOwner(owner.id), [child]);
      },
    },
    {
      title: "follows the child: another owner, none, deleted",
      run: async ({ storage }) => {
        const other = sampleId(A1, HOME, "other");
        let child = await storage.writeCAS(sample(B1, HOME, "r1", { owner: OWNER }));
        child = await storage.writeCAS({ ...child, owner: other });
        await eventually(async () => {
          assertSameSet(await storage.listByOwner(OWNER), []);
          assertSameSet(await storage.listByOwner(other), [child]);
        });
        const { owner: _, ...orphan } = child;
        child = await storage.writeCAS(orphan);
        await eventually(async () => assertSameSet(await storage.listByOwner(other), []));
        child = await storage.writeCAS({ ...child, owner: OWNER });
        await eventually(async () => assertSameSet(await storage.listByOwner(OWNER), [child]));
        await storage.deleteCAS(child.id, child.version);
        await eventually(async () => assertSameSet(await storage.listByOwner(OWNER), []));
      },
    },
    {
      title: "finds children in another tenancy unit than their owner",
      run: async ({ storage }) => {
        const owner = sampleId(A1, BILLING, "owner");
        const child = await storage.writeCAS(sample(B1, HOME, "r1", { owner }));
        await eventually(async () => assertSameSet(await storage.listByOwner(owner), [child]));
      },
    },
    {
      title: "shows every child that existed once the owner's delete event has arrived",
      run: async ({ storage, factor }) => {
        for (let round = 0; round < 40 * factor; round += 1) {
          const owner = await storage.writeCAS(sample(A1, HOME, `owner${round}`));
          using watch = await storage.watchList(A1, HOME, owner.id.name);
          assertSame(await nextUpsert(watch), owner);
          const child = (name: string): Promise<Resource> =>
            storage.writeCAS(sample(B1, HOME, `${owner.id.name}-${name}`, { owner: owner.id }));
          const before = await Promise.all(["1", "2", "3"].map(child));
          const during = ["4", "5"].map(child);
          const deleting = storage.deleteCAS(owner.id, owner.version);
          assertSame(await nextDelete(watch), owner);
          const names = (await storage.listByOwner(owner.id)).map((found) => found.id.name);
          for (const { id } of before) assert.ok(names.includes(id.name), `${id.name} is missing`);
          await Promise.all([deleting, ...during]);
        }
      },
    },
  ],
};
