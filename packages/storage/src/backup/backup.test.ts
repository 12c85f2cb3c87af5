import { appendFile, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createDirectoryBlobs } from "../blob/directory-blobs.ts";
import type { BlobStore } from "../blob/types.ts";
import { createMemoryStorage } from "../engine/memory.ts";
import { createSqliteStorage, type SqliteStorage } from "../engine/sqlite.ts";
import type { Resource } from "../resource.ts";
import { assertCode } from "../testing/assertions.ts";
import { checkBackupUnderLoad } from "../testing/backup/backup-under-load.ts";
import { A1, EVERYWHERE, HOME, payload, sample } from "../testing/samples.ts";
import { makeScratchDirectory, type ScratchDirectory } from "../testing/scratch-directory.ts";
import { restoreBackup, restoreTargetOf } from "./restore-backup.ts";
import { verifyBackup } from "./verify-backup.ts";
import { verifyStore } from "./verify-store.ts";
import { writeBackup } from "./write-backup.ts";

const KINDS = [
  {
    type: A1,
    blobs: ({ metadata }: Resource) => (metadata.blob === undefined ? [] : [metadata.blob]),
  },
];

let scratch: ScratchDirectory;
let storage: SqliteStorage;
let blobs: BlobStore;
let directory: string;

const open = async (name: string) => ({
  storage: await createSqliteStorage({ directory: join(scratch.path, name) }),
  blobs: await createDirectoryBlobs({ directory: join(scratch.path, name, "blobs") }),
});

beforeEach(async () => {
  scratch = await makeScratchDirectory();
  ({ storage, blobs } = await open("store"));
  directory = join(scratch.path, "backups", "monday");
});

afterEach(async () => {
  await storage.close();
  await blobs.close();
  await scratch[Symbol.asyncDispose]();
});

/** Writes a resource that refers to a blob with the same content. */
async function write(name: string, text = name): Promise<Resource> {
  const data = payload(text);
  const { sha256 } = await blobs.write(data.value, { owner: "billing" });
  return storage.writeCAS(sample(A1, HOME, name, { data, metadata: { blob: sha256 } }));
}

async function problemsOf(path: string): Promise<readonly string[]> {
  const found: string[] = [];
  const { problems } = await verifyBackup(path, { onProblem: (problem) => found.push(problem) });
  expect(problems).toBe(found.length);
  return found;
}

describe("a backup", () => {
  test("beside writers is the state at its revision, with its blobs", async () => {
    await checkBackupUnderLoad({ storage, blobs, scratch: scratch.path, seed: 1 });
  }, 60_000);

  test("beside writers and collections has each blob that it refers to", async () => {
    const holdMs = 1_000;
    await using held = await createDirectoryBlobs({
      directory: join(scratch.path, "collected"),
      holdMs,
    });
    const load = { storage, blobs: held, scratch: scratch.path };
    await checkBackupUnderLoad({ ...load, seed: 1, collectedAfterMs: holdMs });
  }, 60_000);

  test("is read from a store that another process writes to", async () => {
    const stored = await write("web");
    await using reader = await createSqliteStorage({
      directory: join(scratch.path, "store"),
      readOnly: true,
    });
    await using readBlobs = await createDirectoryBlobs({
      directory: join(scratch.path, "store", "blobs"),
      readOnly: true,
    });
    const manifest = await writeBackup({ storage: reader, blobs: readBlobs, directory });
    expect(manifest).toMatchObject({
      store: { engine: "sqlite", revision: Number(stored.version), line: expect.any(String) },
      resources: { count: 1 },
      blobs: { count: 1, blobBytes: 3 },
      lost: [],
    });
    expect(await readdir(join(scratch.path, "backups"))).toEqual(["monday"]);
    expect((await readdir(directory)).toSorted()).toEqual([
      "blobs",
      "blobs.jsonl",
      "manifest.json",
      "resources.jsonl",
    ]);
    expect((await stat(directory)).mode & 0o777).toBe(0o700);
  });

  test("of an empty store is complete", async () => {
    await writeBackup({ storage, blobs, directory });
    expect(await problemsOf(directory)).toEqual([]);
  });

  test("refuses a folder that exists, and leaves it alone", async () => {
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, "mine"), "");
    await assertCode(writeBackup({ storage, blobs, directory }), "STORAGE_INVALID_ARGUMENT");
    expect(await readdir(directory)).toEqual(["mine"]);
  });

  test("that fails half-way leaves nothing", async () => {
    await write("web");
    const failing: BlobStore = {
      capabilities: blobs.capabilities,
      write: (content, options) => blobs.write(content, options),
      find: (digests, options) => blobs.find(digests, options),
      list: (options) => blobs.list(options),
      collect: (options) => blobs.collect(options),
      // oxlint-disable-next-line require-yield -- it fails before it gives anything
      read: async function* () {
        throw new Error("no space left on device");
      },
      close: () => blobs.close(),
      [Symbol.asyncDispose]: () => blobs.close(),
    };
    const failed = writeBackup({ storage, blobs: failing, directory });
    await expect(failed).rejects.toThrow("no space left on device");
    expect(await readdir(join(scratch.path, "backups"))).toEqual([]);
  });

  test("that a dead process left unfinished is not a backup, and is replaced by the next one", async () => {
    await write("web");
    await mkdir(join(`${directory}.partial`, "blobs"), { recursive: true });
    await writeFile(join(`${directory}.partial`, "resources.jsonl"), "half a line");
    await assertCode(verifyBackup(`${directory}.partial`), "STORAGE_NOT_FOUND");
    await assertCode(verifyBackup(directory), "STORAGE_NOT_FOUND");
    await writeBackup({ storage, blobs, directory });
    expect(await problemsOf(directory)).toEqual([]);
    expect(await readdir(join(scratch.path, "backups"))).toEqual(["monday"]);
  });

  test("is made by one process at a time", async () => {
    await write("web");
    const entered = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const slow: BlobStore = {
      ...blobs,
      capabilities: blobs.capabilities,
      read: async function* (sha256) {
        entered.resolve();
        await release.promise;
        yield* blobs.read(sha256);
      },
      list: (options) => blobs.list(options),
    };
    const first = writeBackup({ storage, blobs: slow, directory });
    await entered.promise;
    await assertCode(writeBackup({ storage, blobs, directory }), "STORAGE_LOCKED");
    release.resolve();
    await first;
    expect(await problemsOf(directory)).toEqual([]);
  });

  test("names the blobs that the store has lost, and is made without them", async () => {
    await write("web");
    await write("api");
    const digests: string[] = [];
    for await (const { sha256 } of blobs.list()) digests.push(sha256);
    const [gone = "", bad = ""] = digests;
    const folder = (sha256: string) =>
      join(scratch.path, "store", "blobs", "blobs", sha256.slice(0, 2), sha256);
    await rm(folder(gone), { recursive: true });
    await writeFile(join(folder(bad), "data"), "xyz");
    const manifest = await writeBackup({ storage, blobs, directory, kinds: KINDS });
    expect(manifest.blobs.count).toBe(0);
    expect(manifest.lost).toEqual(
      expect.arrayContaining([
        `blob ${bad} is damaged`,
        expect.stringMatching(`blob ${gone} is missing, to which test a .* refers`),
      ]),
    );
    const problems: string[] = [];
    const onProblem = (problem: string) => problems.push(problem);
    await verifyStore({ storage, blobs, kinds: KINDS, onProblem });
    expect(problems).toEqual([expect.stringContaining(gone), expect.stringContaining(bad)]);
  });
});

describe("a restored backup", () => {
  test("is the store again, and refuses the versions and cursors from before", async () => {
    const web = await write("web");
    const owned = await storage.writeCAS(sample(A1, HOME, "owned", { owner: web.id }));
    using watch = await storage.watchList(A1, HOME, "", { endOfSnapshot: true });
    let event = await watch.next();
    while (event.operation !== "endOfSnapshot") event = await watch.next();
    const cursor = event.cursor ?? "";
    await writeBackup({ storage, blobs, directory });
    const late = await storage.writeCAS(sample(A1, HOME, "late"));

    const other = await open("other");
    await using restored = other.storage;
    await using restoredBlobs = other.blobs;
    const result = await restoreBackup({
      directory,
      target: restoreTargetOf(restored),
      blobs: restoredBlobs,
    });
    expect(result).toMatchObject({ resources: 2, blobs: 1 });
    const [read] = await restored.list("strong", A1, EVERYWHERE, "web");
    expect(read).toEqual({ ...web, version: expect.any(String) });
    const owners = await restored.listByOwner(web.id);
    expect(owners.map(({ id }) => id)).toEqual([owned.id]);
    const stored: unknown[] = [];
    for await (const blob of restoredBlobs.list()) stored.push(blob);
    expect(stored).toEqual([{ sha256: web.metadata.blob, size: 3, owners: ["billing"] }]);

    await assertCode(restored.writeCAS(web), "STORAGE_CAS_FAILURE");
    await assertCode(restored.deleteCAS(web.id, web.version), "STORAGE_CAS_FAILURE");
    using resumed = await restored.watchList(A1, HOME, "", { resumeAfter: cursor });
    await assertCode(resumed.next(), "STORAGE_WATCH_CLOSED");
    const again = await restored.writeCAS(sample(A1, HOME, "late"));
    expect(again.version).not.toBe(late.version);
    await assertCode(restored.writeCAS(late), "STORAGE_CAS_FAILURE");
  });

  test("goes into an empty store alone", async () => {
    await write("web");
    await writeBackup({ storage, blobs, directory });
    const target = restoreTargetOf(storage);
    const refused = restoreBackup({ directory, target, blobs });
    await assertCode(refused, "STORAGE_INVALID_ARGUMENT");
    await expect(refused).rejects.toThrow(/not empty: it holds test a .*"web"/);
  });

  test("appears at the end and at once, and an interrupted restore is repeated", async () => {
    await write("web");
    await write("api");
    await writeBackup({ storage, blobs, directory });
    const other = await open("other");
    await using restored = other.storage;
    await using restoredBlobs = other.blobs;
    const target = restoreTargetOf(restored);
    const failing = restoreBackup({
      directory,
      blobs: restoredBlobs,
      target: {
        ...target,
        begin: async (options) => {
          const restore = await target.begin(options);
          return { ...restore, commit: () => Promise.reject(new Error("killed")) };
        },
      },
    });
    await expect(failing).rejects.toThrow("killed");
    expect(await restored.list("strong", A1, EVERYWHERE, "")).toEqual([]);
    await restoreBackup({ directory, target, blobs: restoredBlobs });
    expect(await restored.list("strong", A1, EVERYWHERE, "")).toHaveLength(2);
  });

  test("has to fit into the engine, or nothing is restored", async () => {
    await write("web", "x".repeat(2000));
    await writeBackup({ storage, blobs, directory });
    await using restored = createMemoryStorage();
    const target = restoreTargetOf(restored);
    const limits = { ...target.limits, dataBytes: 1999 };
    const refused = restoreBackup({ directory, target: { ...target, limits }, blobs });
    await assertCode(refused, "STORAGE_TOO_LARGE");
    await expect(refused).rejects.toThrow('"web"');
    const fits = { ...target.limits, dataBytes: 2000 };
    await restoreBackup({ directory, target: { ...target, limits: fits }, blobs });
    expect(await restored.list("strong", A1, EVERYWHERE, "")).toHaveLength(1);
  });
});

describe("a damaged backup", () => {
  let resources: string;
  let intact: string;

  beforeEach(async () => {
    for (const name of ["api", "db", "web"]) await write(name);
    await writeBackup({ storage, blobs, directory });
    resources = join(directory, "resources.jsonl");
    intact = await readFile(resources, "utf8");
  });

  const lineOf = (name: string): string =>
    intact.split("\n").find((line) => line.includes(`"${name}"`)) ?? "";

  test.each([
    ["body", (line: string) => line.replace(/"body":"./, '"body":"#'), /"db": the checksum/],
    [
      "version",
      (line: string) => line.replace(/"version":"./, '"version":"9'),
      /"db": the checksum/,
    ],
    ["name", (line: string) => line.replace('"db"', '"dc"'), /"dc": the checksum/],
    [
      "form",
      (line: string) => line.slice(5),
      /cannot be read \(line 2 of .* behind test a .*"api"/,
    ],
  ])("names the resource whose %s was changed", async (_what, damage, expected) => {
    await writeFile(resources, intact.replace(lineOf("db"), damage(lineOf("db"))));
    const problems = await problemsOf(directory);
    expect(problems).toEqual([expect.stringMatching(expected), expect.stringMatching(/digest/)]);
  });

  test("misses a line that is gone, and one that was added", async () => {
    await writeFile(resources, intact.replace(`${lineOf("db")}\n`, ""));
    expect(await problemsOf(directory)).toEqual(["resources.jsonl has 2 of 3 lines"]);
    await writeFile(resources, `${intact}${lineOf("db")}\n`);
    expect(await problemsOf(directory)).toEqual(["resources.jsonl has 4 of 3 lines"]);
  });

  test("names blobs whose content was changed, cut or lost", async () => {
    const digests: string[] = [];
    for await (const { sha256 } of blobs.list()) digests.push(sha256);
    const [changed = "", longer = "", lost = ""] = digests;
    const file = (sha256: string) => join(directory, "blobs", sha256.slice(0, 2), sha256);
    await writeFile(file(changed), "x");
    await appendFile(file(longer), "x");
    await rm(file(lost));
    expect((await problemsOf(directory)).toSorted()).toEqual(
      [
        `blob ${changed}: its file is damaged`,
        `blob ${longer}: its file is damaged`,
        `blob ${lost}: its file is missing`,
      ].toSorted(),
    );
  });

  test("is recognised by its manifest", async () => {
    const manifest = join(directory, "manifest.json");
    const text = await readFile(manifest, "utf8");
    await writeFile(manifest, text.replace('"revision": ', '"revision": 1'));
    await assertCode(verifyBackup(directory), "STORAGE_CORRUPT");
    await writeFile(manifest, text.slice(0, -5));
    await assertCode(verifyBackup(directory), "STORAGE_CORRUPT");
    await writeFile(manifest, "null");
    await assertCode(verifyBackup(directory), "STORAGE_CORRUPT");
    await rm(manifest);
    await assertCode(verifyBackup(directory), "STORAGE_NOT_FOUND");
  });

  test("is not restored, but its intact part on request", async () => {
    await writeFile(resources, intact.replace('"body":"', '"body":"#'));
    await using restored = createMemoryStorage();
    const target = restoreTargetOf(restored);
    await assertCode(restoreBackup({ directory, target, blobs }), "STORAGE_CORRUPT");
    expect(await restored.list("strong", A1, EVERYWHERE, "")).toEqual([]);
    const problems: string[] = [];
    const { resources: count } = await restoreBackup({
      directory,
      target,
      blobs,
      withoutDamaged: true,
      onProblem: (problem) => problems.push(problem),
    });
    expect(count).toBe(2);
    expect(problems[0]).toContain('"api"');
  });
});
