import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { uploadedFiles } from "./folder-files.ts";

it("says how a file gets into the upload that a root module reads beside its folder", async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "uploaded-files-"));
  onTestFinished(() => scratch.remove());
  await mkdir(join(scratch.path, "stacks/web"), { recursive: true });
  await writeFile(join(scratch.path, "there.txt"), "there");
  const files = uploadedFiles(scratch.path, "stacks/web");
  expect(Buffer.from(files.read("../../there.txt")).toString()).toBe("there");
  const read = (path: string, from = files) => {
    return () => from.read(path);
  };
  expect(read("../../absent.txt")).toThrow(/no file exists at .*absent\.txt.*--root/);
  expect(read("../../../above.txt")).toThrow(/leads out of .*--root/);
  expect(read("absent.txt")).toThrow(/no file exists at "stacks\/web\/absent\.txt"$/);
  expect(read("../above.txt", uploadedFiles(scratch.path, ""))).toThrow(/leads out of .*--root/);
});

it("knows where more may lie than was uploaded: beside the folders that were uploaded whole", async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "uploaded-files-"));
  onTestFinished(() => scratch.remove());
  for (const path of ["a/stacks/web/files", "a/modules/net/files/more"]) {
    await mkdir(join(scratch.path, path), { recursive: true });
  }
  await writeFile(join(scratch.path, "a/stacks/web/main.tf"), "");
  await writeFile(join(scratch.path, "a/modules/net/main.tf"), "");
  const files = uploadedFiles(scratch.path, "a/stacks/web");
  const isPartial = (folder: string) => files.isPartial?.(folder);
  for (const folder of ["..", "../..", "../../modules", "../../shared/deep", "../api"]) {
    expect(isPartial(folder), folder).toBe(true);
  }
  for (const folder of [
    ".",
    "none",
    "..files",
    "../../modules/net",
    "../../modules/net/files/more",
  ]) {
    expect(isPartial(folder), folder).toBe(false);
  }
  await writeFile(join(scratch.path, "README.md"), "of all that lies here");
  expect(isPartial("../../shared")).toBe(false);
});
