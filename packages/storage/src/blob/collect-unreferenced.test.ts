import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { createMemoryStorage } from "../engine/memory.ts";
import { assertCode } from "../testing/assertions.ts";
import { A1, B1, HOME, payload, sample } from "../testing/samples.ts";
import { collectUnreferenced } from "./collect-unreferenced.ts";
import { createDirectoryBlobs } from "./directory-blobs.ts";

const HOLD_MS = 40;

async function openBlobs(holdMs = HOLD_MS) {
  const directory = await mkdtemp(join(tmpdir(), "collect-"));
  const blobs = await createDirectoryBlobs({ directory, holdMs });
  onTestFinished(async () => {
    await blobs.close();
    await rm(directory, { recursive: true, force: true });
  });
  return blobs;
}

/** Resources of `A1` refer to the blob that their content names. */
const kinds = [
  {
    type: A1,
    blobs: ({ data }: { readonly data?: { readonly value: Uint8Array } }) => [
      Buffer.from(data?.value ?? []).toString(),
    ],
  },
];

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test("what no resource refers to is removed once it is not held, and nothing else", async () => {
  await using storage = createMemoryStorage();
  const holdMs = 1_000;
  const blobs = await openBlobs(holdMs);
  const [live, foreign, dead] = await Promise.all(
    ["live", "foreign", "dead"].map((text) => blobs.write(Buffer.from(text))),
  );
  if (live === undefined || foreign === undefined || dead === undefined) throw new Error("written");
  await storage.writeCAS(sample(A1, HOME, "a", { data: payload(live.sha256) }));
  const other = { ...A1, group: "elsewhere" };
  const text = `{"blob":"${foreign.sha256}"}`;
  await storage.writeCAS(sample(other, HOME, "b", { data: payload(text) }));
  expect(await collectUnreferenced({ storage, blobs, kinds })).toMatchObject({ removed: 0 });
  await pause(holdMs + 20);
  expect(await collectUnreferenced({ storage, blobs, kinds })).toMatchObject({ removed: 1 });
  const left = await blobs.find([live.sha256, foreign.sha256, dead.sha256]);
  expect(left.map(({ sha256 }) => sha256)).toEqual([live.sha256, foreign.sha256]);
});

test("nothing is removed while a kind of a declared group is not known", async () => {
  await using storage = createMemoryStorage();
  const blobs = await openBlobs(0);
  const { sha256 } = await blobs.write(Buffer.from("x"));
  await storage.writeCAS(sample(B1, HOME, "newer", { data: payload("?") }));
  await pause(10);
  const error = await assertCode(collectUnreferenced({ storage, blobs, kinds }), "STORAGE_SCHEMA");
  expect(error.message).toContain("test b");
  expect(await blobs.find([sha256])).toHaveLength(1);
});

test("no blob of a live reference is ever removed, whatever writers do meanwhile", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          name: fc.integer({ min: 0, max: 3 }),
          content: fc.integer({ min: 0, max: 5 }),
          waitMs: fc.integer({ min: 0, max: 15 }),
          refer: fc.boolean(),
        }),
        { minLength: 10, maxLength: 30 },
      ),
      fc.integer({ min: 2, max: 4 }),
      async (steps, writers) => {
        await using storage = createMemoryStorage();
        const blobs = await openBlobs(25);
        const writing = new AbortController();
        const collecting = (async () => {
          while (!writing.signal.aborted) {
            await collectUnreferenced({ storage, blobs, kinds });
            await pause(1);
          }
        })();
        const write = async (writer: number): Promise<void> => {
          for (const [index, { name, content, waitMs, refer }] of steps.entries()) {
            if (index % writers !== writer) continue;
            const started = performance.now();
            const { sha256 } = await blobs.write(Buffer.from(`content ${content}`));
            await pause(waitMs);
            const id = sample(A1, HOME, `w${writer}-${name}`).id;
            const stored = await storage.read("strong", id).catch(() => undefined);
            if (stored !== undefined) await storage.deleteCAS(stored.id, stored.version);
            // A writer that was too slow asks again, as the contract says.
            const isLate = performance.now() - started > 20;
            if (isLate && (await blobs.find([sha256])).length === 0) continue;
            if (!refer) continue;
            await storage.writeCAS(sample(A1, HOME, id.name, { data: payload(sha256) }));
          }
        };
        await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
        writing.abort();
        await collecting;
        await pause(30);
        await collectUnreferenced({ storage, blobs, kinds });
        const live = new Set(
          (await storage.list("strong", A1, HOME, "")).map(({ data }) =>
            Buffer.from(data?.value ?? []).toString(),
          ),
        );
        const every = Array.from({ length: 6 }, (_, content) =>
          createHash("sha256").update(`content ${content}`).digest("hex"),
        );
        const found = await blobs.find(every);
        expect(new Set(found.map(({ sha256 }) => sha256))).toEqual(live);
      },
    ),
    { numRuns: 8 },
  );
}, 60_000);
