import { mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { expect, it } from "vitest";
import { Docker } from "./docker.ts";
import { checkImageSums, writeImageSums } from "./image-sums.ts";

/** A command `docker` whose images are files with their ids. */
const COMMAND = `#!/bin/sh
case "$1" in
  version|compose) echo 1 ;;
  image) cat "$IMAGES/$5" ;;
  *) exit 1 ;;
esac
`;

it("sums of images are those of the engine that built them, and are compared with those of another", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "image-sums-"));
  const [bin, images] = [join(scratch.path, "bin"), join(scratch.path, "images")];
  await mkdir(bin);
  await mkdir(images);
  await writeFile(join(bin, "docker"), COMMAND, { mode: 0o755 });
  const put = async (name: string, digit: string): Promise<void> =>
    writeFile(join(images, name), `sha256:${digit.repeat(64)}\n`);
  await put("server:1.0.0", "a");
  await put("worker:1.0.0", "b");
  const path = [bin, process.env["PATH"] ?? ""].join(delimiter);
  const docker = await Docker.find({ ...process.env, PATH: path, IMAGES: images });
  if (typeof docker === "string") throw new Error(docker);
  const file = join(scratch.path, "sums");
  await writeImageSums(docker, ["worker:1.0.0", "server:1.0.0"], file);
  const [a, b] = ["a", "b"].map((digit) => `sha256:${digit.repeat(64)}`);
  expect(await readFile(file, "utf8")).toBe(`${a}  server:1.0.0\n${b}  worker:1.0.0\n`);
  expect(await checkImageSums(docker, file)).toEqual([]);

  await put("worker:1.0.0", "c");
  await writeFile(file, `${a}  gone:1.0.0\nno sum\n${b}  worker:1.0.0\n`);
  expect(await checkImageSums(docker, file)).toEqual([
    "gone:1.0.0 is not there",
    `${file} has an invalid line: no sum`,
    `worker:1.0.0 is sha256:${"c".repeat(64)}, not ${b}`,
  ]);
  await writeFile(file, "");
  expect(await checkImageSums(docker, file)).toEqual([`${file} names no image`]);
});
