import { mkdtempDisposable, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDirectoryBlobs } from "@stackwright/storage/blob";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { moveFolderBlobs } from "./move-folder-blobs.ts";

describe("the blobs that an earlier release left in a folder", () => {
  let scratch: string;
  let from: string;
  let to: string;

  beforeEach(async () => {
    const folder = await mkdtempDisposable(join(tmpdir(), "move-blobs-"));
    onTestFinished(() => folder.remove());
    scratch = folder.path;
    from = join(scratch, "blobs");
    to = join(scratch, "store");
  });

  const contents = ["one", "two", "three"];

  async function written(): Promise<readonly string[]> {
    await using blobs = await createDirectoryBlobs({ directory: from });
    const references = await Promise.all(contents.map((text) => blobs.write(Buffer.from(text))));
    return references.map(({ sha256 }) => sha256);
  }

  it("are in the store after the move, and the folder has another name", async () => {
    const digests = await written();
    await using store = await createDirectoryBlobs({ directory: to });
    await store.write(Buffer.from("two"));
    await moveFolderBlobs(from, store);
    expect(await store.find(digests)).toHaveLength(3);
    const names = await readdir(scratch);
    expect(names).not.toContain("blobs");
    expect(names.filter((name) => name.startsWith("blobs-moved-"))).toHaveLength(1);
  });

  it("stay where they are while a process uses the folder", async () => {
    await written();
    await using user = await createDirectoryBlobs({ directory: from });
    await using store = await createDirectoryBlobs({ directory: to });
    await expect(moveFolderBlobs(from, store)).rejects.toMatchObject({ code: "STORAGE_LOCKED" });
    expect(user.capabilities.engine).toBe("directory");
    expect(await readdir(scratch)).toContain("blobs");
  });

  it("are no error where there are none", async () => {
    await using store = await createDirectoryBlobs({ directory: to });
    await moveFolderBlobs(from, store);
    expect(await readdir(scratch)).toEqual(["store"]);
  });
});
